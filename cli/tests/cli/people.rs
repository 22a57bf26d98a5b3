//! What people see, as snapshots.

use crate::bench::{Bench, EMBEDDING, SPACE, embedding, example, on_each_store};

on_each_store! {
    a_history,
    errors_that_say_what_to_do,
    adoption,
    what_failed_is_listed_in_the_order_of_the_file_and_of_the_scopes,
}

/// Compares with the stored snapshot; times, ids and digests differ from run to run.
pub(crate) fn assert_shown(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z", "(a time, in UTC)    ");
    settings.add_filter(r"row [0-9a-f-]{36}", "row (an id)");
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

fn a_history(bench: &Bench) {
    bench.with_history();
    assert_shown("show", &bench.run(&["show", EMBEDDING]).shown());
    assert_shown("log", &bench.run(&["log", EMBEDDING]).shown());
    assert_shown("diff", &bench.run(&["diff", EMBEDDING, "1", "2"]).shown());
    assert_shown("restore", &bench.run(&["restore", EMBEDDING, "1", "--expect", "2"]).shown());
    assert_shown("restore_again", &bench.run(&["restore", EMBEDDING, "1", "--expect", "2"]).shown());
    assert_shown("space_list", &bench.run(&["space", "list"]).shown());
    assert_shown("audit", &bench.run(&["audit"]).shown());
}

fn errors_that_say_what_to_do(bench: &Bench) {
    bench.with_history();
    assert_shown("head_conflict", &bench.run(&["restore", EMBEDDING, "1", "--expect", "1"]).shown());
    assert_shown("no_change", &bench.run(&["restore", EMBEDDING, "2", "--expect", "2"]).shown());
    assert_shown("not_found", &bench.run(&["show", &format!("{SPACE}/retrieval")]).shown());
    let wrong = bench.write("wrong.json", embedding(" bge-m3", 0, 3).to_string());
    let propose = ["propose", EMBEDDING, "--snapshot", &wrong, "--capability", "cap.json"];
    assert_shown("snapshot_invalid", &bench.run(&propose).shown());
    assert_shown("no_such_file", &bench.run(&["digest", "nowhere.json"]).shown());
}

#[test]
fn validation() {
    let bench = Bench::new();
    let valid = ["validate", &example("retrieval.json"), "--kind", "retrieval"];
    assert_shown("valid", &bench.run(&valid).shown());
    let wrong = bench.write("wrong.json", "{\"model\": \"\", \"dimension\": \"1536\", \"apiKey\": \"secret\"}");
    assert_shown("invalid", &bench.run(&["validate", &wrong, "--kind", "embedding"]).shown());
}

fn adoption(bench: &Bench) {
    let catalog = example("models.toml");
    let adopt = |file: &str| bench.run(&["adopt", &example(file), "--catalog", &catalog]).shown();
    assert_shown("adopt", &adopt("manifests.ndjson"));
    let broken = adopt("broken.ndjson");
    for code in ["JSON_INVALID", "MODEL_SELECTION_NOT_FOUND", "LEGACY_PROFILE_INVALID"] {
        assert!(broken.contains(code), "{broken}");
    }
    assert_shown("backfill_status", &bench.run(&["backfill", "status"]).shown());
}

fn what_failed_is_listed_in_the_order_of_the_file_and_of_the_scopes(bench: &Bench) {
    let adopt = ["adopt", &example("broken.ndjson"), "--catalog", &example("models.toml")];
    assert_shown("adopt_broken", &bench.run(&adopt).shown());
    assert_shown("backfill_list", &bench.run(&["backfill", "list"]).shown());
}

#[test]
fn a_damaged_history() {
    let bench = Bench::new();
    bench.with_history();
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    let damage = "DROP TRIGGER knowledge_space_profile_revisions_immutable_tr;
                  UPDATE knowledge_space_profile_revisions SET snapshot_digest = hex(zeroblob(32))
                      WHERE revision = 1";
    connection.execute_batch(damage).unwrap();
    assert_shown("log_damaged", &bench.run(&["log", EMBEDDING]).shown());
    assert_shown("audit_findings", &bench.run(&["audit"]).shown());
}

#[test]
fn help() {
    let bench = Bench::new();
    assert_shown("help", &bench.run(&["--help"]).shown());
    assert_shown("help_copy", &bench.run(&["copy", "--help"]).shown());
    assert_shown("help_propose", &bench.run(&["propose", "--help"]).shown());
    for command in
        ["validate", "adopt", "activate", "restore", "audit", "log", "diff", "import", "copy", "completions"]
    {
        let answer = bench.run(&[command, "--help"]);
        assert!(answer.stdout.contains("Example"), "`{command} --help` has no example");
    }
}
