//! A store that fails when it is told to.

use std::sync::{Arc, Mutex, PoisonError};

use space_profiles_core::memory::MemoryStore;
use space_profiles_core::{
    Applied, Backfill, BackfillCounts, BackfillFilter, BackfillId, BackfillKey, BackfillRow, Change, Claim,
    Claimed, DiscoveryPage, LedgerState, OsDraw, PageLimit, Registry, RevisionNumber, RevisionPage, RevisionRow,
    Scope, ScopeQuery, ScopeState, Space, SpaceContent, SpaceFilter, SpaceRow, SpaceState, Store, StoreCode,
    StoreError, TenantId, Timestamp,
};

/// What a call is about to do.
pub(crate) enum Call<'c> {
    Claim,
    Apply(&'c Change),
}

type Faults = dyn FnMut(&Call<'_>) -> Option<StoreCode> + Send;

/// A store in memory of which claims and writes fail as `faults` says.
pub(crate) struct FaultyStore {
    inner: MemoryStore,
    faults: Mutex<Box<Faults>>,
}

impl FaultyStore {
    pub(crate) fn registry(
        inner: &MemoryStore,
        faults: impl FnMut(&Call<'_>) -> Option<StoreCode> + Send + 'static,
    ) -> Registry {
        let store = Self { inner: inner.clone(), faults: Mutex::new(Box::new(faults)) };
        Registry::new(Arc::new(store), Arc::new(OsDraw))
    }

    fn fault(&self, call: &Call<'_>) -> Result<(), StoreError> {
        // A test may want the store to panic.
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults(call).map_or(Ok(()), |code| Err(StoreError::new(code, "as the test wants it")))
    }
}

#[async_trait::async_trait]
impl Store for FaultyStore {
    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        self.fault(&Call::Claim)?;
        self.inner.claim(claim).await
    }

    async fn apply(&self, change: &Change) -> Result<Applied, StoreError> {
        self.fault(&Call::Apply(change))?;
        self.inner.apply(change).await
    }

    // -- the rest is handed on

    async fn load_scopes(&self, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
        self.inner.load_scopes(queries).await
    }

    async fn load_space(&self, space: &Space) -> Result<SpaceState, StoreError> {
        self.inner.load_space(space).await
    }

    async fn load_backfill(&self, key: &BackfillKey) -> Result<LedgerState, StoreError> {
        self.inner.load_backfill(key).await
    }

    async fn back_off(&self, attempt: u32) {
        self.inner.back_off(attempt).await;
    }

    async fn revision_page(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<RevisionPage, StoreError> {
        self.inner.revision_page(scope, after, limit).await
    }

    async fn revision_at(&self, scope: &Scope, moment: Timestamp) -> Result<Option<RevisionRow>, StoreError> {
        self.inner.revision_at(scope, moment).await
    }

    async fn space_page(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, StoreError> {
        self.inner.space_page(tenant, after, limit).await
    }

    async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<Vec<SpaceContent>, StoreError> {
        self.inner.audit_page(after, limit).await
    }

    async fn space_content(&self, space: &Space) -> Result<SpaceContent, StoreError> {
        self.inner.space_content(space).await
    }

    async fn schema_differences(&self) -> Result<Vec<String>, StoreError> {
        self.inner.schema_differences().await
    }

    async fn discovery_page(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<DiscoveryPage, StoreError> {
        self.inner.discovery_page(after, limit, filter).await
    }

    async fn enqueue(&self, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError> {
        self.inner.enqueue(backfills).await
    }

    async fn backfill_page(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Vec<BackfillRow>, StoreError> {
        self.inner.backfill_page(filter, after, limit).await
    }

    async fn backfill_counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError> {
        self.inner.backfill_counts(filter).await
    }

    async fn retry_all(&self, code: Option<&str>) -> Result<u64, StoreError> {
        self.inner.retry_all(code).await
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.inner.prune(before).await
    }
}
