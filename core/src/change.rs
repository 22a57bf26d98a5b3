//! Changes: what a decision wants written, and under which guards, as plain values.
//!
//! A store writes a change wholly or not at all. If a guard does not hold it writes nothing and answers
//! [`Applied::Stale`]; the decision is then made again on fresh state and so finds the precise refusal.

use std::sync::Arc;

use crate::backfill::{Backfill, BackfillRow};
use crate::head::Head;
use crate::identifiers::{BackfillId, LeaseToken, RevisionId};
use crate::numbers::{ManifestVersion, RevisionNumber, RowVersion};
use crate::revision::{Failure, Revision, RevisionRow};
use crate::scope::{Scope, Space};
use crate::space::{ManifestRow, SpaceRow};
use crate::time::Timestamp;

/// What a store is to write.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a decision boxes its change")]
pub enum Change {
    /// Append a candidate.
    Append(Append),
    /// Activate candidates: of one scope, or of both kinds of one space together.
    Activate(Vec<Activate>),
    /// Append a revision that is active at once.
    Publish(Publish),
    /// Fail a candidate.
    Fail(FailRevision),
    /// Add a space. Guard: it does not exist.
    AddSpace(SpaceRow),
    /// Write a space's manifest.
    PutManifest(PutManifest),
    /// Remove a space and all that belongs to it. Guard: it exists.
    DeleteSpace(Space),
    /// Write a ledger row.
    Backfill(WriteBackfill),
    /// Install a legacy profile and write its ledger row.
    Install(Install),
    /// Write a space of another store as it is.
    CopySpace(CopySpace),
    /// Write a scope of another store as it is. It is shared, since it may be large.
    CopyScope(Arc<CopyScope>),
}

/// Append a candidate. Guards: the space is writable; the number is free and the scope has no other candidate
/// (both by unique constraints); a first revision finds a scope that has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// The candidate.
    pub revision: Revision,
    /// Whether the scope had no revision.
    pub is_first: bool,
}

/// Activate a candidate, supersede the one before it and move the head. Guards: the space is writable; the
/// revision is still a candidate; the head is as [`HeadMove`] says.
#[derive(Debug, Clone, PartialEq)]
pub struct Activate {
    /// The scope.
    pub scope: Scope,
    /// The row of the candidate.
    pub revision_id: RevisionId,
    /// Its number.
    pub revision: RevisionNumber,
    /// Who activates it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The head.
    pub head: HeadMove,
}

/// What happens to the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadMove {
    /// It is created. Guard: the scope has none.
    Create(Head),
    /// It moves on, and the revision it named is superseded. Guards: the head still has the row version and
    /// the revision, and that revision is still active.
    Advance {
        /// The head before.
        from: Head,
        /// The head after.
        to: Head,
    },
}

impl HeadMove {
    /// The head after.
    pub const fn head(&self) -> Head {
        match self {
            Self::Create(head) | Self::Advance { to: head, .. } => *head,
        }
    }
}

/// Append a revision that is active at once. Guards: those of [`Append`] and of [`HeadMove`].
#[derive(Debug, Clone, PartialEq)]
pub struct Publish {
    /// The revision, active.
    pub revision: Revision,
    /// Whether the scope had no revision.
    pub is_first: bool,
    /// The head.
    pub head: HeadMove,
}

/// Fail a candidate. Guard: it is still one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailRevision {
    /// The scope.
    pub scope: Scope,
    /// The row of the candidate.
    pub revision_id: RevisionId,
    /// Why.
    pub failure: Failure,
    /// Who says so.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Write a space's manifest. Guards: the space is as it was found (absent, or writable), and so is the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutManifest {
    /// The space to add, if it did not exist.
    pub add_space: Option<SpaceRow>,
    /// The name the space is to have, if it existed under another.
    pub rename: Option<String>,
    /// Which space.
    pub space: Space,
    /// The version that the manifest had; `None`: there was no manifest.
    pub from: Option<ManifestVersion>,
    /// The manifest as it is to be.
    pub to: ManifestRow,
}

/// Write the mutable columns of a ledger row. Guard: the row has the version, the token and the expiry that
/// it was found with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteBackfill {
    /// The row as it was found.
    pub from: BackfillGuard,
    /// The row as it is to be.
    pub to: Backfill,
}

/// A ledger row as a decision found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackfillGuard {
    /// The row.
    pub id: BackfillId,
    /// Its version.
    pub row_version: RowVersion,
    /// Its lease token, if it was running.
    pub lease_token: Option<LeaseToken>,
    /// When its lease ended, if it was running: what a heartbeat changes.
    pub lease_expires_at: Option<Timestamp>,
}

/// Install a legacy profile. Guards: the space is writable; the ledger row's; the manifest has the version and
/// the metadata it was found with; the scope has no revision and no head.
#[derive(Debug, Clone, PartialEq)]
pub struct Install {
    /// The ledger row.
    pub backfill: WriteBackfill,
    /// The manifest as it was found.
    pub manifest: ManifestRow,
    /// The revision, active.
    pub revision: Revision,
    /// The head.
    pub head: Head,
}

/// Write a space of another store as it is. Guard: it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySpace {
    /// The space.
    pub row: SpaceRow,
    /// Its manifest, if it has one.
    pub manifest: Option<ManifestRow>,
}

/// Write a scope of another store as it is: digests too, whatever order of keys they were made over. Guards: the
/// space exists, writable or not; the scope has no head, no revision and no ledger row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyScope {
    /// The scope.
    pub scope: Scope,
    /// Its head, if it has one.
    pub head: Option<Head>,
    /// Its revisions, by number.
    pub revisions: Vec<RevisionRow>,
    /// Its ledger rows.
    pub backfills: Vec<BackfillRow>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It is written.
    Done,
    /// A guard did not hold; nothing is written.
    Stale,
    /// A row with the revision's id exists, wherever; nothing is written.
    RevisionIdTaken,
}
