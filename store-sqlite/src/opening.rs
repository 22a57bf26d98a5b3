//! Opening a database and bringing it up to date.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use space_profiles_core::{StoreCode, StoreError};

use crate::error::JobError;
use crate::options::{Location, SqliteOptions};
use crate::schema;

/// More than the statements of one claim and one publication together.
const CACHED_STATEMENTS: usize = 64;

const PAUSE: Duration = Duration::from_millis(10);

/// A connection that is ready for use.
pub(crate) fn open(options: &SqliteOptions) -> Result<Connection, StoreError> {
    let mut connection = connect(options)?;
    patiently(options, &mut connection, |connection| make_ready(connection, options))?;
    Ok(connection)
}

/// The names of the migrations that a database lacks. Changes nothing.
pub(crate) fn pending_migrations(options: &SqliteOptions) -> Result<Vec<&'static str>, StoreError> {
    let is_missing = match &options.location {
        Location::Memory => true,
        Location::File(path) => !path.exists(),
    };
    if is_missing {
        return Ok(schema::pending(0));
    }
    let mut connection = connect(&options.clone().create(false))?;
    patiently(options, &mut connection, |connection| Ok(schema::pending(schema::applied(connection)?)))
}

fn connect(options: &SqliteOptions) -> Result<Connection, StoreError> {
    // One thread at a time uses the connection, so SQLite need not lock it.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, options.create);
    let connection = match &options.location {
        Location::Memory => Connection::open_in_memory_with_flags(flags),
        Location::File(path) => Connection::open_with_flags(path, flags),
    };
    let connection = connection.map_err(|error| located(options, JobError::from(error).into()))?;
    connection.busy_timeout(options.busy_timeout).map_err(JobError::from)?;
    Ok(connection)
}

/// Repeats a step while another connection is in the way: SQLite refuses some of the steps of opening, such as
/// the switch to WAL, without waiting for the busy timeout.
fn patiently<T>(
    options: &SqliteOptions,
    connection: &mut Connection,
    mut step: impl FnMut(&mut Connection) -> Result<T, JobError>,
) -> Result<T, StoreError> {
    let deadline = Instant::now() + options.busy_timeout;
    loop {
        match step(connection) {
            Ok(done) => return Ok(done),
            Err(error) => {
                let error = explained(connection, error);
                if error.code != StoreCode::Busy || Instant::now() >= deadline {
                    return Err(located(options, error));
                }
                thread::sleep(PAUSE);
            }
        }
    }
}

fn make_ready(connection: &mut Connection, options: &SqliteOptions) -> Result<(), JobError> {
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    // Read before anything is written: a file of somebody else's stays as it is.
    let pending = schema::pending(schema::applied(connection)?);
    let is_memory = options.location == Location::Memory;
    if options.create || is_memory {
        if !is_memory && !connection.is_readonly("main")? {
            switch_to_wal(connection)?;
        }
        schema::migrate(connection)?;
    } else if !pending.is_empty() {
        let message =
            format!("expected an up-to-date schema, found that it lacks {}; run `migrate`", pending.join(", "));
        return Err(StoreError::new(StoreCode::Schema, message).into());
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// A file system without shared memory keeps its journal mode, which is as safe and only slower.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    }
    Ok(())
}

fn explained(connection: &Connection, error: JobError) -> StoreError {
    let is_unopened = matches!(
        &error,
        JobError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
    );
    if is_unopened && connection.is_readonly("main").unwrap_or(false) {
        let message = "expected a file and a folder that take writes, found neither; even reading needs files \
                       beside the database in WAL mode";
        return StoreError::new(StoreCode::ReadOnly, message);
    }
    error.into()
}

fn located(options: &SqliteOptions, error: StoreError) -> StoreError {
    match &options.location {
        Location::Memory => error,
        Location::File(path) => {
            let hint = if is_folder_missing(path) { "; its folder does not exist" } else { "" };
            StoreError::new(error.code, format!("`{}`: {}{hint}", path.display(), error.message))
        }
    }
}

fn is_folder_missing(path: &Path) -> bool {
    path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists())
}
