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
    assert!(answer.error()["message"].as_str().unwrap().contains("busy_timeout_ms=N"), "{}", answer.stderr);
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

/// Everything that the file holds, to compare it with later.
fn rows(bench: &Bench) -> String {
    ["log", "show"].map(|command| bench.json(&[command, EMBEDDING]).stdout).concat()
}

#[test]
#[cfg(unix)]
fn a_read_only_store_is_read_and_takes_no_writes() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    let bench = Bench::new();
    bench.with_history();
    let before = rows(&bench);
    let permit = |path: std::path::PathBuf, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(bench.database(), 0o444);
    permit(bench.path("."), 0o777);
    // Permissions mean nothing to root, so somebody else writes.
    let is_root = std::fs::OpenOptions::new().write(true).open(bench.database()).is_ok();
    let binary = bench.path("space-profiles");
    std::fs::copy(env!("CARGO_BIN_EXE_space-profiles"), &binary).unwrap();
    permit(binary.clone(), 0o755);
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&binary);
        command.arg("--json").args(arguments).args(["--by", "ann"]).current_dir(bench.path("."));
        command.env_remove("SPACE_PROFILES_STORE");
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        loop {
            match command.output() {
                // Another test that starts a process at this moment may hold the copy open for a while.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                answer => return answer.unwrap(),
            }
        }
    };
    let refused = run(&["restore", EMBEDDING, "1", "--expect", "2"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(5), "{error}");
    assert!(error.contains("\"code\":\"STORE_READ_ONLY\""), "{error}");
    permit(bench.database(), 0o644);
    assert_eq!(rows(&bench), before, "the rows are as they were");
}

#[test]
fn a_damaged_database_is_unavailable_and_is_not_touched() {
    let bench = Bench::new();
    bench.with_history();
    let mut content = std::fs::read(bench.database()).unwrap();
    assert!(content.len() > 8_192, "closing the store left everything in the file itself");
    content[100..4_096].fill(0xFF);
    std::fs::write(bench.database(), &content).unwrap();
    for arguments in [&["show", EMBEDDING][..], &["audit"], &["restore", EMBEDDING, "1", "--expect", "2"]] {
        let answer = bench.json(arguments);
        let code = answer.error()["code"].as_str().unwrap().to_owned();
        assert!(answer.exit == 5 && code.starts_with("STORE_"), "{arguments:?}: {}", answer.stderr);
    }
    assert_eq!(std::fs::read(bench.database()).unwrap(), content);
}

#[test]
fn a_database_of_somebody_else_is_left_alone() {
    let bench = Bench::new();
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    connection.execute_batch("CREATE TABLE notes (text); PRAGMA user_version = 900;").unwrap();
    drop(connection);
    let before = std::fs::read(bench.database()).unwrap();
    let answer = bench.json(&["space", "add", SPACE]);
    assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_SCHEMA".into()));
    assert_eq!(std::fs::read(bench.database()).unwrap(), before);
}
