//! Stores that cannot be used, and rows that somebody damaged.

use crate::bench::{Bench, EMBEDDING, SPACE};

#[test]
fn g6_17_a_damaged_row_is_an_entry_of_its_own() {
    let bench = Bench::new();
    bench.with_history();
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for trigger in triggers {
        connection.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
    }
    let damage = "UPDATE knowledge_space_profile_revisions SET snapshot = replace(snapshot, '1536', '1537') WHERE revision = 1";
    assert_eq!(connection.execute(damage, []).unwrap(), 1);
    let log = bench.json(&["log", EMBEDDING]);
    assert_eq!(log.exit, 1);
    let items = log.document()["items"].clone();
    assert_eq!((&items[0]["code"], &items[0]["revision"]), (&"SNAPSHOT_CORRUPT".into(), &1.into()));
    assert_eq!(items[1]["state"], "active", "the others are still readable");
    let restored = bench.json(&["restore", EMBEDDING, "1", "--expect", "2"]);
    assert_eq!((restored.exit, &restored.error()["code"]), (1, &"SNAPSHOT_CORRUPT".into()));
    let audit = bench.json(&["audit"]);
    assert_eq!(audit.exit, 1);
    let rules: Vec<&str> = audit.document()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned().leak() as &str)
        .collect();
    assert!(rules.contains(&"digest") && rules.contains(&"schema"), "{rules:?}");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let bench = Bench::new();
    let content = "this is not a database, but a text that somebody wants to keep".repeat(20);
    bench.write("space-profiles.db", &content);
    let answer = bench.json(&["space", "list"]);
    assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_UNAVAILABLE".into()));
    assert_eq!(std::fs::read_to_string(bench.database()).unwrap(), content);
}

#[test]
fn g6_14_a_locked_store_is_busy_and_unchanged() {
    let bench = Bench::new();
    bench.with_history();
    let mut connection = rusqlite::Connection::open(bench.database()).unwrap();
    let lock = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let store = "sqlite:space-profiles.db?busy_timeout_ms=200";
    let answer = bench.json(&["--store", store, "restore", EMBEDDING, "1", "--expect", "2"]);
    assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_BUSY".into()));
    drop(lock);
    assert_eq!(bench.json(&["show", EMBEDDING]).document()["activeRevision"], 2);
}

#[test]
fn a_store_in_a_folder_that_does_not_exist_is_unavailable() {
    let answer = Bench::new().json(&["--store", "sqlite:nowhere/profiles.db", "space", "add", SPACE]);
    assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_UNAVAILABLE".into()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.with_history();
    let mut child = bench.start(&["--json", "log", EMBEDDING]);
    drop(child.stdout.take());
    let answer = Bench::finish(child);
    assert_eq!((answer.exit, answer.stderr.as_str()), (0, ""));
}
