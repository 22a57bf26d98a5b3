//! The server writes no temporary file for large rows: a full disk has no room for one, and must still be read.

use std::sync::Arc;

use serde_json::{Value, json};
use space_profiles_conformance::*;
use space_profiles_core::decide::Copied;
use space_profiles_core::{
    BackfillFilter, Clock as _, Kind, Proposal, Scope, Space, SpaceFilter, Span, StoreCopy, WorkerId,
};

use crate::conformance::Postgres;
use crate::databases::Database;

/// A fixture whose server may sort and keep half a mebibyte, and none of it in a file.
async fn fixture() -> Fixture {
    let database = Arc::new(Database::migrated());
    let name = &database.name;
    database.sql(&format!(
        "ALTER DATABASE {name} SET temp_file_limit = 0; ALTER DATABASE {name} SET work_mem = '512kB'"
    ));
    Postgres::fixture(&database).await
}

/// A JSON value of some bytes.
fn note(bytes: usize) -> Value {
    json!("x".repeat(bytes))
}

/// Proposes the usual snapshot of a number, with a capability snapshot of some bytes.
async fn propose(fx: &Fixture, scope: &Scope, revision: u32, bytes: usize) {
    let (snapshot, capability) =
        (usual(scope.kind, revision).to_string(), json!({"note": note(bytes)}).to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.propose(scope, &proposal).await.unwrap();
}

/// A history of so many revisions whose capability snapshots have 100,000 bytes.
async fn history(fx: &Fixture, count: u32) -> Scope {
    let scope = fx.scope(Kind::Embedding).await;
    for revision in 1..=count {
        propose(fx, &scope, revision, 100_000).await;
        fx.activate(&scope, revision, (revision > 1).then(|| revision - 1)).await.unwrap();
        fx.clock.advance(Span::from_seconds(1));
    }
    scope
}

/// A legacy profile of 50,000 bytes.
fn legacy() -> Value {
    let mut profile = usual(Kind::Embedding, 1);
    profile["note"] = note(50_000);
    profile
}

/// Spaces with such a profile, which are not discovered yet.
async fn legacy_spaces(fx: &Fixture, count: usize) -> Vec<Space> {
    let mut spaces = Vec::new();
    for _ in 0..count {
        spaces.push(fx.legacy_space(Some(legacy()), None).await);
    }
    spaces
}

/// Each filter, so that it finds all of these spaces of one tenant.
fn filters(spaces: &[Space]) -> [SpaceFilter; 3] {
    [SpaceFilter::All, SpaceFilter::Tenant(spaces[0].tenant.clone()), SpaceFilter::Spaces(spaces.to_vec())]
}

#[tokio::test]
async fn g6_16_large_revisions_are_listed_and_audited_without_a_temporary_file() {
    let fx = fixture().await;
    let scope = history(&fx, 30).await;
    for (after, most, numbers) in [(None, 30, 1..=30), (Some(number(3)), 20, 4..=23)] {
        let page = fx.registry.revisions(&scope, after, limit(most)).await.unwrap();
        assert_eq!(page.next.is_some(), *numbers.end() < 30);
        let found: Vec<u32> = page.items.into_iter().map(|entry| entry.unwrap().number().get()).collect();
        assert_eq!(found, numbers.collect::<Vec<u32>>());
    }
    fx.registry.active_at(&scope, fx.clock.now()).await.unwrap();
    fx.assert_sound().await;
}

#[tokio::test]
async fn g6_16_the_largest_revisions_are_activated_and_shown_without_a_temporary_file() {
    let fx = fixture().await;
    let space = fx.space().await;
    for revision in 1..=2 {
        for kind in Kind::ALL {
            propose(&fx, &space.scope(kind), revision, 1_000_000).await;
        }
        let target = target(revision, (revision > 1).then(|| revision - 1));
        fx.registry.activate_all(&space, target, target, &by(ANN)).await.unwrap();
    }
    let scope = space.scope(Kind::Retrieval);
    fx.registry.head(&scope).await.unwrap();
    fx.restore(&scope, 1, Some(2)).await.unwrap();
    fx.assert_sound().await;
}

#[tokio::test]
async fn g6_16_large_legacy_profiles_are_discovered_and_listed_without_a_temporary_file() {
    let fx = fixture().await;
    let mut all = Vec::new();
    for chosen in 0..3 {
        let spaces = legacy_spaces(&fx, 30).await;
        let discovery = fx.ledger.discover(None, limit(100), &filters(&spaces)[chosen]).await.unwrap();
        assert_eq!(discovery.created.len(), 30);
        all.extend(spaces);
    }
    for spaces in filters(&all) {
        let filter = BackfillFilter { spaces, ..BackfillFilter::default() };
        let listed = fx.ledger.list(&filter, None, limit(100)).await.unwrap().items;
        assert_eq!(listed.len(), 90);
        assert!(listed.is_sorted_by_key(|backfill| backfill.id));
    }
    fx.assert_sound().await;
}

#[tokio::test]
async fn g6_16_large_ledger_rows_are_claimed_and_exhausted_in_order_without_a_temporary_file() {
    let fx = fixture().await;
    let spaces = legacy_spaces(&fx, 30).await;
    fx.discover().await;
    let worker = WorkerId::new("worker-a").unwrap();
    for filter in filters(&spaces) {
        let claimed = fx.ledger.claim(&worker, limit(100), five_minutes(), &filter).await.unwrap().backfills;
        assert_eq!(claimed.len(), 30);
        assert!(claimed.is_sorted_by_key(|backfill| (backfill.due_at, backfill.id)));
        fx.clock.advance(Span::from_seconds(300));
    }
    let exhausted = fx.claim("worker-a", 100).await.exhausted;
    assert_eq!(exhausted.len(), 30);
    assert!(exhausted.is_sorted_by_key(|backfill| (backfill.due_at, backfill.id)));
    fx.assert_sound().await;
}

#[tokio::test]
async fn g6_16_large_rows_are_copied_without_a_temporary_file() {
    let from = fixture().await;
    history(&from, 20).await;
    let space = from.legacy_space(Some(legacy()), None).await;
    for version in 2..=20 {
        from.discover().await;
        let mut profile = legacy();
        profile["manifest"] = json!(version);
        from.import(&space, version, Some(profile), None).await.unwrap();
    }
    let to = fixture().await;
    let mut copy = StoreCopy::new(from.under_test.store(), to.under_test.store());
    while let Some(step) = copy.step().await.unwrap() {
        assert_eq!(step.outcome, Ok(Copied::Written));
    }
    let content = to.under_test.store().space_content(&space).await.unwrap();
    assert_eq!(content.backfills.len(), 19);
    to.assert_sound().await;
}
