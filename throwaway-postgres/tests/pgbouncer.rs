//! `PgBouncer`.

#![allow(clippy::unwrap_used, reason = "a test's own functions panic as the test does")]

use std::process::Command;

use throwaway_postgres::{PgBouncer, PgBouncerOptions, shared};

#[test]
fn a_pooler_answers_in_transaction_mode() {
    shared().create_database("pooled");
    let options = PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() };
    let pooler = PgBouncer::start(shared(), &options);
    let backend = || psql(&pooler.url("pooled"), "select current_database() || pg_backend_pid()");
    let first = backend();
    assert!(first.starts_with("pooled"));
    assert_eq!(first, backend(), "one server connection serves both clients");

    // A client that stays connected between transactions holds no server connection.
    let idle = format!("\\! psql -XAt '{}' -c 'select 5'", pooler.url("pooled"));
    assert_eq!(psql_script(&pooler.url("pooled"), &format!("select 4;\n{idle}\n")), "4\n5");
}

fn psql(url: &str, statement: &str) -> String {
    psql_script(url, &format!("{statement};\n"))
}

fn psql_script(url: &str, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", "printf '%s' \"$2\" | psql -XAtq -v ON_ERROR_STOP=1 -f - \"$1\"", "sh", url, script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
