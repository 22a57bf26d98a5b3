//! Copies into and out of what no store can be brought into at will: databases that another service writes too, and
//! rows that nobody can read. They run over the store in memory.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use space_profiles_conformance::*;
use space_profiles_core::decide::{Copied, Decision, Doubt};
use space_profiles_core::memory::MemoryStore;
use space_profiles_core::*;

fn store() -> MemoryStore {
    MemoryStore::new(Arc::new(ManualClock::new()))
}

async fn copied(from: &Arc<dyn Store>, to: &MemoryStore) -> Vec<(CopyPart, Result<Copied, &'static str>)> {
    let mut copy = StoreCopy::new(Arc::clone(from), Arc::new(to.clone()));
    let mut steps = Vec::new();
    while let Some(step) = copy.step().await.expect("both stores work") {
        steps.push((step.part, step.outcome.map_err(|error| error.code())));
    }
    steps
}

async fn publish(fx: &Fixture, scope: &Scope, revision: u32, capability: &Value) {
    let (snapshot, capability) = (usual(scope.kind, revision).to_string(), capability.to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let expected = revision.checked_sub(1).filter(|before| *before > 0).map(number);
    fx.registry.publish(scope, &proposal, expected).await.unwrap();
}

#[tokio::test]
async fn where_heads_are_moved_elsewhere_only_scopes_without_one_are_copied() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let with_head = fx.history(Kind::Embedding, 2).await;
    let without = with_head.space.scope(Kind::Retrieval);
    fx.propose(&without, 1).await.unwrap();
    let target = store();
    target.content().neighbour.moves_heads = true;
    let space = CopyPart::Space(with_head.space.clone());
    let from = fx.under_test.store();
    let expected = [
        (space.clone(), Ok(Copied::Written)),
        (CopyPart::Scope(with_head.clone()), Err("MANAGED_ELSEWHERE")),
        (CopyPart::Scope(without.clone()), Ok(Copied::Written)),
    ];
    assert_eq!(copied(&from, &target).await, expected);

    target.content().neighbour = Neighbour::default();
    copied(&from, &target).await;
    target.content().neighbour.moves_heads = true;
    let skipped = [space, CopyPart::Scope(with_head.clone()), CopyPart::Scope(without)];
    assert_eq!(copied(&from, &target).await, skipped.map(|part| (part, Ok(Copied::Skipped))), "nothing moves");
    fx.restore(&with_head, 1, Some(2)).await.unwrap();
    assert_eq!(copied(&from, &target).await[1].1, Err("MANAGED_ELSEWHERE"), "before COPY_CONFLICT");
}

#[tokio::test]
async fn a_capability_that_another_reader_would_call_corrupt_is_not_copied_to_it() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let ours = fx.scope(Kind::Embedding).await;
    publish(&fx, &ours, 1, &free_form()).await;
    publish(&fx, &ours, 2, &json!({"B": 1, "a": 2})).await;
    let plain = ours.space.scope(Kind::Retrieval);
    publish(&fx, &plain, 1, &free_form()).await;
    let target = store();
    target.content().neighbour.reads_rows = true;
    let steps = copied(&fx.under_test.store(), &target).await;
    assert_eq!(steps[1], (CopyPart::Scope(ours.clone()), Err("CAPABILITY_KEY_ORDER")));
    assert_eq!(steps[2], (CopyPart::Scope(plain), Ok(Copied::Written)));

    // The other service digested this row itself.
    let id = fx.registry.revision(&ours, number(2)).await.unwrap().id.as_uuid();
    let legacy = Digest::of(br#"{"a":2,"B":1}"#).to_string();
    fx.set(Table::Revisions, id, "capability_snapshot_digest", Column::Text(legacy.clone())).await;
    assert_eq!(copied(&fx.under_test.store(), &target).await[1].1, Ok(Copied::Written));
    let content = target.space_content(&ours.space).await.unwrap();
    assert_eq!(content.revisions[1].1.capability_snapshot_digest, legacy);
}

#[tokio::test]
async fn spaces_of_somebody_else_are_taken_as_they_are_and_not_made() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let (known, missing) = (fx.history(Kind::Embedding, 1).await, fx.history(Kind::Embedding, 1).await);
    let target = store();
    let there = Registry::new(Arc::new(target.clone()), Arc::clone(&fx.draw) as Arc<dyn Draw>);
    there.add_space(&known.space, Some("Theirs")).await.unwrap();
    target.content().neighbour.owns_spaces = true;
    let expected = [
        (CopyPart::Space(known.space.clone()), Ok(Copied::Skipped)),
        (CopyPart::Scope(known.clone()), Ok(Copied::Written)),
        (CopyPart::Space(missing.space), Err("STORE_FOREIGN_TABLES")),
    ];
    assert_eq!(copied(&fx.under_test.store(), &target).await, expected);
    let content = target.space_content(&known.space).await.unwrap();
    assert_eq!(content.row.unwrap().name, "Theirs");
}

#[tokio::test]
async fn whatever_the_audit_calls_broken_stays_behind() {
    for (column, value) in [
        ("snapshot_digest", Column::Text("0".repeat(64))),
        ("model", Column::Text("changed".to_owned())),
        ("superseded_at", Column::Null),
        ("state", Column::Text("active".to_owned())),
    ] {
        let fx = Fixture::new(&MemoryBuilder).await;
        let broken = fx.history(Kind::Embedding, 2).await;
        let sound = broken.space.scope(Kind::Retrieval);
        fx.publish(&sound, 1, None).await.unwrap();
        let id = fx.registry.revision(&broken, number(1)).await.unwrap().id.as_uuid();
        fx.set(Table::Revisions, id, column, value).await;
        let target = store();
        let steps = copied(&fx.under_test.store(), &target).await;
        assert_eq!(steps[1], (CopyPart::Scope(broken.clone()), Err("SNAPSHOT_CORRUPT")), "{column}");
        assert_eq!(steps[2], (CopyPart::Scope(sound), Ok(Copied::Written)), "{column}");
        let content = target.space_content(&broken.space).await.unwrap();
        assert!(content.revisions.iter().all(|(kind, _)| *kind == Kind::Retrieval), "{column}");
    }
}

#[tokio::test]
async fn a_space_that_is_broken_itself_stays_behind_with_its_scopes() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let scope = fx.history(Kind::Embedding, 1).await;
    let sound = fx.under_test.store().space_content(&scope.space).await.unwrap();
    let unreadable = vec!["row `1` of a table has an unexpected `state`".to_owned()];
    for (what, content) in [
        ("unexpected `state`", SpaceContent { unreadable, ..sound.clone() }),
        ("found none", SpaceContent { row: None, ..sound.clone() }),
    ] {
        let refusal = decide::departing(content).unwrap_err();
        assert_eq!(refusal.code(), "SNAPSHOT_CORRUPT");
        assert!(refusal.to_string().contains(what), "{refusal}");
    }
    let space = fx.legacy_space(None, None).await;
    let manifest = fx.under_test.store().space_content(&space).await.unwrap().manifest.unwrap().id.as_uuid();
    fx.set(Table::Manifests, manifest, "metadata", Column::Text("[]".to_owned())).await;
    let content = fx.under_test.store().space_content(&space).await.unwrap();
    assert_eq!(decide::departing(content).unwrap_err().code(), "SNAPSHOT_CORRUPT");
}

/// What Postgres makes of a text: other spaces, other order.
fn reprinted(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    let members = value.as_object().unwrap().iter().rev();
    let printed: Vec<String> = members.map(|(key, value)| format!("{}: {value}", json!(key))).collect();
    format!("{{{}}}", printed.join(", "))
}

#[tokio::test]
async fn json_is_compared_by_value_and_times_are_compared_exactly() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let (scope, _) = fx.claimed_embedding().await;
    let adopted = fx.history(Kind::Embedding, 1).await;
    for scope in [scope, adopted] {
        let mut there = fx.under_test.store().space_content(&scope.space).await.unwrap();
        let departing = decide::departing(there.clone()).unwrap();
        let arriving = Arc::new(departing.scopes[0].1.clone().unwrap());
        there.backfills = arriving.backfills.clone();
        for (_, row) in &mut there.revisions {
            row.snapshot = reprinted(&row.snapshot);
            row.capability_snapshot = reprinted(&row.capability_snapshot);
        }
        for row in &mut there.backfills {
            row.source_snapshot = reprinted(&row.source_snapshot);
        }
        let decided = |there: &SpaceContent| {
            decide::copy_scope(&arriving, there, Neighbour::default(), Doubt::None)
                .map_err(|refusal| refusal.code())
        };
        assert_eq!(decided(&there), Ok(Decision::Replayed(Copied::Skipped)));
        let later = |moment: Timestamp| Timestamp::from_micros(moment.as_micros() + 1);
        there.revisions.iter_mut().for_each(|(_, row)| row.created_at = later(row.created_at));
        there.backfills.iter_mut().for_each(|row| row.due_at = later(row.due_at));
        assert_eq!(decided(&there), Err("COPY_CONFLICT"));
        let unreadable = SpaceContent { unreadable: vec!["a row".to_owned()], ..there.clone() };
        assert_eq!(decided(&unreadable), Err("COPY_CONFLICT"), "nobody knows what it would say");
        assert_eq!(decided(&SpaceContent { row: None, ..there }), Err("SPACE_NOT_FOUND"));
    }
}

#[tokio::test]
async fn a_manifest_that_has_no_canonical_form_is_copied_as_it_is() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    let id = fx.under_test.store().space_content(&space).await.unwrap().manifest.unwrap().id.as_uuid();
    let text = r#"{"theirs": 9007199254740993}"#;
    fx.set(Table::Manifests, id, "metadata", Column::Text(text.to_owned())).await;
    let target = store();
    for expected in [Copied::Written, Copied::Skipped] {
        let steps = copied(&fx.under_test.store(), &target).await;
        assert_eq!(steps, [(CopyPart::Space(space.clone()), Ok(expected))]);
    }
    assert_eq!(target.space_content(&space).await.unwrap().manifest.unwrap().metadata, text);
}

#[tokio::test]
async fn after_a_lost_reply_what_is_found_counts_as_written() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let scope = fx.history(Kind::Embedding, 2).await;
    for (fate, lost) in
        [(Fate::Happens, 1), (Fate::Happens, 2), (Fate::Never, 1), (Fate::Never, 5), (Fate::Late, 1)]
    {
        let nothing: Box<dyn Fn() -> _ + Send + Sync> = Box::new(|| Box::pin(async {}) as _);
        let target = store();
        let losing = LostReplies::new(Arc::new(target.clone()), lost, fate, nothing);
        let mut copy = StoreCopy::new(fx.under_test.store(), Arc::new(losing));
        for _ in 0..2 {
            let step = copy.step().await.unwrap().unwrap();
            assert_eq!(step.outcome, Ok(Copied::Written), "{fate:?}, {lost}");
        }
        assert_eq!(copy.step().await.unwrap(), None);
        assert_eq!(target.space_content(&scope.space).await.unwrap().revisions.len(), 2);
    }
}

/// The code of a step that fails as a whole.
async fn failed(copy: &mut StoreCopy) -> &'static str {
    copy.step().await.expect_err("every commit was lost").code()
}

fn written(part: CopyPart) -> Option<CopyStep> {
    Some(CopyStep { part, outcome: Ok(Copied::Written) })
}

#[tokio::test]
async fn a_step_that_failed_or_was_dropped_is_the_next_one_again() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let scope = fx.history(Kind::Embedding, 2).await;
    let nothing = || -> Box<dyn Fn() -> _ + Send + Sync> { Box::new(|| Box::pin(async {}) as _) };
    let never = || -> Box<dyn Fn() -> _ + Send + Sync> { Box::new(|| Box::pin(std::future::pending()) as _) };
    let space_part = CopyPart::Space(scope.space.clone());
    let scope_part = CopyPart::Scope(scope.clone());
    // As many as the registry's rounds.
    const ALL: u32 = 9;

    let target = store();
    let losing = LostReplies::new(Arc::new(target.clone()), ALL, Fate::Never, nothing());
    let mut copy = StoreCopy::new(fx.under_test.store(), Arc::new(losing));
    assert_eq!(failed(&mut copy).await, "STORE_OUTCOME_UNKNOWN");
    assert_eq!(copy.step().await.unwrap(), written(space_part.clone()));
    assert_eq!(copy.step().await.unwrap(), written(scope_part.clone()));
    assert_eq!(copy.step().await.unwrap(), None);

    let target = store();
    let mut copy = StoreCopy::new(fx.under_test.store(), Arc::new(target.clone()));
    copy.step().await.unwrap();
    let losing = LostReplies::new(Arc::new(target.clone()), ALL, Fate::Never, nothing());
    let mut copy = StoreCopy::new(fx.under_test.store(), Arc::new(losing));
    assert_eq!(copy.step().await.unwrap().unwrap().outcome, Ok(Copied::Skipped));
    assert_eq!(failed(&mut copy).await, "STORE_OUTCOME_UNKNOWN");
    assert_eq!(copy.step().await.unwrap(), written(scope_part.clone()));

    let target = store();
    for lost in [space_part, scope_part] {
        let losing = LostReplies::new(Arc::new(target.clone()), 1, Fate::Never, never());
        let mut copy = StoreCopy::new(fx.under_test.store(), Arc::new(losing));
        if matches!(lost, CopyPart::Scope(_)) {
            assert_eq!(copy.step().await.unwrap().unwrap().outcome, Ok(Copied::Skipped));
        }
        assert_eq!(copy.step().now_or_never(), None, "it waits, and is dropped");
        assert_eq!(copy.step().await.unwrap(), written(lost));
    }
    assert_eq!(target.space_content(&scope.space).await.unwrap().revisions.len(), 2);
}

#[tokio::test]
async fn rows_beside_a_space_that_name_none_do_not_keep_it_behind() {
    let fx = Fixture::new(&MemoryBuilder).await;
    let scope = fx.history(Kind::Embedding, 1).await;
    let mut content = fx.under_test.store().space_content(&scope.space).await.unwrap();
    content.strangers.push("a row that names no space".to_owned());
    let departing = space_profiles_core::decide::departing(content).unwrap();
    assert!(departing.scopes.iter().all(|(_, rows)| rows.is_ok()));
}
