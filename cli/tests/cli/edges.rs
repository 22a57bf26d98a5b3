//! What scripts, terminals and hostile input make of the tool.

use serde_json::Value;

use crate::bench::{Answer, Bench, EMBEDDING, RETRIEVAL, SPACE, embedding, on_each_store, retrieval};

on_each_store! {
    a_stored_name_cannot_steer_a_terminal,
    a_line_that_is_refused_names_its_space_and_no_scope,
    each_sort_of_absence_exits_4,
    a_legacy_profile_is_adopted_first_unless_that_is_overridden,
    the_same_configuration_needs_to_be_asked_for,
    a_first_failure_stands,
}

/// Every command, as it is asked for help.
const COMMANDS: &[&[&str]] = &[
    &["validate"],
    &["digest"],
    &["canonical"],
    &["migrate"],
    &["doctor"],
    &["space"],
    &["space", "add"],
    &["space", "list"],
    &["space", "delete"],
    &["import"],
    &["propose"],
    &["activate"],
    &["publish"],
    &["restore"],
    &["fail"],
    &["activate-all"],
    &["show"],
    &["log"],
    &["at"],
    &["diff"],
    &["backfill"],
    &["backfill", "discover"],
    &["backfill", "run"],
    &["backfill", "status"],
    &["backfill", "list"],
    &["backfill", "retry"],
    &["adopt"],
    &["audit"],
    &["copy"],
    &["completions"],
];

#[test]
fn every_command_has_an_example_and_never_shows_what_the_environment_holds() {
    let bench = Bench::new();
    for command in COMMANDS {
        let output = bench
            .command(&[command, &["--help"][..]].concat())
            .env("SPACE_PROFILES_STORE", "postgres://ann:s3cret@localhost/db")
            .output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && help.contains("Example"), "{command:?}: {help}");
        assert!(!help.contains("s3cret"), "{command:?}");
    }
}

#[test]
fn a_script_gets_wrong_usage_as_json_too() {
    let bench = Bench::new();
    for (arguments, code) in [
        (&["frobnicate"][..], "USAGE"),
        (&["activate", EMBEDDING, "1"], "USAGE"),
        (&["activate", EMBEDDING, "0", "--expect", "none"], "ARGUMENT_INVALID"),
        (&["show", "acme/not-a-uuid/embedding"], "ARGUMENT_INVALID"),
    ] {
        let answer = bench.json(arguments);
        assert_eq!((answer.exit, answer.stdout.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(answer.error()["code"], code, "{arguments:?}");
        assert!(answer.error()["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    let wrong = bench.json(&["log", EMBEDDING, "--limit", "1001"]);
    assert_eq!(wrong.error()["field"], "limit");
    assert_eq!(bench.json(&["--help"]).exit, 0, "help is no error");
}

#[test]
fn a_digest_is_a_document_for_scripts_and_a_line_for_people() {
    let bench = Bench::new();
    let digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(bench.piped(&["digest", "-"], b"{}").stdout, format!("{digest}\n"));
    let document = bench.piped(&["--json", "digest", "-"], b"{}").document();
    assert_eq!(document, serde_json::json!({ "digest": digest }));
}

#[test]
fn a_reader_that_goes_away_from_completions_is_no_error() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let bench = Bench::new();
        let mut child = bench.start(&["completions", shell]);
        drop(child.stdout.take());
        let answer = Bench::finish(child);
        assert_eq!((answer.exit, answer.stderr.as_str()), (0, ""), "{shell}");
    }
}

fn a_stored_name_cannot_steer_a_terminal(bench: &Bench) {
    assert_eq!(bench.run(&["space", "add", SPACE, "--name", "Hand\u{1b}[2J\u{9b}2Jbook\u{7}"]).exit, 0);
    let listed = bench.command(&["space", "list"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let harmless = |text: &str| !text.contains(['\u{1b}', '\u{9b}', '\u{7}']);
    assert!(harmless(&listed) && listed.contains("Hand\\u{1b}[2J"), "{listed}");
    let refused = bench.run(&["space", "add", SPACE, "--name", "Other"]);
    assert!(harmless(&refused.stderr), "{}", refused.stderr);
    let name = bench.json(&["space", "list"]).document()["name"].clone();
    assert_eq!(name, "Hand\u{1b}[2J\u{9b}2Jbook\u{7}", "scripts get it as it is");
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let bench = Bench::new();
    bench.with_history();
    let diff = |name: &str, value: &str| {
        let output = bench.command(&["diff", EMBEDDING, "1", "2"]).env(name, value).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!diff("TERM", "xterm").contains('\u{1b}'), "a pipe is no terminal");
    assert!(diff("CLICOLOR_FORCE", "1").contains('\u{1b}'));
    let output = bench
        .command(&["diff", EMBEDDING, "1", "2"])
        .envs([("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")])
        .output()
        .unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains('\u{1b}'), "NO_COLOR wins");
}

#[test]
fn input_that_cannot_be_read_leaves_no_store_behind() {
    let bench = Bench::new();
    bench.write("cap.json", "{}");
    let propose = ["propose", EMBEDDING, "--snapshot", "nowhere.json", "--capability", "cap.json"];
    for arguments in [&["import", "nowhere.ndjson"][..], &["import", "."], &propose] {
        let answer = bench.json(arguments);
        assert_eq!((answer.exit, &answer.error()["code"]), (1, &"INPUT_UNREADABLE".into()), "{arguments:?}");
    }
    assert!(!bench.database().exists());
    let both = ["propose", EMBEDDING, "--snapshot", "-", "--capability", "-"];
    assert_eq!(bench.run(&both).exit, 2, "standard input can only be read once");
}

#[test]
fn a_model_is_no_retrieval_profile() {
    let bench = Bench::new();
    bench.write("cap.json", "{}");
    let model = ["--plugin", "p", "--provider", "o", "--model", "m", "--dimension", "8"];
    let propose = [&["propose", RETRIEVAL, "--capability", "cap.json"][..], &model].concat();
    let answer = bench.run(&propose);
    assert!(answer.exit == 2 && answer.stderr.contains("--snapshot"), "{}", answer.stderr);
}

fn a_line_that_is_refused_names_its_space_and_no_scope(bench: &Bench) {
    let line = |version: u32| {
        format!(
            "{{\"tenantId\":\"acme\",\"knowledgeSpaceId\":\"018f0d60-7a49-7cc2-9c1b-5b36f18f3a40\",\
             \"manifestVersion\":{version},\"metadata\":{{\"v\":{version}}}}}"
        )
    };
    let file = bench.write("spaces.ndjson", format!("{}\n{}\n", line(2), line(1)));
    let failed = bench.json(&["import", &file]).document()["failed"][0].clone();
    assert_eq!((&failed["line"], &failed["code"]), (&2.into(), &"MANIFEST_CONFLICT".into()));
    assert!(failed.get("scope").is_none() && failed["message"].as_str().unwrap().contains(SPACE), "{failed}");
}

fn each_sort_of_absence_exits_4(bench: &Bench) {
    bench.with_history();
    for (arguments, code) in [
        (&["show", RETRIEVAL][..], "PROFILE_NOT_FOUND"),
        (&["at", EMBEDDING, "2000-01-01T00:00:00Z"], "PROFILE_NOT_FOUND"),
        (&["activate", EMBEDDING, "9", "--expect", "2"], "REVISION_NOT_FOUND"),
        (&["restore", EMBEDDING, "9", "--expect", "2"], "REVISION_NOT_FOUND"),
        (&["fail", EMBEDDING, "9", "--code", "C", "--message", "m"], "REVISION_NOT_FOUND"),
        (&["space", "delete", "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a41", "--yes"], "SPACE_NOT_FOUND"),
        (&["backfill", "retry", EMBEDDING], "BACKFILL_NOT_FOUND"),
    ] {
        let answer = bench.json(arguments);
        assert_eq!((answer.exit, &answer.error()["code"]), (4, &code.into()), "{arguments:?}");
    }
}

#[test]
fn a_space_that_is_not_writable_is_refused_and_unchanged() {
    let bench = Bench::new();
    bench.with_history();
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    connection.execute("UPDATE knowledge_spaces SET lifecycle_state = 'deleting'", []).unwrap();
    let refused = bench.json(&["restore", EMBEDDING, "1", "--expect", "2"]);
    assert_eq!((refused.exit, &refused.error()["code"]), (1, &"SPACE_NOT_WRITABLE".into()));
    assert_eq!(bench.json(&["show", EMBEDDING]).document()["rowVersion"], 2);
}

fn a_legacy_profile_is_adopted_first_unless_that_is_overridden(bench: &Bench) {
    let profile = retrieval(5, 1);
    let line = serde_json::json!({
        "tenantId": "acme", "knowledgeSpaceId": "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40", "manifestVersion": 1,
        "metadata": {"__knowledgeFsRetrievalProfile": profile},
    });
    bench.run(&["import", &bench.write("spaces.ndjson", line.to_string())]);
    bench.write("cap.json", "{}");
    let snapshot = bench.write("r.json", retrieval(7, 1).to_string());
    let propose = ["propose", RETRIEVAL, "--snapshot", &snapshot, "--capability", "cap.json"];
    let refused = bench.run(&propose);
    assert!(refused.exit == 1 && refused.stderr.contains("ADOPTION_PENDING"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--ignore-legacy"), "it says what to do: {}", refused.stderr);
    assert_eq!(bench.run(&[&propose[..], &["--ignore-legacy"]].concat()).exit, 0);
}

fn the_same_configuration_needs_to_be_asked_for(bench: &Bench) {
    bench.with_history();
    // A vector space may be carried on by the same model.
    let mut same = embedding("text-embedding-3-large", 3072, 3);
    same["vectorSpaceId"] = embedding("", 1, 2)["vectorSpaceId"].clone();
    let snapshot = bench.write("3.json", same.to_string());
    let publish = ["publish", EMBEDDING, "--snapshot", &snapshot, "--capability", "cap.json", "--expect", "2"];
    let refused = bench.json(&publish);
    assert_eq!((refused.exit, &refused.error()["code"]), (1, &"NO_CHANGE".into()));
    let allowed = bench.json(&[&publish[..], &["--allow-unchanged"]].concat());
    assert_eq!((allowed.exit, &allowed.document()["activeRevision"]), (0, &3.into()));
}

fn a_first_failure_stands(bench: &Bench) {
    bench.run(&["space", "add", SPACE]);
    bench.write("cap.json", "{}");
    let one = bench.write("1.json", embedding("m", 8, 1).to_string());
    bench.run(&["propose", EMBEDDING, "--snapshot", &one, "--capability", "cap.json"]);
    let fail =
        |code: &str| -> Answer { bench.json(&["fail", EMBEDDING, "1", "--code", code, "--message", "why"]) };
    let first: Value = fail("FIRST").document();
    assert_eq!((&first["state"], &first["failureCode"]), (&"failed".into(), &"FIRST".into()));
    assert_eq!((&first["failedBySubjectId"], &first["replayed"]), (&"user:ann".into(), &false.into()));
    let second = fail("SECOND").document();
    assert_eq!((&second["failureCode"], &second["replayed"]), (&"FIRST".into(), &true.into()));
}
