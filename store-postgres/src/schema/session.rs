//! The connections that migrations run on, and what is asked of them first.

use space_profiles_core::{StoreCode, StoreError};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, Postgres, Row, Transaction};
use tokio::time::{Instant, sleep};

use super::{Patience, store_error};

const OLDEST_SERVER: i32 = 130_000;

/// A direct connection that belongs to one migration.
pub(super) struct Session {
    pub(super) connection: PgConnection,
    pub(super) schema: String,
}

impl Session {
    /// Refuses what no migration can run on.
    pub(super) async fn open(options: &PgConnectOptions) -> Result<Self, StoreError> {
        let mut connection = connect(options).await?;
        let version = value(&mut connection, "SELECT current_setting('server_version_num')").await?;
        if version.parse::<i32>().is_ok_and(|version| version < OLDEST_SERVER) {
            let version = value(&mut connection, "SELECT current_setting('server_version')").await?;
            return Err(refused(format!("expected PostgreSQL 13 or newer, found {version}")));
        }
        expect_direct(&mut connection, options).await?;
        let schema = first_schema(&mut connection).await?;
        // Nothing but the bounds that a migration sets itself may end it, and no name may be found elsewhere.
        const SETTINGS: &str = "
            SET statement_timeout = 0;
            SET lock_timeout = 0;
            SET idle_in_transaction_session_timeout = 0;
            SET client_min_messages = warning;
            SET quote_all_identifiers = off;
            SET standard_conforming_strings = on;
            SET default_transaction_isolation = 'read committed';
            SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', false)";
        sqlx::raw_sql(SETTINGS).execute(&mut connection).await.map_err(|error| store_error(&error))?;
        Ok(Self { connection, schema })
    }

    pub(super) async fn expect_writable(&mut self) -> Result<(), StoreError> {
        const SQL: &str = "
            SELECT CASE
              WHEN pg_is_in_recovery() THEN 'a standby'
              WHEN current_setting('transaction_read_only')::boolean THEN 'one whose transactions are read-only'
              ELSE ''
            END";
        let found = value(&mut self.connection, SQL).await?;
        if found.is_empty() {
            return Ok(());
        }
        let message = format!("expected a server that takes writes, found {found}; migrate its primary");
        Err(StoreError::new(StoreCode::ReadOnly, message))
    }

    /// Waits until nobody else migrates this schema.
    ///
    /// INVARIANT: it waits outside of any statement. A session that blocks in `pg_advisory_lock` holds a snapshot,
    /// and an index build of the one that has the lock would wait for it, forever.
    pub(super) async fn wait_for_turn(&mut self, patience: &Patience) -> Result<(), StoreError> {
        const TRY: &str = "
            SELECT pg_try_advisory_lock(
              hashtextextended('space-profiles migrate ' || current_schema(), 0))::text";
        let deadline = Instant::now() + patience.turn;
        while value(&mut self.connection, TRY).await? != "true" {
            if Instant::now() >= deadline {
                let message = format!(
                    "another process has been migrating schema `{}` for longer than {} s; try again when it is done",
                    self.schema,
                    patience.turn.as_secs()
                );
                return Err(StoreError::new(StoreCode::Busy, message));
            }
            sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// A transaction for looking at the schema, in which names are found in its first schema only.
pub(super) async fn reading(connection: &mut PgConnection) -> Result<Transaction<'_, Postgres>, StoreError> {
    let mut reading = connection.begin().await.map_err(|error| store_error(&error))?;
    look_at_first_schema(&mut reading).await?;
    Ok(reading)
}

/// For the rest of the transaction, names are found in the first schema only, and texts are read and printed the same
/// way everywhere.
pub(super) async fn look_at_first_schema(transaction: &mut PgConnection) -> Result<(), StoreError> {
    first_schema(transaction).await?;
    const SETTINGS: &str = "
        SELECT
          set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true),
          set_config('quote_all_identifiers', 'off', true),
          set_config('standard_conforming_strings', 'on', true)";
    sqlx::raw_sql(SETTINGS).execute(transaction).await.map_err(|error| store_error(&error))?;
    Ok(())
}

/// The first schema of the search_path, which must be there: the next one is not what was asked for. Only one named
/// for the user may be missing, since the server's default path begins with it.
async fn first_schema(connection: &mut PgConnection) -> Result<String, StoreError> {
    let path = value(connection, "SELECT current_setting('search_path')").await?;
    let user = value(connection, "SELECT current_user::text").await?;
    let schema = value(connection, "SELECT coalesce(current_schema()::text, '')").await?;
    let names = names(&path);
    let is_own = names.first().is_some_and(|name| name == "$user") && schema == user;
    let is_first = names.iter().find(|name| *name != "$user") == Some(&schema);
    if !schema.is_empty() && (is_own || is_first) {
        return Ok(schema);
    }
    Err(refused(format!(
        "expected the first schema of the search_path `{path}` to exist and to be usable, found that it is not; \
         create it (CREATE SCHEMA), grant USAGE on it, or choose another one"
    )))
}

/// The names in a list of identifiers as `SHOW search_path` gives it.
pub(super) fn names(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut is_quoted = false;
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => name.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => names.push(std::mem::take(&mut name)),
            letter if is_quoted => name.push(letter),
            letter if letter.is_whitespace() => {}
            letter => name.extend(letter.to_lowercase()),
        }
    }
    names.push(name);
    names
}

/// A pooler that hands out a server connection for each transaction would scatter settings and locks over several,
/// and an index that is built concurrently could not be told from one that another client builds. Two clients that
/// share a server connection see each other's settings; one whose server connection changes loses its own.
async fn expect_direct(connection: &mut PgConnection, options: &PgConnectOptions) -> Result<(), StoreError> {
    const ROUNDS: usize = 4;
    const MARK: &str = "
        SELECT set_config('space_profiles.probe', gen_random_uuid()::text, false) || ' ' || pg_backend_pid()";
    const LOOK: &str = "
        SELECT coalesce(current_setting('space_profiles.probe', true), '') || ' ' || pg_backend_pid()";
    const CLEAR: &str = "SELECT set_config('space_profiles.probe', '', false)";
    let mark = value(connection, MARK).await?;
    let mut other = connect(options).await?;
    let mut is_shared = false;
    for _ in 0..ROUNDS {
        is_shared = is_shared || shares(&mark, &value(&mut other, LOOK).await?);
        // Twice, because a pooler that deals in turns from two would give each client the same one every time.
        for _ in 0..2 {
            is_shared = is_shared || value(connection, LOOK).await? != mark;
        }
    }
    value(connection, CLEAR).await?;
    value(&mut other, CLEAR).await?;
    let _ = other.close().await;
    if !is_shared {
        return Ok(());
    }
    Err(refused(
        "expected a direct connection to the server, found a pooler that shares server connections between clients; \
         run migrate on a direct connection"
            .to_owned(),
    ))
}

/// Whether another client sees our mark or has our process.
fn shares(mark: &str, seen: &str) -> bool {
    let parts = |text: &str| text.split_once(' ').map(|(probe, process)| (probe.to_owned(), process.to_owned()));
    match (parts(mark), parts(seen)) {
        (Some((our_probe, our_process)), Some((probe, process))) => our_probe == probe || our_process == process,
        _ => false,
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    PgConnection::connect_with(options).await.map_err(|error| store_error(&error))
}

/// Asked without a prepared statement, which a pooler may not keep.
async fn value(connection: &mut PgConnection, sql: &'static str) -> Result<String, StoreError> {
    let row = sqlx::raw_sql(sql).fetch_one(connection).await.map_err(|error| store_error(&error))?;
    row.try_get(0).map_err(|error| store_error(&error))
}

fn refused(message: String) -> StoreError {
    StoreError::new(StoreCode::Schema, message)
}
