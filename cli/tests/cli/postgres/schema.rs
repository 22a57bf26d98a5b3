//! Databases that are migrated, damaged, or not migrated at all.

use serde_json::{Value, json};

use crate::bench::{Bench, EMBEDDING, RETRIEVAL, SPACE, example};
use crate::databases::Database;
use crate::people::assert_shown;

fn on(database: &Database) -> Bench {
    Bench::on(database.url())
}

#[test]
fn a_database_is_migrated_once_and_that_can_be_checked() {
    let database = Database::empty();
    let bench = on(&database);
    let missing = bench.json(&["migrate", "--check"]);
    let pending = missing.document()["pending"].clone();
    assert_eq!((missing.exit, &missing.document()["differences"]), (1, &json!([])));
    assert_shown("migrate_check", &bench.run(&["migrate", "--check"]).shown());
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0", "it only looks");

    let migrated = bench.json(&["migrate"]);
    assert_eq!((migrated.exit, &migrated.document()["applied"]), (0, &pending));
    let again = bench.json(&["migrate"]);
    assert_eq!((again.exit, again.document()), (0, json!({"applied": []})));
    assert_shown("migrate_again", &bench.run(&["migrate"]).shown());

    let content = bench.json(&["migrate", "--check"]);
    assert_eq!((content.exit, content.document()), (0, json!({"pending": [], "differences": []})));
    assert_shown("migrate_check_again", &bench.run(&["migrate", "--check"]).shown());
    assert_eq!(bench.json(&["doctor"]).document(), json!({"differences": []}));
    assert_shown("doctor", &bench.run(&["doctor"]).shown());
}

#[test]
fn people_see_what_a_migration_did() {
    assert_shown("migrate", &on(&Database::empty()).run(&["migrate"]).shown());
}

#[test]
fn the_doctor_tells_every_damage_in_a_sentence() {
    let database = Database::migrated();
    database.sql(
        "DROP TRIGGER knowledge_space_profile_revisions_immutable_tr ON knowledge_space_profile_revisions;
         DROP INDEX knowledge_space_profile_revisions_one_active_uq;
         ALTER TABLE knowledge_space_profile_backfills ALTER COLUMN due_at DROP NOT NULL;
         ALTER TABLE knowledge_space_profile_heads DISABLE TRIGGER ALL;
         ALTER TABLE knowledge_space_profile_revisions ALTER COLUMN plugin_id TYPE varchar(100);",
    );
    let bench = on(&database);
    let told = bench.json(&["doctor"]);
    let differences: Vec<Value> = told.document()["differences"].as_array().unwrap().clone();
    assert_eq!((told.exit, differences.len() >= 4), (1, true), "{differences:#?}");
    let told = bench.run(&["doctor"]);
    assert_shown("doctor_damaged", &told.shown());
    let check = bench.run(&["migrate", "--check"]);
    assert_eq!((check.exit, check.stdout), (1, told.stdout), "a check tells the same");
    let refused = bench.run(&["migrate"]);
    assert_shown("migrate_damaged", &refused.shown());
    assert_eq!(bench.json(&["migrate"]).error()["code"], "STORE_SCHEMA");
    let audit = bench.json(&["audit"]);
    let rules: Vec<Value> =
        audit.document()["findings"].as_array().unwrap().iter().map(|it| it["rule"].clone()).collect();
    assert_eq!((audit.exit, rules), (1, vec![json!("schema"); differences.len()]), "the audit misses them too");
}

#[test]
fn two_active_revisions_stand_in_the_way_and_it_is_said_where() {
    let database = Database::migrated();
    let bench = on(&database);
    bench.with_history();
    // As it was before the migrations that forbid it.
    database.damage(
        "DROP INDEX knowledge_space_profile_revisions_one_active_uq;
         DELETE FROM space_profiles_migrations WHERE name >= '0003';
         UPDATE knowledge_space_profile_revisions SET state = 'active', superseded_at = NULL;",
    );
    let refused = bench.run(&["migrate"]);
    assert_shown("migrate_two_active", &refused.shown());
    assert_eq!((refused.exit, bench.json(&["migrate"]).error()["code"].as_str()), (5, Some("STORE_SCHEMA")));
}

#[test]
fn a_newer_schema_is_left_alone() {
    let database = Database::migrated();
    database.sql("INSERT INTO space_profiles_migrations (name, checksum, made) VALUES ('0099_later', 'x', true)");
    let bench = on(&database);
    assert_shown("migrate_newer", &bench.run(&["migrate"]).shown());
    assert_eq!(bench.run(&["migrate", "--check"]).exit, 5);
    assert_eq!(bench.run(&["doctor"]).exit, 1);
}

#[test]
fn on_a_database_that_is_not_migrated_every_command_says_to_migrate() {
    let database = Database::empty();
    let bench = on(&database);
    let snapshot = bench.write("1.json", crate::bench::embedding("m", 8, 1).to_string());
    let capability = bench.write("cap.json", "{}");
    let (manifests, models) = (example("manifests.ndjson"), example("models.toml"));
    let proposal = ["--snapshot", &snapshot, "--capability", &capability];
    let commands: &[&[&str]] = &[
        &["space", "add", SPACE],
        &["space", "list"],
        &["space", "delete", SPACE, "--yes"],
        &["import", &manifests],
        &[&["propose", EMBEDDING], &proposal[..]].concat(),
        &[&["publish", EMBEDDING, "--expect", "none"], &proposal[..]].concat(),
        &["activate", EMBEDDING, "1", "--expect", "none"],
        &["restore", EMBEDDING, "1", "--expect", "2"],
        &["fail", EMBEDDING, "1", "--code", "C", "--message", "m"],
        &[
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
        ],
        &["show", EMBEDDING],
        &["log", RETRIEVAL],
        &["at", EMBEDDING, "2026-07-14T12:00:00Z"],
        &["diff", EMBEDDING, "1", "2"],
        &["backfill", "discover"],
        &["backfill", "run"],
        &["backfill", "run", "--catalog", &models],
        &["backfill", "status"],
        &["backfill", "list"],
        &["backfill", "retry", EMBEDDING],
        &["backfill", "retry", "--all"],
        &["adopt", &manifests, "--catalog", &models],
        &["audit"],
        &["copy", "--from", &database.url(), "--to", "sqlite:there.db"],
    ];
    for command in commands {
        let answer = bench.json(command);
        let error = answer.error();
        assert_eq!((answer.exit, error["code"].as_str()), (5, Some("STORE_SCHEMA")), "{command:?}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("space-profiles migrate"), "{command:?}: {message}");
    }
    assert_shown("not_migrated", &bench.run(&["show", EMBEDDING]).shown());
    assert_shown("not_migrated_doctor", &bench.run(&["doctor"]).shown());
}
