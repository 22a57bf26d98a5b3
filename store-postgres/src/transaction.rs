//! Transactions that are never left open.

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Postgres};

/// A transaction on a pool's connection. One that is dropped before its end takes the connection with it, and the
/// server then rolls back.
///
/// The driver's own knows only of a `BEGIN` whose reply has come. When a caller goes away before that, its
/// connection returns to the pool inside of a transaction, and the next statement there is told done, though
/// nobody ever commits it.
pub(crate) struct Transaction {
    connection: PoolConnection<Postgres>,
    is_open: bool,
}

impl Transaction {
    /// Begins one with a statement of ours, or several.
    pub(crate) async fn begin(connection: PoolConnection<Postgres>, how: &Arc<str>) -> Result<Self, sqlx::Error> {
        let mut transaction = Self { connection, is_open: true };
        transaction.run(AssertSqlSafe(Arc::clone(how))).await?;
        Ok(transaction)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        let committed = self.run("COMMIT").await;
        // A server that refuses to commit has rolled back.
        self.is_open = committed.as_ref().is_err_and(|error| error.as_database_error().is_none());
        committed
    }

    pub(crate) async fn roll_back(mut self) {
        // Without an answer the connection goes, which comes to the same.
        self.is_open = self.run("ROLLBACK").await.is_err();
    }

    async fn run(&mut self, statements: impl sqlx::SqlSafeStr) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(statements).execute(&mut *self.connection).await.map(|_| ())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_open {
            self.connection.close_on_drop();
        }
    }
}
