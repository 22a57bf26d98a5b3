use space_profiles_core::Timestamp;
use space_profiles_core::snapshot::{ModelCapability, ModelKind, Selection};

/// Turns a selection into what is observed of that model.
#[async_trait::async_trait]
pub trait ModelCheck: Send + Sync {
    /// Checks one model. The future may be dropped at any of its awaits: when the check takes too long, when the
    /// row it works for is lost, when the run stops.
    ///
    /// # Errors
    ///
    /// Why the model cannot be used, or could not be checked.
    async fn check(&self, request: &CheckRequest) -> Result<ModelCapability, CheckError>;
}

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// What the model is to be used for.
    pub kind: ModelKind,
    /// Which model.
    pub selection: Selection<'static>,
    /// The time to record in the capability snapshot: the store's, since no other clock counts.
    pub checked_at: Timestamp,
}

/// Why a check failed.
///
/// The message is stored beside the row and shown to people, so it must not hold a key or what a provider said.
/// That of [`CheckCode::Failed`] is replaced by a fixed one, since nobody can vouch for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CheckError {
    /// What kind of failure it is.
    pub code: CheckCode,
    /// A sentence for people.
    pub message: String,
}

impl CheckError {
    /// A failure of a kind.
    pub fn new(code: CheckCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// Whether the same check can succeed later without anybody mending anything.
    pub const fn is_retryable(&self) -> bool {
        self.code.is_retryable()
    }
}

/// The kinds of failure of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckCode {
    /// Nobody knows such a model.
    SelectionNotFound,
    /// Another model answered.
    IdentityMismatch,
    /// The model is not for this use.
    CapabilityMismatch,
    /// The model service refuses the credentials.
    CredentialInvalid,
    /// The observed vectors have no usable or not the declared dimension.
    DimensionInvalid,
    /// The model did not answer in time.
    Timeout,
    /// The model service cannot be reached or is overloaded.
    Unavailable,
    /// Anything else.
    Failed,
}

impl CheckCode {
    /// The stable code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelectionNotFound => "MODEL_SELECTION_NOT_FOUND",
            Self::IdentityMismatch => "MODEL_IDENTITY_MISMATCH",
            Self::CapabilityMismatch => "MODEL_CAPABILITY_MISMATCH",
            Self::CredentialInvalid => "MODEL_CREDENTIAL_INVALID",
            Self::DimensionInvalid => "EMBEDDING_DIMENSION_INVALID",
            Self::Timeout => "MODEL_PREFLIGHT_TIMEOUT",
            Self::Unavailable => "MODEL_PREFLIGHT_UNAVAILABLE",
            Self::Failed => "MODEL_PREFLIGHT_FAILED",
        }
    }

    /// Whether the same check can succeed later without anybody mending anything.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::Failed)
    }
}
