//! Applies migrations.
//!
//! A schema without the three tables gets everything in one transaction. One that has them may be large and in use:
//! there each migration is a transaction of its own that gives up soon when it has to wait for a lock, and indexes
//! are built concurrently. Whatever ends a run early, the next one goes on where it stopped.

use space_profiles_core::{StoreCode, StoreError};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::sleep;

use super::catalog::{self, PROFILE_TABLES, Part};
use super::history::OWN_TABLE_SQL;
use super::migrations::{MIGRATIONS, Means, Migration, PROFILES, SPACES};
use super::session::{self, Session};
use super::spaces::Spaces;
use super::{Patience, listed, obstacles, store_error};

pub(super) async fn run(
    session: &mut Session,
    pending: &[&'static str],
    patience: &Patience,
) -> Result<(), StoreError> {
    let connection = &mut session.connection;
    let mut reading = session::reading(connection).await?;
    let makes_spaces = Spaces::read(&mut reading).await?.tables().is_empty();
    let found = catalog::read(&mut reading, PROFILE_TABLES).await?;
    reading.rollback().await.map_err(|error| store_error(&error))?;

    let is_fresh = pending.contains(&PROFILES) && found.iter().all(|part| part.sort != "table");
    let migrations = MIGRATIONS.iter().filter(|migration| pending.contains(&migration.name));
    let planned = migrations.map(|migration| {
        let made = if migration.name == SPACES { makes_spaces } else { !is_complete(migration, &found) };
        Planned { migration, made }
    });
    let planned: Vec<Planned> = planned.collect();
    if is_fresh {
        return transaction(connection, &planned, patience).await;
    }
    for planned in planned {
        if planned.made && planned.migration.means == Means::Concurrently {
            for (name, statement) in planned.migration.indexes() {
                build(connection, &name, &statement, patience).await?;
            }
            note(connection, &planned).await.map_err(|error| store_error(&error))?;
        } else {
            transaction(connection, &[planned], patience).await?;
        }
    }
    Ok(())
}

/// A migration and whether there is something for it to make.
struct Planned {
    migration: &'static Migration,
    made: bool,
}

fn is_complete(migration: &Migration, found: &[Part]) -> bool {
    let expected: Vec<_> =
        catalog::expected(PROFILE_TABLES).into_iter().filter(|part| part.migration == migration.name).collect();
    expected.iter().all(|part| found.contains(&part.part))
}

/// Runs migrations in one transaction, again and again while it meets a lock.
async fn transaction(
    connection: &mut PgConnection,
    planned: &[Planned],
    patience: &Patience,
) -> Result<(), StoreError> {
    for _ in 0..patience.tries {
        match attempt(connection, planned, patience).await {
            Ok(()) => return Ok(()),
            Err(error) if is_lock_not_had(&error) => sleep(patience.pause).await,
            Err(error) => return Err(store_error(&error)),
        }
    }
    let names: Vec<_> = planned.iter().map(|planned| planned.migration.name).collect();
    let message = format!(
        "migration `{}` found a table locked {} times, {} ms each; what came before it is done and it has changed \
         nothing; end the transactions that run long (pg_stat_activity shows them) and migrate again",
        names.join("`, `"),
        patience.tries,
        patience.lock.as_millis()
    );
    Err(StoreError::new(StoreCode::Busy, message))
}

/// INVARIANT: a transaction that failed has ended when this answers, so that no lock outlives it.
async fn attempt(connection: &mut PgConnection, planned: &[Planned], patience: &Patience) -> sqlx::Result<()> {
    let mut transaction = connection.begin().await?;
    let done = run_all(&mut transaction, planned, patience).await;
    match done {
        Ok(()) => transaction.commit().await,
        Err(error) => {
            // When the connection is gone, so is the transaction; the first error says more.
            let _ = transaction.rollback().await;
            Err(error)
        }
    }
}

async fn run_all(transaction: &mut PgConnection, planned: &[Planned], patience: &Patience) -> sqlx::Result<()> {
    let limit = format!("SET LOCAL lock_timeout = {}", patience.lock.as_millis());
    sqlx::raw_sql(AssertSqlSafe(limit)).execute(&mut *transaction).await?;
    sqlx::raw_sql(OWN_TABLE_SQL).execute(&mut *transaction).await?;
    for planned in planned {
        if planned.made {
            let sql = planned.migration.sql().into_owned();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
        }
        note(transaction, planned).await?;
    }
    Ok(())
}

async fn note(connection: &mut PgConnection, planned: &Planned) -> sqlx::Result<()> {
    const SQL: &str = "INSERT INTO space_profiles_migrations (name, checksum, made) VALUES ($1, $2, $3)";
    let note = sqlx::query(SQL).bind(planned.migration.name).bind(planned.migration.checksum());
    note.bind(planned.made).persistent(false).execute(connection).await?;
    Ok(())
}

/// Builds an index while others read and write, unless it is there. What an earlier build left behind goes first.
async fn build(
    connection: &mut PgConnection,
    name: &str,
    statement: &str,
    patience: &Patience,
) -> Result<(), StoreError> {
    let limit = format!("SET lock_timeout = {}", patience.build.as_millis());
    sqlx::raw_sql(AssertSqlSafe(limit)).execute(&mut *connection).await.map_err(|error| store_error(&error))?;
    match state(connection, name).await?.as_deref() {
        Some("") => return Ok(()),
        Some(_) => drop_index(connection, name, patience).await?,
        None => {}
    }
    let concurrently = statement.replacen("INDEX", "INDEX CONCURRENTLY", 1);
    let Err(error) = sqlx::raw_sql(AssertSqlSafe(concurrently)).execute(&mut *connection).await else {
        return Ok(());
    };
    if is_lock_not_had(&error) {
        return Err(waited(name, patience));
    }
    if error.as_database_error().is_none_or(|error| !error.is_unique_violation()) {
        return Err(store_error(&error));
    }
    drop_index(connection, name, patience).await?;
    let mut found = obstacles::of_rows(connection).await?;
    if found.is_empty() {
        found.push("they are gone by now; migrate again".to_owned());
    }
    let message = format!(
        "while index `{name}` was built, rows came that it forbids; what came before it is done, and the index has \
         been dropped:\n{}",
        listed(&found)
    );
    Err(StoreError::new(StoreCode::Schema, message))
}

/// None if there is no such index.
async fn state(connection: &mut PgConnection, name: &str) -> Result<Option<String>, StoreError> {
    let mut reading = session::reading(connection).await?;
    let found = catalog::read(&mut reading, PROFILE_TABLES).await?;
    reading.rollback().await.map_err(|error| store_error(&error))?;
    Ok(found.into_iter().find(|part| part.sort == "index" && part.name == name).map(|part| part.state))
}

async fn drop_index(connection: &mut PgConnection, name: &str, patience: &Patience) -> Result<(), StoreError> {
    let sql = format!("DROP INDEX CONCURRENTLY IF EXISTS \"{name}\"");
    match sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await {
        Ok(_) => Ok(()),
        Err(error) if is_lock_not_had(&error) => Err(waited(name, patience)),
        Err(error) => Err(store_error(&error)),
    }
}

fn waited(name: &str, patience: &Patience) -> StoreError {
    let message = format!(
        "index `{name}` waited {} s for transactions that were there before it; what came before it is done; end the \
         transactions that run long (pg_stat_activity shows them) and migrate again, which builds it anew",
        patience.build.as_secs()
    );
    StoreError::new(StoreCode::Busy, message)
}

/// A lock was not had in time, or a deadlock with traffic ended this side.
fn is_lock_not_had(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("55P03" | "40P01"))
}
