//! The schema: how it is made, how far a file has it, and how a file differs from it.

use std::collections::BTreeMap;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use rusqlite_migration::{M, Migrations};
use space_profiles_core::{StoreCode, StoreError};

use crate::error::JobError;

/// What a file of ours is marked with; the first migration writes it.
const APPLICATION_ID: i64 = 0x5350_5246;

/// INVARIANT: each fails when it runs twice, so that of two processes that migrate one file at once the second
/// changes nothing.
const MIGRATIONS: [(&str, &str); 1] = [(
    "0001_profiles",
    concat!(
        include_str!("schema/spaces.sql"),
        include_str!("schema/revisions.sql"),
        include_str!("schema/heads.sql"),
        include_str!("schema/backfills.sql"),
    ),
)];

/// How many migrations a database has had. It must be empty or one of ours, and not newer than this code.
pub(crate) fn applied(connection: &Connection) -> Result<usize, JobError> {
    const SQL: &str = "
        SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
        FROM pragma_application_id, pragma_user_version";
    let marks = connection.query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let message = match marks {
        (APPLICATION_ID, version, _) => match usize::try_from(version) {
            Ok(version) if version <= MIGRATIONS.len() => return Ok(version),
            _ => format!(
                "expected at most schema version {}, found {version}, which a newer space-profiles made; \
                 use that one",
                MIGRATIONS.len()
            ),
        },
        (0, 0, 0) => return Ok(0),
        (mark, version, objects) => format!(
            "expected an empty database or one of space-profiles, found another one ({objects} tables, indexes \
             and so on, application id {mark}, version {version}); choose another file"
        ),
    };
    Err(StoreError::new(StoreCode::Schema, message).into())
}

/// The names of the migrations after the first `applied`.
pub(crate) fn pending(applied: usize) -> Vec<&'static str> {
    MIGRATIONS.iter().skip(applied).map(|(name, _)| *name).collect()
}

/// Runs what is missing. Several processes may do so at once.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), JobError> {
    if pending(applied(connection)?).is_empty() {
        return Ok(());
    }
    let migrations = Migrations::new(MIGRATIONS.iter().map(|(_, sql)| M::up(sql)).collect());
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    let migrated = migrations.to_latest(connection);
    connection.set_transaction_behavior(TransactionBehavior::Deferred);
    match migrated {
        Ok(()) => Ok(()),
        // Somebody else was first and the second run of a migration failed, as it must.
        Err(_) if pending(applied(connection)?).is_empty() => Ok(()),
        Err(rusqlite_migration::Error::RusqliteError { err, .. }) => Err(err.into()),
        Err(error) => Err(StoreError::new(StoreCode::Schema, error.to_string()).into()),
    }
}

/// Every way in which a database is not what the migrations make, a sentence each.
pub(crate) fn differences(connection: &mut Connection) -> Result<Vec<String>, JobError> {
    let mut fresh = Connection::open_in_memory()?;
    migrate(&mut fresh)?;
    let transaction = connection.transaction()?;
    let (expected, found) = (objects(&fresh)?, objects(&transaction)?);
    let mut differences = compare(&expected, &found);
    let has_foreign_keys: bool = transaction.query_row("PRAGMA foreign_keys", [], |row| row.get(0))?;
    if !has_foreign_keys {
        differences.push("expected foreign keys to be on for this connection, found them off".to_owned());
    }
    differences.extend(damage(&transaction)?);
    Ok(differences)
}

/// A table, an index or a trigger.
#[derive(PartialEq, Eq)]
struct Object {
    sort: String,
    table: String,
    sql: String,
}

/// By name. What SQLite makes by itself for a constraint follows from its table and is left out.
fn objects(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Object>> {
    const SQL: &str = "SELECT name, type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL";
    let mut statement = connection.prepare(SQL)?;
    let objects = statement.query_map([], |row| {
        let sql: String = row.get(3)?;
        let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok((row.get(0)?, Object { sort: row.get(1)?, table: row.get(2)?, sql }))
    })?;
    objects.collect()
}

fn compare(expected: &BTreeMap<String, Object>, found: &BTreeMap<String, Object>) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, object) in expected {
        let sort = &object.sort;
        match found.get(name) {
            None => differences.push(format!("expected {sort} `{name}`, found none")),
            Some(other) if other != object => {
                differences.push(format!("expected {sort} `{name}` as the migrations make it, found it changed"));
            }
            Some(_) => {}
        }
    }
    // A table of somebody else's is harmless; what hangs on one of ours is not.
    let unexpected = found.iter().filter(|(name, object)| {
        !expected.contains_key(*name)
            && (name.starts_with("knowledge_space") || expected.contains_key(&object.table))
    });
    differences.extend(
        unexpected
            .map(|(name, object)| format!("found an unexpected {} `{name}` on {}", object.sort, object.table)),
    );
    differences
}

fn damage(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    let mut statement = transaction.prepare("PRAGMA quick_check(10)")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    Ok(lines
        .into_iter()
        .filter(|line| line != "ok")
        .map(|line| format!("expected SQLite's quick check to be clean, found: {line}"))
        .collect())
}
