//! Databases that another service made, or in which it publishes profiles together with their indexes.

use serde_json::{Value, json};

use crate::bench::{Bench, EMBEDDING, RETRIEVAL, SPACE, embedding, example, retrieval};
use crate::databases::Database;
use crate::people::assert_shown;

#[test]
fn where_the_other_service_publishes_heads_are_moved_only_if_that_is_asked_for() {
    let database = Database::managed();
    let bench = Bench::on(database.url());
    bench.write("cap.json", "{}");
    assert_eq!(bench.run(&["space", "add", SPACE]).exit, 0, "the spaces are ours all the same");
    let one = bench.write("1.json", embedding("m", 8, 1).to_string());
    let proposal = ["--snapshot", &one, "--capability", "cap.json"];
    assert_eq!(bench.run(&[&["propose", EMBEDDING], &proposal[..]].concat()).exit, 0, "a candidate moves no head");
    let activate = ["activate", EMBEDDING, "1", "--expect", "none"];
    let commands: &[&[&str]] = &[
        &activate,
        &[&["publish", EMBEDDING, "--expect", "none"], &proposal[..]].concat(),
        &["restore", EMBEDDING, "1", "--expect", "none"],
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
    ];
    for command in commands {
        let refused = bench.json(command);
        assert_eq!((refused.exit, &refused.error()["code"]), (1, &"MANAGED_ELSEWHERE".into()), "{command:?}");
    }
    assert_shown("managed_elsewhere", &bench.run(&activate).shown());
    let asked = format!("{}?manage=heads", database.url());
    let answer = bench.json(&[&["--store", &asked], &activate[..]].concat());
    assert_eq!((answer.exit, &answer.document()["activeRevision"]), (0, &1.into()), "{}", answer.stderr);
}

#[test]
fn where_the_other_service_reads_a_capability_must_have_the_digest_that_it_computes() {
    let database = Database::managed();
    let bench = Bench::on(database.url());
    bench.run(&["space", "add", SPACE]);
    let one = bench.write("1.json", embedding("m", 8, 1).to_string());
    let capability = bench.write("cap.json", "{\"B\": 1, \"a\": 2}");
    let propose = ["propose", EMBEDDING, "--snapshot", &one, "--capability", &capability];
    assert_eq!(bench.json(&propose).error()["code"], "CAPABILITY_KEY_ORDER");
    assert_shown("capability_key_order", &bench.run(&propose).shown());
}

#[test]
fn adoption_goes_on_where_the_other_service_publishes() {
    let database = Database::managed();
    let bench = Bench::on(database.url());
    let adopted = bench.json(&["adopt", &example("manifests.ndjson"), "--catalog", &example("models.toml")]);
    assert_eq!((adopted.exit, &adopted.document()["installed"]), (0, &60.into()), "{}", adopted.stderr);
}

/// The spaces of the examples, as the other service would write them.
fn written_by_the_other_service(database: &Database) {
    let lines = std::fs::read_to_string(example("manifests.ndjson")).unwrap();
    let statements: String = lines
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let [tenant, space] =
                ["tenantId", "knowledgeSpaceId"].map(|name| line[name].as_str().unwrap().to_owned());
            let (version, metadata) = (&line["manifestVersion"], &line["metadata"]);
            format!(
                "INSERT INTO knowledge_spaces (tenant_id, id) VALUES ('{tenant}', '{space}');
             INSERT INTO knowledge_space_manifests (tenant_id, knowledge_space_id, manifest_version, metadata)
             VALUES ('{tenant}', '{space}', {version}, '{metadata}');"
            )
        })
        .collect();
    database.sql(&statements);
}

#[test]
fn tables_of_the_other_service_are_read_and_adopted_from_and_not_written() {
    let database = Database::foreign();
    written_by_the_other_service(&database);
    let bench = Bench::on(database.url());
    let tables = || {
        ["knowledge_spaces", "knowledge_space_manifests"]
            .map(|table| database.sql(&format!("SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM {table} t")))
    };
    let before = tables();
    let listed = bench.json(&["space", "list"]).stdout;
    let space: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let space = format!("{}/{}", space["tenantId"].as_str().unwrap(), space["knowledgeSpaceId"].as_str().unwrap());
    let (manifests, models) = (example("manifests.ndjson"), example("models.toml"));
    let commands: &[&[&str]] = &[
        &["space", "add", SPACE],
        &["space", "delete", &space, "--yes"],
        &["import", &manifests],
        &["adopt", &manifests, "--catalog", &models],
    ];
    for command in commands {
        let refused = bench.json(command);
        assert_eq!((refused.exit, &refused.error()["code"]), (5, &"STORE_FOREIGN_TABLES".into()), "{command:?}");
    }
    assert_shown("foreign_tables", &bench.run(&["adopt", &manifests, "--catalog", &models]).shown());
    let run = bench.json(&["backfill", "run", "--catalog", &models]);
    assert_eq!((run.exit, &run.document()["installed"]), (0, &60.into()), "{}", run.stderr);
    assert_eq!(bench.run(&["audit"]).exit, 0);
    let restored = bench.json(&["restore", &format!("{space}/embedding"), "1", "--expect", "1"]);
    assert_eq!(restored.error()["code"], "NO_CHANGE", "profiles are ours to change: {}", restored.stderr);
    assert_eq!(tables(), before, "neither table is written");
}

#[test]
fn a_copy_into_the_other_services_tables_writes_profiles_of_spaces_that_are_there() {
    let source = Bench::on_postgres();
    source.with_history();
    source.run(&["space", "add", "globex/018f0d60-7a49-7cc2-9c1b-5b36f18f3a41"]);
    let foreign = Database::foreign();
    let (tenant, id) = SPACE.split_once('/').unwrap();
    foreign
        .sql(&format!("INSERT INTO knowledge_spaces (tenant_id, id, name) VALUES ('{tenant}', '{id}', 'Theirs')"));
    let copy = ["copy", "--from", source.url(), "--to", &foreign.url()];
    let answer = source.json(&copy);
    let document = answer.document();
    assert_eq!((answer.exit, &document["copied"], &document["skipped"]), (1, &1.into(), &0.into()), "{document}");
    assert_eq!(document["failed"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["failed"][0]["code"], "STORE_FOREIGN_TABLES");
    assert_shown("copy_foreign", &source.run(&copy).shown());
    let there = Bench::on(foreign.url());
    assert_eq!(there.json(&["log", EMBEDDING]).stdout, source.json(&["log", EMBEDDING]).stdout);
    assert_eq!(foreign.sql("SELECT name FROM knowledge_spaces"), "Theirs");
}

#[test]
fn a_copy_into_a_database_that_is_managed_moves_no_head_unless_that_is_asked_for() {
    let source = Bench::on_postgres();
    source.with_history();
    let one = source.write("r.json", retrieval(5, 1).to_string());
    source.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    let managed = Database::managed();
    let copy = |url: &str| source.json(&["copy", "--from", source.url(), "--to", url]);
    let refused = copy(&managed.url());
    let document = refused.document();
    assert_eq!((refused.exit, &document["copied"]), (1, &1.into()), "the scope without a head comes: {document}");
    assert_eq!(
        (&document["failed"][0]["scope"], &document["failed"][0]["code"]),
        (&EMBEDDING.into(), &"MANAGED_ELSEWHERE".into())
    );
    let asked = copy(&format!("{}?manage=heads", managed.url()));
    assert_eq!((asked.exit, &asked.document()["copied"], &asked.document()["skipped"]), (0, &1.into(), &1.into()));
    let again = copy(&managed.url());
    assert_eq!((again.exit, again.document()["skipped"].clone()), (0, json!(2)), "what is equal is no move");
}
