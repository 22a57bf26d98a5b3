//! What validation says of a text.

use std::fmt;

use crate::json::{JsonCode, JsonError, Pointer};
use crate::scope::Kind;
use crate::snapshot::ValidSnapshot;

/// What is wrong, or worth a look, at one place of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Which text it is about.
    pub document: DocumentKind,
    /// The member; for a missing one, where it would be.
    pub pointer: Pointer,
    /// What kind of issue it is.
    pub code: IssueCode,
    /// A sentence for people.
    pub message: String,
}

/// The text that an issue is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// The snapshot.
    Snapshot,
    /// The capability snapshot that came with it.
    Capability,
}

/// Whether an issue refuses the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The text is refused.
    Error,
    /// The text is accepted.
    Warning,
}

impl Severity {
    /// The severity's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

macro_rules! issue_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal $severity:ident,)*) => {
        /// The kinds of issue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum IssueCode {
            /// The text is not acceptable JSON.
            Json(JsonCode),
            $($(#[$doc])* $name,)*
        }

        impl IssueCode {
            /// Every code.
            pub fn all() -> impl Iterator<Item = Self> {
                JsonCode::ALL.into_iter().map(Self::Json).chain([$(Self::$name),*])
            }

            /// The stable code.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::Json(code) => code.as_str(),
                    $(Self::$name => $text,)*
                }
            }

            /// Whether such an issue refuses the text.
            pub const fn severity(self) -> Severity {
                match self {
                    Self::Json(_) => Severity::Error,
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

issue_codes! {
    /// A field that must be there is not.
    MissingField = "MISSING_FIELD" Error,
    /// A field that the product does not know.
    UnknownField = "UNKNOWN_FIELD" Error,
    /// A value of another type, null among them.
    WrongType = "WRONG_TYPE" Error,
    /// A number outside its bounds.
    OutOfRange = "OUT_OF_RANGE" Error,
    /// A text that does not have the form it must have.
    BadFormat = "BAD_FORMAT" Error,
    /// An empty text.
    Empty = "EMPTY" Error,
    /// More UTF-16 code units than allowed.
    TooLong = "TOO_LONG" Error,
    /// A character below U+0020, or U+007F.
    ControlCharacter = "CONTROL_CHARACTER" Error,
    /// White space at an end of an identifier.
    OuterWhiteSpace = "OUTER_WHITE_SPACE" Error,
    /// A field that is needed because a switch is on.
    RequiredWhenEnabled = "REQUIRED_WHEN_ENABLED" Error,
    /// Snapshot and capability snapshot are not about the same model.
    CapabilityMismatch = "CAPABILITY_MISMATCH" Error,
    /// `fast` and `deep` can only cut by score after reranking.
    ScoreThresholdRequiresRerank = "RETRIEVAL_PROFILE_SCORE_THRESHOLD_REQUIRES_RERANK" Error,
    /// A free-form capability that another reader of the database would order, and so digest, differently.
    CapabilityKeyOrder = "CAPABILITY_KEY_ORDER" Error,
    /// The vector space id follows from nothing that is known.
    VectorSpaceUnproven = "VECTOR_SPACE_UNPROVEN" Error,
    /// A legacy profile without dimension.
    DimensionUnchecked = "DIMENSION_UNCHECKED" Warning,
    /// More values than pgvector can index (2,000).
    DimensionNotIndexable = "DIMENSION_NOT_INDEXABLE" Warning,
    /// More values than pgvector can store (16,000).
    DimensionNotStorable = "DIMENSION_NOT_STORABLE" Warning,
    /// A character nobody sees.
    InvisibleCharacter = "INVISIBLE_CHARACTER" Warning,
}

impl Issue {
    /// Whether the issue refuses the text.
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }

    /// The issue of a text that is refused as JSON.
    pub fn of_json(document: DocumentKind, error: JsonError) -> Self {
        Self { document, pointer: error.pointer, code: IssueCode::Json(error.code), message: error.message }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.document == DocumentKind::Capability {
            formatter.write_str("capability ")?;
        }
        let place = if self.pointer.is_root() { "(whole text)" } else { self.pointer.as_str() };
        write!(formatter, "{place}: {} ({})", self.message, self.code.as_str())
    }
}

/// The issues that refuse a text, as one sentence.
pub fn listed_errors(issues: &[Issue]) -> String {
    let mut listed = String::new();
    for error in issues.iter().filter(|issue| issue.is_error()) {
        listed.push_str(if listed.is_empty() { "" } else { "; " });
        listed.push_str(&error.to_string());
    }
    listed
}

impl serde::Serialize for Issue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let is_capability = self.document == DocumentKind::Capability;
        let mut fields = serializer.serialize_struct("Issue", if is_capability { 5 } else { 4 })?;
        if is_capability {
            fields.serialize_field("document", "capability")?;
        }
        fields.serialize_field("path", self.pointer.as_str())?;
        fields.serialize_field("code", self.code.as_str())?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("severity", self.severity().as_str())?;
        fields.end()
    }
}

/// What validation says of a snapshot's text: every issue, and the snapshot where it is valid.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The kind it was validated as.
    pub kind: Kind,
    /// Every issue, warnings too.
    pub issues: Vec<Issue>,
    /// The snapshot, if no issue refuses it.
    pub snapshot: Option<ValidSnapshot<'a>>,
}

impl Report<'_> {
    /// Whether the text is a valid snapshot.
    pub const fn is_valid(&self) -> bool {
        self.snapshot.is_some()
    }
}

impl serde::Serialize for Report<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Report", if self.is_valid() { 6 } else { 3 })?;
        fields.serialize_field("valid", &self.is_valid())?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("issues", &self.issues)?;
        if let Some(snapshot) = &self.snapshot {
            fields.serialize_field("canonical", &snapshot.canonical())?;
            fields.serialize_field("digest", &snapshot.digest())?;
            fields.serialize_field("identity", &snapshot.identity())?;
        }
        fields.end()
    }
}
