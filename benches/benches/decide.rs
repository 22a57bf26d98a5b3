//! Core's decisions on a scope with ten revisions, as a store loads it, beside SHA-256 of the snapshot in question.

mod ratios;

use std::hint::black_box;
use std::sync::Arc;

use benches::candidate::{Candidate, revision};
use criterion::{BenchmarkId, Criterion};
use space_profiles_core::decide::{self, Doubt, Proposed, Publication, Target};
use space_profiles_core::memory::MemoryStore;
use space_profiles_core::snapshot::{Capability, Snapshot};
use space_profiles_core::{
    Clock, Digest, Draw, FailureCode, FailureMessage, Kind, OsDraw, Proposal, Registry, Scope, ScopeQuery,
    ScopeState, Space, SubjectId, TenantId, Timestamp,
};
use tokio::runtime::Runtime;

/// The active revision.
const ACTIVE: u32 = 10;
/// The one that is proposed and activated.
const NEXT: u32 = ACTIVE + 1;

fn main() {
    let fixture = Fixture::new().expect("ten revisions can be published");
    ratios::run("decide", "sha256", |criterion| fixture.bench(criterion).expect("every command is accepted"));
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_784_030_400_000_000)
    }
}

/// A scope in memory.
struct Fixture {
    runtime: Runtime,
    registry: Registry,
    scope: Scope,
    by: SubjectId,
    next: Candidate,
}

impl Fixture {
    fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let registry = Registry::new(Arc::new(MemoryStore::new(Arc::new(Noon))), Arc::new(OsDraw));
        let space = Space { tenant: TenantId::new("acme")?, id: OsDraw.id().into() };
        let scope = space.scope(Kind::Embedding);
        let by = SubjectId::new("ann@acme.example")?;
        runtime.block_on(async {
            registry.add_space(&space, None).await?;
            for number in 1..=ACTIVE {
                let Candidate { snapshot, capability, .. } = Candidate::new(number)?;
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by.clone());
                let expected = (number > 1).then(|| revision(number - 1)).transpose()?;
                registry.publish(&scope, &proposal, expected).await?;
            }
            anyhow::Ok(())
        })?;
        Ok(Self { runtime, registry, scope, by, next: Candidate::new(NEXT)? })
    }

    fn bench(&self, criterion: &mut Criterion) -> anyhow::Result<()> {
        let Self { runtime, registry, scope, by, next } = self;
        let (target, head_id) =
            (Target { revision: revision(NEXT)?, expected: Some(revision(ACTIVE)?) }, OsDraw.id());
        let proposed = self.proposed()?;
        let publication =
            Publication { proposed: proposed.clone(), expected: target.expected, head_id: head_id.into() };
        let restore = decide::Restore {
            revision: revision(5)?,
            expected: target.expected,
            by: by.clone(),
            revision_id: OsDraw.revision_id(),
            head_id: head_id.into(),
        };

        let empty = self.state(NEXT)?;
        self.case(criterion, "propose", || decide::propose(black_box(&empty), &proposed).is_ok());
        self.case(criterion, "publish", || decide::publish(black_box(&empty), &publication, Doubt::None).is_ok());
        let fifth = self.state(5)?;
        self.case(criterion, "restore", || decide::restore(black_box(&fifth), &restore, Doubt::None).is_ok());

        let proposal = Proposal::new(next.snapshot.as_bytes(), next.capability.as_bytes(), by.clone());
        runtime.block_on(registry.propose(scope, &proposal))?;
        let waiting = self.state(NEXT)?;
        let activation = decide::Activation { target, by: by.clone(), head_id: head_id.into() };
        self.case(criterion, "activate", || {
            decide::activate(black_box(&waiting), &activation, Doubt::None).is_ok()
        });
        let fail = decide::Fail {
            revision: target.revision,
            code: FailureCode::new("MODEL_GONE")?,
            message: FailureMessage::new("the provider does not have it any more")?,
            by: by.clone(),
        };
        self.case(criterion, "fail", || decide::fail(black_box(&waiting), &fail).is_ok());
        Ok(())
    }

    fn proposed(&self) -> anyhow::Result<Proposed> {
        let Candidate { snapshot, capability, .. } = &self.next;
        let snapshot = Snapshot::parse(Kind::Embedding, snapshot.as_bytes());
        let capability = Capability::parse(capability.as_bytes());
        Ok(Proposed {
            revision_id: OsDraw.revision_id(),
            snapshot: snapshot.map_err(|issues| anyhow::anyhow!("{issues:?}"))?,
            capability: capability.map_err(|issues| anyhow::anyhow!("{issues:?}"))?,
            by: self.by.clone(),
            is_recognised_by_id: false,
            allow_unchanged: false,
            ignore_legacy: false,
        })
    }

    /// What a decision about a revision sees.
    fn state(&self, number: u32) -> anyhow::Result<ScopeState> {
        let query = ScopeQuery { revision: Some(revision(number)?), ..ScopeQuery::of(self.scope.clone()) };
        let mut states = self.runtime.block_on(self.registry.store().load_scopes(&[query]))?;
        states.pop().ok_or_else(|| anyhow::anyhow!("expected a state"))
    }

    fn case(&self, criterion: &mut Criterion, name: &str, decide: impl Fn() -> bool) {
        assert!(decide(), "{name}: expected an accepted command");
        let mut group = criterion.benchmark_group("decide");
        group.bench_function(BenchmarkId::new("space-profiles", name), |bencher| bencher.iter(&decide));
        group.bench_function(BenchmarkId::new("sha256", name), |bencher| {
            bencher.iter(|| Digest::of(black_box(self.next.snapshot.as_bytes())));
        });
        group.finish();
    }
}
