use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use space_profiles_core::*;

/// What happens between a commit whose reply is lost and the next look at the store.
pub type Meanwhile = Box<dyn Fn() -> futures_util::future::BoxFuture<'static, ()> + Send + Sync>;

/// A store that commits, but loses the reply of the next few commits.
pub struct LostReplies {
    inner: Arc<dyn Store>,
    to_lose: AtomicU32,
    fate: Fate,
    meanwhile: Meanwhile,
    under_way: Mutex<Vec<Change>>,
}

/// What becomes of a commit whose reply is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It happens.
    Happens,
    /// It never happens.
    Never,
    /// It is still under way when the store is looked at again, and happens before the next write does.
    Late,
}

impl LostReplies {
    /// Loses the replies of the next `count` commits.
    pub fn new(inner: Arc<dyn Store>, count: u32, fate: Fate, meanwhile: Meanwhile) -> Self {
        Self { inner, to_lose: AtomicU32::new(count), fate, meanwhile, under_way: Mutex::default() }
    }
}

#[async_trait::async_trait]
impl Store for LostReplies {
    async fn apply(&self, change: &Change) -> Result<Applied, StoreError> {
        let loses =
            self.to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if !loses {
            let late = std::mem::take(&mut *self.under_way.lock().expect("nobody panicked"));
            for change in &late {
                self.inner.apply(change).await?;
            }
            return self.inner.apply(change).await;
        }
        match self.fate {
            Fate::Happens => {
                self.inner.apply(change).await?;
            }
            Fate::Never => {}
            Fate::Late => self.under_way.lock().expect("nobody panicked").push(change.clone()),
        }
        (self.meanwhile)().await;
        Err(StoreError::new(StoreCode::OutcomeUnknown, "the connection was lost at COMMIT"))
    }

    /// The reply to a batch is lost as a whole.
    async fn install_all(&self, installs: &[Install]) -> Result<Vec<Applied>, StoreError> {
        let loses =
            self.to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if !loses {
            return self.inner.install_all(installs).await;
        }
        match self.fate {
            Fate::Happens => {
                self.inner.install_all(installs).await?;
            }
            Fate::Never => {}
            Fate::Late => {
                let changes = installs.iter().cloned().map(Change::Install);
                self.under_way.lock().expect("nobody panicked").extend(changes);
            }
        }
        (self.meanwhile)().await;
        Err(StoreError::new(StoreCode::OutcomeUnknown, "the connection was lost at COMMIT"))
    }

    async fn load_backfills(&self, fences: &[Fence]) -> Result<Vec<LedgerState>, StoreError> {
        self.inner.load_backfills(fences).await
    }

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

    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        self.inner.claim(claim).await
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
