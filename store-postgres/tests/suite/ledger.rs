//! The ledger under load and beside others.

use std::sync::Arc;

use space_profiles_conformance::*;
use space_profiles_core::{Clock, Completion, Kind, Lease, Span, Together};
use sqlx::{Connection, PgConnection, Row};

use crate::conformance::Postgres;
use crate::databases::Database;

/// Columns of a ledger row that differ between two moments.
async fn changed_by<F: Future<Output = ()>>(database: &Database, change: F) -> Vec<String> {
    let row = "SELECT jsonb_each_text(to_jsonb(r))::text FROM knowledge_space_profile_backfills AS r";
    let before = database.sql(row);
    change.await;
    let after = database.sql(row);
    let names = |line: &str| line.trim_start_matches('(').split(',').next().unwrap().to_owned();
    before.lines().zip(after.lines()).filter(|(one, other)| one != other).map(|(line, _)| names(line)).collect()
}

#[tokio::test]
async fn g5_19_a_heartbeat_changes_only_when_the_lease_ends_and_when_the_worker_gave_a_sign() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    let (_, backfill) = fx.claimed_embedding().await;
    fx.clock.advance(Span::from_seconds(1));
    let lease = Lease::new(Span::from_seconds(600)).unwrap();
    let heartbeat = async {
        fx.ledger.heartbeat(&backfill.fence().unwrap(), lease).await.unwrap();
    };
    assert_eq!(changed_by(&database, heartbeat).await, ["heartbeat_at", "lease_expires_at"]);
}

#[tokio::test]
async fn g5_19_a_long_transaction_of_somebody_elses_neither_stops_the_work_nor_the_pruning() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    let mut long = PgConnection::connect(&database.url()).await.unwrap();
    let count = "SELECT count(*) FROM knowledge_space_profile_backfills";
    sqlx::query("BEGIN ISOLATION LEVEL REPEATABLE READ").execute(&mut long).await.unwrap();
    assert_eq!(sqlx::query(count).fetch_one(&mut long).await.unwrap().get::<i64, _>(0), 0);
    for round in 1..=50 {
        let (_, backfill) = fx.claimed_embedding().await;
        fx.complete(&backfill.fence().unwrap()).await.unwrap();
        assert_eq!(fx.claim("worker-a", 10).await.backfills.len(), 0, "round {round}");
    }
    fx.clock.advance(Span::from_seconds(1));
    assert_eq!(fx.ledger.prune(fx.clock.now()).await.unwrap(), 50);
    assert_eq!(database.sql(count), "0");
    assert_eq!(sqlx::query(count).fetch_one(&mut long).await.unwrap().get::<i64, _>(0), 0);
    fx.assert_sound().await;
}

/// A claim's place in the queue is taken by time: what others hold is passed over and not waited for.
#[tokio::test]
async fn g5_07_a_claim_passes_over_rows_that_somebody_has_locked() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    for _ in 0..3 {
        fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    }
    fx.discover().await;
    let mut other = PgConnection::connect(&database.url()).await.unwrap();
    let lock = "SELECT id FROM knowledge_space_profile_backfills ORDER BY due_at, id LIMIT 1 FOR UPDATE";
    sqlx::query("BEGIN").execute(&mut other).await.unwrap();
    let locked: uuid::Uuid = sqlx::query(lock).fetch_one(&mut other).await.unwrap().get(0);
    let claimed = fx.claim("worker-a", 10).await.backfills;
    assert_eq!(claimed.len(), 2);
    assert!(claimed.iter().all(|backfill| backfill.id.as_uuid() != locked));
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(fx.claim("worker-a", 10).await.backfills.len(), 1);
}

/// Rows that are completed together do not wait for what somebody else has locked, and that for no other's sake.
#[tokio::test]
async fn a_row_of_several_that_somebody_has_locked_is_left_and_the_others_are_installed() {
    for lock in [
        "SELECT FROM knowledge_spaces WHERE id = $1 FOR SHARE",
        "SELECT FROM knowledge_space_profile_backfills WHERE knowledge_space_id = $1 FOR SHARE",
        "SELECT FROM knowledge_space_manifests WHERE knowledge_space_id = $1 FOR UPDATE",
    ] {
        let database = Arc::new(Database::migrated());
        let fx = Postgres::fixture(&database).await;
        let mut rows = Vec::new();
        for _ in 0..3 {
            let (scope, backfill) = fx.claimed_embedding().await;
            rows.push((scope, backfill.fence().unwrap()));
        }
        let mut other = PgConnection::connect(&database.url()).await.unwrap();
        sqlx::query("BEGIN").execute(&mut other).await.unwrap();
        sqlx::query(lock).bind(rows[1].0.space.id.as_uuid()).execute(&mut other).await.unwrap();

        let capability = typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z");
        let completion = |fence| Completion { fence, capability: capability.canonical().as_bytes() };
        let completions: Vec<Completion<'_>> = rows.iter().map(|(_, fence)| completion(*fence)).collect();
        let answers = fx.ledger.complete_all(&completions).await;
        let is_settled: Vec<bool> = answers.iter().map(|answer| matches!(answer, Together::Settled(_))).collect();
        assert_eq!(is_settled, [true, false, true], "{lock}: {answers:?}");

        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(!fx.complete(&rows[1].1).await.unwrap().replayed, "{lock}");
        fx.assert_sound().await;
    }
}
