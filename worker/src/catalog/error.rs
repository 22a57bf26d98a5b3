use std::fmt;
use std::path::PathBuf;

/// Why a catalog cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The file cannot be read.
    #[error("expected a readable catalog at `{}`, found that {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The text is not TOML.
    #[error("expected a catalog in TOML, found at line {line}, column {column}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// Entries are missing something or say something wrong.
    #[error("the catalog is not valid: {}", listed(.0))]
    Invalid(
        /// Every problem.
        Vec<CatalogProblem>,
    ),
}

impl CatalogError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "CATALOG_UNREADABLE",
            Self::Syntax { .. } | Self::Invalid(_) => "CATALOG_INVALID",
        }
    }

    pub(super) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::Syntax { line, column, message: error.message().to_owned() }
    }
}

fn listed(problems: &[CatalogProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(CatalogProblem::to_string).collect();
    lines.join("; ")
}

/// One problem of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogProblem {
    /// Which `[[model]]`, from 1; none if the problem is not one entry's.
    pub entry: Option<usize>,
    /// Which field of it.
    pub field: Option<String>,
    /// What was expected and what was found.
    pub message: String,
}

impl CatalogProblem {
    pub(super) fn of_catalog(message: impl Into<String>) -> Self {
        Self { entry: None, field: None, message: message.into() }
    }

    pub(super) fn of_entry(entry: usize, message: impl Into<String>) -> Self {
        Self { entry: Some(entry), field: None, message: message.into() }
    }

    pub(super) fn of_field(entry: usize, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { entry: Some(entry), field: Some(field.into()), message: message.into() }
    }
}

impl fmt::Display for CatalogProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = self.entry {
            write!(formatter, "[[model]] {entry}")?;
            if let Some(field) = &self.field {
                write!(formatter, ", `{field}`")?;
            }
            formatter.write_str(": ")?;
        }
        formatter.write_str(&self.message)
    }
}
