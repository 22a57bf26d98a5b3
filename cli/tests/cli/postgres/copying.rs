//! Copies from and to Postgres.

use serde_json::{Value, json};

use super::adopting::wait_until;
use crate::adopting::{many_spaces, send};
use crate::bench::{Answer, Bench, EMBEDDING, RETRIEVAL, SPACE, example, retrieval};
use crate::copying::{counts, fill, told};
use crate::databases::Database;
use crate::people::assert_shown;

const FILE: &str = "sqlite:space-profiles.db";
const BACKFILLS: &str = "knowledge_space_profile_backfills";

fn copy(bench: &Bench, from: &str, to: &str) -> Answer {
    bench.json(&["copy", "--from", from, "--to", to])
}

/// The lines of a list, as documents.
fn lines(answer: &Answer) -> Vec<Value> {
    answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every scope's history, of every space that a store has.
fn histories(bench: &Bench, store: &str) -> String {
    let spaces = lines(&bench.json(&["--store", store, "space", "list"]));
    let text = |space: &Value, name: &str| space[name].as_str().unwrap().to_owned();
    let scopes = spaces.iter().flat_map(|space| {
        ["embedding", "retrieval"]
            .map(|kind| format!("{}/{}/{kind}", text(space, "tenantId"), text(space, "knowledgeSpaceId")))
    });
    scopes.map(|scope| bench.json(&["--store", store, "log", &scope]).stdout).collect()
}

#[test]
fn a_round_trip_through_both_stores_keeps_the_last_field_and_is_recognised() {
    let bench = Bench::new();
    fill(&bench);
    // Numbers that jsonb prints in another way.
    let capability =
        bench.write("numbers.json", r#"{"z": 5.989e26, "a": [1e-7, -0.0, 1e21, 0.1], "é": "\u00e9"}"#);
    let snapshot = bench.write("5.json", crate::bench::embedding("five", 8, 5).to_string());
    let publish = ["publish", EMBEDDING, "--snapshot", &snapshot, "--capability", &capability, "--expect", "3"];
    assert_eq!(bench.run(&publish).exit, 0);
    let [one, two] = [Database::migrated(), Database::migrated()];
    let stores = [FILE.to_owned(), one.url(), "sqlite:third.db".to_owned(), two.url()];
    let (listed, history) = (told(&bench, FILE), histories(&bench, FILE));
    let mut scopes = 0;
    for pair in stores.windows(2) {
        let first = copy(&bench, &pair[0], &pair[1]);
        let (spaces, copied, skipped, failed) = counts(&first);
        assert_eq!((first.exit, skipped, failed), (0, 0, 0), "{}{}", first.stdout, first.stderr);
        assert!(spaces > 2 && copied > 2 && (scopes == 0 || scopes == copied), "{}", first.stdout);
        scopes = copied;
        assert_eq!(told(&bench, &pair[1]), listed);
        assert_eq!(histories(&bench, &pair[1]), history);
    }
    for from in &stores {
        for to in stores.iter().filter(|to| *to != from) {
            let again = copy(&bench, from, to);
            let (_, copied, skipped, failed) = counts(&again);
            assert_eq!(
                (again.exit, copied, skipped, failed),
                (0, 0, scopes, 0),
                "{from} to {to}: {}",
                again.stdout
            );
        }
    }
}

#[test]
fn a_running_backfill_arrives_queued_with_the_attempt_refunded_in_both_directions() {
    let [source, target] = [Database::migrated(), Database::migrated()];
    let bench = Bench::on(source.url());
    let manifests = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    bench.run(&["import", &bench.write("one.ndjson", manifests.lines().next().unwrap())]);
    bench.run(&["backfill", "discover"]);
    source.sql(
        "UPDATE knowledge_space_profile_backfills
         SET run_state = 'running', execution_attempts = 1, row_version = 2, worker_id = 'host:1',
             lease_token = gen_random_uuid(), lease_expires_at = now() + interval '1 hour', heartbeat_at = now()
         WHERE kind = 'embedding'",
    );
    for to in [FILE, &target.url()] {
        assert_eq!(counts(&copy(&bench, &source.url(), to)), (1, 2, 0, 0), "{to}");
        let rows = |store: &str| lines(&bench.json(&["--store", store, "backfill", "list"]));
        let here: Vec<Value> = rows(&source.url())
            .into_iter()
            .map(|mut row| {
                if row["state"] == "running" {
                    row["state"] = "queued".into();
                    row["attempts"] = 0.into();
                    row.as_object_mut().unwrap().retain(|name, _| name != "workerId" && name != "leaseExpiresAt");
                }
                row
            })
            .collect();
        assert_eq!(rows(to), here, "{to}");
        assert_eq!(counts(&copy(&bench, &source.url(), to)), (1, 0, 2, 0), "again it is equal");
        let run = ["--store", to, "backfill", "run", "--catalog", &example("models.toml")];
        assert_eq!(bench.json(&run).document()["installed"], 2, "{to}");
    }
}

#[test]
fn what_differs_is_refused_and_the_rest_comes() {
    let database = Database::migrated();
    let bench = Bench::new();
    bench.with_history();
    let there = |arguments: &[&str]| bench.json(&[&["--store", &database.url()], arguments].concat());
    assert_eq!(copy(&bench, FILE, &database.url()).exit, 0);
    assert_eq!(there(&["restore", EMBEDDING, "1", "--expect", "2"]).exit, 0);
    let before = there(&["log", EMBEDDING]).stdout;
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    bench.run(&["space", "add", "globex/018f0d60-7a49-7cc2-9c1b-5b36f18f3a41"]);
    let answer = copy(&bench, FILE, &database.url());
    assert_eq!((answer.exit, counts(&answer)), (1, (2, 1, 0, 1)), "{}", answer.stdout);
    let failed = answer.document()["failed"][0].clone();
    assert_eq!((&failed["scope"], &failed["code"]), (&EMBEDDING.into(), &"COPY_CONFLICT".into()));
    assert_eq!(there(&["log", EMBEDDING]).stdout, before, "it is left as it is");
    assert_eq!(there(&["log", RETRIEVAL]).stdout, bench.json(&["log", RETRIEVAL]).stdout);
    assert_eq!(lines(&there(&["space", "list"])).len(), 2);

    there(&["space", "delete", SPACE, "--yes"]);
    there(&["space", "add", SPACE, "--name", "Other"]);
    let answer = copy(&bench, FILE, &database.url());
    assert_eq!((answer.exit, counts(&answer)), (1, (2, 0, 0, 1)), "{}", answer.stdout);
    assert_eq!(answer.document()["failed"][0]["code"], "COPY_CONFLICT");
}

#[test]
fn of_two_stores_an_error_says_which_one_it_is_about() {
    let (database, empty) = (Database::migrated(), Database::empty());
    let bench = Bench::new();
    bench.with_history();
    let nowhere = "postgres://ann:s3cr3t@127.0.0.1:1/profiles";
    let wrong = format!("{}?sslmod=require", database.url());
    for (from, to, option, exit, code) in [
        (FILE, &*empty.url(), "--to: ", 5, "STORE_SCHEMA"),
        (&empty.url(), "sqlite:there.db", "--from: ", 5, "STORE_SCHEMA"),
        (FILE, nowhere, "--to: ", 5, "STORE_UNAVAILABLE"),
        (nowhere, &database.url(), "--from: ", 5, "STORE_UNAVAILABLE"),
        ("sqlite:nowhere.db", &database.url(), "--from: ", 5, "STORE_UNAVAILABLE"),
        (FILE, &wrong, "--to: ", 2, "USAGE"),
        (&wrong, FILE, "--from: ", 2, "USAGE"),
    ] {
        let answer = copy(&bench, from, to);
        let error = answer.error();
        assert_eq!((answer.exit, error["code"].as_str()), (exit, Some(code)), "{from} to {to}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(option), "{from} to {to}: {error}");
        assert_eq!(answer.stdout, "", "{from} to {to}");
    }
    assert!(!bench.path("there.db").exists(), "no target is made");
    let shown = bench.run(&["copy", "--from", FILE, "--to", &empty.url()]).shown();
    assert_shown("copy_not_migrated", &shown);
}

#[test]
fn a_broken_scope_stays_in_the_source() {
    let database = Database::migrated();
    let bench = Bench::on(database.url());
    bench.with_history();
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    database.damage("UPDATE knowledge_space_profile_revisions SET model = 'other' WHERE kind = 'embedding'");
    let answer = copy(&bench, &database.url(), FILE);
    assert_eq!((answer.exit, counts(&answer)), (1, (1, 1, 0, 1)), "{}", answer.stdout);
    let failed = answer.document()["failed"][0].clone();
    assert_eq!((&failed["scope"], &failed["code"]), (&EMBEDDING.into(), &"SNAPSHOT_CORRUPT".into()));
    assert_eq!(bench.json(&["--store", FILE, "log", EMBEDDING]).document()["items"], json!([]));
    assert_eq!(bench.run(&["--store", FILE, "audit"]).exit, 0);
}

#[test]
#[cfg(unix)]
fn an_interrupted_copy_leaves_whole_scopes_and_is_continued() {
    let database = Database::migrated();
    let bench = Bench::new();
    let file = many_spaces(&bench, 50);
    bench.run(&["import", &file]);
    bench.run(&["backfill", "discover"]);
    database.slow_down(BACKFILLS);
    let child = bench.start(&["--json", "copy", "--from", FILE, "--to", &database.url()]);
    wait_until("some have arrived", || database.count(BACKFILLS) >= 5);
    send("-INT", &child);
    let answer = Bench::finish(child);
    assert_eq!(answer.exit, 130, "{}{}", answer.stdout, answer.stderr);
    let (_, first, _, failed) = counts(&answer);
    assert_eq!((database.count(BACKFILLS), failed), (first, 0));
    assert!(first < 100, "it was interrupted before it was done");
    database.speed_up();
    assert_eq!(bench.run(&["--store", &database.url(), "audit"]).exit, 0);
    let rest = copy(&bench, FILE, &database.url());
    assert_eq!((rest.exit, counts(&rest)), (0, (50, 100 - first, first, 0)));
}

#[test]
#[cfg(unix)]
fn a_killed_copy_is_continued() {
    let database = Database::migrated();
    let bench = Bench::new();
    let file = many_spaces(&bench, 50);
    bench.run(&["import", &file]);
    bench.run(&["backfill", "discover"]);
    database.slow_down(BACKFILLS);
    let child = bench.start(&["copy", "--from", FILE, "--to", &database.url()]);
    wait_until("some have arrived", || database.count(BACKFILLS) >= 5);
    send("-KILL", &child);
    child.wait_with_output().unwrap();
    wait_until("the server is done with it", || database.is_left());
    database.speed_up();
    assert!(database.count(BACKFILLS) < 100, "it was killed before it was done");
    let rest = copy(&bench, FILE, &database.url());
    let (spaces, copied, skipped, failed) = counts(&rest);
    assert_eq!((rest.exit, spaces, copied + skipped, failed), (0, 50, 100, 0), "{}", rest.stderr);
    assert_eq!(bench.run(&["--store", &database.url(), "audit"]).exit, 0);
    assert_eq!(told(&bench, &database.url()), told(&bench, FILE));
}

#[test]
fn an_error_that_ends_a_copy_comes_with_what_was_done_so_far() {
    let database = Database::migrated();
    let bench = Bench::new();
    bench.with_history();
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    database.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION USING ERRCODE = ''53100'', MESSAGE = ''no space left on device''; END';
         CREATE TRIGGER full_disk BEFORE INSERT ON knowledge_space_profile_revisions
           FOR EACH ROW WHEN (NEW.kind = 'retrieval') EXECUTE FUNCTION full_disk();",
    );
    let answer = copy(&bench, FILE, &database.url());
    assert_eq!((answer.exit, &*answer.stdout), (5, ""), "{}", answer.stderr);
    let error = answer.error();
    let done = json!({"spaces": 1, "copied": 1, "skipped": 0, "failed": []});
    assert_eq!((&error["code"], &error["done"]), (&"STORE_FULL".into(), &done));
    let shown = bench.run(&["copy", "--from", FILE, "--to", &database.url()]).shown();
    assert_shown("copy_midway", &shown);
    database.sql("DROP FUNCTION full_disk CASCADE");
    assert_eq!(counts(&copy(&bench, FILE, &database.url())), (1, 1, 1, 0));
}

/// A file with a space that has so many revisions of so many kilobytes.
#[cfg(target_os = "linux")]
fn with_large_rows(revisions: u32, kilobytes: usize) -> Bench {
    const TEMPLATE: &str = "acme/018f0d60-7a49-7cc2-9c1b-000000000000/embedding";
    let bench = Bench::new();
    bench.run(&["space", "add", TEMPLATE.rsplit_once('/').unwrap().0]);
    let capability = json!({"padding": "x".repeat(kilobytes * 1_000)});
    let capability = bench.write("large.json", capability.to_string());
    for number in 1..=revisions {
        let mut snapshot = crate::bench::embedding(&format!("m{number}"), 8, number);
        snapshot["vectorSpaceId"] = format!("embedding-space-sha256:{number:064}").into();
        let snapshot = bench.write("snapshot.json", snapshot.to_string());
        let expected = if number == 1 { "none".to_owned() } else { (number - 1).to_string() };
        let publish =
            ["publish", TEMPLATE, "--snapshot", &snapshot, "--capability", &capability, "--expect", &expected];
        assert_eq!(bench.run(&publish).exit, 0);
    }
    bench
}

/// Runs a command, and answers the most memory that it took, in KiB.
#[cfg(target_os = "linux")]
fn peak_of(bench: &Bench, command: &[&str]) -> (Answer, u64) {
    let mut child = bench.start(command);
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // The kernel keeps the high-water mark, so nothing between two looks is missed but after the last one.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = mark.map_or(peak, |mark| mark.trim().trim_end_matches(" kB").parse().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (Bench::finish(child), peak)
}

/// The most memory that a copy of so many spaces with large rows took, in KiB.
#[cfg(target_os = "linux")]
fn peak_of_a_copy(spaces: u32) -> u64 {
    let bench = with_large_rows(5, 20);
    multiply(&bench, spaces);
    let database = Database::migrated();
    let (answer, peak) = peak_of(&bench, &["--json", "copy", "--from", FILE, "--to", &database.url()]);
    let (_, copied, _, _) = counts(&answer);
    assert_eq!((answer.exit, copied), (0, u64::from(spaces)), "{}{}", answer.stdout, answer.stderr);
    peak
}

/// More spaces with the rows of the one that is there.
#[cfg(target_os = "linux")]
fn multiply(bench: &Bench, spaces: u32) {
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    let columns = |table: &str| -> Vec<String> {
        let mut pragma = connection.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        pragma.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for (table, space) in [
        ("knowledge_spaces", "id"),
        ("knowledge_space_profile_revisions", "knowledge_space_id"),
        ("knowledge_space_profile_heads", "knowledge_space_id"),
    ] {
        let columns = columns(table);
        let of_another = |name: &String| match name.as_str() {
            name if name == space => "printf('018f0d60-7a49-7cc2-9c1b-%012d', n)".to_owned(),
            // Each row's id with another number in the place of its first digits.
            "id" | "profile_revision_id" => format!("printf('%08d', n) || substr({name}, 9)"),
            name => name.to_owned(),
        };
        let values: Vec<String> = columns.iter().map(of_another).collect();
        let insert = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {spaces} - 1)
             INSERT INTO {table} ({}) SELECT {} FROM {table}, numbers",
            columns.join(", "),
            values.join(", ")
        );
        connection.execute_batch(&insert).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_copy_takes_little_more_memory_than_a_small_one() {
    // The large one has 24 MB of capabilities, as much as the process takes for itself.
    let [small, large] = [20, 240].map(peak_of_a_copy);
    assert!(large < small * 3 / 2, "20 spaces took {small} KiB, 240 took {large} KiB");
}

#[test]
#[cfg(target_os = "linux")]
fn a_copy_takes_about_twice_the_memory_of_the_largest_space_and_an_audit_less() {
    const SIZE: u64 = 40 * 900;
    let bench = with_large_rows(40, 900);
    let (small, database) = (with_large_rows(1, 1), Database::migrated());
    let (there, back) = (database.url(), "sqlite:back.db");
    let copies = [(FILE, &*there), (FILE, &there), (&there, back), (&there, back)];
    let mut peaks = Vec::new();
    for (from, to) in copies {
        let (answer, peak) = peak_of(&bench, &["--json", "copy", "--from", from, "--to", to]);
        assert_eq!(answer.exit, 0, "{}{}", answer.stdout, answer.stderr);
        peaks.push(peak);
    }
    let (answer, audit) = peak_of(&bench, &["--store", &there, "audit"]);
    assert_eq!(answer.exit, 0, "{}{}", answer.stdout, answer.stderr);
    let (_, least) = peak_of(&small, &["--store", &there, "space", "list"]);
    assert!(peaks.iter().all(|peak| *peak < least + SIZE * 3), "{least}, {SIZE}: {peaks:?}");
    assert!(audit < least + SIZE * 19 / 10, "{least}, {SIZE}: {audit}");
}
