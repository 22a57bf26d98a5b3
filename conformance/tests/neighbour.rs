//! What another service that writes the same database changes. No store can be made to have one at will, so these
//! run over the store in memory.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use space_profiles_conformance::*;
use space_profiles_core::memory::MemoryStore;
use space_profiles_core::*;

/// Builds one store in memory, and keeps a handle of it.
#[derive(Default)]
struct Kept(OnceLock<MemoryStore>);

struct Shared(MemoryStore);

#[async_trait::async_trait]
impl StoreBuilder for Kept {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        Arc::new(Shared(self.0.get_or_init(|| MemoryStore::new(clock)).clone()))
    }
}

#[async_trait::async_trait]
impl StoreUnderTest for Shared {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        panic!("expected nobody to tamper here, found {tamper:?}");
    }
}

const MOVES_HEADS: Neighbour = Neighbour { moves_heads: true, reads_rows: false, owns_spaces: false };
const READS_ROWS: Neighbour = Neighbour { moves_heads: false, reads_rows: true, owns_spaces: false };
const OWNS_SPACES: Neighbour = Neighbour { moves_heads: false, reads_rows: false, owns_spaces: true };

async fn fixture() -> (Fixture, MemoryStore) {
    let builder = Kept::default();
    let fx = Fixture::new(&builder).await;
    (fx, builder.0.into_inner().expect("the store was built"))
}

/// An object whose keys a collation orders differently: `a` before `B`.
fn out_of_order() -> Value {
    json!({"B": 1, "a": 2})
}

async fn propose(fx: &Fixture, scope: &Scope, snapshot: &Value, capability: &Value) -> Result<(), Error> {
    let (snapshot, capability) = (snapshot.to_string(), capability.to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.propose(scope, &proposal).await.map(drop)
}

async fn propose_next(fx: &Fixture, scope: &Scope, snapshot: &Value, capability: &Value) -> Result<(), Error> {
    let (snapshot, capability) = (snapshot.to_string(), capability.to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.propose_next(scope, &proposal, fx.draw.id().into()).await.map(drop)
}

async fn publish(
    fx: &Fixture,
    scope: &Scope,
    snapshot: &Value,
    capability: &Value,
    expected: Option<u32>,
) -> Result<(), Error> {
    let (snapshot, capability) = (snapshot.to_string(), capability.to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.publish(scope, &proposal, expected.map(number)).await.map(drop)
}

async fn publish_next(
    fx: &Fixture,
    scope: &Scope,
    snapshot: &Value,
    capability: &Value,
    expected: Option<u32>,
) -> Result<(), Error> {
    let (snapshot, capability) = (snapshot.to_string(), capability.to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.publish_next(scope, &proposal, expected.map(number), fx.draw.id().into()).await.map(drop)
}

fn draft() -> Value {
    json!({"pluginId": "p", "provider": "o", "model": "m", "dimension": 8})
}

// -- heads that are moved elsewhere

#[tokio::test]
async fn where_heads_are_moved_elsewhere_none_is_moved_here_whatever_else_is_wrong() {
    let (fx, store) = fixture().await;
    let scope = fx.history(Kind::Embedding, 2).await;
    fx.propose(&scope, 3).await.unwrap();
    let unknown = space_of("tenant-b", fx.draw.id());
    let unknown_scope = unknown.scope(Kind::Embedding);
    store.content().neighbour = MOVES_HEADS;
    let before = fx.registry.store().audit_page(None, limit(10)).await.unwrap();

    let (good, none) = (usual(Kind::Embedding, 4), free_form());
    let answers = [
        ("an activation", fx.activate(&scope, 3, Some(2)).await.map(drop)),
        ("a replay of one", fx.activate(&scope, 2, Some(1)).await.map(drop)),
        ("one of nothing", fx.activate(&scope, 9, None).await.map(drop)),
        ("one in no space", fx.activate(&unknown_scope, 1, None).await.map(drop)),
        ("a publication", publish(&fx, &scope, &good, &none, Some(2)).await),
        ("a replay of one", publish(&fx, &scope, &usual(Kind::Embedding, 2), &none, Some(1)).await),
        ("an invalid one", publish(&fx, &scope, &json!({}), &none, Some(2)).await),
        ("an invalid capability", publish(&fx, &scope, &good, &json!([]), Some(2)).await),
        ("a draft", publish_next(&fx, &scope, &draft(), &none, Some(2)).await),
        ("an invalid draft", publish_next(&fx, &scope, &json!({}), &none, Some(2)).await),
        ("a restoration", fx.restore(&scope, 1, Some(2)).await.map(drop)),
        ("one of nothing", fx.restore(&scope, 9, Some(2)).await.map(drop)),
        ("one in no space", fx.restore(&unknown_scope, 1, None).await.map(drop)),
    ];
    for (what, answer) in answers {
        assert_eq!(refusal(answer), Refusal::ManagedElsewhere, "{what}");
    }
    for space in [&scope.space, &unknown] {
        let both = fx.registry.activate_all(space, target(3, Some(2)), target(1, None), &by(ANN)).await;
        assert_eq!(refusal(both), Refusal::ManagedElsewhere, "it concerns no kind");
    }
    assert_eq!(fx.registry.store().audit_page(None, limit(10)).await.unwrap(), before);
    let message = Refusal::ManagedElsewhere.to_string();
    assert!(message.contains("knowledge-fs") && message.contains("`?manage=heads`"), "{message}");
}

#[tokio::test]
async fn where_heads_are_moved_elsewhere_the_rest_goes_on() {
    let (fx, store) = fixture().await;
    let (adopted, claimed) = fx.claimed_embedding().await;
    let scope = fx.history(Kind::Embedding, 1).await;
    store.content().neighbour = MOVES_HEADS;
    fx.propose(&scope, 2).await.unwrap();
    fx.fail(&scope, 2, "CODE").await.unwrap();
    propose_next(&fx, &scope, &draft(), &free_form()).await.unwrap();
    assert_eq!(fx.states(&scope).await, ["active", "failed", "candidate"]);
    let completed = fx.complete(&claimed.fence().unwrap()).await.unwrap().value;
    assert_eq!(completed, decide::Completed::Installed, "knowledge-fs's own backfill does the same");
    assert_eq!(fx.registry.head(&adopted).await.unwrap().head.active_revision, number(1));
}

// -- rows that somebody else reads

#[tokio::test]
async fn a_capability_whose_digest_another_reader_would_not_find_is_refused_before_a_replay() {
    let (fx, store) = fixture().await;
    let scope = fx.scope(Kind::Embedding).await;
    let (one, two) = (usual(Kind::Embedding, 1), usual(Kind::Embedding, 2));
    publish(&fx, &scope, &one, &out_of_order(), None).await.unwrap();
    store.content().neighbour = READS_ROWS;

    let unknown = space_of("tenant-b", fx.draw.id()).scope(Kind::Embedding);
    let nested = json!({"list": [{"fine": {"_x": 1, "-y": 2}}]});
    let answers = [
        propose(&fx, &scope, &two, &out_of_order()).await,
        propose(&fx, &scope, &two, &nested).await,
        propose(&fx, &scope, &one, &out_of_order()).await,
        propose(&fx, &unknown, &one, &out_of_order()).await,
        propose_next(&fx, &scope, &draft(), &out_of_order()).await,
        publish(&fx, &scope, &two, &out_of_order(), Some(1)).await,
        publish(&fx, &scope, &one, &out_of_order(), None).await,
        publish_next(&fx, &scope, &draft(), &out_of_order(), Some(1)).await,
    ];
    for answer in answers {
        assert_eq!(code(answer), "CAPABILITY_KEY_ORDER");
    }
    let message = refusal(propose(&fx, &scope, &two, &out_of_order()).await).to_string();
    assert!(message.contains("`B` and `a`") && message.contains("rename"), "{message}");
    assert_eq!(code(propose(&fx, &scope, &json!({}), &out_of_order()).await), "SNAPSHOT_INVALID");
    assert_eq!(code(publish(&fx, &scope, &json!({}), &out_of_order(), Some(1)).await), "SNAPSHOT_INVALID");

    let both = Neighbour { moves_heads: true, ..READS_ROWS };
    store.content().neighbour = both;
    assert_eq!(code(publish(&fx, &scope, &two, &out_of_order(), Some(1)).await), "MANAGED_ELSEWHERE");
    store.content().neighbour = READS_ROWS;

    let equal_under_collation = json!({"na\u{00EF}ve": 1, "nai\u{0308}ve": 2});
    assert_eq!(code(propose(&fx, &scope, &two, &equal_under_collation).await), "CAPABILITY_KEY_ORDER");
    let typed: Value =
        serde_json::from_str(typed_embedding(&two, 16, "2026-07-14T12:00:00Z").canonical()).unwrap();
    propose(&fx, &scope, &two, &typed).await.expect("a typed capability is read by everybody");
    fx.fail(&scope, 2, "CODE").await.unwrap();
    let plain = json!({"alpha": {"camelCase": 1, "lower": [1, {"x": 2}]}, "beta": 3});
    propose(&fx, &scope, &usual(Kind::Embedding, 3), &plain).await.expect("the order is the same in both");
}

#[tokio::test]
async fn a_revision_that_another_reader_could_not_read_is_not_restored() {
    let (fx, store) = fixture().await;
    let scope = fx.scope(Kind::Embedding).await;
    publish(&fx, &scope, &usual(Kind::Embedding, 1), &out_of_order(), None).await.unwrap();
    publish(&fx, &scope, &usual(Kind::Embedding, 2), &free_form(), Some(1)).await.unwrap();
    publish(&fx, &scope, &usual(Kind::Embedding, 3), &out_of_order(), Some(2)).await.unwrap();
    store.content().neighbour = READS_ROWS;
    assert_eq!(code(fx.restore(&scope, 1, Some(2)).await), "HEAD_CONFLICT");
    assert_eq!(code(fx.restore(&scope, 1, Some(3)).await), "CAPABILITY_KEY_ORDER");
    assert_eq!(code(fx.restore(&scope, 3, Some(3)).await), "CAPABILITY_KEY_ORDER", "before NO_CHANGE");
    fx.restore(&scope, 2, Some(3)).await.unwrap();
    let damage = |content: &mut memory::MemoryContent| {
        let rows = content.revisions.get_mut(&scope).unwrap();
        rows.get_mut(&number(1)).unwrap().snapshot_digest = "0".repeat(64);
    };
    damage(&mut store.content());
    assert_eq!(code(fx.restore(&scope, 1, Some(4)).await), "SNAPSHOT_CORRUPT");
}

#[tokio::test]
async fn a_completion_that_another_reader_could_not_read_fails_the_row_with_the_reason() {
    let (fx, store) = fixture().await;
    let (_, claimed) = fx.claimed_embedding().await;
    store.content().neighbour = READS_ROWS;
    let capability = out_of_order().to_string();
    let answer = fx.ledger.complete(&claimed.fence().unwrap(), capability.as_bytes()).await.unwrap().value;
    let decide::Completed::Failed(failure) = answer else { panic!("expected a failure, found {answer:?}") };
    assert_eq!(failure.code, "LEGACY_PROFILE_INVALID");
    assert!(failure.message.contains("`B` and `a`"), "{}", failure.message);
}

// -- spaces that are somebody else's

#[tokio::test]
async fn spaces_and_manifests_of_somebody_else_are_neither_made_nor_deleted() {
    let (fx, store) = fixture().await;
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    let unknown = space_of("tenant-b", fx.draw.id());
    store.content().neighbour = OWNS_SPACES;
    let answers = [
        ("a new space", fx.registry.add_space(&unknown, Some("New")).await.map(drop)),
        ("a replay of one", fx.registry.add_space(&space, None).await.map(drop)),
        ("another name", fx.registry.add_space(&space, Some("Other")).await.map(drop)),
        ("a deletion", fx.registry.delete_space(&space).await.map(drop)),
        ("a new manifest", fx.import(&unknown, 1, None, None).await.map(drop)),
        ("a replay of one", fx.import(&space, 1, Some(usual(Kind::Embedding, 1)), None).await.map(drop)),
        ("an older one", fx.import(&space, 1, None, None).await.map(drop)),
    ];
    for (what, answer) in answers {
        assert_eq!(refusal(answer), Refusal::ForeignTables, "{what}");
    }
    store.content().spaces.get_mut(&space).unwrap().lifecycle_state = "deleting".to_owned();
    assert_eq!(code(fx.import(&space, 2, None, None).await), "STORE_FOREIGN_TABLES", "writable or not");
    assert_eq!(code(fx.registry.delete_space(&unknown).await), "SPACE_NOT_FOUND");
    let message = Refusal::ForeignTables.to_string();
    assert!(message.contains("knowledge-fs") && message.contains("`backfill run`"), "{message}");
}

#[tokio::test]
async fn profiles_of_somebody_elses_spaces_change_and_are_adopted() {
    let (fx, store) = fixture().await;
    fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    let scope = fx.scope(Kind::Retrieval).await;
    store.content().neighbour = OWNS_SPACES;
    fx.publish(&scope, 1, None).await.unwrap();
    assert_eq!(fx.discover().await, 1);
    let claimed = fx.claim("worker-a", 1).await.backfills;
    fx.complete(&claimed[0].fence().unwrap()).await.unwrap();
    fx.assert_sound().await;
}
