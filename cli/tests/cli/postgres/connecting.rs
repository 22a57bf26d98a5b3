//! Servers that cannot be reached or take no writes, and URLs that are wrong. No password is ever told.

use crate::bench::{Bench, EMBEDDING, SPACE};
use crate::databases::Database;
use crate::people::assert_shown;

const PASSWORD: &str = "s3cr3t-pw";

/// A port on which nobody listens.
const NOWHERE: &str = "127.0.0.1:1";

#[test]
fn a_server_that_cannot_be_reached_exits_5_without_the_password() {
    let url = format!("postgres://ann:{PASSWORD}@{NOWHERE}/profiles");
    let bench = Bench::on(&url);
    let commands: &[&[&str]] = &[
        &["show", EMBEDDING],
        &["migrate"],
        &["migrate", "--check"],
        &["doctor"],
        &["space", "add", SPACE],
        &["copy", "--from", &url, "--to", "sqlite:there.db"],
    ];
    for command in commands {
        let (text, document) = (bench.run(command), bench.json(command));
        assert_eq!((text.exit, document.exit), (5, 5), "{command:?}: {}", text.stderr);
        assert_eq!(document.error()["code"], "STORE_UNAVAILABLE", "{command:?}");
        for answer in [&text, &document] {
            assert!(!answer.shown().contains(PASSWORD), "{command:?}: {}", answer.shown());
        }
    }
    assert!(!bench.path("there.db").exists(), "no target is made for a source that is not there");
    let shown = bench.run(&["show", EMBEDDING]).shown();
    // The number of the error is the operating system's.
    assert_shown(
        "unreachable",
        &shown.replace("(os error 111)", "(os error N)").replace("(os error 61)", "(os error N)"),
    );
}

#[test]
fn a_database_or_a_user_that_the_server_does_not_know_exits_5_and_is_named() {
    let database = Database::migrated();
    let server = format!("127.0.0.1:{}", database.cluster.port());
    for (url, name) in [
        (format!("postgres://postgres:{PASSWORD}@{server}/nowhere"), "nowhere"),
        (format!("postgres://nobody:{PASSWORD}@{server}/{}", database.name), "nobody"),
    ] {
        let answer = Bench::on(url).run(&["show", EMBEDDING]);
        assert_eq!(answer.exit, 5);
        let shown = answer.shown();
        assert!(shown.contains(name) && shown.contains("STORE_UNAVAILABLE"), "{shown}");
        assert!(!shown.contains(PASSWORD), "{shown}");
    }
}

#[test]
fn a_wrong_url_is_wrong_usage_and_is_not_repeated() {
    let server = format!("ann:{PASSWORD}@{NOWHERE}");
    for url in [
        format!("postgres://{server}/profiles?sslmod=require"),
        format!("postgres://{server}/profiles?sslmode=sometimes"),
        format!("postgres://{server}/profiles?pgbouncer=perhaps"),
        format!("postgres://{server}/profiles?manage=everything"),
        format!("postgres://{server}/profiles?statement_timeout_ms=long"),
        format!("postgres://ann:{PASSWORD}@127.0.0.1:port/profiles"),
        format!("mysql://{server}/profiles"),
    ] {
        let bench = Bench::on(&url);
        for command in
            [&["show", EMBEDDING][..], &["migrate"], &["copy", "--from", &url, "--to", "sqlite:there.db"]]
        {
            let (text, document) = (bench.run(command), bench.json(command));
            assert_eq!((text.exit, document.exit), (2, 2), "{url} {command:?}");
            for answer in [&text, &document] {
                assert!(!answer.shown().contains(PASSWORD), "{url}: {}", answer.shown());
            }
        }
    }
    let shown = |url: &str| Bench::on(url).run(&["show", EMBEDDING]).shown();
    assert_shown("url_parameter", &shown("postgres://ann@db/profiles?sslmod=require"));
    assert_shown("url_sslmode", &shown("postgres://ann@db/profiles?sslmode=sometimes"));
    assert_shown("url_scheme", &shown("mysql://ann@db/profiles"));
}

#[test]
fn a_server_that_takes_no_writes_is_read_and_refuses_the_rest() {
    let database = Database::migrated();
    let bench = Bench::on(database.url());
    bench.with_history();
    let name = &database.name;
    database.cluster.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    assert_eq!(bench.json(&["show", EMBEDDING]).document()["activeRevision"], 2);
    assert_eq!(bench.run(&["audit"]).exit, 0);
    for command in [&["restore", EMBEDDING, "1", "--expect", "2"][..], &["space", "delete", SPACE, "--yes"]] {
        let refused = bench.json(command);
        assert_eq!((refused.exit, &refused.error()["code"]), (5, &"STORE_READ_ONLY".into()), "{command:?}");
    }
    assert_shown("read_only", &bench.run(&["restore", EMBEDDING, "1", "--expect", "2"]).shown());
    assert_eq!(bench.run(&["migrate"]).exit, 0, "there is nothing to write");
    assert_eq!(bench.json(&["show", EMBEDDING]).document()["rowVersion"], 2);
}

#[test]
fn a_schema_that_is_not_there_is_not_looked_for_elsewhere() {
    let database = Database::migrated();
    let bench = Bench::on(format!("{}?search_path=nowhere", database.url()));
    for command in [&["migrate"][..], &["doctor"], &["show", EMBEDDING]] {
        let answer = bench.json(command);
        assert_eq!((answer.exit, &answer.error()["code"]), (5, &"STORE_SCHEMA".into()), "{command:?}");
    }
    database.sql("CREATE SCHEMA elsewhere");
    let bench = Bench::on(format!("{}?search_path=elsewhere", database.url()));
    assert_eq!(bench.run(&["migrate"]).exit, 0);
    bench.with_history();
    assert_eq!(Bench::on(database.url()).run(&["show", EMBEDDING]).exit, 4, "each schema is a store of its own");
}
