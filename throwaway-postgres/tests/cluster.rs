//! Clusters and standbys.

#![allow(clippy::unwrap_used, reason = "a test's own functions panic as the test does")]

use std::thread;
use std::time::Duration;

use throwaway_postgres::{Cluster, ClusterOptions, Shutdown, shared};

#[test]
fn sql_answers_rows_and_tells_errors() {
    let cluster = shared();
    cluster.create_database("sql");
    let rows =
        cluster.sql("sql", "create table t (a int, b text); insert into t values (1, 'x'), (2, null); table t");
    assert_eq!(rows, "1|x\n2|");
    let error = cluster.try_sql("sql", "select 1; select nonsense").unwrap_err();
    assert!(error.contains("column \"nonsense\" does not exist"), "{error}");
    assert!(cluster.try_sql("sql", &format!("select 1 -- {}", "long ".repeat(100_000))).is_ok());
}

#[test]
#[should_panic(expected = "does not exist")]
fn a_failing_statement_panics_with_the_reason() {
    shared().sql("postgres", "select nonsense");
}

#[test]
fn a_database_is_copied_from_a_template_and_dropped() {
    let cluster = shared();
    let name = "a \"strange\" näme?/";
    cluster.create_database("template");
    cluster.sql("template", "create table t as select 7 as seven");
    cluster.create_database_from(name, "template");
    assert_eq!(cluster.sql(name, "table t"), "7");
    cluster.drop_database(name);
    assert!(cluster.try_sql(name, "select 1").unwrap_err().contains("does not exist"));
}

#[test]
fn settings_are_the_tests_own_and_those_of_the_options() {
    let show = |cluster: &Cluster, setting: &str| cluster.sql("postgres", &format!("show {setting}"));
    assert_eq!(show(shared(), "fsync"), "off");
    assert_eq!(show(shared(), "server_encoding"), "UTF8");
    let settings = vec![
        ("deadlock_timeout".to_owned(), "123ms".to_owned()),
        ("application_name".to_owned(), "it's 'quoted'".to_owned()),
        ("max_connections".to_owned(), "7".to_owned()),
    ];
    let cluster = Cluster::start(&ClusterOptions { fsync: true, settings, ..ClusterOptions::default() });
    assert_eq!(show(&cluster, "fsync"), "on");
    assert_eq!(show(&cluster, "deadlock_timeout"), "123ms");
    assert_eq!(show(&cluster, "max_connections"), "7");
}

#[test]
fn commits_survive_every_way_to_stop_on_the_same_port() {
    let cluster = Cluster::start(&ClusterOptions::default());
    let port = cluster.port();
    cluster.sql("postgres", "create table survivors (n int)");
    type Way = fn(&Cluster);
    let ways: [Way; 4] = [
        |cluster| cluster.stop(Shutdown::Smart),
        |cluster| cluster.stop(Shutdown::Fast),
        |cluster| cluster.stop(Shutdown::Immediate),
        Cluster::kill,
    ];
    for (n, stop) in ways.iter().enumerate() {
        cluster.sql("postgres", &format!("insert into survivors values ({n})"));
        stop(&cluster);
        assert_eq!(cluster.process_id(), None);
        assert!(cluster.try_sql("postgres", "select 1").is_err());
        cluster.start_again();
        assert_eq!(cluster.port(), port);
        assert_eq!(cluster.sql("postgres", "select count(*) from survivors"), (n + 1).to_string());
    }
}

#[test]
fn a_server_waits_for_its_port_if_somebody_has_it() {
    let cluster = Cluster::start(&ClusterOptions::default());
    cluster.stop(Shutdown::Fast);
    let somebody = std::net::TcpListener::bind(("127.0.0.1", cluster.port())).unwrap();
    thread::scope(|scope| {
        let starting = scope.spawn(|| cluster.start_again());
        thread::sleep(Duration::from_millis(300));
        assert!(!starting.is_finished());
        assert!(cluster.log().contains("Address already in use"));
        drop(somebody);
    });
    assert_eq!(cluster.sql("postgres", "select 1"), "1");
}

#[test]
fn clusters_started_at_once_are_different() {
    let start = || Cluster::start(&ClusterOptions::default());
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(start);
        (start(), other.join().unwrap())
    });
    assert_ne!(one.port(), other.port());
    one.create_database("only_in_one");
    assert_eq!(other.sql("postgres", "select count(*) from pg_database where datname = 'only_in_one'"), "0");
}

#[test]
fn a_dropped_cluster_leaves_nothing() {
    let cluster = Cluster::start(&ClusterOptions::default());
    let (folder, port) = (cluster.folder().to_owned(), cluster.port());
    assert!(folder.join("data").is_dir());
    drop(cluster);
    assert!(!folder.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_standby_follows_and_is_read_only() {
    let primary = Cluster::start(&ClusterOptions::default());
    primary.sql("postgres", "create table t as select 1 as n");
    let standby = primary.standby();
    primary.sql("postgres", "insert into t values (2)");
    standby.catch_up_with(&primary);
    assert_eq!(standby.sql("postgres", "select count(*) from t"), "2");
    let error = standby.try_sql("postgres", "insert into t values (3)").unwrap_err();
    assert!(error.contains("read-only transaction"), "{error}");
}

#[test]
fn every_address_reaches_the_cluster_and_tls_is_verified() {
    let cluster = Cluster::start(&ClusterOptions { ssl: true, ..ClusterOptions::default() });
    let encrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    let verified = format!(
        "{}?sslmode=verify-full&sslrootcert={}",
        cluster.url("postgres"),
        cluster.certificate_authority().display()
    );
    assert_eq!(psql(&verified, encrypted), "t");
    assert_eq!(psql(&cluster.socket_url("postgres"), encrypted), "f");
    assert_eq!(psql(&shared().url("postgres"), encrypted), "f");
}

fn psql(url: &str, statement: &str) -> String {
    let output = std::process::Command::new("psql").args(["-XAt", url, "-c", statement]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
