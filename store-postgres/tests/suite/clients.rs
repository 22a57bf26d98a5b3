//! Whoever uses a database beside others: stores of ours, and sessions that hold locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use space_profiles_conformance::{Fixture, ManualClock, SequentialDraw, StoreUnderTest, Tamper};
use space_profiles_core::{Draw, Registry, Space, Store};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use throwaway_postgres::{PgBouncer, PgBouncerOptions, shared};

use crate::databases::Database;

/// The two ways to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Directly,
    BehindPgBouncer,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::Directly, Self::BehindPgBouncer];

    /// A client of the database; `parameters` are the URL's, as in `lock_timeout_ms=200&max_connections=1`.
    pub(crate) async fn client(self, database: &Database, parameters: &str) -> Fixture {
        let url = match self {
            Self::Directly => format!("{}?{parameters}", database.url()),
            Self::BehindPgBouncer => format!("{}?pgbouncer=true&{parameters}", pooler().url(&database.name)),
        };
        client_at(&url).await
    }
}

/// A pooler that all tests of the process share.
fn pooler() -> &'static PgBouncer {
    static POOLER: std::sync::OnceLock<PgBouncer> = std::sync::OnceLock::new();
    POOLER.get_or_init(|| PgBouncer::start(shared(), &PgBouncerOptions::default()))
}

/// A client that goes by the server's clock and has ids of its own.
pub(crate) async fn client_at(url: &str) -> Fixture {
    client_of(PostgresStore::open(&PostgresOptions::from_url(url).unwrap()).await.unwrap())
}

pub(crate) fn client_of(store: PostgresStore) -> Fixture {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let draw = Arc::new(SequentialDraw::named(&format!("client {}", NEXT.fetch_add(1, Ordering::Relaxed))));
    let registry = Registry::new(Arc::new(store.clone()), Arc::clone(&draw) as Arc<dyn Draw>);
    let ledger = registry.ledger();
    Fixture { under_test: Arc::new(Opened(store)), clock: Arc::new(ManualClock::new()), draw, registry, ledger }
}

struct Opened(PostgresStore);

#[async_trait::async_trait]
impl StoreUnderTest for Opened {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        panic!("expected a test that writes its SQL itself, beside others, found {tamper:?}");
    }
}

/// A session of somebody else.
pub(crate) struct Session(PgConnection);

impl Session {
    pub(crate) async fn open(database: &Database) -> Self {
        Self(PgConnection::connect(&database.url()).await.unwrap())
    }

    /// One that has begun a transaction with a statement, and so holds its locks.
    pub(crate) async fn holding(database: &Database, statement: &str) -> Self {
        let mut session = Self::open(database).await;
        session.run(&format!("BEGIN; {statement}")).await;
        session
    }

    pub(crate) async fn run(&mut self, statements: &str) {
        self.try_run(statements).await.unwrap();
    }

    pub(crate) async fn try_run(&mut self, statements: &str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut self.0).await.map(|_| ())
    }
}

/// The condition for a space's own row.
pub(crate) fn is_space(space: &Space) -> String {
    format!("tenant_id = '{}' AND id = '{}'", space.tenant.as_str(), space.id)
}

/// The condition for the rows of a space in the other tables.
pub(crate) fn of_space(space: &Space) -> String {
    format!("tenant_id = '{}' AND knowledge_space_id = '{}'", space.tenant.as_str(), space.id)
}

impl Database {
    /// Waits until so many sessions wait for a lock.
    pub(crate) async fn until_waiting(&self, sessions: u32) {
        const WAITING: &str = "
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND backend_type = 'client backend'";
        self.until(WAITING, &sessions.to_string()).await;
    }

    /// Waits until nobody holds or wants a lock.
    pub(crate) async fn until_unlocked(&self) {
        const LOCKS: &str = "
            SELECT count(*) FROM pg_locks AS held JOIN pg_database ON pg_database.oid = held.database
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.until(LOCKS, "0").await;
    }

    /// Waits until a query answers as expected.
    pub(crate) async fn until(&self, query: &str, expected: &str) {
        const LOOKS: u32 = 2_000;
        let mut session = PgConnection::connect(&self.url()).await.unwrap();
        let query = format!("SELECT ({query})::text");
        let mut found = String::new();
        for _ in 0..LOOKS {
            found = sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&mut session).await.unwrap();
            if found == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("expected `{expected}` of {query}, found `{found}` in the end");
    }
}
