//! The store.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_channel::oneshot;
use rusqlite::Connection;
use space_profiles_core::{
    Applied, Backfill, BackfillCounts, BackfillFilter, BackfillId, BackfillKey, BackfillRow, Change, Claim,
    Claimed, Clock, DiscoveryPage, Draw, Fence, Install, LedgerState, OsDraw, PageLimit, RevisionNumber,
    RevisionPage, RevisionRow, Scope, ScopeQuery, ScopeState, Space, SpaceContent, SpaceFilter, SpaceRow,
    SpaceState, Store, StoreError, TenantId, Timestamp,
};

use crate::connection::Calls;
use crate::error::JobError;
use crate::options::SqliteOptions;
use crate::{apply, audit, claim, ledger, load, opening, pages, schema};

/// Keeps profiles in an SQLite database.
///
/// A handle is cheap to clone; the connection goes with the last one. Calls of one store happen one after the
/// other, so open a second store where a long one must not hold up the rest.
#[derive(Clone)]
pub struct SqliteStore {
    calls: Calls,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens a database and brings its schema up to date. Several processes may open a fresh file at once.
    ///
    /// This is the one call that blocks: for as long as another connection holds a lock that it needs, at most
    /// about the busy timeout.
    ///
    /// ```
    /// use space_profiles_sqlite::{SqliteOptions, SqliteStore};
    /// let store = SqliteStore::open(&SqliteOptions::memory())?;
    /// # Ok::<(), space_profiles_core::StoreError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `STORE_UNAVAILABLE`: the file cannot be opened or is no database. `STORE_SCHEMA`: the database is not ours
    /// or a newer version made it. `STORE_BUSY`, `STORE_READ_ONLY`, `STORE_FULL`.
    pub fn open(options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = opening::open(options)?;
        let calls = match &options.in_place {
            Some(blocking) => Calls::in_place(connection, Arc::clone(blocking)),
            None => Calls::on_thread(connection)?,
        };
        Ok(Self { calls, clock: Arc::clone(&options.clock) })
    }

    /// The names of the migrations that a database lacks; all of them if it does not exist. Changes nothing, and
    /// blocks like [`Self::open`].
    ///
    /// ```
    /// use space_profiles_sqlite::{SqliteOptions, SqliteStore};
    /// let pending = SqliteStore::pending_migrations(&SqliteOptions::file("/nowhere/at-all.db"))?;
    /// assert_eq!(pending, ["0001_profiles"]);
    /// # Ok::<(), space_profiles_core::StoreError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn pending_migrations(options: &SqliteOptions) -> Result<Vec<&'static str>, StoreError> {
        opening::pending_migrations(options)
    }

    /// Finishes the calls under way and closes the database, so that everything is in its one file. Later calls,
    /// of any handle, fail with `STORE_UNAVAILABLE`. A program that ends without loses nothing, but may leave
    /// `-wal` and `-shm` files beside the database, which then belong to it.
    pub async fn close(&self) {
        self.calls.close().await;
    }

    /// Runs a closure on the connection: the way in which tests damage rows.
    #[doc(hidden)]
    pub async fn with_connection<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.calls.call(|connection| Ok(job(connection)?)).await
    }

    /// Runs a job that reads the clock.
    async fn timed<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection, &dyn Clock) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let clock = Arc::clone(&self.clock);
        self.calls.call(move |connection| job(connection, &*clock)).await
    }
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn load_scopes(&self, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
        let clock = Arc::clone(&self.clock);
        self.calls.call_with(queries, move |connection, queries| load::scopes(connection, queries, &*clock)).await
    }

    async fn load_space(&self, space: &Space) -> Result<SpaceState, StoreError> {
        let space = space.clone();
        self.timed(move |connection, clock| load::space_state(connection, &space, clock)).await
    }

    async fn load_backfill(&self, key: &BackfillKey) -> Result<LedgerState, StoreError> {
        let key = key.clone();
        self.timed(move |connection, clock| load::backfill(connection, &key, clock)).await
    }

    async fn apply(&self, change: &Change) -> Result<Applied, StoreError> {
        self.calls.call_with(change, apply::apply).await
    }

    async fn load_backfills(&self, fences: &[Fence]) -> Result<Vec<LedgerState>, StoreError> {
        let fences = fences.to_vec();
        self.timed(move |connection, clock| load::backfills(connection, &fences, clock)).await
    }

    async fn install_all(&self, installs: &[Install]) -> Result<Vec<Applied>, StoreError> {
        let changes: Vec<Change> = installs.iter().cloned().map(Change::Install).collect();
        self.calls.call(move |connection| apply::apply_each(connection, &changes)).await
    }

    /// Up to 4 milliseconds an attempt, slept on a thread of its own: the connection's is for work.
    async fn back_off(&self, attempt: u32) {
        let longest = Duration::from_millis(4).saturating_mul(attempt.min(16));
        let pause = longest.mul_f64(0.25 + 0.75 * OsDraw.fraction());
        let (wake, woken) = oneshot::channel();
        let sleep = move || {
            thread::sleep(pause);
            let _ = wake.send(());
        };
        // Without a thread there is no pause, which costs attempts but breaks nothing.
        if thread::Builder::new().name("space-profiles-back-off".to_owned()).spawn(sleep).is_ok() {
            let _ = woken.await;
        }
    }

    async fn revision_page(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<RevisionPage, StoreError> {
        let scope = scope.clone();
        self.calls.call(move |connection| pages::revisions(connection, &scope, after, limit)).await
    }

    async fn revision_at(&self, scope: &Scope, moment: Timestamp) -> Result<Option<RevisionRow>, StoreError> {
        let scope = scope.clone();
        self.calls.call(move |connection| pages::revision_at(connection, &scope, moment)).await
    }

    async fn space_page(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, StoreError> {
        let (tenant, after) = (tenant.cloned(), after.cloned());
        self.calls.call(move |connection| pages::spaces(connection, tenant.as_ref(), after.as_ref(), limit)).await
    }

    async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<Vec<SpaceContent>, StoreError> {
        let after = after.cloned();
        self.calls.call(move |connection| audit::page(connection, after.as_ref(), limit)).await
    }

    async fn space_content(&self, space: &Space) -> Result<SpaceContent, StoreError> {
        let space = space.clone();
        self.calls.call(move |connection| audit::space(connection, space)).await
    }

    async fn schema_differences(&self) -> Result<Vec<String>, StoreError> {
        self.calls.call(schema::differences).await
    }

    async fn discovery_page(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<DiscoveryPage, StoreError> {
        let (after, filter) = (after.cloned(), filter.clone());
        self.timed(move |connection, clock| pages::discovery(connection, after.as_ref(), limit, &filter, clock))
            .await
    }

    async fn enqueue(&self, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError> {
        let backfills = backfills.to_vec();
        self.calls.call(move |connection| ledger::enqueue(connection, &backfills)).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        let claim = claim.clone();
        self.timed(move |connection, clock| claim::claim(connection, &claim, clock)).await
    }

    async fn backfill_page(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Vec<BackfillRow>, StoreError> {
        let filter = filter.clone();
        self.calls.call(move |connection| pages::backfills(connection, &filter, after, limit)).await
    }

    async fn backfill_counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError> {
        let filter = filter.clone();
        self.timed(move |connection, clock| ledger::counts(connection, &filter, clock)).await
    }

    async fn retry_all(&self, code: Option<&str>) -> Result<u64, StoreError> {
        let code = code.map(str::to_owned);
        self.timed(move |connection, clock| ledger::retry_all(connection, code.as_deref(), clock)).await
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.calls.call(move |connection| ledger::prune(connection, before)).await
    }
}
