//! Passwords, which nothing that people read may hold.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};

use space_profiles_conformance::code;
use space_profiles_core::Kind;
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use throwaway_postgres::{Cluster, ClusterOptions, Cut, Proxy, Shutdown};

use crate::clients::client_at;

const PASSWORD: &str = "s3cr3tpw";
/// As a URL may have it too.
const ENCODED: &str = "s%33cr3tpw";

/// Looks at every record that anything in this process logs.
struct Watch;

static WATCH: Watch = Watch;
static RECORDS: AtomicU64 = AtomicU64::new(0);
static LEAKS: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for Watch {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        RECORDS.fetch_add(1, Ordering::Relaxed);
        let text = record.args().to_string();
        if text.contains(PASSWORD) || text.contains(ENCODED) {
            LEAKS.lock().unwrap().push(text);
        }
    }

    fn flush(&self) {}
}

fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&WATCH).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// What is wrong with a URL, in all the words there are.
async fn complaint(url: &str) -> String {
    let options = match PostgresOptions::from_url(url) {
        Ok(options) => options,
        Err(error) => return format!("{error} {error:?}"),
    };
    let opened = match PostgresStore::open(&options).await {
        Ok(_) => panic!("expected that {url} is refused"),
        Err(error) => error,
    };
    let pending = PostgresStore::pending_migrations(&options).await.unwrap_err();
    let migrated = PostgresStore::migrate(&options).await.unwrap_err();
    format!("{opened} {opened:?} {pending} {pending:?} {migrated} {migrated:?}")
}

#[tokio::test]
async fn no_error_and_no_log_holds_a_password() {
    watch();
    let cluster = Cluster::start(&ClusterOptions::default());
    cluster.create_database("store");
    cluster.sql("store", &format!("CREATE ROLE keeper SUPERUSER LOGIN PASSWORD '{PASSWORD}'"));
    let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(cluster.folder().join("data/pg_hba.conf"), rules).unwrap();
    cluster.stop(Shutdown::Fast);
    cluster.start_again();
    let port = cluster.port();

    let refused = [
        // What cannot be reached, or refuses.
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:1/store?acquire_timeout_ms=300"),
        format!("postgres://keeper:{PASSWORD}@nowhere.invalid/store?acquire_timeout_ms=300"),
        format!("postgres://nobody:{PASSWORD}@127.0.0.1:{port}/store"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:{port}/nowhere"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:{port}/store?sslmode=require"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:{port}/store?sslmode=verify-full&sslrootcert=/nowhere"),
        format!("postgres://keeper@127.0.0.1:{port}/store?password={PASSWORD}x"),
        format!("postgres://keeper:{ENCODED}x@127.0.0.1:{port}/store"),
        // What is no URL, or not one of ours.
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:port/store"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1:99999/store"),
        format!("postgres://keeper:{PASSWORD}@[::1/store"),
        format!("postgres://keeper:{PASSWORD}%zz%ff@127.0.0.1/store"),
        format!("mysql://keeper:{PASSWORD}@127.0.0.1/store"),
        format!("keeper:{PASSWORD}@127.0.0.1/store"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1/store?sslmod=require"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1/store?sslmode=required"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1/store?max_connections=many"),
        format!("postgres://keeper:{PASSWORD}@127.0.0.1/store?port=many"),
        // Letters that a URL gives another meaning.
        format!("postgres://keeper:12?{PASSWORD}@127.0.0.1/store"),
        format!("postgres://keeper:12?{PASSWORD}&x@127.0.0.1/store"),
        format!("postgres://keeper:12?{PASSWORD}=x@127.0.0.1/store"),
        format!("postgres://keeper:12?sslmode={PASSWORD}@127.0.0.1/store"),
        format!("postgres://keeper:12#{PASSWORD}@127.0.0.1/store"),
        format!("postgres://keeper:12/{PASSWORD}@127.0.0.1/store?acquire_timeout_ms=300"),
    ];
    for url in &refused {
        let said = complaint(url).await;
        assert!(!said.contains(PASSWORD) && !said.contains(ENCODED), "{url}: {said}");
    }

    // A whole life, with a connection that is lost.
    let proxy = Proxy::start(port);
    let url = format!("postgres://keeper:{PASSWORD}@127.0.0.1:{}/store?acquire_timeout_ms=3000", proxy.port());
    PostgresStore::migrate(&PostgresOptions::from_url(&url).unwrap()).await.unwrap();
    let client = client_at(&url).await;
    let scope = client.history(Kind::Embedding, 2).await;
    proxy.cut(Cut::Everything);
    assert_eq!(code(client.activate(&scope, 1, None).await), "STORE_UNAVAILABLE");

    let leaks = LEAKS.lock().unwrap();
    assert_eq!(*leaks, [""; 0], "logged with a password");
    assert!(RECORDS.load(Ordering::Relaxed) > 0, "expected that the driver logs");
}
