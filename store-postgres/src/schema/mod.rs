//! The schema: how it is made and kept up to date beside the other service that writes it, and how a database
//! differs from it.
//!
//! Everything lives in the first schema of the connection's `search_path`, whatever it is called.

mod catalog;
mod compare;
mod encoding;
mod history;
mod migrations;
mod obstacles;
mod run;
mod session;
mod spaces;
#[cfg(test)]
mod tests;

use std::time::Duration;

use space_profiles_core::{StoreCode, StoreError};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use compare::compare;
use history::History;
use migrations::MIGRATIONS;
use session::Session;
use spaces::Spaces;

use crate::error::store_error;

/// The table that says which migrations a schema has had.
pub(crate) const OWN_TABLE: &str = "space_profiles_migrations";

/// A boolean expression: whether `knowledge_spaces` was made by somebody else, and is not ours to change.
macro_rules! has_foreign_spaces {
    () => {
        "(NOT EXISTS (SELECT FROM space_profiles_migrations WHERE name = '0001_spaces' AND made))"
    };
}

pub(crate) use has_foreign_spaces;

/// How long a migration waits for others, and how long it makes them wait.
#[derive(Debug, Clone)]
struct Patience {
    /// For another process that is migrating the same schema.
    turn: Duration,
    /// For a lock that live traffic would queue behind.
    lock: Duration,
    /// How often such a lock is tried for, and how long traffic passes in between.
    tries: u32,
    pause: Duration,
    /// For the transactions that an index build must see the end of. Nothing queues behind this wait.
    build: Duration,
}

const PATIENCE: Patience = Patience {
    turn: Duration::from_secs(120),
    // Below `deadlock_timeout` (1 s), so that a deadlock with traffic ends here and not in the traffic.
    lock: Duration::from_millis(400),
    tries: 60,
    pause: Duration::from_millis(600),
    build: Duration::from_secs(600),
};

/// Brings a schema up to date and answers the names of what was applied. Several processes may do so at once.
///
/// It opens connections of its own, because it changes their settings and needs two to tell a pooler.
pub(crate) async fn migrate(options: &PgConnectOptions) -> Result<Vec<&'static str>, StoreError> {
    migrate_with(options, &PATIENCE).await
}

async fn migrate_with(options: &PgConnectOptions, patience: &Patience) -> Result<Vec<&'static str>, StoreError> {
    let mut session = Session::open(options).await?;
    let migrated = migrate_in(&mut session, patience).await;
    // Ends the advisory lock too. The answer is known already.
    let _ = session.connection.close().await;
    migrated
}

async fn migrate_in(session: &mut Session, patience: &Patience) -> Result<Vec<&'static str>, StoreError> {
    let mut pending = pending(&mut session.connection).await?;
    if !pending.is_empty() {
        session.expect_writable().await?;
        session.wait_for_turn(patience).await?;
        pending = self::pending(&mut session.connection).await?;
    }
    if pending.is_empty() {
        let differences = differences(&mut session.connection).await?;
        return if differences.is_empty() { Ok(Vec::new()) } else { Err(damaged(&differences)) };
    }
    obstacles::expect_none(session, &pending).await?;
    run::run(session, &pending, patience).await?;
    Ok(pending)
}

async fn pending(connection: &mut PgConnection) -> Result<Vec<&'static str>, StoreError> {
    let mut transaction = connection.begin().await.map_err(|error| store_error(&error))?;
    let pending = pending_in(&mut transaction).await?;
    transaction.rollback().await.map_err(|error| store_error(&error))?;
    Ok(pending)
}

async fn differences(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let mut transaction = connection.begin().await.map_err(|error| store_error(&error))?;
    let differences = differences_in(&mut transaction).await?;
    transaction.rollback().await.map_err(|error| store_error(&error))?;
    Ok(differences)
}

/// The names of the migrations that a schema has not had. Changes nothing. The transaction is the caller's, who ends it.
pub(crate) async fn pending_in(transaction: &mut PgConnection) -> Result<Vec<&'static str>, StoreError> {
    session::look_at_first_schema(transaction).await?;
    History::read(transaction).await?.pending()
}

/// Every way in which a database is not what the migrations make, a sentence each. Changes nothing. The transaction is
/// the caller's, who ends it.
pub(crate) async fn differences_in(transaction: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    session::look_at_first_schema(transaction).await?;
    let mut differences = encoding::differences(transaction).await?;
    let history = History::read(transaction).await?;
    match history.pending() {
        Err(error) => differences.push(error.message),
        Ok(pending) if !pending.is_empty() => {
            differences.extend(pending.iter().map(|name| history::not_migrated(name)));
        }
        Ok(_) => {
            if !history.has_made_spaces {
                differences.extend(Spaces::read(transaction).await?.differences());
            }
            let tables = history.compared_tables();
            let found = catalog::read(transaction, tables).await?;
            differences.extend(compare(&catalog::expected(tables), &found).into_iter().map(|it| it.sentence));
        }
    }
    Ok(differences)
}

fn damaged(differences: &[String]) -> StoreError {
    let message = format!(
        "every migration has been applied, but the schema is not as they make it; nothing has been changed:\n{}",
        listed(differences)
    );
    StoreError::new(StoreCode::Schema, message)
}

fn listed(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("- {sentence}")).collect::<Vec<_>>().join("\n")
}
