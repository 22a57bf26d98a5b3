//! The same behind PgBouncer in transaction mode.

use throwaway_postgres::{PgBouncer, PgBouncerOptions};

use crate::bench::{Bench, EMBEDDING, RETRIEVAL, SPACE, embedding, example, retrieval};
use crate::databases::Database;
use crate::people::assert_shown;

/// Few server connections, so that they are shared.
fn pooler(database: &Database) -> PgBouncer {
    PgBouncer::start(database.cluster, &PgBouncerOptions { default_pool_size: 3, ..PgBouncerOptions::default() })
}

#[test]
fn a_pooler_changes_nothing_but_that_migrations_do_not_pass_it() {
    let database = Database::empty();
    let pooler = pooler(&database);
    let bench = Bench::on(format!("{}?pgbouncer=true", pooler.url(&database.name)));
    let refused = bench.json(&["migrate"]);
    assert_eq!((refused.exit, &refused.error()["code"]), (5, &"STORE_SCHEMA".into()));
    assert_shown("migrate_pooled", &bench.run(&["migrate"]).shown());
    assert_eq!(bench.run(&["migrate", "--check"]).exit, 1, "one may look");
    assert_eq!(Bench::on(database.url()).run(&["migrate"]).exit, 0);
    assert_eq!(bench.run(&["migrate", "--check"]).exit, 0);
    assert_eq!(bench.run(&["doctor"]).exit, 0);

    bench.with_history();
    let one = bench.write("r.json", retrieval(5, 1).to_string());
    bench.run(&["propose", RETRIEVAL, "--snapshot", &one, "--capability", "cap.json"]);
    let three = bench.write("3.json", embedding("three", 8, 3).to_string());
    bench.run(&["propose", EMBEDDING, "--snapshot", &three, "--capability", "cap.json"]);
    assert_eq!(bench.run(&["activate", EMBEDDING, "3", "--expect", "1"]).exit, 3);
    let both = ["--embedding", "3", "--expect-embedding", "2", "--retrieval", "1", "--expect-retrieval", "none"];
    assert_eq!(bench.run(&[&["activate-all", SPACE], &both[..]].concat()).exit, 0);
    assert_eq!(bench.run(&["restore", EMBEDDING, "1", "--expect", "3"]).exit, 0);
    assert_eq!(bench.json(&["show", EMBEDDING]).document()["activeRevision"], 4);

    let adopted = bench.json(&["adopt", &example("manifests.ndjson"), "--catalog", &example("models.toml")]);
    assert_eq!((adopted.exit, &adopted.document()["installed"]), (0, &60.into()), "{}", adopted.stderr);
    assert_eq!(bench.run(&["audit"]).exit, 0);
    let copied = bench.json(&["copy", "--from", bench.url(), "--to", "sqlite:there.db"]);
    assert_eq!((copied.exit, &copied.document()["copied"]), (0, &62.into()), "{}", copied.stderr);
    assert_eq!(bench.run(&["space", "delete", SPACE, "--yes"]).exit, 0);
    let back = bench.json(&["copy", "--from", "sqlite:there.db", "--to", bench.url()]);
    let counts = (&back.document()["copied"], &back.document()["skipped"]);
    assert_eq!((back.exit, counts), (0, (&2.into(), &60.into())), "{}", back.stderr);
}

#[test]
fn a_pooler_that_the_url_does_not_mention_is_told_apart() {
    let database = Database::migrated();
    let pooler = pooler(&database);
    let bench = Bench::on(pooler.url(&database.name));
    let refused = bench.json(&["show", EMBEDDING]);
    assert_eq!((refused.exit, &refused.error()["code"]), (5, &"STORE_UNAVAILABLE".into()));
    let message = refused.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("?pgbouncer=true"), "{message}");
    assert_shown("pooler_unmentioned", &bench.run(&["show", EMBEDDING]).shown());
}
