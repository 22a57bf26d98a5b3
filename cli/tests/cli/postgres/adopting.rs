//! The main job on Postgres, interrupted, and rows that somebody damaged.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::adopting::{many_spaces, send};
use crate::bench::{Bench, EMBEDDING, example};
use crate::databases::Database;
use crate::people::assert_shown;

const HEADS: &str = "knowledge_space_profile_heads";

/// Waits for something that a child is doing.
pub(super) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn g5_17_an_interrupted_adoption_hands_back_its_leases_and_is_continued() {
    let database = Database::migrated();
    let bench = Bench::on(database.url());
    let file = many_spaces(&bench, 100);
    assert_eq!(bench.run(&["import", &file]).exit, 0);
    database.slow_down(HEADS);
    let adopt = ["adopt", &file, "--catalog", &example("models.toml")];
    let child = bench.start(&adopt);
    wait_until("some are installed", || database.count(HEADS) >= 5);
    send("-TERM", &child);
    let answer = Bench::finish(child);
    assert_eq!(answer.exit, 130, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("`adopt` again goes on from here"), "{}", answer.stdout);
    let first = database.count(HEADS);
    assert!(first < 200, "it was interrupted before it was done");
    database.speed_up();
    let leases = "knowledge_space_profile_backfills WHERE run_state = 'running' OR worker_id IS NOT NULL";
    assert_eq!(database.count(leases), 0, "no lease is left behind");
    let rest = bench.json(&adopt);
    assert_eq!((rest.exit, rest.document()["installed"].as_u64().unwrap() + first), (0, 200), "{}", rest.stderr);
    let status = bench.json(&["backfill", "status"]).document();
    assert_eq!((&status["succeeded"], &status["failed"]), (&200.into(), &0.into()));
    assert_eq!(bench.run(&["audit"]).exit, 0);
}

#[test]
fn a_killed_adoption_is_continued_when_its_leases_have_run_out() {
    let database = Database::migrated();
    let bench = Bench::on(database.url());
    let file = many_spaces(&bench, 50);
    assert_eq!(bench.run(&["import", &file]).exit, 0);
    database.slow_down(HEADS);
    let adopt = ["adopt", &file, "--catalog", &example("models.toml")];
    let child = bench.start(&adopt);
    wait_until("some are installed", || database.count(HEADS) >= 1);
    send("-KILL", &child);
    child.wait_with_output().unwrap();
    wait_until("the server is done with it", || database.is_left());
    database.speed_up();
    // Nobody waits 30 seconds here.
    database.sql(
        "UPDATE knowledge_space_profile_backfills
         SET lease_expires_at = heartbeat_at, heartbeat_at = heartbeat_at - interval '1 s'
         WHERE run_state = 'running'",
    );
    assert!(database.count(HEADS) < 100, "it was killed before it was done");
    let rest = bench.json(&adopt);
    assert_eq!((rest.exit, &rest.document()["pending"]), (0, &0.into()), "{}{}", rest.stdout, rest.stderr);
    assert_eq!(database.count(HEADS), 100);
    assert_eq!(bench.run(&["audit"]).exit, 0);
}

#[test]
fn a_damaged_row_is_shown_as_such_and_found_by_the_audit() {
    let database = Database::migrated();
    let bench = Bench::on(database.url());
    bench.with_history();
    assert_eq!(bench.run(&["audit"]).exit, 0);
    database.damage(
        "UPDATE knowledge_space_profile_revisions SET snapshot = jsonb_set(snapshot, '{dimension}', '1537')
         WHERE revision = 1",
    );
    let log = bench.json(&["log", EMBEDDING]);
    let items = log.document()["items"].clone();
    assert_eq!((log.exit, &items[0]["code"]), (1, &"SNAPSHOT_CORRUPT".into()));
    assert_eq!(items[1]["state"], "active", "the others are still readable");
    let restored = bench.json(&["restore", EMBEDDING, "1", "--expect", "2"]);
    assert_eq!((restored.exit, &restored.error()["code"]), (1, &"SNAPSHOT_CORRUPT".into()));
    let audit = bench.json(&["audit"]);
    assert_eq!(audit.exit, 1);
    let findings = audit.document()["findings"].clone();
    let rules: Vec<&Value> = findings.as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert!(rules.contains(&&"digest".into()), "{findings}");
    assert!(!rules.contains(&&"schema".into()), "{findings}");
    assert_shown("audit_damaged", &bench.run(&["audit"]).shown());
}
