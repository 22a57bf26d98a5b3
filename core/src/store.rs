//! What a store must do.

use crate::backfill::{Backfill, BackfillRow, BackfillStatus, Fence};
use crate::change::{Applied, Change, Install};
use crate::head::Head;
use crate::identifiers::{BackfillId, LeaseToken, RevisionId, TenantId, WorkerId};
use crate::numbers::{PageLimit, RevisionNumber};
use crate::optimistic::OptimisticStore;
use crate::refusal::{StoreCode, StoreError};
use crate::revision::{Corruption, RevisionRow};
use crate::scope::{Kind, Scope, Space};
use crate::space::{ManifestRow, SpaceRow};
use crate::state::{BackfillKey, HeadState, LedgerState, ScopeQuery, ScopeState, SpaceState};
use crate::time::{Lease, Timestamp};

/// A place where profiles are kept. A store knows its database and no rules: it loads what a decision needs,
/// writes what a decision wants, and pages through what is there.
///
/// `conformance` holds the suite that a store must pass.
#[async_trait::async_trait]
pub trait Store: Send + Sync {
    /// Loads scopes of one space, all as of one moment, in the order asked for.
    async fn load_scopes(&self, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError>;

    /// Loads a scope's active profile. By default with all that a decision needs.
    async fn load_head(&self, scope: &Scope) -> Result<HeadState, StoreError> {
        let states = self.load_scopes(&[ScopeQuery::of(scope.clone())]).await?;
        let state = states.into_iter().next().ok_or_else(not_loaded)?;
        Ok(HeadState { head: state.head, revision: state.head_revision, active: state.active })
    }

    /// Loads a space and its manifest.
    async fn load_space(&self, space: &Space) -> Result<SpaceState, StoreError>;

    /// Loads a ledger row and what its completion depends on.
    async fn load_backfill(&self, key: &BackfillKey) -> Result<LedgerState, StoreError>;

    /// Writes a change wholly, or nothing. An id of another row than a revision that is taken is `STORE_SCHEMA`.
    async fn apply(&self, change: &Change) -> Result<Applied, StoreError>;

    /// How the store writes without a load, if it does. By default it does not.
    fn optimistic(&self) -> Option<&dyn OptimisticStore> {
        None
    }

    /// Loads the rows of several fences, in the order asked for. By default one after the other.
    async fn load_backfills(&self, fences: &[Fence]) -> Result<Vec<LedgerState>, StoreError> {
        let mut states = Vec::with_capacity(fences.len());
        for fence in fences {
            states.push(self.load_backfill(&BackfillKey::Fenced(*fence)).await?);
        }
        Ok(states)
    }

    /// Writes installs of different scopes, each wholly or not at all, and answers what became of each. By default one
    /// after the other; a store may write them together, and then needs to wait for none: one that somebody else's
    /// lock is in the way of, and all if they cannot be written together, may be [`Applied::Stale`]. After an error any
    /// of them may be written.
    async fn install_all(&self, installs: &[Install]) -> Result<Vec<Applied>, StoreError> {
        let mut applied = Vec::with_capacity(installs.len());
        for install in installs {
            applied.push(self.apply(&Change::Install(install.clone())).await?);
        }
        Ok(applied)
    }

    /// Waits a little before a decision is made again, longer with each attempt (1, 2, …), with jitter.
    async fn back_off(&self, attempt: u32);

    /// A scope's revisions above `after`, by number.
    async fn revision_page(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<RevisionPage, StoreError>;

    /// The highest revision that was activated at or before `moment` and not superseded by then.
    async fn revision_at(&self, scope: &Scope, moment: Timestamp) -> Result<Option<RevisionRow>, StoreError>;

    /// Spaces above `after`, by (tenant, id), of one tenant or of all.
    async fn space_page(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, StoreError>;

    /// Spaces above `after`, by (tenant, id), with everything that belongs to each, as of one moment. A space
    /// that has rows but is missing itself is one of them. Fewer than the limit, but one at least, once they have
    /// [`SpaceContent::ROWS_OF_A_PAGE`] rows.
    async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<Vec<SpaceContent>, StoreError>;

    /// A space with everything that belongs to it, as of one moment; without any row if nothing does.
    async fn space_content(&self, space: &Space) -> Result<SpaceContent, StoreError>;

    /// How the schema differs from what the store needs, a sentence each.
    async fn schema_differences(&self) -> Result<Vec<String>, StoreError>;

    /// Spaces above `after`, by (id, tenant), with what discovery looks at.
    async fn discovery_page(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<DiscoveryPage, StoreError>;

    /// Adds queued rows whose (scope, manifest version, source digest) the ledger does not have and whose space
    /// exists; answers the ids of those that were added.
    async fn enqueue(&self, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError>;

    /// Gives due rows to a worker and fails those whose attempts are spent, in one write. The transitions are
    /// those of [`Backfill::claimed`] and [`Backfill::exhausted`].
    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError>;

    /// Ledger rows that match, by id.
    async fn backfill_page(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Vec<BackfillRow>, StoreError>;

    /// How many rows of each state match.
    async fn backfill_counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError>;

    /// Queues again, due now and with no attempts, every failed row (with `code` if one is given) that is the
    /// newest of its scope (see [`BackfillKey::NewestOf`]); answers how many.
    async fn retry_all(&self, code: Option<&str>) -> Result<u64, StoreError>;

    /// Removes succeeded rows that were completed before a moment; answers how many.
    async fn prune(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// A store that answers less than it was asked.
pub(crate) fn not_loaded() -> StoreError {
    StoreError::new(StoreCode::Schema, "the store loaded fewer scopes than it was asked for")
}

/// A page of a scope's revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionPage {
    /// The head.
    pub head: Option<Head>,
    /// The rows.
    pub rows: Vec<RevisionRow>,
    /// Rows of the page whose columns hold what they cannot, though their id and number can be read.
    pub unreadable: Vec<Corruption>,
    /// Whether there are rows after these.
    pub has_more: bool,
}

/// Which spaces an operation is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpaceFilter {
    /// All.
    #[default]
    All,
    /// A tenant's.
    Tenant(TenantId),
    /// These, at most 1,000.
    Spaces(Vec<Space>),
}

/// Which ledger rows a list is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackfillFilter {
    /// Of these spaces.
    pub spaces: SpaceFilter,
    /// In this state.
    pub status: Option<BackfillStatus>,
    /// Whose last error, or the error that they are to be retried after, has this code.
    pub code: Option<String>,
}

/// What belongs to a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceContent {
    /// Which space.
    pub space: Space,
    /// Its row.
    pub row: Option<SpaceRow>,
    /// Its manifest.
    pub manifest: Option<ManifestRow>,
    /// Its heads.
    pub heads: Vec<(Kind, Head)>,
    /// Its revisions, by kind and number.
    pub revisions: Vec<(Kind, RevisionRow)>,
    /// Its ledger rows, by kind, source manifest version, creation time and id.
    pub backfills: Vec<BackfillRow>,
    /// Rows whose columns hold what they cannot, a sentence each.
    pub unreadable: Vec<String>,
    /// Rows of other spaces, which cannot be read themselves, that lie between the space before this one and this one,
    /// or after the last one: a sentence each.
    pub strangers: Vec<String>,
}

impl SpaceContent {
    /// A page ends before a space with which it would have more [`rows`](Self::rows) than these, unless that is its
    /// first. What came in through us takes little more than a mebibyte a row.
    pub const ROWS_OF_A_PAGE: usize = 64;

    /// How many rows may be large: its revisions, its ledger rows, and one for its manifest, whether or not it has one.
    pub const fn rows(&self) -> usize {
        1 + self.revisions.len() + self.backfills.len()
    }
}

/// A page of spaces for discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryPage {
    /// The store's clock.
    pub now: Timestamp,
    /// The spaces, by (id, tenant).
    pub spaces: Vec<DiscoverySpace>,
}

/// What discovery looks at in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoverySpace {
    /// Which space.
    pub space: Space,
    /// Whether its profiles may change.
    pub is_writable: bool,
    /// The version of its manifest, if it has one.
    pub manifest_version: Option<crate::numbers::ManifestVersion>,
    /// Per kind, embedding first: the JSON text under the legacy key, if the manifest has one; an empty text if the
    /// metadata is not JSON.
    pub profiles: [Option<String>; 2],
    /// Per kind, embedding first: whether the scope has a head.
    pub has_head: [bool; 2],
}

/// A worker's wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who wants it.
    pub worker: WorkerId,
    /// For how long.
    pub lease: Lease,
    /// A fresh token for each row that may be claimed; their number is the batch's limit (1 to 1,000).
    pub tokens: Vec<LeaseToken>,
    /// From which spaces.
    pub filter: SpaceFilter,
}

/// How many rows whose attempts are spent one claim fails, of each sort (expired and queued).
pub const EXHAUSTED_PER_CLAIM: u32 = 100;

/// What a claim got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The claimed rows: expired ones by (lease expiry, id), then queued ones by (due time, id).
    pub backfills: Vec<Backfill>,
    /// Rows that were failed because their attempts are spent.
    pub exhausted: Vec<Backfill>,
}

/// How many ledger rows there are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackfillCounts {
    /// Waiting to be claimed.
    pub queued: u64,
    /// Waiting, and due now.
    pub due: u64,
    /// Owned by a worker.
    pub running: u64,
    /// Of those, with an expired lease.
    pub expired: u64,
    /// Done.
    pub succeeded: u64,
    /// Given up.
    pub failed: u64,
}

/// Draws ids and jitter. Core has no randomness of its own, so that it needs none in a browser.
pub trait Draw: Send + Sync {
    /// A fresh id for a row.
    fn id(&self) -> uuid::Uuid;
    /// A fresh, unguessable lease token.
    fn lease_token(&self) -> LeaseToken;
    /// A number from 0 to 1, 1 excluded.
    fn fraction(&self) -> f64;
    /// A fresh id for a revision.
    fn revision_id(&self) -> RevisionId {
        self.id().into()
    }
}

/// Draws from the operating system: ids of UUID version 7 (rows made together lie together), tokens of version 4.
#[cfg(feature = "os-draw")]
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDraw;

#[cfg(feature = "os-draw")]
impl Draw for OsDraw {
    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }

    fn lease_token(&self) -> LeaseToken {
        loop {
            if let Ok(token) = LeaseToken::try_from(uuid::Uuid::new_v4()) {
                return token;
            }
        }
    }

    fn fraction(&self) -> f64 {
        let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
        // The first 48 bits of a version 4 id are random.
        (high >> 16) as f64 / (1_u64 << 48) as f64
    }
}
