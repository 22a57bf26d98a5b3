//! Heads: the pointers to active revisions.

use crate::identifiers::{HeadId, RevisionId};
use crate::numbers::{RevisionNumber, RowVersion};
use crate::revision::Revision;
use crate::time::Timestamp;

/// The row that points at a scope's active revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The id of the row.
    pub id: HeadId,
    /// The id of the active revision.
    pub revision_id: RevisionId,
    /// The number of the active revision.
    pub active_revision: RevisionNumber,
    /// How often the head has moved, counting its creation.
    pub row_version: RowVersion,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last moved.
    pub updated_at: Timestamp,
}

/// A head and the revision it points at.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveProfile {
    /// The head.
    pub head: Head,
    /// The active revision.
    pub revision: Revision,
}
