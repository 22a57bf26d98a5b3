//! SQLite shows every behaviour, in memory and in a file.
#![allow(clippy::unwrap_used, reason = "in tests a panic is how a failure is told")]

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use space_profiles_conformance::{
    Column, ManualClock, MemoryBuilder, StoreBuilder, StoreUnderTest, Tamper, random,
};
use space_profiles_core::Store;
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// Builds stores in memory.
struct InMemory;

/// Builds stores in files of their own.
struct InFile;

/// Builds stores in files of their own, whose calls are made by whoever awaits them.
struct InFileAndInPlace;

struct Sqlite {
    store: SqliteStore,
    _folder: Option<TempDir>,
}

#[async_trait::async_trait]
impl StoreBuilder for InMemory {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        let store = SqliteStore::open(&SqliteOptions::memory().clock(clock)).unwrap();
        Arc::new(Sqlite { store, _folder: None })
    }
}

#[async_trait::async_trait]
impl StoreBuilder for InFile {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        in_a_file(clock, |options| options)
    }
}

#[async_trait::async_trait]
impl StoreBuilder for InFileAndInPlace {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        in_a_file(clock, |options| options.in_place(|call| tokio::task::block_in_place(call)))
    }
}

fn in_a_file(
    clock: Arc<ManualClock>,
    change: impl FnOnce(SqliteOptions) -> SqliteOptions,
) -> Arc<dyn StoreUnderTest> {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::file(folder.path().join("profiles.db")).clock(clock);
    let store = SqliteStore::open(&change(options)).unwrap();
    Arc::new(Sqlite { store, _folder: Some(folder) })
}

#[async_trait::async_trait]
impl StoreUnderTest for Sqlite {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        let tamper = tamper.clone();
        let changed = self.store.with_connection(move |connection| unguarded(connection, tamper));
        assert_eq!(changed.await.unwrap(), 1, "expected to tamper with one row");
    }
}

/// Makes a change that no trigger and no constraint stands against.
fn unguarded(connection: &Connection, tamper: Tamper) -> rusqlite::Result<usize> {
    const GUARDS: &str = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name LIKE '%_one_%_uq'";
    let guards: Vec<(String, String)> = connection
        .prepare(GUARDS)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    enforce(connection, false)?;
    for (index, _) in &guards {
        connection.execute_batch(&format!("DROP INDEX {index}"))?;
    }
    let changed = change(connection, tamper);
    for (_, sql) in guards {
        // A rule that the rows now break cannot come back.
        let _ = connection.execute_batch(&sql);
    }
    enforce(connection, true)?;
    changed
}

fn enforce(connection: &Connection, is_on: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, is_on)?;
    connection.pragma_update(None, "foreign_keys", is_on)?;
    connection.pragma_update(None, "ignore_check_constraints", !is_on)
}

fn change(connection: &Connection, tamper: Tamper) -> rusqlite::Result<usize> {
    match tamper {
        Tamper::Set { table, id, column, value } => {
            let value = match value {
                Column::Null => Value::Null,
                Column::Integer(value) => Value::Integer(value),
                Column::Text(text) => Value::Text(text),
                Column::Time(moment) => Value::Integer(moment.as_micros()),
            };
            let sql = format!("UPDATE {} SET {column} = ?2 WHERE id = ?1", table.name());
            connection.execute(&sql, params![id.to_string(), value])
        }
        Tamper::Delete { table, id } => {
            connection.execute(&format!("DELETE FROM {} WHERE id = ?1", table.name()), [id.to_string()])
        }
        Tamper::Lifecycle { space, state, deletion_job } => connection.execute(
            "UPDATE knowledge_spaces SET lifecycle_state = ?3, deletion_job_id = ?4 WHERE tenant_id = ?1 AND id = ?2",
            params![
                space.tenant.as_str(),
                space.id.to_string(),
                state,
                deletion_job.map(|job| job.to_string())
            ],
        ),
    }
}

mod in_memory {
    space_profiles_conformance::conformance_tests!(super::InMemory);
}

mod in_a_file {
    space_profiles_conformance::conformance_tests!(super::InFile);
}

mod in_a_file_and_in_place {
    space_profiles_conformance::conformance_tests!(super::InFileAndInPlace);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_commands_have_the_same_answers_and_rows_as_in_the_reference(commands in random::commands(40)) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (expected, found) = runtime.block_on(async {
            (random::run(&MemoryBuilder, &commands).await, random::run(&InMemory, &commands).await)
        });
        proptest::prop_assert_eq!(expected, found);
    }
}
