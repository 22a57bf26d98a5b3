use std::sync::Arc;

use space_profiles_core::decide::{Copied, Decision, Doubt};
use space_profiles_core::memory::MemoryStore;

use super::prelude::*;

type Steps = Vec<(CopyPart, Result<Copied, Error>)>;

async fn copied(from: Arc<dyn Store>, to: Arc<dyn Store>) -> Steps {
    let mut copy = StoreCopy::new(from, to);
    let mut steps = Vec::new();
    while let Some(step) = copy.step().await.expect("both stores work") {
        steps.push((step.part, step.outcome));
    }
    steps
}

fn count(steps: &Steps, wanted: Copied) -> usize {
    steps.iter().filter(|(_, outcome)| *outcome == Ok(wanted)).count()
}

fn memory(fx: &Fixture) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::clone(&fx.clock) as Arc<dyn Clock>))
}

async fn content(fx: &Fixture, space: &Space) -> SpaceContent {
    fx.under_test.store().space_content(space).await.expect("the rows are read")
}

async fn apply(fx: &Fixture, change: Change) -> Applied {
    fx.under_test.store().apply(&change).await.expect("the store works")
}

/// What a scope would be copied as.
async fn departing(fx: &Fixture, scope: &Scope) -> CopyScope {
    let departing = decide::departing(content(fx, &scope.space).await).expect("the space is sound");
    let mut scopes = departing.scopes.into_iter().filter(|(other, _)| other == scope);
    scopes.next().expect("the scope has rows").1.expect("the scope is sound")
}

/// Whether the store holds what was copied; JSON is compared by value.
async fn holds(fx: &Fixture, copy: &CopyScope) -> bool {
    let content = content(fx, &copy.scope.space).await;
    let decided = decide::copy_scope(&Arc::new(copy.clone()), &content, Neighbour::default(), Doubt::None);
    matches!(decided, Ok(Decision::Replayed(Copied::Skipped)))
}

pub async fn a_store_is_copied_there_and_back_to_the_last_column(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 3).await;
    fx.clock.advance(Span::from_seconds(7));
    fx.propose(&scope, 4).await.unwrap();
    fx.fail(&scope, 4, "CODE").await.unwrap();
    fx.restore(&scope, 1, Some(3)).await.unwrap();
    fx.propose(&scope, 6).await.unwrap();
    let marked = fx.history(Kind::Retrieval, 2).await.space;
    fx.mark(&marked, "deleting", Some(fx.draw.id())).await;
    let (adopted, claimed) = fx.claimed_embedding().await;
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    let (failed, claimed) = fx.claimed_embedding().await;
    fx.fail_backfill(&claimed.fence().unwrap(), "CODE", false, None).await.unwrap();
    let (waiting, claimed) = fx.claimed_embedding().await;
    fx.fail_backfill(&claimed.fence().unwrap(), "CODE", true, None).await.unwrap();
    let spaces = [&scope.space, &marked, &adopted.space, &failed.space, &waiting.space];
    let before = fx.audit().await;
    let mut scopes = Vec::new();
    for space in spaces {
        let all = decide::departing(content(fx, space).await).unwrap().scopes;
        scopes.extend(all.into_iter().map(|(_, departing)| departing.unwrap()));
    }

    let elsewhere = memory(fx);
    let there = copied(fx.under_test.store(), Arc::clone(&elsewhere)).await;
    assert_eq!(
        (there.len(), count(&there, Copied::Written)),
        (10, 10),
        "five spaces with a scope each: {there:?}"
    );
    for space in spaces {
        fx.registry.delete_space(space).await.unwrap();
    }
    let back = copied(Arc::clone(&elsewhere), fx.under_test.store()).await;
    assert_eq!(count(&back, Copied::Written), 10, "{back:?}");
    for copy in &scopes {
        assert!(holds(fx, copy).await, "{}", copy.scope);
    }
    for (from, to) in [(fx.under_test.store(), Arc::clone(&elsewhere)), (elsewhere, fx.under_test.store())] {
        let again = copied(from, to).await;
        assert_eq!(count(&again, Copied::Skipped), 10, "{again:?}");
    }
    assert_eq!(fx.audit().await, before);
}

pub async fn a_running_backfill_arrives_queued_with_its_attempt_refunded(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let elsewhere = memory(fx);
    copied(fx.under_test.store(), Arc::clone(&elsewhere)).await;
    fx.registry.delete_space(&scope.space).await.unwrap();
    copied(Arc::clone(&elsewhere), fx.under_test.store()).await;
    let arrived = fx.ledger.get(&scope).await.unwrap();
    let expected = Backfill { state: BackfillState::Queued, attempts: claimed.attempts - 1, ..claimed.clone() };
    assert_eq!(arrived, expected, "row version, due time and times are as they were");
    assert_eq!(code(fx.complete(&claimed.fence().unwrap()).await), "LEASE_LOST");
    let again = fx.claim("worker-b", 1).await.backfills;
    fx.complete(&again[0].fence().unwrap()).await.unwrap();
    fx.assert_sound().await;
}

pub async fn a_row_digested_in_the_legacy_key_order_keeps_its_digest(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let mut copy = departing(fx, &scope).await;
    // `{"B":1,"a":2}` with its members in the order of the root collation.
    let digest = Digest::of(br#"{"a":2,"B":1}"#).to_string();
    copy.revisions[0].capability_snapshot = r#"{"B":1,"a":2}"#.to_owned();
    copy.revisions[0].capability_snapshot_digest.clone_from(&digest);
    let row = content(fx, &scope.space).await.row.unwrap();
    fx.registry.delete_space(&scope.space).await.unwrap();
    assert_eq!(apply(fx, Change::CopySpace(CopySpace { row, manifest: None })).await, Applied::Done);
    assert_eq!(apply(fx, Change::CopyScope(Arc::new(copy))).await, Applied::Done);
    fx.assert_sound().await;
    let stored = content(fx, &scope.space).await;
    assert_eq!(stored.revisions[0].1.capability_snapshot_digest, digest);
    assert_eq!(departing(fx, &scope).await.revisions[0].capability_snapshot_digest, digest);
}

pub async fn a_copied_space_must_be_new(fx: &Fixture) {
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    let before = content(fx, &space).await;
    let SpaceContent { row, manifest, .. } = before.clone();
    let copy = CopySpace { row: SpaceRow { name: "Other".to_owned(), ..row.unwrap() }, manifest };
    assert_eq!(apply(fx, Change::CopySpace(copy.clone())).await, Applied::Stale);
    assert_eq!(content(fx, &space).await, before);
    fx.registry.delete_space(&space).await.unwrap();
    assert_eq!(apply(fx, Change::CopySpace(copy.clone())).await, Applied::Done);
    assert_eq!(content(fx, &space).await.row, Some(copy.row));
    assert_eq!(fx.discover().await, 1, "the manifest came with it");
}

pub async fn a_copied_scope_must_be_empty_and_have_a_space(fx: &Fixture) {
    let source = departing(fx, &fx.history(Kind::Embedding, 2).await).await;
    let renewed = |scope: &Scope| {
        let ids: Vec<RevisionId> = source.revisions.iter().map(|_| fx.draw.id().into()).collect();
        let rows = source.revisions.iter().zip(&ids).map(|(row, id)| RevisionRow { id: *id, ..row.clone() });
        let head = source.head.map(|head| Head { id: fx.draw.id().into(), revision_id: ids[1], ..head });
        CopyScope { scope: scope.clone(), head, revisions: rows.collect(), backfills: Vec::new() }
    };
    let unknown = space_of("tenant-b", fx.draw.id()).scope(Kind::Embedding);
    assert_eq!(apply(fx, Change::CopyScope(Arc::new(renewed(&unknown)))).await, Applied::Stale);
    assert_eq!(content(fx, &unknown.space).await.revisions, []);

    let with_candidate = fx.scope(Kind::Embedding).await;
    fx.propose(&with_candidate, 1).await.unwrap();
    let with_head = fx.history(Kind::Embedding, 1).await;
    let with_backfill = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await.scope(Kind::Embedding);
    fx.discover().await;
    for scope in [&with_candidate, &with_head, &with_backfill] {
        let before = content(fx, &scope.space).await;
        assert_eq!(apply(fx, Change::CopyScope(Arc::new(renewed(scope)))).await, Applied::Stale, "{scope}");
        assert_eq!(content(fx, &scope.space).await, before);
    }

    let empty = fx.history(Kind::Retrieval, 1).await.space.scope(Kind::Embedding);
    fx.mark(&empty.space, "deleting", None).await;
    let copy = renewed(&empty);
    assert_eq!(apply(fx, Change::CopyScope(Arc::new(copy.clone()))).await, Applied::Done, "writable or not");
    assert!(holds(fx, &copy).await, "beside the other kind's rows");
    fx.assert_sound().await;
}

pub async fn an_id_that_is_taken_elsewhere_leaves_nothing_behind(fx: &Fixture) {
    let taken = departing(fx, &fx.history(Kind::Embedding, 2).await).await;
    let (ledger, _) = fx.claimed_embedding().await;
    let ledger = departing(fx, &ledger).await;
    let empty = fx.scope(Kind::Embedding).await;
    let before = content(fx, &empty.space).await;
    let copy = CopyScope { scope: empty.clone(), ..taken.clone() };
    assert_eq!(apply(fx, Change::CopyScope(Arc::new(copy))).await, Applied::RevisionIdTaken);

    let rows: Vec<RevisionRow> =
        taken.revisions.iter().map(|row| RevisionRow { id: fx.draw.id().into(), ..row.clone() }).collect();
    let head = taken.head.map(|head| Head { revision_id: rows[1].id, ..head });
    let copy = CopyScope { scope: empty.clone(), head, revisions: rows, backfills: Vec::new() };
    let answer = fx.under_test.store().apply(&Change::CopyScope(Arc::new(copy))).await;
    assert_eq!(answer.unwrap_err().code, StoreCode::Schema, "the id of a head");

    let backfills =
        ledger.backfills.iter().map(|row| BackfillRow { scope: empty.clone(), ..row.clone() }).collect();
    let copy = CopyScope { scope: empty.clone(), head: None, revisions: Vec::new(), backfills };
    let answer = fx.under_test.store().apply(&Change::CopyScope(Arc::new(copy))).await;
    assert_eq!(answer.unwrap_err().code, StoreCode::Schema, "the id of a backfill");
    assert_eq!(content(fx, &empty.space).await, before, "wholly or not at all");
}

pub async fn what_differs_stays_as_it_is_and_the_rest_is_copied(fx: &Fixture) {
    let (same, moved, renamed) = (
        fx.history(Kind::Embedding, 1).await,
        fx.history(Kind::Embedding, 1).await,
        fx.scope(Kind::Embedding).await,
    );
    let elsewhere = memory(fx);
    copied(fx.under_test.store(), Arc::clone(&elsewhere)).await;
    fx.publish(&moved, 2, Some(1)).await.unwrap();
    fx.publish(&same.space.scope(Kind::Retrieval), 1, None).await.unwrap();
    fx.registry.delete_space(&renamed.space).await.unwrap();
    fx.registry.add_space(&renamed.space, Some("Other")).await.unwrap();
    fx.publish(&renamed, 1, None).await.unwrap();
    let before = [content(fx, &moved.space).await, content(fx, &renamed.space).await];

    let fresh = fx.draw.id();
    let registry = Registry::new(Arc::clone(&elsewhere), Arc::clone(&fx.draw) as Arc<dyn Draw>);
    registry.add_space(&space_of("tenant-c", fresh), None).await.unwrap();
    let steps = copied(elsewhere, fx.under_test.store()).await;
    let code_of = |part: CopyPart| {
        let (_, outcome) = steps.iter().find(|(other, _)| *other == part).expect("the part was tried");
        outcome.as_ref().map_err(Error::code).copied()
    };
    assert_eq!(code_of(CopyPart::Space(same.space.clone())), Ok(Copied::Skipped));
    assert_eq!(code_of(CopyPart::Scope(same)), Ok(Copied::Skipped), "whatever the other kind has");
    assert_eq!(code_of(CopyPart::Space(moved.space.clone())), Ok(Copied::Skipped));
    assert_eq!(code_of(CopyPart::Scope(moved)), Err("COPY_CONFLICT"));
    assert_eq!(code_of(CopyPart::Space(renamed.space)), Err("COPY_CONFLICT"));
    assert_eq!(code_of(CopyPart::Space(space_of("tenant-c", fresh))), Ok(Copied::Written));
    for unchanged in before {
        assert_eq!(content(fx, &unchanged.space).await, unchanged);
    }
}

pub async fn a_space_that_nobody_knows_has_no_content(fx: &Fixture) {
    let space = space_of("tenant-a", fx.draw.id());
    let nothing = SpaceContent {
        space: space.clone(),
        row: None,
        manifest: None,
        heads: Vec::new(),
        revisions: Vec::new(),
        backfills: Vec::new(),
        unreadable: Vec::new(),
        strangers: Vec::new(),
    };
    assert_eq!(content(fx, &space).await, nothing);
    let known = fx.history(Kind::Embedding, 1).await.space;
    let page = fx.under_test.store().audit_page(None, limit(10)).await.unwrap();
    assert_eq!(page, [content(fx, &known).await], "what a page of the audit holds");
}

pub async fn of_many_that_copy_a_scope_exactly_one_writes_it(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 3).await;
    let elsewhere = memory(fx);
    copied(fx.under_test.store(), Arc::clone(&elsewhere)).await;
    fx.registry.delete_space(&scope.space).await.unwrap();
    let racing = (0..8).map(|_| {
        let (from, to) = (Arc::clone(&elsewhere), fx.under_test.store());
        tokio::spawn(copied(from, to))
    });
    let mut written = 0;
    for run in racing.collect::<Vec<_>>() {
        let steps = run.await.expect("no copy panics");
        assert_eq!(steps.len(), 2);
        written += count(&steps, Copied::Written);
        assert!(steps.iter().all(|(_, outcome)| outcome.is_ok()), "{steps:?}");
    }
    assert_eq!(written, 2, "the space and its scope, each once");
    fx.assert_sound().await;
}
