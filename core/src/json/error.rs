use super::Pointer;

/// Why a text is refused as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonCode {
    /// Not JSON (RFC 8259).
    Invalid,
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The text begins with a byte order mark (RFC 8259 section 8.1).
    Bom,
    /// Something follows the value.
    TrailingData,
    /// An object has the same key twice.
    DuplicateKey,
    /// A `\u` escape is half of a surrogate pair.
    LoneSurrogate,
    /// A string holds U+0000, which Postgres jsonb cannot store.
    NulCharacter,
    /// A number is too large for a double.
    NumberOutOfRange,
    /// A plain integer whose value the canonical text would change.
    UnsafeInteger,
    /// More arrays and objects inside each other than allowed.
    TooDeep,
    /// More bytes than allowed.
    TooLarge,
}

impl JsonCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::Invalid,
        Self::InvalidUtf8,
        Self::Bom,
        Self::TrailingData,
        Self::DuplicateKey,
        Self::LoneSurrogate,
        Self::NulCharacter,
        Self::NumberOutOfRange,
        Self::UnsafeInteger,
        Self::TooDeep,
        Self::TooLarge,
    ];

    /// The stable code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "JSON_INVALID",
            Self::InvalidUtf8 => "JSON_INVALID_UTF8",
            Self::Bom => "JSON_BOM",
            Self::TrailingData => "JSON_TRAILING_DATA",
            Self::DuplicateKey => "JSON_DUPLICATE_KEY",
            Self::LoneSurrogate => "JSON_LONE_SURROGATE",
            Self::NulCharacter => "JSON_NUL_CHARACTER",
            Self::NumberOutOfRange => "JSON_NUMBER_OUT_OF_RANGE",
            Self::UnsafeInteger => "JSON_UNSAFE_INTEGER",
            Self::TooDeep => "JSON_TOO_DEEP",
            Self::TooLarge => "JSON_TOO_LARGE",
        }
    }
}

/// A text that is refused as JSON: what is wrong and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(pointer))]
pub struct JsonError {
    /// What kind of fault it is.
    pub code: JsonCode,
    /// The value in which the fault was met.
    pub pointer: Pointer,
    /// Where the fault begins, in bytes from the start of the text.
    pub offset: usize,
    /// A sentence for people.
    pub message: String,
}

fn place(pointer: &Pointer) -> String {
    if pointer.is_root() { String::new() } else { format!(" at `{pointer}`") }
}

impl JsonError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// The refusal of a text of `found` bytes where `allowed` are allowed: for whoever knows the size of a text
    /// before the text itself is at hand.
    pub fn too_large(found: usize, allowed: usize) -> Self {
        Self {
            code: JsonCode::TooLarge,
            pointer: Pointer::root(),
            offset: allowed,
            message: format!("expected at most {allowed} bytes, found {found}"),
        }
    }
}

/// A fault as the lexer meets it, before anybody knows in which value it lies. It is small, since every token is read
/// beside one that might be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(Box<JsonError>);

impl Fault {
    #[cold]
    pub(crate) fn new(code: JsonCode, offset: usize, message: impl Into<String>) -> Self {
        Self(Box::new(JsonError { code, pointer: Pointer::root(), offset, message: message.into() }))
    }

    pub(crate) fn with_code(mut self, code: JsonCode) -> Self {
        self.0.code = code;
        self
    }

    /// The token was read to its end, so the rest of the text can still be looked at.
    pub(crate) fn is_recoverable(&self) -> bool {
        matches!(
            self.0.code,
            JsonCode::LoneSurrogate
                | JsonCode::NulCharacter
                | JsonCode::NumberOutOfRange
                | JsonCode::UnsafeInteger
                | JsonCode::DuplicateKey
        )
    }

    pub(crate) fn at(self, pointer: Pointer) -> JsonError {
        JsonError { pointer, ..*self.0 }
    }
}
