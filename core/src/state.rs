//! What a store loads for a decision, as of one moment.

use crate::backfill::{BackfillRow, Fence};
use crate::head::Head;
use crate::identifiers::RevisionId;
use crate::numbers::RevisionNumber;
use crate::revision::{RevisionRow, RevisionStatus};
use crate::scope::Scope;
use crate::snapshot::VectorSpaceId;
use crate::space::{ManifestRow, SpaceRow};
use crate::time::Timestamp;

/// What belongs to the other service that writes the same database, if there is one. By default there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// It publishes profiles together with their indexes: no head may be moved past it.
    pub moves_heads: bool,
    /// It reads the rows that are written here, and knows its own order of keys only.
    pub reads_rows: bool,
    /// The tables of spaces and manifests are its own.
    pub owns_spaces: bool,
}

/// What a decision about a scope needs to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeQuery {
    /// The scope.
    pub scope: Scope,
    /// A revision to load, with its predecessor.
    pub revision: Option<RevisionNumber>,
    /// A row to load by its id, if it is one of the scope's.
    pub revision_id: Option<RevisionId>,
    /// Who carries this vector space.
    pub vector_space_id: Option<VectorSpaceId>,
    /// Load the revision that was activated next after this one; `Some(None)`: the first that ever was.
    #[allow(clippy::option_option, reason = "not asked, after nothing, after a revision")]
    pub successor_of: Option<Option<RevisionNumber>>,
}

impl ScopeQuery {
    /// The head, its revision and the newest revision, and nothing else.
    pub const fn of(scope: Scope) -> Self {
        Self { scope, revision: None, revision_id: None, vector_space_id: None, successor_of: None }
    }
}

/// A scope as of one moment, as far as a decision about it needs to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeState {
    /// The scope.
    pub scope: Scope,
    /// The store's clock.
    pub now: Timestamp,
    /// Who else writes the database.
    pub neighbour: Neighbour,
    /// The space's row.
    pub space: Option<SpaceRow>,
    /// Whether the space's manifest holds an object under the kind's legacy key. A store may leave it out once there
    /// is a revision.
    pub has_legacy_profile: bool,
    /// The head.
    pub head: Option<Head>,
    /// The row of this scope that the head names by id.
    pub head_revision: Option<RevisionRow>,
    /// The predecessor of [`Self::head_revision`]: the highest revision below it that was ever active. A store may
    /// leave it out unless a revision that was ever active, or a successor, was asked for.
    pub head_predecessor: Option<RevisionNumber>,
    /// The number of the revision in state `active`, whether the head names it or not.
    pub active: Option<RevisionNumber>,
    /// The number of the revision in state `candidate`.
    pub candidate: Option<RevisionNumber>,
    /// The revision with the highest number.
    pub newest: Option<Newest>,
    /// The revision that was asked for.
    pub revision: Option<RevisionRow>,
    /// The highest revision below the one asked for that was ever active. A store may leave it out unless that one was
    /// ever active itself.
    pub predecessor: Option<RevisionNumber>,
    /// The row that was asked for by id.
    pub by_id: Option<RevisionRow>,
    /// The revision that was activated next after the one asked about.
    pub successor: Option<RevisionRow>,
    /// The models whose revisions carry the vector space that was asked about, each once.
    pub carriers: Vec<VectorSpaceCarrier>,
}

/// What whoever reads the active profile needs to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadState {
    /// The head.
    pub head: Option<Head>,
    /// The row of the scope that the head names by id.
    pub revision: Option<RevisionRow>,
    /// The number of the revision in state `active`, whether the head names it or not.
    pub active: Option<RevisionNumber>,
}

/// The revision with the highest number of its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// Its number.
    pub revision: RevisionNumber,
    /// Its state.
    pub status: RevisionStatus,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

/// A model whose revisions carry a vector space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VectorSpaceCarrier {
    /// The plugin.
    pub plugin_id: String,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The number of values in a vector.
    pub dimension: Option<i64>,
    /// Whether one of those revisions was ever active.
    pub was_ever_active: bool,
}

impl ScopeState {
    /// When a change decided on this state happens: now, but never before what is already stored.
    pub fn stamp(&self) -> Timestamp {
        let rows = [&self.head_revision, &self.revision, &self.by_id, &self.successor];
        let rows = rows.into_iter().flatten().map(RevisionRow::latest_stamp);
        let head = self.head.map(|head| head.updated_at);
        let newest = self.newest.map(|newest| newest.updated_at);
        rows.chain(head).chain(newest).fold(self.now, Timestamp::max)
    }
}

/// A space as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceState {
    /// The store's clock.
    pub now: Timestamp,
    /// Who else writes the database.
    pub neighbour: Neighbour,
    /// The space's row.
    pub space: Option<SpaceRow>,
    /// The space's manifest.
    pub manifest: Option<ManifestRow>,
}

/// Which ledger row a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackfillKey {
    /// The row of a fence.
    Fenced(Fence),
    /// Of a scope's rows the one with the highest (source manifest version, creation time, id).
    NewestOf(Scope),
}

/// A ledger row and what its completion depends on, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerState {
    /// The store's clock.
    pub now: Timestamp,
    /// Who else writes the database.
    pub neighbour: Neighbour,
    /// The row.
    pub backfill: Option<BackfillRow>,
    /// The space's row.
    pub space: Option<SpaceRow>,
    /// The space's manifest.
    pub manifest: Option<ManifestRow>,
    /// The head of the row's scope.
    pub head: Option<Head>,
    /// The row of that scope that the head names by id.
    pub head_revision: Option<RevisionRow>,
    /// The row of that scope with the lowest number.
    pub first: Option<RevisionRow>,
}
