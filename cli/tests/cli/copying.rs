//! Copies of whole stores.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::adopting::many_spaces;
use crate::bench::{Answer, Bench, EMBEDDING, RETRIEVAL, SPACE, embedding, example, retrieval};
use crate::people::assert_shown;

const HERE: &str = "sqlite:space-profiles.db";
const THERE: &str = "sqlite:there.db";

fn copy(bench: &Bench) -> Answer {
    bench.json(&["copy", "--from", HERE, "--to", THERE])
}

pub(crate) fn counts(answer: &Answer) -> (u64, u64, u64, usize) {
    let document = answer.document();
    let count = |name: &str| document[name].as_u64().unwrap();
    (count("spaces"), count("copied"), count("skipped"), document["failed"].as_array().unwrap().len())
}

/// Everything that a store tells of the usual scopes and of its ledger.
pub(crate) fn told(bench: &Bench, store: &str) -> String {
    let commands: [&[&str]; 6] = [
        &["space", "list"],
        &["log", EMBEDDING],
        &["show", EMBEDDING],
        &["log", RETRIEVAL],
        &["backfill", "list"],
        &["audit"],
    ];
    let ask = |command: &&[&str]| bench.json(&[&["--store", store], *command].concat()).stdout;
    commands.iter().map(ask).collect()
}

fn connect(bench: &Bench, name: &str) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(bench.path(name)).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

/// A store in which there is a row of every sort.
pub(crate) fn fill(bench: &Bench) {
    bench.with_history();
    bench.run(&["restore", EMBEDDING, "1", "--expect", "2"]);
    let four = bench.write("4.json", embedding("four", 8, 4).to_string());
    bench.run(&["propose", EMBEDDING, "--snapshot", &four, "--capability", "cap.json"]);
    bench.run(&["fail", EMBEDDING, "4", "--code", "CODE", "--message", "why"]);
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    bench.run(&["adopt", &example("broken.ndjson"), "--catalog", &example("models.toml")]);
    bench.run(&["space", "add", "globex/eu/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40", "--name", "Händbuch 📚"]);
}

#[test]
fn a_store_is_copied_to_the_last_field_and_once_only() {
    let bench = Bench::new();
    fill(&bench);
    let before = std::fs::read(bench.database()).unwrap();
    let first = copy(&bench);
    let (spaces, copied, skipped, failed) = counts(&first);
    assert_eq!((first.exit, skipped, failed), (0, 0, 0), "{}", first.stdout);
    assert!(spaces > 1 && copied > 2);
    assert_eq!(told(&bench, THERE), told(&bench, HERE));
    let again = copy(&bench);
    assert_eq!((again.exit, counts(&again)), (0, (spaces, 0, copied, 0)));
    assert_eq!(std::fs::read(bench.database()).unwrap(), before, "the source is as it was");
}

#[test]
fn people_see_what_was_copied_and_what_was_not() {
    let bench = Bench::new();
    bench.with_history();
    let copy = ["copy", "--from", HERE, "--to", THERE];
    assert_shown("copy", &bench.run(&copy).shown());
    assert_shown("copy_again", &bench.run(&copy).shown());
    bench.run(&["--store", THERE, "restore", EMBEDDING, "1", "--expect", "2"]);
    bench.run(&["space", "add", "globex/018f0d60-7a49-7cc2-9c1b-5b36f18f3a41"]);
    assert_shown("copy_conflict", &bench.run(&copy).shown());
    let damage = "DROP TRIGGER knowledge_space_profile_revisions_immutable_tr;
                  UPDATE knowledge_space_profile_revisions SET snapshot_digest = hex(zeroblob(32))
                      WHERE revision = 1";
    connect(&bench, "space-profiles.db").execute_batch(damage).unwrap();
    assert_shown("copy_corrupt", &bench.run(&["copy", "--from", HERE, "--to", "sqlite:elsewhere.db"]).shown());
}

#[test]
fn what_differs_is_refused_and_the_rest_is_copied() {
    let bench = Bench::new();
    bench.with_history();
    copy(&bench);
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    let publish = ["publish", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json", "--expect", "none"];
    bench.run(&publish);
    bench.run(&["--store", THERE, "restore", EMBEDDING, "1", "--expect", "2"]);
    let there = bench.json(&["--store", THERE, "log", EMBEDDING]).stdout;
    let answer = copy(&bench);
    assert_eq!((answer.exit, counts(&answer)), (1, (1, 1, 0, 1)));
    let failed = answer.document()["failed"][0].clone();
    assert_eq!((&failed["scope"], &failed["code"]), (&EMBEDDING.into(), &"COPY_CONFLICT".into()));
    assert_eq!(bench.json(&["--store", THERE, "log", EMBEDDING]).stdout, there, "it is left as it is");

    bench.run(&["--store", THERE, "space", "delete", SPACE, "--yes"]);
    bench.run(&["--store", THERE, "space", "add", SPACE, "--name", "Other"]);
    let answer = copy(&bench);
    assert_eq!((answer.exit, counts(&answer)), (1, (1, 0, 0, 1)));
    let failed = answer.document()["failed"][0].clone();
    assert_eq!((failed.get("scope"), &failed["code"]), (None, &"COPY_CONFLICT".into()));
    assert!(failed["message"].as_str().unwrap().starts_with(&format!("space {SPACE}: ")), "{failed}");
}

#[test]
fn a_running_backfill_arrives_queued_and_is_claimed_there() {
    let bench = Bench::new();
    let first = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    let file = bench.write("one.ndjson", first.lines().next().unwrap());
    bench.run(&["import", &file]);
    bench.run(&["backfill", "discover"]);
    let claim = "UPDATE knowledge_space_profile_backfills
                 SET run_state = 'running', execution_attempts = 1, row_version = 2, worker_id = 'host:1',
                     lease_token = '018f0d60-7a49-4cc2-9c1b-5b36f18f3a40', lease_expires_at = 4102444800000000,
                     heartbeat_at = updated_at
                 WHERE kind = 'embedding'";
    assert_eq!(connect(&bench, "space-profiles.db").execute(claim, []).unwrap(), 1);
    assert_eq!(counts(&copy(&bench)), (1, 2, 0, 0));
    let rows = |store: &str| -> Vec<Value> {
        let text = bench.json(&["--store", store, "backfill", "list"]).stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for (mut here, there) in rows(HERE).into_iter().zip(rows(THERE)) {
        if here["state"] == "running" {
            here["state"] = "queued".into();
            here["attempts"] = 0.into();
            here.as_object_mut().unwrap().retain(|name, _| name != "workerId" && name != "leaseExpiresAt");
        }
        assert_eq!(there, here);
    }
    assert_eq!(counts(&copy(&bench)), (1, 0, 2, 0), "again it is equal");
    let run = ["--store", THERE, "backfill", "run", "--catalog", &example("models.toml")];
    assert_eq!(bench.json(&run).document()["installed"], 2);
}

#[test]
fn a_broken_scope_stays_behind_with_what_is_wrong_and_the_rest_is_copied() {
    let bench = Bench::new();
    bench.with_history();
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    let damage = "DROP TRIGGER knowledge_space_profile_revisions_immutable_tr;
                  UPDATE knowledge_space_profile_revisions SET snapshot = replace(snapshot, '1536', '1537')";
    connect(&bench, "space-profiles.db").execute_batch(damage).unwrap();
    let answer = copy(&bench);
    assert_eq!((answer.exit, counts(&answer)), (1, (1, 1, 0, 1)));
    let failed = answer.document()["failed"][0].clone();
    assert_eq!((&failed["scope"], &failed["code"]), (&EMBEDDING.into(), &"SNAPSHOT_CORRUPT".into()));
    assert!(failed["message"].as_str().unwrap().contains("revision 1"), "{failed}");
    assert_eq!(bench.json(&["--store", THERE, "log", EMBEDDING]).document()["items"], Value::Array(Vec::new()));
    assert_eq!(bench.json(&["--store", THERE, "audit"]).exit, 0);
}

#[test]
fn a_source_must_exist_and_be_another_store() {
    let bench = Bench::new();
    let answer = copy(&bench);
    assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_UNAVAILABLE".into()));
    assert!(!bench.database().exists() && !bench.path("there.db").exists(), "nothing is made");
    for (from, to) in [(HERE, HERE), ("mysql:a", THERE), (HERE, "mysql:a")] {
        assert_eq!(bench.json(&["copy", "--from", from, "--to", to]).exit, 2, "{from} to {to}");
    }
    assert_eq!(bench.json(&["copy", "--from", HERE]).exit, 2);
}

#[test]
#[cfg(unix)]
fn an_interrupted_copy_leaves_whole_scopes_and_is_continued() {
    let bench = Bench::new();
    let file = many_spaces(&bench, 600);
    bench.run(&["import", &file]);
    bench.run(&["backfill", "discover"]);
    let child = bench.start(&["copy", "--from", HERE, "--to", THERE]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let arrived = || {
        let count = "SELECT count(*) FROM knowledge_space_profile_backfills";
        connect(&bench, "there.db").query_row(count, [], |row| row.get::<_, u32>(0)).map_or(0, u64::from)
    };
    while !bench.path("there.db").exists() || arrived() < 20 {
        assert!(Instant::now() < deadline, "nothing was copied in a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    crate::adopting::send("-INT", &child);
    let answer = Bench::finish(child);
    assert_eq!(answer.exit, 130, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("`copy` again goes on from here"), "{}", answer.stdout);
    let first = arrived();
    assert!((20..1_200).contains(&first), "{first}");
    assert_eq!(bench.json(&["--store", THERE, "audit"]).exit, 0);
    let rest = copy(&bench);
    assert_eq!((rest.exit, counts(&rest)), (0, (600, 1_200 - first, first, 0)));
}
