//! Commands that need no store, and usage.

use crate::bench::{Bench, embedding, example, retrieval};

#[test]
fn validate_tells_every_issue_and_exits_1() {
    let bench = Bench::new();
    let mut snapshot = retrieval(0, 1);
    snapshot["extra"] = 1.into();
    let answer = bench.piped(&["--json", "validate", "-", "--kind", "retrieval"], snapshot.to_string().as_bytes());
    assert_eq!(answer.exit, 1);
    let report = answer.document();
    assert_eq!((&report["valid"], &report["kind"]), (&false.into(), &"retrieval".into()));
    let issues: Vec<(&str, &str)> = report["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| (issue["path"].as_str().unwrap(), issue["code"].as_str().unwrap()))
        .collect();
    assert_eq!(issues, [("/extra", "UNKNOWN_FIELD"), ("/topK", "OUT_OF_RANGE")]);
    assert!(report.get("canonical").is_none() && report.get("digest").is_none());
    assert!(!bench.database().exists(), "validating needs no store");
}

#[test]
fn validate_gives_canonical_text_digest_and_identity() {
    let answer = Bench::new().json(&["validate", &example("embedding.json"), "--kind", "embedding"]);
    assert_eq!(answer.exit, 0);
    let report = answer.document();
    assert_eq!(report["identity"]["model"], "text-embedding-3-small");
    assert_eq!(report["identity"]["dimension"], 1536);
    let canonical = report["canonical"].as_str().unwrap();
    assert!(canonical.starts_with("{\"dimension\":1536,"));
    let digest = Bench::new().piped(&["digest", "-"], canonical.as_bytes()).stdout;
    assert_eq!(digest.trim(), report["digest"].as_str().unwrap());
}

#[test]
fn canonical_writes_the_bytes_and_nothing_else() {
    let answer = Bench::new().piped(&["canonical", "-"], b"{\"b\": 1.0, \"a\": \"\\u20ac\"}\n");
    assert_eq!((answer.exit, answer.stdout.as_str()), (0, "{\"a\":\"€\",\"b\":1}"));
}

#[test]
fn what_cannot_be_digested_is_refused_with_its_code_and_place() {
    let bench = Bench::new();
    let answer = bench.piped(&["--json", "digest", "-"], b"{\"a\":[1e999]}");
    assert_eq!((answer.exit, answer.stdout.as_str()), (1, ""));
    assert_eq!(answer.error()["code"], "JSON_NUMBER_OUT_OF_RANGE");
    assert_eq!(answer.error()["path"], "/a/0");
    let large = bench.piped(&["--json", "digest", "-"], &vec![b' '; (1 << 20) + 1]);
    assert_eq!(large.error()["code"], "JSON_TOO_LARGE");
    let missing = bench.json(&["digest", "nowhere.json"]);
    assert_eq!((missing.exit, &missing.error()["code"]), (1, &"INPUT_UNREADABLE".into()));
}

#[test]
fn a_snapshot_over_64_kib_is_refused() {
    let text = format!("{}{}", embedding("m", 8, 1), " ".repeat(1 << 16));
    let answer = Bench::new().piped(&["--json", "validate", "-", "--kind", "embedding"], text.as_bytes());
    assert_eq!((answer.exit, &answer.document()["issues"][0]["code"]), (1, &"JSON_TOO_LARGE".into()));
}

#[test]
fn wrong_usage_exits_2() {
    let bench = Bench::new();
    for arguments in [
        &["frobnicate"][..],
        &["validate", "x.json"],
        &["validate", "x.json", "--kind", "other"],
        &["show", "acme/not-a-uuid/embedding"],
        &["show", "acme"],
        &["activate", "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding", "0", "--expect", "none"],
        &["activate", "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding", "1", "--expect", "some"],
        &["log", "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding", "--limit", "1001"],
        &["--store", "mysql://localhost/db", "audit"],
        &["--store", "postgres://user:s3cret@localhost/db?sslmod=require", "audit"],
        &["backfill", "retry"],
        &["backfill", "retry", "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding", "--code", "X"],
    ] {
        let answer = bench.run(arguments);
        assert_eq!(answer.exit, 2, "{arguments:?}: {}", answer.stderr);
        assert!(!answer.stderr.contains("s3cret"));
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = Bench::new().run(&["completions", shell]);
        assert!(answer.exit == 0 && answer.stdout.contains("activate-all"), "{shell}");
    }
}
