//! What a store's author provides, and what the behaviours are written with.

use std::sync::Arc;

use serde_json::{Value, json};
use space_profiles_core::decide::Target;
use space_profiles_core::snapshot::{
    Capability, DistanceMetric, Draft, ModelCapability, ModelKind, Observation, Selection, Snapshot,
};
use space_profiles_core::*;
use uuid::Uuid;

use crate::clock::{ManualClock, SequentialDraw};

/// Makes fresh, empty stores.
#[async_trait::async_trait]
pub trait StoreBuilder: Send + Sync {
    /// A store that shares nothing with any other, and tells the time by `clock`.
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest>;
}

/// A store, and a way to change its rows as another writer would.
#[async_trait::async_trait]
pub trait StoreUnderTest: Send + Sync {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// Changes rows behind the store's back, whatever triggers and constraints say: the way damage comes about.
    async fn tamper(&self, tamper: &Tamper);
}

/// A change behind a store's back.
#[derive(Debug, Clone)]
pub enum Tamper {
    /// Set a column of the row with this id.
    Set {
        /// The table.
        table: Table,
        /// The row.
        id: Uuid,
        /// The column, as the schema names it.
        column: &'static str,
        /// The value.
        value: Column,
    },
    /// Delete the row with this id.
    Delete {
        /// The table.
        table: Table,
        /// The row.
        id: Uuid,
    },
    /// Set a space's lifecycle state and deletion job, as its owner would.
    Lifecycle {
        /// The space.
        space: Space,
        /// The lifecycle state.
        state: &'static str,
        /// The deletion job.
        deletion_job: Option<Uuid>,
    },
}

/// The tables whose rows have an id of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `knowledge_space_profile_revisions`
    Revisions,
    /// `knowledge_space_profile_heads`
    Heads,
    /// `knowledge_space_profile_backfills`
    Backfills,
    /// `knowledge_space_manifests`
    Manifests,
}

impl Table {
    /// The table's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Revisions => "knowledge_space_profile_revisions",
            Self::Heads => "knowledge_space_profile_heads",
            Self::Backfills => "knowledge_space_profile_backfills",
            Self::Manifests => "knowledge_space_manifests",
        }
    }
}

/// A column's value.
#[derive(Debug, Clone)]
pub enum Column {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A text; in a JSON column, JSON text.
    Text(String),
    /// A moment.
    Time(Timestamp),
}

/// A store under test with what the behaviours need: a clock, ids and short ways to say usual things.
pub struct Fixture {
    /// The store and the way to damage it.
    pub under_test: Arc<dyn StoreUnderTest>,
    /// The store's clock.
    pub clock: Arc<ManualClock>,
    /// Where ids come from.
    pub draw: Arc<SequentialDraw>,
    /// The operations on profiles.
    pub registry: Registry,
    /// The operations on backfills.
    pub ledger: Ledger,
}

/// Who acts unless a behaviour says otherwise.
pub const ANN: &str = "user:ann";

impl Fixture {
    /// A fixture over a fresh store whose clock stands still.
    pub async fn new(builder: &dyn StoreBuilder) -> Self {
        Self::new_with_clock(builder, Arc::new(ManualClock::new())).await
    }

    /// A fixture over a fresh store that tells the time by `clock`.
    pub async fn new_with_clock(builder: &dyn StoreBuilder, clock: Arc<ManualClock>) -> Self {
        let under_test = builder.build(Arc::clone(&clock)).await;
        let draw = Arc::new(SequentialDraw::default());
        let registry = Registry::new(under_test.store(), Arc::clone(&draw) as Arc<dyn Draw>);
        let ledger = registry.ledger();
        Self { under_test, clock, draw, registry, ledger }
    }

    /// A fresh space of `tenant-a`.
    pub async fn space(&self) -> Space {
        let space = space_of("tenant-a", self.draw.id());
        self.registry.add_space(&space, None).await.expect("the space is added");
        space
    }

    /// A scope of a fresh space.
    pub async fn scope(&self, kind: Kind) -> Scope {
        self.space().await.scope(kind)
    }

    /// A scope whose revisions 1 to `count` were active in turn; the last one is.
    pub async fn history(&self, kind: Kind, count: u32) -> Scope {
        let scope = self.scope(kind).await;
        for revision in 1..=count {
            let before = revision.checked_sub(1).filter(|before| *before > 0);
            self.publish(&scope, revision, before).await.expect("the revision is published");
        }
        scope
    }

    /// Proposes the usual snapshot of a number.
    pub async fn propose(&self, scope: &Scope, revision: u32) -> Result<Outcome<Revision>, Error> {
        self.propose_text(scope, &usual(scope.kind, revision)).await
    }

    /// Proposes a snapshot with a free-form capability.
    pub async fn propose_text(&self, scope: &Scope, snapshot: &Value) -> Result<Outcome<Revision>, Error> {
        let (snapshot, capability) = (snapshot.to_string(), free_form().to_string());
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        self.registry.propose(scope, &proposal).await
    }

    /// Publishes the usual snapshot of a number.
    pub async fn publish(
        &self,
        scope: &Scope,
        revision: u32,
        expected: Option<u32>,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        let (snapshot, capability) = (usual(scope.kind, revision).to_string(), free_form().to_string());
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        self.registry.publish(scope, &proposal, expected.map(number)).await
    }

    /// Activates a revision.
    pub async fn activate(
        &self,
        scope: &Scope,
        revision: u32,
        expected: Option<u32>,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        self.registry.activate(scope, number(revision), expected.map(number), &by(ANN)).await
    }

    /// Restores a revision.
    pub async fn restore(
        &self,
        scope: &Scope,
        revision: u32,
        expected: Option<u32>,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        self.registry.restore(scope, number(revision), expected.map(number), &by(ANN)).await
    }

    /// Fails a candidate.
    pub async fn fail(&self, scope: &Scope, revision: u32, code: &str) -> Result<Outcome<Revision>, Error> {
        let (code, message) = (FailureCode::new(code).unwrap(), FailureMessage::new("it did not answer").unwrap());
        let outcome = self.registry.fail(scope, number(revision), code, message, &by(ANN)).await?;
        Ok(Outcome { value: outcome.value.expect("the row is sound"), replayed: outcome.replayed })
    }

    /// The scope's revisions in order; all must be sound.
    pub async fn revisions(&self, scope: &Scope) -> Vec<Revision> {
        let page = self.registry.revisions(scope, None, limit(1_000)).await.expect("the page is read");
        page.items.into_iter().map(|entry| entry.expect("the row is sound")).collect()
    }

    /// The states of the scope's revisions in order.
    pub async fn states(&self, scope: &Scope) -> Vec<&'static str> {
        self.revisions(scope).await.iter().map(|revision| revision.status().as_str()).collect()
    }

    /// Every finding of an audit.
    pub async fn audit(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut after = None;
        loop {
            let page = self.registry.audit_page(after.as_ref(), limit(7)).await.expect("the audit runs");
            findings.extend(page.findings);
            match page.next {
                Some(next) => after = Some(next),
                None => return findings,
            }
        }
    }

    /// Fails unless the audit has nothing to say.
    pub async fn assert_sound(&self) {
        assert_eq!(self.audit().await, [], "the audit is not clean");
    }

    /// Sets a column behind the store's back.
    pub async fn set(&self, table: Table, id: Uuid, column: &'static str, value: Column) {
        self.under_test.tamper(&Tamper::Set { table, id, column, value }).await;
    }

    /// Marks a space as its owner would.
    pub async fn mark(&self, space: &Space, state: &'static str, deletion_job: Option<Uuid>) {
        self.under_test.tamper(&Tamper::Lifecycle { space: space.clone(), state, deletion_job }).await;
    }

    /// Imports a manifest with legacy profiles into a fresh space.
    pub async fn legacy_space(&self, embedding: Option<Value>, retrieval: Option<Value>) -> Space {
        let space = space_of("tenant-a", self.draw.id());
        self.import(&space, 1, embedding, retrieval).await.expect("the manifest is imported");
        space
    }

    /// Imports a manifest with legacy profiles.
    pub async fn import(
        &self,
        space: &Space,
        version: u32,
        embedding: Option<Value>,
        retrieval: Option<Value>,
    ) -> Result<Outcome<decide::Imported>, Error> {
        let mut metadata = serde_json::Map::new();
        for (kind, profile) in [(Kind::Embedding, embedding), (Kind::Retrieval, retrieval)] {
            metadata.extend(profile.map(|profile| (kind.legacy_key().to_owned(), profile)));
        }
        let line = json!({
            "tenantId": space.tenant.as_str(),
            "knowledgeSpaceId": space.id.to_string(),
            "manifestVersion": version,
            "metadata": metadata,
        });
        let line = ImportLine::parse(line.to_string().as_bytes()).expect("the line is valid");
        self.registry.import(&line).await
    }

    /// Discovers every space; answers how many rows were created.
    pub async fn discover(&self) -> usize {
        let mut created = 0;
        let mut after = None;
        loop {
            let page = self.ledger.discover(after.as_ref(), limit(100), &SpaceFilter::All).await.unwrap();
            created += page.created.len();
            match page.next {
                Some(next) => after = Some(next),
                None => return created,
            }
        }
    }

    /// Claims up to `most` rows for a worker, for five minutes.
    pub async fn claim(&self, worker: &str, most: u32) -> Claimed {
        let worker = WorkerId::new(worker).unwrap();
        self.ledger.claim(&worker, limit(most), five_minutes(), &SpaceFilter::All).await.expect("the claim runs")
    }

    /// A discovered and claimed backfill of the usual legacy embedding profile.
    pub async fn claimed_embedding(&self) -> (Scope, Backfill) {
        let space = self.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
        self.discover().await;
        let worker = WorkerId::new("worker-a").unwrap();
        let only_here = SpaceFilter::Spaces(vec![space.clone()]);
        let claimed = self.ledger.claim(&worker, limit(1), five_minutes(), &only_here).await.unwrap().backfills;
        let [backfill] = claimed.as_slice() else { panic!("expected one claimed row, found {claimed:?}") };
        (space.scope(Kind::Embedding), backfill.clone())
    }

    /// Completes with the typed capability of the usual embedding profile.
    pub async fn complete(&self, fence: &Fence) -> Result<Outcome<decide::Completed>, Error> {
        let capability = typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z");
        self.ledger.complete(fence, capability.canonical().as_bytes()).await
    }

    /// Fails a backfill.
    pub async fn fail_backfill(
        &self,
        fence: &Fence,
        code: &str,
        is_retryable: bool,
        delay: Option<Span>,
    ) -> Result<Outcome<decide::Settled>, Error> {
        let (code, message) = (FailureCode::new(code).unwrap(), FailureMessage::new("no answer").unwrap());
        self.ledger.fail(fence, code, message, is_retryable, delay).await
    }
}

/// A space of a tenant.
pub fn space_of(tenant: &str, id: Uuid) -> Space {
    Space { tenant: TenantId::new(tenant).unwrap(), id: id.into() }
}

/// A subject.
pub fn by(subject: &str) -> SubjectId {
    SubjectId::new(subject).unwrap()
}

/// A revision number.
pub fn number(revision: u32) -> RevisionNumber {
    RevisionNumber::try_from(i64::from(revision)).unwrap()
}

/// A page's limit.
pub fn limit(most: u32) -> PageLimit {
    PageLimit::try_from(i64::from(most)).unwrap()
}

/// An activation's target.
pub fn target(revision: u32, expected: Option<u32>) -> Target {
    Target { revision: number(revision), expected: expected.map(number) }
}

/// A lease of five minutes.
pub fn five_minutes() -> Lease {
    Lease::new(Span::from_seconds(300)).unwrap()
}

/// The code of a refusal, and of nothing else.
#[track_caller]
pub fn code<T: std::fmt::Debug>(answer: Result<T, Error>) -> &'static str {
    answer.expect_err("expected a refusal").code()
}

/// The refusal itself.
#[track_caller]
pub fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> Refusal {
    match answer.expect_err("expected a refusal") {
        Error::Refused(refusal) => refusal,
        Error::Store(error) => panic!("expected a refusal, found {error}"),
    }
}

/// A free-form capability.
pub fn free_form() -> Value {
    json!({"source": "hand"})
}

/// A snapshot that differs from those of all other numbers.
pub fn usual(kind: Kind, revision: u32) -> Value {
    match kind {
        Kind::Embedding if revision == 1 => embedding("text-embedding-3-small", 1_536, 1),
        Kind::Embedding => embedding(&format!("model-{revision}"), 8 * revision.min(100), revision),
        Kind::Retrieval => retrieval(1 + revision % 100, revision),
    }
}

/// An embedding snapshot with the vector space id of version 1.
pub fn embedding(model: &str, dimension: u32, revision: u32) -> Value {
    let mut snapshot = json!({
        "pluginId": "langgenius/openai", "provider": "openai", "model": model,
        "dimension": dimension, "revision": revision,
    });
    let draft = snapshot.to_string();
    let draft = Draft::parse(Kind::Embedding, draft.as_bytes()).expect("the draft is valid");
    let capability = Capability::parse(b"{}").expect("an object is a capability");
    let filled = draft.fill(number(revision), &capability);
    snapshot["vectorSpaceId"] = json!(filled.identity().vector_space_id.unwrap().to_string());
    snapshot
}

/// A retrieval snapshot.
pub fn retrieval(top_k: u32, revision: u32) -> Value {
    let model = |name: &str| json!({"pluginId": "langgenius/openai", "provider": "openai", "model": name});
    json!({
        "defaultMode": "deep", "reasoningModel": model("gpt-4.1"),
        "rerank": {"enabled": true, "model": model("rerank-1")}, "revision": revision,
        "scoreThreshold": {"enabled": true, "stage": "mode-final", "value": 0.42}, "topK": top_k,
    })
}

/// The typed capability of an embedding snapshot's model.
pub fn typed_embedding(snapshot: &Value, dimension: u32, checked_at: &str) -> Capability {
    let mut snapshot = snapshot.clone();
    snapshot["dimension"] = json!(dimension);
    let text = snapshot.to_string();
    let snapshot = Snapshot::parse(Kind::Embedding, text.as_bytes()).expect("the snapshot is valid");
    let model = typed_model(ModelKind::Embedding, snapshot.identity().selection, Some(dimension), checked_at);
    Capability::of_model(model)
}

/// The typed capability of a retrieval snapshot's models.
pub fn typed_retrieval(snapshot: &Value, checked_at: &str) -> Capability {
    let text = snapshot.to_string();
    let snapshot = Snapshot::parse(Kind::Retrieval, text.as_bytes()).expect("the snapshot is valid");
    let snapshot::Profile::Retrieval(profile) = snapshot.profile() else { panic!("a retrieval snapshot") };
    let reasoning = typed_model(ModelKind::Reasoning, profile.reasoning_model(), None, checked_at);
    let rerank = match profile.rerank() {
        snapshot::Switch::On(model) => Some(typed_model(ModelKind::Rerank, model, None, checked_at)),
        snapshot::Switch::Off(_) => None,
    };
    Capability::of_retrieval(reasoning, rerank)
}

fn typed_model(
    kind: ModelKind,
    selection: &Selection<'_>,
    dimension: Option<u32>,
    checked_at: &str,
) -> ModelCapability {
    let fingerprint = format!("sha256:{}", "e".repeat(64));
    let observation = Observation {
        kind,
        selection,
        schema_fingerprint: &fingerprint,
        plugin_unique_identifier: "langgenius/openai:0.2.7",
        plugin_version: Some("0.2.7"),
        dimension: dimension.map(|value| Dimension::try_from(i64::from(value)).unwrap()),
        distance_metric: dimension.map(|_| DistanceMetric::Cosine),
        input_modalities: None,
        capabilities: "{}",
    };
    ModelCapability::of_observation(&observation, checked_at.parse().unwrap()).expect("the observation is valid")
}
