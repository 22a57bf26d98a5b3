//! Spaces in memory, a clock that follows tokio's, a check that answers as it is told, a store that fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use space_profiles_core::memory::MemoryStore;
use space_profiles_core::snapshot::{
    DistanceMetric, ModelCapability, ModelKind, Observation, Selection, VectorSpaceId,
};
use space_profiles_core::{
    Backfill, BackfillFilter, BackfillStatus, Clock, Dimension, ImportLine, Kind, Ledger, OsDraw, PageLimit,
    Registry, RevisionNumber, Scope, Space, SpaceFilter, Store, Timestamp, WorkerId,
};
use space_profiles_worker::{CheckCode, CheckError, CheckRequest, ModelCheck, Worker, WorkerOptions};
use tokio::time::Instant;

pub(crate) const PLUGIN: &str = "langgenius/openai";
pub(crate) const FINGERPRINT: &str = "sha256:0f4c9a2e6d1b8375c0e9f1a2b3c4d5e60718293a4b5c6d7e8f90a1b2c3d4e5f6";

/// 2026-07-14T12:00:00Z, and as much later as tokio's clock has moved since.
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_783_857_600_000_000 + self.0.elapsed().as_micros() as i64)
    }
}

pub(crate) struct World {
    pub(crate) store: MemoryStore,
    pub(crate) registry: Registry,
}

impl World {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new(Arc::new(TokioClock(Instant::now())));
        Self { registry: Registry::new(Arc::new(store.clone()), Arc::new(OsDraw)), store }
    }

    pub(crate) fn ledger(&self) -> Ledger {
        self.registry.ledger()
    }

    /// A space whose manifest holds these profiles.
    pub(crate) async fn add(&self, number: u32, embedding: Option<Value>, retrieval: Option<Value>) -> Space {
        self.put(number, 1, embedding, retrieval).await
    }

    /// The space that [`Self::add`] makes of a number.
    pub(crate) fn space(number: u32) -> Space {
        format!("acme/018f0d60-7a49-7cc2-9c1b-{number:012x}").parse().unwrap()
    }

    pub(crate) async fn put(
        &self,
        number: u32,
        version: u32,
        embedding: Option<Value>,
        retrieval: Option<Value>,
    ) -> Space {
        let line = line(number, version, embedding, retrieval);
        self.registry.import(&line).await.unwrap();
        line.space
    }

    pub(crate) async fn row(&self, scope: &Scope) -> Backfill {
        self.ledger().get(scope).await.unwrap()
    }

    pub(crate) async fn rows(&self, status: BackfillStatus) -> Vec<Backfill> {
        let filter = BackfillFilter { status: Some(status), ..BackfillFilter::default() };
        self.ledger().list(&filter, None, PageLimit::LAST).await.unwrap().items
    }

    /// The number of revisions of all scopes.
    pub(crate) fn revisions(&self) -> usize {
        self.store.content().revisions.values().map(std::collections::BTreeMap::len).sum()
    }

    pub(crate) fn worker(&self, check: &Arc<Scripted>) -> Worker {
        self.worker_with(check, |_| {})
    }

    pub(crate) fn worker_with(&self, check: &Arc<Scripted>, set: impl FnOnce(&mut WorkerOptions)) -> Worker {
        let mut options = options("one");
        set(&mut options);
        let check: Arc<dyn ModelCheck> = Arc::clone(check) as _;
        Worker::new(self.ledger(), check, options)
    }
}

/// A line of an import: the space of a number, and a manifest that holds these profiles.
pub(crate) fn line(number: u32, version: u32, embedding: Option<Value>, retrieval: Option<Value>) -> ImportLine {
    let mut metadata = json!({});
    for (kind, profile) in Kind::ALL.into_iter().zip([embedding, retrieval]) {
        if let Some(profile) = profile {
            metadata[kind.legacy_key()] = profile;
        }
    }
    let line = json!({
        "tenantId": "acme",
        "knowledgeSpaceId": World::space(number).id.to_string(),
        "manifestVersion": version,
        "metadata": metadata,
    });
    ImportLine::parse(line.to_string().as_bytes()).unwrap()
}

pub(crate) fn options(name: &str) -> WorkerOptions {
    WorkerOptions::new(WorkerId::new(name).unwrap())
}

pub(crate) fn selection(model: &str) -> Selection<'static> {
    Selection::new(PLUGIN, "openai", model).unwrap()
}

/// An embedding profile with the vector space id of version 1.
pub(crate) fn embedding(model: &str, dimension: Option<u32>) -> Value {
    let id = VectorSpaceId::version_1(&selection(model), RevisionNumber::FIRST);
    let mut profile = json!({"pluginId": PLUGIN, "provider": "openai", "model": model, "revision": 1,
        "vectorSpaceId": id.to_string()});
    if let Some(dimension) = dimension {
        profile["dimension"] = dimension.into();
    }
    profile
}

pub(crate) fn retrieval(is_reranked: bool) -> Value {
    let model = |model: &str| json!({"pluginId": PLUGIN, "provider": "openai", "model": model});
    json!({"defaultMode": "research", "reasoningModel": model("gpt-4.1"),
        "rerank": {"enabled": is_reranked, "model": model("rerank-1")}, "revision": 1,
        "scoreThreshold": {"enabled": false, "stage": "mode-final"}, "topK": 10})
}

type Script = dyn Fn(&CheckRequest, usize) -> (Duration, Result<u32, CheckError>) + Send + Sync;

/// A check that takes as long and answers as its script says, and remembers what it was asked.
pub(crate) struct Scripted {
    script: Box<Script>,
    pub(crate) requests: Mutex<Vec<CheckRequest>>,
    running: AtomicUsize,
    pub(crate) most_running: AtomicUsize,
    pub(crate) answered: AtomicUsize,
}

impl Scripted {
    /// The script gets a request and how many came before it, and says how long the answer takes and which
    /// dimension is observed.
    pub(crate) fn new(
        script: impl Fn(&CheckRequest, usize) -> (Duration, Result<u32, CheckError>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            requests: Mutex::default(),
            running: AtomicUsize::new(0),
            most_running: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
        })
    }

    pub(crate) fn at_once(dimension: u32) -> Arc<Self> {
        Self::after(Duration::ZERO, dimension)
    }

    pub(crate) fn after(time: Duration, dimension: u32) -> Arc<Self> {
        Self::new(move |_, _| (time, Ok(dimension)))
    }

    pub(crate) fn failing(code: CheckCode, message: &'static str) -> Arc<Self> {
        Self::new(move |_, _| (Duration::ZERO, Err(CheckError::new(code, message))))
    }

    pub(crate) fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

#[async_trait::async_trait]
impl ModelCheck for Scripted {
    async fn check(&self, request: &CheckRequest) -> Result<ModelCapability, CheckError> {
        let before = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        let running = Running::new(&self.running);
        self.most_running.fetch_max(running.0.load(Ordering::SeqCst), Ordering::SeqCst);
        let (time, answer) = (self.script)(request, before);
        tokio::time::sleep(time).await;
        self.answered.fetch_add(1, Ordering::SeqCst);
        answer.map(|dimension| observed(request, dimension))
    }
}

struct Running<'c>(&'c AtomicUsize);

impl<'c> Running<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn observed(request: &CheckRequest, dimension: u32) -> ModelCapability {
    let is_embedding = request.kind == ModelKind::Embedding;
    let observation = Observation {
        kind: request.kind,
        selection: &request.selection,
        schema_fingerprint: FINGERPRINT,
        plugin_unique_identifier: "langgenius/openai:0.2.7",
        plugin_version: None,
        dimension: is_embedding.then(|| Dimension::try_from(i64::from(dimension)).unwrap()),
        distance_metric: is_embedding.then_some(DistanceMetric::Cosine),
        input_modalities: None,
        capabilities: "{}",
    };
    ModelCapability::of_observation(&observation, request.checked_at).unwrap()
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) async fn counts(store: &dyn Store) -> (u64, u64, u64, u64) {
    let counts = store.backfill_counts(&SpaceFilter::All).await.unwrap();
    (counts.queued, counts.running, counts.succeeded, counts.failed)
}
