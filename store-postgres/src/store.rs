//! The store.

use space_profiles_core::{
    Applied, Backfill, BackfillCounts, BackfillFilter, BackfillId, BackfillKey, BackfillRow, Change, Claim,
    Claimed, DiscoveryPage, Fence, Head, HeadState, Install, LedgerState, OptimisticStore, PageLimit, Revision,
    RevisionNumber, RevisionPage, RevisionRow, Scope, ScopeQuery, ScopeState, Space, SpaceContent, SpaceFilter,
    SpaceRow, SpaceState, Store, StoreCode, StoreError, TenantId, Timestamp, TryActivate, TryAppend, TryPublish,
};
use sqlx::PgPool;

use crate::appended::Appended;
use crate::options::{Conduct, PostgresOptions};
use crate::repeats::back_off;
use crate::sessions::Sessions;
use crate::{apply, audit, claim, ledger, load, pages, schema};

/// Keeps profiles in a Postgres database.
///
/// A handle is cheap to clone; all share one pool of connections.
#[derive(Clone)]
pub struct PostgresStore {
    sessions: Sessions,
    appended: Appended,
}

impl PostgresStore {
    /// Opens a database as it is: [`Self::migrate`] brings its schema up to date.
    ///
    /// # Errors
    ///
    /// `STORE_UNAVAILABLE`: the server cannot be reached or refuses the connection. `STORE_BUSY`: it has no
    /// connection left.
    pub async fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        Ok(Self::of(Sessions::open(options).await?))
    }

    /// Brings the schema of a database up to date and answers the names of what was applied. Several processes may
    /// do so at once, beside live traffic: nothing is locked for long. Not through a pooler.
    ///
    /// # Errors
    ///
    /// `STORE_SCHEMA`: something stands in the way, which the message lists; nothing has been changed then.
    /// `STORE_BUSY`: another process migrates for too long, or traffic never lets go of a table. As [`Self::open`].
    pub async fn migrate(options: &PostgresOptions) -> Result<Vec<&'static str>, StoreError> {
        if options.conduct.is_pooled_outside {
            return Err(StoreError::new(
                StoreCode::Schema,
                "expected a direct connection to migrate on, found `pgbouncer=true`; give the server's own address",
            ));
        }
        // Opening sees that the settings arrive, the schema's name among them.
        Self::open(options).await?.close().await;
        schema::migrate(&options.connection()).await
    }

    /// The names of the migrations that a database lacks. Changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::open`]; `STORE_SCHEMA`: another version of this library made the schema.
    pub async fn pending_migrations(options: &PostgresOptions) -> Result<Vec<&'static str>, StoreError> {
        let store = Self::open(options).await?;
        let mut reading = store.sessions.reading().await?;
        let pending = schema::pending_in(reading.connection()).await;
        reading.roll_back().await;
        store.close().await;
        pending
    }

    /// A store over the caller's own pool, whose connections are used as they are: their time-outs and their search
    /// path are the caller's.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), sqlx::Error> {
    /// use space_profiles_postgres::PostgresStore;
    /// let pool = sqlx::PgPool::connect("postgres://app@db.internal/platform").await?;
    /// let store = PostgresStore::over(pool);
    /// # Ok(())
    /// # }
    /// ```
    pub fn over(pool: PgPool) -> Self {
        Self::of(Sessions::over(pool, Conduct::default()))
    }

    /// As [`Self::over`], with what `options` say of a pooler, of heads and of time-outs; where the server is, and
    /// how many connections there are, the pool says.
    pub fn over_with(pool: PgPool, options: &PostgresOptions) -> Self {
        Self::of(Sessions::over(pool, options.conduct.clone()))
    }

    fn of(sessions: Sessions) -> Self {
        Self { sessions, appended: Appended::new() }
    }

    /// Waits for the calls under way and closes the pool. Later calls, of any handle, fail with
    /// `STORE_UNAVAILABLE`.
    pub async fn close(&self) {
        self.sessions.close().await;
    }
}

#[async_trait::async_trait]
impl Store for PostgresStore {
    async fn load_scopes(&self, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
        load::scopes(&self.sessions, queries).await
    }

    async fn load_head(&self, scope: &Scope) -> Result<HeadState, StoreError> {
        load::head(&self.sessions, scope).await
    }

    async fn load_space(&self, space: &Space) -> Result<SpaceState, StoreError> {
        load::space_state(&self.sessions, space).await
    }

    async fn load_backfill(&self, key: &BackfillKey) -> Result<LedgerState, StoreError> {
        load::backfill(&self.sessions, key).await
    }

    async fn apply(&self, change: &Change) -> Result<Applied, StoreError> {
        apply::apply(&self.sessions, change).await
    }

    fn optimistic(&self) -> Option<&dyn OptimisticStore> {
        Some(self)
    }

    async fn load_backfills(&self, fences: &[Fence]) -> Result<Vec<LedgerState>, StoreError> {
        load::backfills(&self.sessions, fences).await
    }

    async fn install_all(&self, installs: &[Install]) -> Result<Vec<Applied>, StoreError> {
        apply::install_all(&self.sessions, installs).await
    }

    async fn back_off(&self, attempt: u32) {
        back_off(attempt).await;
    }

    async fn revision_page(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<RevisionPage, StoreError> {
        pages::revisions(&self.sessions, scope, after, limit).await
    }

    async fn revision_at(&self, scope: &Scope, moment: Timestamp) -> Result<Option<RevisionRow>, StoreError> {
        pages::revision_at(&self.sessions, scope, moment).await
    }

    async fn space_page(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, StoreError> {
        pages::spaces(&self.sessions, tenant, after, limit).await
    }

    async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<Vec<SpaceContent>, StoreError> {
        audit::page(&self.sessions, after, limit).await
    }

    async fn space_content(&self, space: &Space) -> Result<SpaceContent, StoreError> {
        audit::of_space(&self.sessions, space).await
    }

    async fn schema_differences(&self) -> Result<Vec<String>, StoreError> {
        let mut reading = self.sessions.reading().await?;
        let differences = schema::differences_in(reading.connection()).await;
        reading.roll_back().await;
        differences
    }

    async fn discovery_page(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<DiscoveryPage, StoreError> {
        pages::discovery(&self.sessions, after, limit, filter).await
    }

    async fn enqueue(&self, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError> {
        ledger::enqueue(&self.sessions, backfills).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        claim::claim(&self.sessions, claim).await
    }

    async fn backfill_page(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Vec<BackfillRow>, StoreError> {
        pages::backfills(&self.sessions, filter, after, limit).await
    }

    async fn backfill_counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError> {
        ledger::counts(&self.sessions, filter).await
    }

    async fn retry_all(&self, code: Option<&str>) -> Result<u64, StoreError> {
        ledger::retry_all(&self.sessions, code).await
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, StoreError> {
        ledger::prune(&self.sessions, before).await
    }
}

#[async_trait::async_trait]
impl OptimisticStore for PostgresStore {
    async fn recall_candidate(
        &self,
        scope: &Scope,
        number: RevisionNumber,
    ) -> Result<Option<Revision>, StoreError> {
        if let Some(candidate) = self.appended.take(scope, number) {
            return Ok(Some(candidate));
        }
        let row = load::revision_alone(&self.sessions, scope, number).await?;
        Ok(row.and_then(|row| row.verify(scope).ok()))
    }

    async fn try_append(&self, append: &TryAppend) -> Result<Option<Timestamp>, StoreError> {
        let appended = apply::try_append(&self.sessions, append).await?;
        if let Some(at) = appended {
            self.appended.remember(Revision { created_at: at, updated_at: at, ..append.revision.clone() });
        }
        Ok(appended)
    }

    async fn try_publish(&self, publish: &TryPublish) -> Result<Option<Head>, StoreError> {
        apply::try_publish(&self.sessions, publish).await
    }

    async fn try_activate(&self, activate: &TryActivate) -> Result<Option<Head>, StoreError> {
        apply::try_activate(&self.sessions, activate).await
    }
}
