//! Connections, and how a call uses one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use space_profiles_core::{Applied, StoreCode, StoreError};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{Connection, Postgres};

use crate::error::{forbids_writing, is_conflict, is_lost, outcome_unknown, refused_write, store_error};
use crate::options::{Conduct, PostgresOptions};
use crate::repeats::{FRESH_STARTS, Repeats, back_off};
use crate::rows::Columns;
use crate::statement::{Call, statements};
use crate::time::Moment;
use crate::transaction::Transaction;

/// A connection that rested for longer is asked whether it is still there before it is used.
const TRUSTED_REST: Duration = Duration::from_secs(2);

/// Connections to one database.
#[derive(Clone)]
pub(crate) struct Sessions {
    pool: PgPool,
    conduct: Arc<Conduct>,
    write: Arc<str>,
    read: Arc<str>,
}

impl Sessions {
    /// Opens a pool. The first connection is made at once, so that what is wrong is told now.
    pub(crate) async fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        let connect = options.connection();
        let first = tokio::time::timeout(options.conduct.acquire_timeout, first_connection(options, &connect));
        first.await.map_err(|_| store_error(&sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())))??;
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.conduct.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_REST {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(connect);
        Ok(Self::over(pool, options.conduct.clone()))
    }

    pub(crate) fn over(pool: PgPool, conduct: Conduct) -> Self {
        let write = conduct.begin("ISOLATION LEVEL READ COMMITTED").into();
        let read = conduct.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY").into();
        Self { pool, conduct: Arc::new(conduct), write, read }
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    pub(crate) fn manages_heads(&self) -> bool {
        self.conduct.manages_heads
    }

    /// What a statement is to take for now; null means the server's clock.
    pub(crate) fn now(&self) -> Option<Moment> {
        self.conduct.clock.as_ref().map(|clock| Moment(clock.now()))
    }

    /// The rows of a statement that may be repeated, whether or not it happened: one that reads, or whose second
    /// run changes nothing.
    pub(crate) async fn repeatable(&self, call: Call) -> Result<Vec<PgRow>, StoreError> {
        let mut repeats = self.repeats();
        loop {
            match self.once(call.clone()).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => repeats.after(&failure.error).await?,
            }
        }
    }

    /// A transaction that reads, for a task of its own. A connection that was lost while it rested is passed over.
    pub(crate) async fn reading(&self) -> Result<Transaction, StoreError> {
        let mut repeats = self.repeats();
        loop {
            match self.begin(&self.read).await {
                Ok(transaction) => return Ok(transaction),
                Err(error) => repeats.after(&error).await?,
            }
        }
    }

    /// For how long what may be repeated is repeated.
    pub(crate) fn repeats(&self) -> Repeats {
        Repeats::until(Instant::now() + self.conduct.acquire_timeout)
    }

    /// Runs a statement that writes and stands for itself: no decision is made again if others were first.
    pub(crate) async fn write_alone(&self, call: Call) -> Result<Vec<PgRow>, StoreError> {
        for attempt in 1.. {
            match self.once(call.clone()).await {
                Ok(rows) => return Ok(rows),
                Err(Unanswered { error, .. }) if is_conflict(&error) && attempt <= FRESH_STARTS => {
                    back_off(attempt).await;
                }
                Err(Unanswered { error, may_have_written: true }) if is_lost(&error) => {
                    return Err(outcome_unknown(&error));
                }
                Err(Unanswered { error, .. }) => return Err(store_error(&error)),
            }
        }
        Err(store_error(&sqlx::Error::PoolTimedOut))
    }

    /// Writes wholly or not at all. Each statement answers one row that says whether its guards held; the first
    /// that says no, or nothing, ends the write with nothing written.
    pub(crate) async fn apply(&self, calls: Vec<Call>) -> Result<Applied, StoreError> {
        if self.conduct.is_pooled_outside || calls.len() != 1 {
            return self.apply_in_transaction(calls).await;
        }
        let mut connection = match self.acquire().await {
            Ok(connection) => connection,
            // Nothing was sent: the registry may begin again.
            Err(error) if is_lost(&error) => return Ok(Applied::Stale),
            Err(error) => return Err(store_error(&error)),
        };
        for call in calls {
            match call.run(&mut connection, true).await {
                Ok(rows) if holds(&rows)? => {}
                Ok(_) => return Ok(Applied::Stale),
                Err(error) if is_lost(&error) => return Err(outcome_unknown(&error)),
                Err(error) => return refused_write(&error),
            }
        }
        Ok(Applied::Done)
    }

    /// The rows of one statement that writes if all is as it expects; none if it is not, if others were in the way, or
    /// if it was not even let look: whoever may not write, or not yet, may still be told what there is to say instead.
    pub(crate) async fn try_write(&self, call: Call) -> Result<Vec<PgRow>, StoreError> {
        match self.once(call).await {
            Ok(rows) => Ok(rows),
            Err(Unanswered { error, may_have_written: true }) if is_lost(&error) => Err(outcome_unknown(&error)),
            Err(Unanswered { error, .. }) if is_conflict(&error) => {
                back_off(1).await;
                Ok(Vec::new())
            }
            Err(Unanswered { error, .. }) if forbids_writing(&error) => Ok(Vec::new()),
            Err(Unanswered { error, .. }) => unwritten(&error),
        }
    }

    /// As [`apply`](Self::apply), in a transaction however many statements there are. Each is made when the one before
    /// it is done.
    pub(crate) async fn apply_in_transaction(
        &self,
        calls: impl IntoIterator<Item = Call, IntoIter: Send>,
    ) -> Result<Applied, StoreError> {
        let mut transaction = match self.begin(&self.write).await {
            Ok(transaction) => transaction,
            Err(error) if is_lost(&error) => return Ok(Applied::Stale),
            Err(error) => return Err(store_error(&error)),
        };
        let ended = self.steps(transaction.connection(), calls.into_iter()).await;
        if !matches!(ended, Ok(Applied::Done)) {
            transaction.roll_back().await;
            return ended;
        }
        match transaction.commit().await {
            Ok(()) => Ok(Applied::Done),
            Err(error) if is_lost(&error) => Err(outcome_unknown(&error)),
            Err(error) => refused_write(&error),
        }
    }

    /// Two statements in a transaction, the second made of what the first has locked, if that leaves anything to do.
    /// Answers the rows of the second; none also if others were in the way, and then nothing is written.
    pub(crate) async fn apply_locked(
        &self,
        lock: Call,
        write: impl FnOnce(&[PgRow]) -> Result<Option<Call>, StoreError> + Send,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut transaction = match self.begin(&self.write).await {
            Ok(transaction) => transaction,
            Err(error) => return unwritten(&error),
        };
        let is_named = !self.conduct.is_pooled_outside;
        let connection = transaction.connection();
        let written = match lock.run(connection, is_named).await {
            Ok(locked) => match write(&locked) {
                Ok(Some(write)) => write.run(connection, is_named).await,
                Ok(None) => Ok(Vec::new()),
                Err(error) => {
                    transaction.roll_back().await;
                    return Err(error);
                }
            },
            Err(error) => Err(error),
        };
        let rows = match written {
            Ok(rows) => rows,
            Err(error) => {
                transaction.roll_back().await;
                return unwritten(&error);
            }
        };
        match transaction.commit().await {
            Ok(()) => Ok(rows),
            Err(error) if is_lost(&error) => Err(outcome_unknown(&error)),
            Err(error) => unwritten(&error),
        }
    }

    async fn steps(
        &self,
        connection: &mut PgConnection,
        calls: impl Iterator<Item = Call> + Send,
    ) -> Result<Applied, StoreError> {
        for call in calls {
            match call.run(connection, !self.conduct.is_pooled_outside).await {
                Ok(rows) if holds(&rows)? => {}
                Ok(_) => return Ok(Applied::Stale),
                // What was not committed is not written.
                Err(error) if is_lost(&error) => return Ok(Applied::Stale),
                Err(error) => return refused_write(&error),
            }
        }
        Ok(Applied::Done)
    }

    /// A transaction that reads, all as of one moment.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, sqlx::Error> {
        let transaction = self.begin(&self.read).await?;
        Ok(Snapshot { transaction, is_named: !self.conduct.is_pooled_outside })
    }

    async fn once(&self, call: Call) -> Result<Vec<PgRow>, Unanswered> {
        let without_effect = |error| Unanswered { error, may_have_written: false };
        let in_doubt = |error| Unanswered { error, may_have_written: true };
        if !self.conduct.is_pooled_outside {
            let mut connection = self.acquire().await.map_err(without_effect)?;
            return call.run(&mut connection, true).await.map_err(in_doubt);
        }
        let mut transaction = self.begin(&self.write).await.map_err(without_effect)?;
        match call.run(transaction.connection(), false).await {
            Ok(rows) => {
                transaction.commit().await.map_err(in_doubt)?;
                Ok(rows)
            }
            Err(error) => {
                if !is_lost(&error) {
                    transaction.roll_back().await;
                }
                Err(without_effect(error))
            }
        }
    }

    async fn begin(&self, how: &Arc<str>) -> Result<Transaction, sqlx::Error> {
        Transaction::begin(self.acquire().await?, how).await
    }

    async fn acquire(&self) -> Result<PoolConnection<Postgres>, sqlx::Error> {
        match self.pool.acquire().await {
            Err(sqlx::Error::PoolTimedOut) => Err(self.why_none_came().await),
            acquired => acquired,
        }
    }

    /// Why the pool had no connection in time. It says the same of a server that lets nobody in; then that is asked.
    async fn why_none_came(&self) -> sqlx::Error {
        if self.pool.size() < self.pool.options().get_max_connections() {
            let connect = self.pool.connect_options();
            let attempt = PgConnection::connect_with(&connect);
            if let Ok(Err(why)) = tokio::time::timeout(self.conduct.acquire_timeout, attempt).await {
                return why;
            }
        }
        sqlx::Error::PoolTimedOut
    }
}

/// Connects once, and sees that the settings have arrived: a pooler may be told to drop those that it does not know,
/// and then nobody would hear that the time-outs and the schema are others than those that were asked for.
async fn first_connection(options: &PostgresOptions, connect: &PgConnectOptions) -> Result<(), StoreError> {
    let mut connection = PgConnection::connect_with(connect).await.map_err(|error| store_error(&error))?;
    let settings = options.settings();
    let names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
    let rows = Call::of(SETTINGS).with(names).run(&mut connection, false).await;
    let rows = rows.map_err(|error| store_error(&error))?;
    for ((name, wanted), row) in settings.iter().zip(&rows) {
        let found: String = Columns::of(row).value(name)?;
        if found != *wanted {
            return Err(StoreError::new(
                StoreCode::Schema,
                format!(
                    "expected the connection to start with {name} `{wanted}`, found `{found}`: a pooler in between \
                     drops start-up parameters; behind PgBouncer add `?pgbouncer=true` to the URL"
                ),
            ));
        }
    }
    // What a polite goodbye comes to changes nothing.
    let _ = connection.close().await;
    Ok(())
}

statements! {
    /// Time-outs are in milliseconds, whatever unit they were given in.
    SETTINGS =
        "SELECT known.setting
         FROM
           unnest($1::text[]) WITH ORDINALITY AS wanted (name, place)
           JOIN pg_settings AS known ON known.name = wanted.name
         ORDER BY wanted.place";
}

/// Why a statement has no rows, and whether it may have happened all the same.
struct Unanswered {
    error: sqlx::Error,
    may_have_written: bool,
}

/// A transaction that reads, all as of one moment.
pub(crate) struct Snapshot {
    transaction: Transaction,
    is_named: bool,
}

impl Snapshot {
    pub(crate) async fn read(&mut self, call: Call) -> Result<Vec<PgRow>, ReadError> {
        Ok(call.run(self.transaction.connection(), self.is_named).await?)
    }

    pub(crate) async fn end(self) -> Result<(), ReadError> {
        Ok(self.transaction.commit().await?)
    }
}

/// Why a read in several steps failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Driver(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// No rows, if what a write failed for tells only that others were first, or that it never arrived.
fn unwritten(error: &sqlx::Error) -> Result<Vec<PgRow>, StoreError> {
    match refused_write(error) {
        _ if is_lost(error) => Ok(Vec::new()),
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether the guards of a statement held.
fn holds(rows: &[PgRow]) -> Result<bool, StoreError> {
    rows.first().map_or(Ok(false), |row| Columns::of(row).value("whether the guards held"))
}
