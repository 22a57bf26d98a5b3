//! Postgres shows every behaviour, directly and behind a pooler in transaction mode.

use std::sync::{Arc, OnceLock};

use space_profiles_conformance::{
    Column, Fixture, ManualClock, MemoryBuilder, StoreBuilder, StoreUnderTest, Tamper, random,
};
use space_profiles_core::Store;
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use throwaway_postgres::{PgBouncer, PgBouncerOptions, shared};

use crate::databases::Database;

/// Builds stores on databases of their own.
struct Direct;

/// Builds stores that reach theirs through PgBouncer in transaction mode.
struct Pooled;

pub(crate) struct Postgres {
    store: PostgresStore,
    database: Arc<Database>,
}

impl Postgres {
    /// A fixture over a database of the caller's.
    pub(crate) async fn fixture(database: &Arc<Database>) -> Fixture {
        Fixture::new(&On(Arc::clone(database))).await
    }
}

/// Builds a store on a database that is there.
struct On(Arc<Database>);

#[async_trait::async_trait]
impl StoreBuilder for On {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        let store = PostgresStore::open(&self.0.options().clock(clock)).await.unwrap();
        Arc::new(Postgres { store, database: Arc::clone(&self.0) })
    }
}

#[async_trait::async_trait]
impl StoreBuilder for Direct {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        let database = Arc::new(Database::migrated());
        let store = PostgresStore::open(&database.options().clock(clock)).await.unwrap();
        Arc::new(Postgres { store, database })
    }
}

#[async_trait::async_trait]
impl StoreBuilder for Pooled {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        let database = Arc::new(Database::migrated());
        let url = format!("{}?pgbouncer=true", pooler().url(&database.name));
        let options = PostgresOptions::from_url(&url).unwrap();
        let store = PostgresStore::open(&options.clock(clock)).await.unwrap();
        Arc::new(Postgres { store, database })
    }
}

fn pooler() -> &'static PgBouncer {
    static POOLER: OnceLock<PgBouncer> = OnceLock::new();
    POOLER.get_or_init(|| PgBouncer::start(shared(), &PgBouncerOptions::default()))
}

#[async_trait::async_trait]
impl StoreUnderTest for Postgres {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        let (table, change) = match tamper {
            Tamper::Set { table, id, column, value } => {
                let value = match value {
                    Column::Null => "NULL".to_owned(),
                    Column::Integer(value) => value.to_string(),
                    Column::Text(text) => quoted(text),
                    Column::Time(moment) => {
                        format!("timestamptz 'epoch' + {} * interval '1 microsecond'", moment.as_micros())
                    }
                };
                let table = table.name();
                (table, format!("UPDATE {table} SET {column} = {value} WHERE id = '{id}'"))
            }
            Tamper::Delete { table, id } => {
                (table.name(), format!("DELETE FROM {} WHERE id = '{id}'", table.name()))
            }
            Tamper::Lifecycle { space, state, deletion_job } => {
                let job = deletion_job.map_or("NULL".to_owned(), |job| quoted(&job.to_string()));
                let change = format!(
                    "UPDATE knowledge_spaces SET lifecycle_state = '{state}', deletion_job_id = {job}
                     WHERE tenant_id = {} AND id = '{}'",
                    quoted(space.tenant.as_str()),
                    space.id
                );
                ("knowledge_spaces", change)
            }
        };
        assert_eq!(self.database.sql(&unguarded(table, &change)), "1", "expected to tamper with one row");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Makes a change that no trigger and no constraint stands against: the catalog is told to forget them for as long as
/// it takes. Answers how many rows were changed.
fn unguarded(table: &str, change: &str) -> String {
    format!(
        "SET session_replication_role = replica;
         CREATE TEMP TABLE checks AS SELECT relchecks FROM pg_class WHERE oid = '{table}'::regclass;
         CREATE TEMP TABLE uniques AS
           SELECT indexrelid FROM pg_index WHERE indrelid = '{table}'::regclass AND indisunique;
         CREATE TEMP TABLE given AS
           SELECT attnum FROM pg_attribute
           WHERE attrelid = '{table}'::regclass AND attnum > 0 AND attnotnull;
         UPDATE pg_class SET relchecks = 0 WHERE oid = '{table}'::regclass;
         UPDATE pg_index SET indisunique = false WHERE indexrelid IN (TABLE uniques);
         UPDATE pg_attribute SET attnotnull = false WHERE attrelid = '{table}'::regclass AND attnum > 0;
         WITH changed AS ({change} RETURNING 1) SELECT count(*) FROM changed;
         UPDATE pg_attribute SET attnotnull = true
           WHERE attrelid = '{table}'::regclass AND attnum IN (TABLE given);
         UPDATE pg_index SET indisunique = true WHERE indexrelid IN (TABLE uniques);
         UPDATE pg_class SET relchecks = (TABLE checks) WHERE oid = '{table}'::regclass;"
    )
}

mod directly {
    space_profiles_conformance::conformance_tests!(super::Direct);
}

mod behind_pgbouncer {
    space_profiles_conformance::conformance_tests!(super::Pooled);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_commands_have_the_same_answers_and_rows_as_in_the_reference(commands in random::commands(40)) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (expected, found) = runtime.block_on(async {
            (random::run(&MemoryBuilder, &commands).await, random::run(&Direct, &commands).await)
        });
        proptest::prop_assert_eq!(expected, found);
    }
}
