//! Changes that are decided before anything is loaded.
//!
//! Most commands find what they expect: the revision before theirs is the newest, the head is where the caller saw it,
//! nobody else was first. Such a command need not be loaded for. It says what it expects, a store writes it where all
//! of that is so, and only where it is not is the state loaded and the command decided on it, which finds a repeat, the
//! precise refusal, or what there is to write after all.

use crate::digest::Digest;
use crate::head::Head;
use crate::identifiers::SubjectId;
use crate::numbers::RevisionNumber;
use crate::refusal::StoreError;
use crate::revision::Revision;
use crate::scope::Scope;
use crate::time::Timestamp;

/// What a [`Store`](crate::Store) may offer beside the rest: writing without a load.
///
/// Each write is as one of [`Change`](crate::Change), with the same guards and locks; what else it expects must hold as
/// of one moment after the call began, as a load's answer does. It happens at the store's clock. Where anything is
/// otherwise, also where a stored time is later than the clock, the store writes nothing and answers `None`.
#[async_trait::async_trait]
pub trait OptimisticStore: Send + Sync {
    /// A candidate, verified: as it is stored, or as this store remembers that it was.
    /// [`try_activate`](Self::try_activate) sees whether it still is. `None` if there is no such revision, or one that
    /// contradicts itself.
    async fn recall_candidate(
        &self,
        scope: &Scope,
        number: RevisionNumber,
    ) -> Result<Option<Revision>, StoreError>;

    /// Appends a candidate and answers when.
    async fn try_append(&self, append: &TryAppend) -> Result<Option<Timestamp>, StoreError>;

    /// Appends a revision that is active at once and answers the head.
    async fn try_publish(&self, publish: &TryPublish) -> Result<Option<Head>, StoreError>;

    /// Activates a candidate and answers the head.
    async fn try_activate(&self, activate: &TryActivate) -> Result<Option<Head>, StoreError>;
}

/// Append a candidate. Expected: the space is writable; the newest revision is the one before this; the scope has no
/// candidate; no revision of it carries this one's vector space; no other service reads the rows, unless it
/// [reads them alike](Self::is_read_alike); and [`Novelty`].
#[derive(Debug, Clone, PartialEq)]
pub struct TryAppend {
    /// The candidate, but for its times.
    pub revision: Revision,
    /// The number before its own.
    pub previous: RevisionNumber,
    /// What the active revision must be different in, if there is one.
    pub novelty: Novelty,
    /// Whether whoever digests the capability finds the same, in whatever order of keys: it is a typed one.
    pub is_read_alike: bool,
}

/// Append a revision that is active at once. Expected: what [`TryAppend`] expects; the head is at
/// [`expected`](Self::expected), names a revision in state `active`, and there is no other; no other service moves
/// heads.
#[derive(Debug, Clone, PartialEq)]
pub struct TryPublish {
    /// What is appended. Who creates it also activates it.
    pub append: TryAppend,
    /// The number of the active revision.
    pub expected: RevisionNumber,
}

/// Activate a candidate that has been verified. Expected: the space is writable; the candidate's row says what was
/// verified and is the newest; the head as in [`TryPublish`]; no other service moves heads.
#[derive(Debug, Clone, PartialEq)]
pub struct TryActivate {
    /// The candidate.
    pub candidate: Revision,
    /// Who activates it.
    pub by: SubjectId,
    /// The number of the active revision.
    pub expected: RevisionNumber,
}

/// How an active revision is known to be configured otherwise: by another model or dimension, or by another digest than
/// [`same`](Self::same).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Novelty {
    /// Whether it may be the same.
    pub is_waived: bool,
    /// The digest that a snapshot has whose settings are the same, under a number. It tells nothing of an active
    /// revision with another number, and there is none of an embedding, whose settings are all in columns.
    pub same: Option<(RevisionNumber, Digest)>,
}
