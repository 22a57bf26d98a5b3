//! Why an operation is refused, and why a store could not carry it out.

use crate::collation::KeysOutOfOrder;
use crate::identifiers::{ArgumentError, RevisionId};
use crate::numbers::{ManifestVersion, RevisionNumber};
use crate::report::{Issue, listed_errors};
use crate::revision::{Corruption, RevisionStatus};
use crate::scope::Kind;

fn or_none(number: &Option<RevisionNumber>) -> String {
    number.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

/// Why an operation is refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An argument is outside its limits.
    #[error(transparent)]
    ArgumentInvalid(#[from] ArgumentError),
    /// Numbers end at 2,147,483,647.
    #[error("the {0} has reached 2147483647, the last one; no further change of this scope is possible")]
    NumberExhausted(&'static str),
    /// The snapshot or its capability snapshot is not valid.
    #[error("the snapshot is not valid: {}", listed_errors(.issues))]
    SnapshotInvalid {
        /// Every issue of both.
        issues: Vec<Issue>,
    },
    /// There is no such space for this tenant.
    #[error("expected an existing space, found none; add it with `space add` or import it")]
    SpaceNotFound,
    /// The space is being deleted or not active.
    #[error("expected a writable space, found one in lifecycle state `{lifecycle_state}`{}", if *.has_deletion_job { " with a deletion job" } else { "" })]
    SpaceNotWritable {
        /// Its lifecycle state.
        lifecycle_state: String,
        /// Whether a job that deletes it is under way.
        has_deletion_job: bool,
    },
    /// The space exists with another name.
    #[error("expected a new space, found one named `{name}`")]
    SpaceExists {
        /// Its name.
        name: String,
    },
    /// The manifest holds a legacy profile that has not been adopted.
    #[error(
        "the space's manifest holds a legacy {0} profile; adopt it first (`backfill run`), or override the check"
    )]
    AdoptionPending(Kind),
    /// The scope has a candidate already.
    #[error("expected no candidate, found revision {revision}; activate it or fail it first")]
    CandidateExists {
        /// Its number.
        revision: RevisionNumber,
    },
    /// The number is not the one that comes next.
    #[error("expected revision {expected}, found {actual}")]
    RevisionConflict {
        /// The number that would be accepted.
        expected: RevisionNumber,
        /// The number that was given.
        actual: RevisionNumber,
    },
    /// The caller-made id belongs to another revision.
    #[error("expected a fresh revision id, found that {0} is taken")]
    RevisionIdTaken(RevisionId),
    /// Vectors of two models would be mixed.
    #[error(
        "expected a vector space of its own, found that revisions with another model or dimension carry `{0}`"
    )]
    VectorSpaceReused(crate::snapshot::VectorSpaceId),
    /// The vector space id follows from nothing that is known.
    #[error(
        "expected the vector space id of version 2 or 1 for this revision, or that of an earlier, once-active \
         revision with the same model and dimension, found `{0}`"
    )]
    VectorSpaceUnproven(crate::snapshot::VectorSpaceId),
    /// The active revision says the same.
    #[error("expected a change, found that active revision {0} has the same configuration and capability")]
    NoChange(RevisionNumber),
    /// There is no such revision.
    #[error("expected revision {0} to exist, found none")]
    RevisionNotFound(RevisionNumber),
    /// The scope has no head.
    #[error("expected an active profile, found none; propose one and activate it")]
    ProfileNotFound,
    /// No revision of the scope was active at a moment.
    #[error("expected a profile that was active at {0}, found none")]
    NothingActiveAt(crate::time::Timestamp),
    /// Somebody else moved the head.
    #[error("expected active revision {}, found {}; look at it, then decide again", or_none(.expected), or_none(.actual))]
    HeadConflict {
        /// The active revision that the caller saw.
        expected: Option<RevisionNumber>,
        /// The active revision.
        actual: Option<RevisionNumber>,
    },
    /// The head does not agree with the revisions.
    #[error("the head is broken: {0}; run `audit`")]
    HeadInvalid(String),
    /// Only a candidate can be activated or failed.
    #[error("expected a candidate, found that revision {revision} is {state}")]
    NotCandidate {
        /// The revision.
        revision: RevisionNumber,
        /// Its state.
        state: RevisionStatus,
    },
    /// Only what was active once can be restored.
    #[error("expected a revision that was active once, found that revision {revision} is {state}")]
    NotRestorable {
        /// The revision.
        revision: RevisionNumber,
        /// Its state.
        state: RevisionStatus,
    },
    /// A row contradicts itself.
    #[error("{0}; run `audit`")]
    SnapshotCorrupt(#[from] Corruption),
    /// A ledger row contradicts itself.
    #[error("backfill {id} is broken: {what}; run `audit`")]
    BackfillCorrupt {
        /// The id of the row.
        id: crate::identifiers::BackfillId,
        /// What is wrong with it.
        what: String,
    },
    /// The worker does not own the backfill any more.
    #[error("the lease is lost: another worker owns the backfill, or it expired; drop this work")]
    LeaseLost,
    /// Only what failed can be retried.
    #[error("expected a failed backfill, found one that is {0}")]
    NotFailed(crate::backfill::BackfillStatus),
    /// The scope has no ledger row.
    #[error("expected a backfill of this scope, found none; `backfill discover` looks for legacy profiles")]
    BackfillNotFound,
    /// The manifest that is stored is not older.
    #[error("expected manifest version {stored} with the stored content, or a higher one, found version {found}{}", if .stored == .found { " with other content" } else { "" })]
    ManifestConflict {
        /// The version that is stored.
        stored: ManifestVersion,
        /// The version that was given.
        found: ManifestVersion,
    },
    /// Profile and index are published together, by somebody else.
    #[error(
        "expected a database whose heads are moved here, found one where knowledge-fs publishes profile and index \
         together; publish there, or open the store with `?manage=heads`, which takes this over"
    )]
    ManagedElsewhere,
    /// Another service would call the row corrupt.
    #[error("the capability snapshot: {0}")]
    CapabilityKeyOrder(KeysOutOfOrder),
    /// Spaces and manifests are somebody else's.
    #[error(
        "expected tables of spaces and manifests that are ours, found those of knowledge-fs; make and delete spaces \
         there, and `backfill run` adopts what is there"
    )]
    ForeignTables,
    /// The rows that are to be copied contradict themselves or each other.
    #[error("the source is broken: {what}; run `audit` on it")]
    SourceBroken {
        /// What is wrong.
        what: String,
    },
    /// The target of a copy holds something else.
    #[error(
        "expected nothing or the same on the target, found {found}; look at both, then delete the space on the \
         target or leave it"
    )]
    CopyConflict {
        /// What it holds.
        found: String,
    },
    /// One kind of an operation on both.
    #[error("{kind}: {refusal}")]
    OfKind {
        /// The kind.
        kind: Kind,
        /// Why it is refused.
        refusal: Box<Refusal>,
    },
}

impl Refusal {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ArgumentInvalid(_) => "ARGUMENT_INVALID",
            Self::NumberExhausted(_) => "NUMBER_EXHAUSTED",
            Self::SnapshotInvalid { .. } => "SNAPSHOT_INVALID",
            Self::SpaceNotFound => "SPACE_NOT_FOUND",
            Self::SpaceNotWritable { .. } => "SPACE_NOT_WRITABLE",
            Self::SpaceExists { .. } => "SPACE_EXISTS",
            Self::AdoptionPending(_) => "ADOPTION_PENDING",
            Self::CandidateExists { .. } => "CANDIDATE_EXISTS",
            Self::RevisionConflict { .. } => "REVISION_CONFLICT",
            Self::RevisionIdTaken(_) => "REVISION_ID_TAKEN",
            Self::VectorSpaceReused(_) => "VECTOR_SPACE_REUSED",
            Self::VectorSpaceUnproven(_) => "VECTOR_SPACE_UNPROVEN",
            Self::NoChange(_) => "NO_CHANGE",
            Self::RevisionNotFound(_) => "REVISION_NOT_FOUND",
            Self::ProfileNotFound | Self::NothingActiveAt(_) => "PROFILE_NOT_FOUND",
            Self::HeadConflict { .. } => "HEAD_CONFLICT",
            Self::HeadInvalid(_) => "HEAD_INVALID",
            Self::NotCandidate { .. } => "NOT_CANDIDATE",
            Self::NotRestorable { .. } => "NOT_RESTORABLE",
            Self::SnapshotCorrupt(_) | Self::BackfillCorrupt { .. } | Self::SourceBroken { .. } => {
                "SNAPSHOT_CORRUPT"
            }
            Self::CopyConflict { .. } => "COPY_CONFLICT",
            Self::LeaseLost => "LEASE_LOST",
            Self::NotFailed(_) => "NOT_FAILED",
            Self::BackfillNotFound => "BACKFILL_NOT_FOUND",
            Self::ManifestConflict { .. } => "MANIFEST_CONFLICT",
            Self::ManagedElsewhere => "MANAGED_ELSEWHERE",
            Self::CapabilityKeyOrder(_) => "CAPABILITY_KEY_ORDER",
            Self::ForeignTables => "STORE_FOREIGN_TABLES",
            Self::OfKind { refusal, .. } => refusal.code(),
        }
    }
}

/// Why a store could not carry something out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What kind of failure it is.
    pub code: StoreCode,
    /// A sentence for people. It never holds a password.
    pub message: String,
}

/// The kinds of failure of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreCode {
    /// It cannot be reached or opened.
    Unavailable,
    /// A pool, lock or statement time-out, or too many stale answers.
    Busy,
    /// It takes no writes.
    ReadOnly,
    /// Its disk is full, or a limit that it was given is reached.
    Full,
    /// A commit whose fate could not be learnt in time.
    OutcomeUnknown,
    /// It is not migrated, or not of the expected shape.
    Schema,
}

impl StoreCode {
    /// The stable code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "STORE_UNAVAILABLE",
            Self::Busy => "STORE_BUSY",
            Self::ReadOnly => "STORE_READ_ONLY",
            Self::Full => "STORE_FULL",
            Self::OutcomeUnknown => "STORE_OUTCOME_UNKNOWN",
            Self::Schema => "STORE_SCHEMA",
        }
    }

    /// Whether the same call can succeed later without anybody mending anything.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Unavailable | Self::Busy | Self::OutcomeUnknown)
    }
}

impl StoreError {
    /// A failure of a kind.
    pub fn new(code: StoreCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Why an operation has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store could not carry it out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Store(error) => error.code.as_str(),
        }
    }

    /// Whether the same call can succeed later without anybody mending anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Store(error) => error.code.is_retryable(),
        }
    }
}

impl From<ArgumentError> for Error {
    fn from(error: ArgumentError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Corruption> for Error {
    fn from(corruption: Corruption) -> Self {
        Self::Refused(corruption.into())
    }
}
