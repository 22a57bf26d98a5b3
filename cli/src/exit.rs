//! Why a command failed, and with which code the process ends.

use space_profiles_core::json::JsonError;
use space_profiles_core::{ArgumentError, Error, Refusal, StoreError};

/// What a command comes to when it did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Everything is well.
    Done,
    /// It came to its end, but an item failed, or what was looked at is not valid.
    ItemsFailed,
    /// It was interrupted and handed back what it had claimed.
    Interrupted,
}

impl Ending {
    pub(crate) const fn unless_any(failed: bool) -> Self {
        if failed { Self::ItemsFailed } else { Self::Done }
    }

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::ItemsFailed => 1,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command failed as a whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Operation(#[from] Error),
    #[error("{file}: {error}")]
    Json { file: String, error: JsonError },
    #[error("{message}")]
    Usage { message: String },
    /// It failed midway; what was done until then stays.
    #[error("{failure}")]
    Midway {
        failure: Box<Failure>,
        /// What was done, for scripts.
        document: serde_json::Value,
        /// What was done, for people.
        text: String,
    },
    #[error("{message}")]
    Other { code: &'static str, message: String },
    /// The reader of our output went away.
    #[error("the output was closed")]
    ClosedOutput,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Operation(refusal.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Operation(error.into())
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        Self::Operation(error.into())
    }
}

impl From<std::io::Error> for Failure {
    /// Errors of writing to standard output; those of reading name their file.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedOutput,
            _ => {
                Self::Other { code: "OUTPUT_FAILED", message: format!("the output could not be written: {error}") }
            }
        }
    }
}

impl Failure {
    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Operation(error) => error.code(),
            Self::Json { error, .. } => error.code(),
            Self::Usage { .. } => "USAGE",
            Self::Midway { failure, .. } => failure.code(),
            Self::Other { code, .. } => code,
            Self::ClosedOutput => "OUTPUT_FAILED",
        }
    }

    /// Says which option's store it is about, where a command has two of them.
    pub(crate) fn of(self, option: &str) -> Self {
        match self {
            Self::Operation(Error::Store(error)) => {
                StoreError::new(error.code, format!("{option}: {}", error.message)).into()
            }
            other => other,
        }
    }

    /// The code with which the process ends.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::ClosedOutput => 0,
            _ => exit_code(self.code()),
        }
    }
}

/// The exit code of a command that is refused as a whole.
fn exit_code(code: &str) -> u8 {
    match code {
        "HEAD_CONFLICT" | "CANDIDATE_EXISTS" | "REVISION_CONFLICT" | "LEASE_LOST" => 3,
        "PROFILE_NOT_FOUND" | "REVISION_NOT_FOUND" | "SPACE_NOT_FOUND" | "BACKFILL_NOT_FOUND" => 4,
        _ if code.starts_with("STORE_") => 5,
        "EMBEDDING_DIMENSION_INVALID" => 5,
        _ if code.starts_with("MODEL_") => 5,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_exit_code_of_its_group() {
        for (expected, codes) in [
            (3, &["HEAD_CONFLICT", "CANDIDATE_EXISTS", "REVISION_CONFLICT", "LEASE_LOST"][..]),
            (4, &["PROFILE_NOT_FOUND", "REVISION_NOT_FOUND", "SPACE_NOT_FOUND", "BACKFILL_NOT_FOUND"]),
            (5, &["STORE_UNAVAILABLE", "STORE_BUSY", "STORE_READ_ONLY", "STORE_FULL", "STORE_OUTCOME_UNKNOWN"]),
            (
                5,
                &[
                    "STORE_SCHEMA",
                    "STORE_FOREIGN_TABLES",
                    "MODEL_PREFLIGHT_TIMEOUT",
                    "EMBEDDING_DIMENSION_INVALID",
                ],
            ),
            (
                1,
                &[
                    "SNAPSHOT_INVALID",
                    "SNAPSHOT_CORRUPT",
                    "HEAD_INVALID",
                    "NO_CHANGE",
                    "NOT_CANDIDATE",
                    "SPACE_EXISTS",
                ],
            ),
            (
                1,
                &["JSON_TOO_DEEP", "INPUT_UNREADABLE", "CATALOG_INVALID", "NUMBER_EXHAUSTED", "MANAGED_ELSEWHERE"],
            ),
        ] {
            for code in codes {
                assert_eq!(exit_code(code), expected, "{code}");
            }
        }
    }

    const PAGE: &str = include_str!("../../docs/postgres.md");

    /// Where codes are given.
    const SOURCES: [&str; 9] = [
        include_str!("../../core/src/backfill.rs"),
        include_str!("../../core/src/decide/ledger.rs"),
        include_str!("../../core/src/json/error.rs"),
        include_str!("../../core/src/refusal.rs"),
        include_str!("../../worker/src/catalog/error.rs"),
        include_str!("../../worker/src/check.rs"),
        include_str!("commands/space.rs"),
        include_str!("exit.rs"),
        include_str!("input.rs"),
    ];

    fn codes(source: &str) -> impl Iterator<Item = &str> {
        let quoted = source.split('"').skip(1).step_by(2);
        // A prefix of codes is none.
        quoted.filter(|text| is_code(text) && !text.ends_with('_'))
    }

    fn is_code(text: &str) -> bool {
        text.contains('_') && text.bytes().all(|letter| letter.is_ascii_uppercase() || letter == b'_')
    }

    #[test]
    fn the_operators_page_knows_every_code() {
        let missing = |code: &&str| !PAGE.contains(&format!("`{code}`"));
        let missing: Vec<&str> = SOURCES.into_iter().flat_map(codes).filter(missing).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_operators_page_tells_codes_that_there_are_and_how_the_process_ends() {
        let first_cells = |line: &'static str| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            Some((cells.next()?.strip_suffix('`')?, cells.next()?))
        };
        let rows: Vec<_> = PAGE.lines().filter_map(first_cells).filter(|(code, _)| is_code(code)).collect();
        assert!(rows.len() > 45, "{rows:?}");
        for (code, exit) in rows {
            assert!(SOURCES.into_iter().flat_map(codes).any(|known| known == code), "{code}");
            assert!(exit.parse::<u8>().is_ok_and(|exit| exit == exit_code(code)) || exit.contains(' '), "{code}");
        }
    }
}
