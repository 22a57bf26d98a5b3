//! The main job, in one command and in steps.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, example, on_each_store};

on_each_store! {
    the_examples_are_adopted_and_once_only,
    broken_spaces_fail_with_codes_that_say_why_and_again_until_they_are_mended,
    backfills_run_in_steps,
    a_run_without_a_catalog_is_refused_only_if_something_is_due,
    adoption_touches_only_the_spaces_of_its_file,
    a_mended_manifest_makes_good_what_failed_before,
    the_catalog_can_come_from_standard_input,
}

fn adopt(bench: &Bench, file: &str) -> crate::bench::Answer {
    bench.json(&["adopt", file, "--catalog", &example("models.toml")])
}

fn the_examples_are_adopted_and_once_only(bench: &Bench) {
    let first = adopt(bench, &example("manifests.ndjson"));
    let summary = first.document();
    assert_eq!(first.exit, 0);
    assert_eq!(
        (&summary["imported"], &summary["discovered"], &summary["installed"]),
        (&30.into(), &60.into(), &60.into())
    );
    assert_eq!((&summary["failed"], &summary["pending"]), (&Value::Array(Vec::new()), &0.into()));
    let again = adopt(bench, &example("manifests.ndjson")).document();
    assert_eq!(
        (&again["imported"], &again["installed"], &again["alreadyInstalled"]),
        (&0.into(), &0.into(), &60.into())
    );
    let audit = bench.json(&["audit"]);
    assert_eq!((audit.exit, &audit.document()["checked"]), (0, &180.into()));
}

fn broken_spaces_fail_with_codes_that_say_why_and_again_until_they_are_mended(bench: &Bench) {
    let first = adopt(bench, &example("broken.ndjson"));
    assert_eq!(first.exit, 1);
    let document = first.document();
    let codes: Vec<&str> =
        document["failed"].as_array().unwrap().iter().map(|item| item["code"].as_str().unwrap()).collect();
    for code in
        ["JSON_INVALID", "MODEL_SELECTION_NOT_FOUND", "LEGACY_PROFILE_INVALID", "LEGACY_PROFILE_NOT_AN_OBJECT"]
    {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
    let again = adopt(bench, &example("broken.ndjson"));
    assert_eq!(again.exit, 1, "what failed in an earlier run is listed again");
    assert_eq!(again.document()["failed"].as_array().unwrap().len(), codes.len());
    assert_eq!(again.document()["installed"], 0);
    let listed =
        bench.json(&["backfill", "list", "--state", "failed", "--code", "MODEL_SELECTION_NOT_FOUND"]).stdout;
    assert_eq!(listed.lines().count(), 1);
    let row: Value = serde_json::from_str(&listed).unwrap();
    let scope = format!(
        "{}/{}/{}",
        row["tenantId"].as_str().unwrap(),
        row["knowledgeSpaceId"].as_str().unwrap(),
        row["kind"].as_str().unwrap()
    );
    assert_eq!(bench.json(&["backfill", "retry", &scope]).document()["state"], "queued");
    let not_failed = bench.json(&["backfill", "retry", &scope]);
    assert_eq!(
        (not_failed.exit, &not_failed.error()["code"], &not_failed.error()["state"]),
        (1, &"NOT_FAILED".into(), &"queued".into())
    );
    assert_eq!(bench.json(&["backfill", "retry", "--all"]).document()["retried"], codes.len() - 4);
}

fn backfills_run_in_steps(bench: &Bench) {
    bench.run(&["import", &example("manifests.ndjson")]);
    let discovered = bench.json(&["backfill", "discover"]).document();
    assert_eq!((&discovered["scanned"], &discovered["created"]), (&30.into(), &60.into()));
    let status = bench.json(&["backfill", "status"]).document();
    assert_eq!((&status["queued"], &status["due"], &status["running"]), (&60.into(), &60.into(), &0.into()));
    let run = ["backfill", "run", "--catalog", &example("models.toml"), "--tenant", "acme"];
    let of_acme = bench.json(&run).document();
    let installed = of_acme["installed"].as_u64().unwrap();
    assert!(installed > 0 && installed < 60 && of_acme.get("imported").is_none(), "{of_acme}");
    let rest = bench.json(&run[..4]).document();
    assert_eq!(rest["installed"].as_u64().unwrap() + installed, 60);
}

fn a_run_without_a_catalog_is_refused_only_if_something_is_due(bench: &Bench) {
    let idle = bench.json(&["backfill", "run"]);
    assert_eq!((idle.exit, &idle.document()["discovered"]), (0, &0.into()));
    bench.run(&["import", &example("manifests.ndjson")]);
    let refused = bench.run(&["backfill", "run"]);
    assert!(refused.exit == 2 && refused.stderr.contains("60 profiles"), "{}", refused.stderr);
}

fn adoption_touches_only_the_spaces_of_its_file(bench: &Bench) {
    bench.run(&["import", &example("manifests.ndjson")]);
    let first = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    let file = bench.write("one.ndjson", first.lines().next().unwrap());
    let summary = adopt(bench, &file).document();
    assert_eq!(
        (&summary["imported"], &summary["installed"], &summary["pending"]),
        (&0.into(), &2.into(), &0.into())
    );
    assert_eq!(bench.json(&["backfill", "status"]).document()["queued"], 0);
}

#[test]
fn a_catalog_that_cannot_be_read_leaves_nothing_behind() {
    let bench = Bench::new();
    let broken = bench.write("broken.toml", "[[model]]\npluginId = 1\n");
    for catalog in [broken.as_str(), "nowhere.toml"] {
        let answer = bench.json(&["adopt", &example("manifests.ndjson"), "--catalog", catalog]);
        assert!(
            answer.exit == 1 && answer.error()["code"].as_str().unwrap().starts_with("CATALOG_"),
            "{}",
            answer.stderr
        );
    }
    assert!(!bench.database().exists());
}

fn a_mended_manifest_makes_good_what_failed_before(bench: &Bench) {
    let broken = std::fs::read_to_string(example("broken.ndjson")).unwrap();
    let unknown = broken.lines().find(|line| line.contains("text-embedding-4-small")).unwrap();
    let file = bench.write("space.ndjson", unknown);
    let first = adopt(bench, &file);
    assert_eq!((first.exit, &first.document()["failed"][0]["code"]), (1, &"MODEL_SELECTION_NOT_FOUND".into()));
    let good = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    let mut mended: Value = serde_json::from_str(unknown).unwrap();
    let profile: Value = serde_json::from_str(good.lines().next().unwrap()).unwrap();
    mended["metadata"] = profile["metadata"].clone();
    mended["manifestVersion"] = 1_000.into();
    let file = bench.write("space.ndjson", mended.to_string());
    bench.run(&["backfill", "retry", "--all"]);
    let again = adopt(bench, &file);
    assert_eq!((again.exit, &again.document()["failed"]), (0, &Value::Array(Vec::new())), "{}", again.stdout);
}

fn the_catalog_can_come_from_standard_input(bench: &Bench) {
    let catalog = std::fs::read(example("models.toml")).unwrap();
    let answer = bench.piped(&["--json", "adopt", &example("manifests.ndjson"), "--catalog", "-"], &catalog);
    assert_eq!((answer.exit, &answer.document()["installed"]), (0, &60.into()));
}

/// Many spaces, so that there is time to interrupt.
pub(crate) fn many_spaces(bench: &Bench, count: usize) -> String {
    let example = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    let line: Value = serde_json::from_str(example.lines().next().unwrap()).unwrap();
    let lines: Vec<String> = (0..count)
        .map(|number| {
            let mut line = line.clone();
            line["knowledgeSpaceId"] = format!("018f0d60-7a49-7cc2-9c1b-{number:012}").into();
            line.to_string()
        })
        .collect();
    bench.write("many.ndjson", lines.join("\n"))
}

#[test]
#[cfg(unix)]
fn g5_17_an_interrupted_adoption_hands_back_its_leases_and_is_continued() {
    let bench = Bench::new();
    let file = many_spaces(&bench, 400);
    bench.run(&["import", &file]);
    let catalog = example("models.toml");
    let child = bench.start(&["--json", "adopt", &file, "--catalog", &catalog]);
    let installed = || {
        let connection = rusqlite::Connection::open(bench.database()).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection
            .query_row("SELECT count(*) FROM knowledge_space_profile_heads", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while installed() < 5 {
        assert!(Instant::now() < deadline, "nothing was installed in a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let answer = Bench::finish(child);
    assert_eq!(answer.exit, 130, "{}{}", answer.stdout, answer.stderr);
    let first = answer.document()["installed"].as_u64().unwrap();
    assert!(first < 800, "it was interrupted before it was done");
    let status = bench.json(&["backfill", "status"]).document();
    assert_eq!(status["running"], 0, "no lease is left behind");
    let rest = adopt(&bench, &file);
    assert_eq!((rest.exit, rest.document()["installed"].as_u64().unwrap() + first), (0, 800));
    assert_eq!(bench.run(&["audit"]).exit, 0);
}

#[cfg(unix)]
pub(crate) fn send(signal: &str, child: &std::process::Child) {
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[cfg(unix)]
fn wait_for_the_database(bench: &Bench) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !bench.database().exists() {
        assert!(Instant::now() < deadline, "no database in a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Signals are caught right after the store is opened.
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
#[cfg(unix)]
fn an_import_that_is_told_to_end_keeps_its_lines_and_is_continued() {
    let bench = Bench::new();
    let file = many_spaces(&bench, 5_000);
    let child = bench.start(&["--json", "import", &file]);
    wait_for_the_database(&bench);
    send("-TERM", &child);
    let answer = Bench::finish(child);
    assert_eq!(answer.exit, 130, "{}{}", answer.stdout, answer.stderr);
    let first = answer.document()["imported"].as_u64().unwrap();
    assert!(first > 0 && first < 5_000, "{first}");
    assert_eq!(
        bench.json(&["space", "list"]).stdout.lines().count() as u64,
        first,
        "each line wholly or not at all"
    );
    let rest = bench.json(&["import", &file]).document();
    assert_eq!((&rest["imported"], &rest["unchanged"]), (&(5_000 - first).into(), &first.into()));
}

#[test]
#[cfg(unix)]
fn a_second_signal_ends_what_waits_for_input() {
    let bench = Bench::new();
    let mut child = bench.start(&["import", "-"]);
    let _held_open = child.stdin.take();
    wait_for_the_database(&bench);
    send("-INT", &child);
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first signal lets it finish");
    send("-INT", &child);
    assert_eq!(Bench::finish(child).exit, 130);
}
