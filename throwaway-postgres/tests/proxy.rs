//! Connections lost at a chosen moment.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test's own functions panic as the test does")]

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use throwaway_postgres::{Cut, PgBouncer, PgBouncerOptions, Proxy, shared};

#[test]
fn psql_works_through_a_proxy_that_is_told_nothing() {
    let (proxy, database) = table("untouched");
    assert!(psql(&proxy.url(database), "insert into t values (1); select sum(n) from t"));
    assert!(!psql(&proxy.url(database), "select nonsense"));
    assert!(psql(&proxy.url(database), "insert into t values (2)"));
    assert_eq!(rows(database), "1 2");
    assert_eq!(proxy.statements(), 3);
}

#[test]
fn before_a_statement_the_server_gets_nothing() {
    for statement in [Client::simple, Client::extended] {
        let (proxy, database) = table("before_statement");
        let mut client = Client::connect(&proxy, database).unwrap();
        proxy.cut(Cut::BeforeStatement(2));
        statement(&mut client, "insert into t values (1)").unwrap();
        assert!(proxy.is_armed());
        statement(&mut client, "insert into t values (2)").unwrap_err();
        proxy.wait_for_cut();
        assert_eq!(rows(database), "1");

        let mut client = Client::connect(&proxy, database).unwrap();
        statement(&mut client, "insert into t values (3)").expect("a cut happens once");
        assert_eq!(rows(database), "1 3");
    }
}

#[test]
fn after_a_statement_is_sent_it_runs_though_the_client_learns_nothing() {
    for statement in [Client::simple, Client::extended, Client::flushed] {
        let (proxy, database) = table("after_statement");
        let mut client = Client::connect(&proxy, database).unwrap();
        let undisturbed = Proxy::start(shared().port());
        let mut holder = Client::connect(&undisturbed, database).unwrap();
        holder.simple("select pg_advisory_lock(1)").unwrap();
        proxy.cut(Cut::AfterStatementSent(1));
        // It cannot end before the holder does, so the client is closed before any reply.
        statement(&mut client, "insert into t select 1 from pg_advisory_lock(1)").unwrap_err();
        assert_eq!(rows(database), "");
        holder.simple("select pg_advisory_unlock(1)").unwrap();
        proxy.wait_for_cut();
        assert_eq!(rows(database), "1");
    }
}

#[test]
fn after_a_statement_of_a_transaction_block_the_block_is_rolled_back() {
    let (proxy, database) = table("after_statement_in_block");
    let mut client = Client::connect(&proxy, database).unwrap();
    proxy.cut(Cut::AfterStatementSent(2));
    client.simple("begin").unwrap();
    client.extended("insert into t values (1)").unwrap_err();
    proxy.wait_for_cut();
    // The lock waits for the end of the other's transaction.
    shared().sql(database, "begin; lock t; commit");
    assert_eq!(rows(database), "");
}

#[test]
fn before_a_commit_the_transaction_is_lost() {
    for commit in [Client::simple, Client::extended] {
        let (proxy, database) = table("before_commit");
        let mut client = Client::connect(&proxy, database).unwrap();
        proxy.cut(Cut::BeforeCommit);
        client.simple("begin").unwrap();
        client.extended("insert into t values (1)").unwrap();
        assert!(proxy.is_armed());
        commit(&mut client, "Commit").unwrap_err();
        proxy.wait_for_cut();
        shared().sql(database, "begin; lock t; commit");
        assert_eq!(rows(database), "");
    }
}

#[test]
fn after_a_commit_is_applied_the_client_learns_nothing() {
    for commit in [Client::simple, Client::extended] {
        let (proxy, database) = table("after_commit");
        let mut client = Client::connect(&proxy, database).unwrap();
        proxy.cut(Cut::AfterCommitApplied);
        client.simple("begin").unwrap();
        client.extended("insert into t values (1)").unwrap();
        commit(&mut client, "COMMIT").unwrap_err();
        assert_eq!(rows(database), "1", "the client is closed when the commit is done");
        proxy.wait_for_cut();
    }
}

#[test]
fn the_replies_before_a_lost_commit_arrive() {
    let (proxy, database) = table("pipelined");
    let mut client = Client::connect(&proxy, database).unwrap();
    proxy.cut(Cut::AfterCommitApplied);
    for statement in ["begin", "insert into t values (1)", "commit"] {
        client.send(b'Q', &[statement.as_bytes(), b"\0"]).unwrap();
    }
    client.until_ready().unwrap();
    client.until_ready().unwrap();
    client.until_ready().unwrap_err();
    assert_eq!(rows(database), "1");
}

#[test]
fn an_outage_ends_when_it_is_healed() {
    let (proxy, database) = table("outage");
    let mut client = Client::connect(&proxy, database).unwrap();
    proxy.cut(Cut::Everything);
    client.simple("insert into t values (1)").unwrap_err();
    assert!(Client::connect(&proxy, database).is_err());
    proxy.heal();
    Client::connect(&proxy, database).unwrap().simple("insert into t values (2)").unwrap();
    assert_eq!(rows(database), "2");
}

#[test]
fn a_cut_finds_its_statement_between_a_client_and_a_pooler() {
    let (_, database) = table("before_pooler");
    let pooler = PgBouncer::start(shared(), &PgBouncerOptions::default());
    let proxy = Proxy::start(pooler.port());
    let mut client = Client::connect(&proxy, database).unwrap();
    proxy.cut(Cut::AfterStatementSent(1));
    client.extended("insert into t values (1)").unwrap_err();
    proxy.wait_for_cut();
    assert_eq!(rows(database), "1");
}

#[test]
fn a_dropped_proxy_closes_its_connections() {
    let (proxy, database) = table("dropped");
    let port = proxy.port();
    let mut client = Client::connect(&proxy, database).unwrap();
    drop(proxy);
    client.simple("insert into t values (1)").unwrap_err();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// A database with an empty table `t`, and a proxy before it.
fn table(database: &str) -> (Proxy, &str) {
    let exists = format!("select 1 from pg_database where datname = '{database}'");
    if shared().sql("postgres", &exists) == "1" {
        shared().drop_database(database);
    }
    shared().create_database(database);
    shared().sql(database, "create table t (n int)");
    (Proxy::start(shared().port()), database)
}

fn rows(database: &str) -> String {
    shared().sql(database, "select coalesce(string_agg(n::text, ' ' order by n), '') from t")
}

fn psql(url: &str, statements: &str) -> bool {
    Command::new("psql").args(["-XAtq", url, "-c", statements]).output().unwrap().status.success()
}

/// A client that says just what a test needs.
struct Client(TcpStream);

impl Client {
    fn connect(proxy: &Proxy, database: &str) -> io::Result<Self> {
        let mut client = Self(TcpStream::connect(("127.0.0.1", proxy.port()))?);
        // As most clients, it asks for encryption first.
        client.0.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
        let mut answer = [0];
        client.0.read_exact(&mut answer)?;
        assert_eq!(&answer, b"N");
        let start = [b"\0\x03\0\0user\0postgres\0database\0", database.as_bytes(), b"\0\0"].concat();
        client.0.write_all(&u32::try_from(start.len() + 4).unwrap().to_be_bytes())?;
        client.0.write_all(&start)?;
        client.until_ready()?;
        Ok(client)
    }

    fn simple(&mut self, statement: &str) -> io::Result<()> {
        self.send(b'Q', &[statement.as_bytes(), b"\0"])?;
        self.until_ready()
    }

    /// Prepares, then executes, as sqlx does.
    fn extended(&mut self, statement: &str) -> io::Result<()> {
        self.send(b'P', &[b"s\0", statement.as_bytes(), b"\0\0\0"])?;
        self.send(b'D', &[b"Ss\0"])?;
        self.send(b'S', &[])?;
        self.until_ready()?;
        self.send(b'B', &[b"\0s\0\0\0\0\0\0\0"])?;
        self.send(b'E', &[b"\0\0\0\0\0"])?;
        self.send(b'C', &[b"Ss\0"])?;
        self.send(b'S', &[])?;
        self.until_ready()
    }

    fn flushed(&mut self, statement: &str) -> io::Result<()> {
        self.send(b'P', &[b"\0", statement.as_bytes(), b"\0\0\0"])?;
        self.send(b'B', &[b"\0\0\0\0\0\0\0\0"])?;
        self.send(b'E', &[b"\0\0\0\0\0"])?;
        self.send(b'H', &[])?;
        self.until_ready()
    }

    fn send(&mut self, kind: u8, body: &[&[u8]]) -> io::Result<()> {
        let body = body.concat();
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        self.0.write_all(&[&[kind], &length[..], &body].concat())
    }

    fn until_ready(&mut self) -> io::Result<()> {
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head)?;
            let [kind, length @ ..] = head;
            let mut body = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap() - 4];
            self.0.read_exact(&mut body)?;
            match kind {
                // An error here is a lost connection and nothing else.
                b'E' => panic!("expected a success, found {}", String::from_utf8_lossy(&body)),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }
}
