//! Propose, activate, restore, fail: documents, errors and exit codes.

use serde_json::{Value, json};

use crate::bench::{Bench, EMBEDDING, RETRIEVAL, SPACE, embedding, on_each_store, retrieval};

on_each_store! {
    a_revision_is_printed_with_all_its_fields,
    somebody_elses_change_exits_3_and_says_what_is_there,
    the_number_and_the_vector_space_are_filled_in,
    history_is_read_back,
    a_rollback_appends_and_activates,
    both_kinds_are_activated_together,
}

fn keys(document: &Value) -> Vec<&str> {
    document.as_object().unwrap().keys().map(String::as_str).collect()
}

fn a_revision_is_printed_with_all_its_fields(bench: &Bench) {
    bench.run(&["space", "add", SPACE]);
    let snapshot = bench.write("1.json", embedding("m", 8, 1).to_string());
    let capability = bench.write("cap.json", "{\"n\": 0.9215686321258545}");
    let propose = ["propose", EMBEDDING, "--snapshot", &snapshot, "--capability", &capability, "--by", "bob"];
    let answer = bench.json(&propose);
    let revision = answer.document();
    let expected = [
        "capabilitySnapshot",
        "capabilitySnapshotDigest",
        "createdAt",
        "createdBySubjectId",
        "dimension",
        "id",
        "kind",
        "knowledgeSpaceId",
        "model",
        "pluginId",
        "provider",
        "replayed",
        "revision",
        "snapshot",
        "snapshotDigest",
        "state",
        "tenantId",
        "updatedAt",
        "vectorSpaceId",
    ];
    assert_eq!(keys(&revision), expected);
    assert_eq!(
        (&revision["tenantId"], &revision["kind"], &revision["state"]),
        (&"acme".into(), &"embedding".into(), &"candidate".into())
    );
    assert_eq!((&revision["createdBySubjectId"], &revision["replayed"]), (&"bob".into(), &false.into()));
    assert!(answer.stdout.contains("{\"n\":0.9215686321258545}"), "numbers are printed as they are stored");
    let time = revision["createdAt"].as_str().unwrap();
    assert!(time.len() == "2026-07-14T12:00:00.123456Z".len() && time.ends_with('Z'), "{time}");
    assert_eq!(bench.json(&propose).document()["replayed"], true);
}

fn somebody_elses_change_exits_3_and_says_what_is_there(bench: &Bench) {
    bench.with_history();
    let three = bench.write("3.json", embedding("three", 8, 3).to_string());
    let propose = ["propose", EMBEDDING, "--snapshot", &three, "--capability", "cap.json"];
    assert_eq!(bench.run(&propose).exit, 0);
    let stale = bench.json(&["activate", EMBEDDING, "3", "--expect", "1"]);
    assert_eq!(stale.exit, 3);
    assert_eq!(stale.error()["code"], "HEAD_CONFLICT");
    assert_eq!((&stale.error()["expected"], &stale.error()["actual"]), (&1.into(), &2.into()));
    let none = bench.json(&["activate", EMBEDDING, "3", "--expect", "none"]);
    assert_eq!((&none.error()["expected"], &none.error()["actual"]), (&Value::Null, &2.into()));
    let four = bench.write("4.json", embedding("four", 8, 4).to_string());
    let second = bench.json(&["propose", EMBEDDING, "--snapshot", &four, "--capability", "cap.json"]);
    assert_eq!(
        (second.exit, &second.error()["code"], &second.error()["revision"]),
        (3, &"CANDIDATE_EXISTS".into(), &3.into())
    );
    bench.run(&["fail", EMBEDDING, "3", "--code", "CODE", "--message", "why"]);
    let gap = bench.json(&[
        "propose",
        EMBEDDING,
        "--snapshot",
        &bench.write("9.json", embedding("nine", 8, 9).to_string()),
        "--capability",
        "cap.json",
    ]);
    assert_eq!((gap.exit, &gap.error()["code"]), (3, &"REVISION_CONFLICT".into()));
    assert_eq!((&gap.error()["expected"], &gap.error()["actual"]), (&4.into(), &9.into()));
    let failed = bench.json(&["activate", EMBEDDING, "3", "--expect", "2"]);
    assert_eq!(
        (failed.exit, &failed.error()["code"], &failed.error()["state"]),
        (1, &"NOT_CANDIDATE".into(), &"failed".into())
    );
    let invalid = bench.write("bad.json", "{}");
    let refused = bench.json(&["propose", EMBEDDING, "--snapshot", &invalid, "--capability", "cap.json"]);
    assert_eq!((refused.exit, refused.error()["issues"].as_array().unwrap().len()), (1, 6));
}

fn the_number_and_the_vector_space_are_filled_in(bench: &Bench) {
    bench.with_history();
    let model =
        ["--plugin", "p", "--provider", "o", "--model", "m", "--dimension", "8", "--capability", "cap.json"];
    let propose = [&["propose", EMBEDDING][..], &model].concat();
    let revision = bench.json(&propose).document();
    assert_eq!((&revision["revision"], &revision["dimension"]), (&3.into(), &8.into()));
    assert!(revision["vectorSpaceId"].as_str().unwrap().starts_with("embedding-space-sha256:"));
    let half = bench.run(&["propose", EMBEDDING, "--plugin", "p", "--capability", "cap.json"]);
    assert_eq!(half.exit, 2, "a model has all its names");
    let both = [&["propose", EMBEDDING, "--snapshot", "1.json"][..], &model].concat();
    assert_eq!(bench.run(&both).exit, 2, "one form or the other");
    let wrong =
        ["--plugin", "p", "--provider", "o", "--model", " m", "--dimension", "8", "--capability", "cap.json"];
    let refused = bench.json(&[&["publish", EMBEDDING, "--expect", "2"][..], &wrong].concat());
    assert_eq!(refused.error()["issues"][0]["path"], "/model");
    let zero =
        ["--plugin", "p", "--provider", "o", "--model", "m", "--dimension", "0", "--capability", "cap.json"];
    assert_eq!(bench.run(&[&["propose", EMBEDDING][..], &zero].concat()).exit, 2);
}

fn history_is_read_back(bench: &Bench) {
    bench.with_history();
    let shown = bench.json(&["show", EMBEDDING]).document();
    let expected = [
        "activeRevision",
        "createdAt",
        "kind",
        "knowledgeSpaceId",
        "profile",
        "rowVersion",
        "tenantId",
        "updatedAt",
    ];
    assert_eq!(keys(&shown), expected);
    assert_eq!((&shown["activeRevision"], &shown["rowVersion"]), (&2.into(), &2.into()));
    assert_eq!(shown["profile"]["activatedBySubjectId"], "user:ann");
    let page = bench.json(&["log", EMBEDDING, "--limit", "1"]).document();
    assert_eq!((&page["activeRevision"], &page["nextRevision"]), (&2.into(), &1.into()));
    let rest = bench.json(&["log", EMBEDDING, "--after", "1"]).document();
    assert_eq!((rest["items"].as_array().unwrap().len(), rest.get("nextRevision")), (1, None));
    let first = bench.json(&["log", EMBEDDING]).document()["items"][0].clone();
    let at = bench.json(&["at", EMBEDDING, first["activatedAt"].as_str().unwrap()]);
    assert_eq!(at.document(), first);
    assert_eq!(bench.json(&["at", EMBEDDING, "2000-01-01T00:00:00Z"]).exit, 4);
    let diff = bench.json(&["diff", EMBEDDING, "1", "2"]).document();
    assert_eq!(diff["needsReembedding"], true);
    assert_eq!(diff["changes"][0], json!({"path": "/dimension", "before": 1536, "after": 3072}));
    assert_eq!(bench.run(&["diff", EMBEDDING, "1", "9"]).exit, 4);
    let empty = bench.json(&["log", RETRIEVAL]).document();
    assert_eq!((&empty["activeRevision"], &empty["items"]), (&Value::Null, &json!([])));
}

fn a_rollback_appends_and_activates(bench: &Bench) {
    bench.with_history();
    let restored = bench.json(&["restore", EMBEDDING, "1", "--expect", "2"]);
    assert_eq!((restored.exit, &restored.document()["activeRevision"]), (0, &3.into()));
    assert_eq!(restored.document()["profile"]["model"], "text-embedding-3-small");
    assert_eq!(bench.json(&["restore", EMBEDDING, "1", "--expect", "2"]).document()["replayed"], true);
    let again = bench.json(&["restore", EMBEDDING, "3", "--expect", "3"]);
    assert_eq!((again.exit, &again.error()["code"]), (1, &"NO_CHANGE".into()));
    assert_eq!(bench.run(&["audit"]).exit, 0);
}

fn both_kinds_are_activated_together(bench: &Bench) {
    bench.run(&["space", "add", SPACE]);
    bench.write("cap.json", "{}");
    let one = bench.write("e.json", embedding("m", 8, 1).to_string());
    bench.run(&["propose", EMBEDDING, "--snapshot", &one, "--capability", "cap.json"]);
    let activate = [
        "activate-all",
        SPACE,
        "--embedding",
        "1",
        "--expect-embedding",
        "none",
        "--retrieval",
        "1",
        "--expect-retrieval",
        "none",
    ];
    let refused = bench.json(&activate);
    assert_eq!(
        (refused.exit, &refused.error()["code"], &refused.error()["kind"]),
        (4, &"REVISION_NOT_FOUND".into(), &"retrieval".into())
    );
    let two = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &two, "--capability", "cap.json"]);
    let both = bench.json(&activate);
    assert_eq!(both.exit, 0);
    assert_eq!(
        (&both.document()["embedding"]["activeRevision"], &both.document()["retrieval"]["activeRevision"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn the_store_and_the_subject_come_from_the_environment_too() {
    let bench = Bench::new();
    let answer = bench
        .command(&["--json", "space", "add", SPACE])
        .env("SPACE_PROFILES_STORE", "sqlite:elsewhere.db")
        .output()
        .unwrap();
    assert!(answer.status.success() && bench.path("elsewhere.db").exists() && !bench.database().exists());
}
