//! Postgres databases for tests, with our schema or without.

use std::ops::Deref;
use std::process::{Command, Stdio};

/// A database that goes with its test.
pub(crate) struct Database(throwaway_postgres::Database);

impl Database {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        Self(throwaway_postgres::Database::empty())
    }

    /// One with our schema.
    pub(crate) fn migrated() -> Self {
        Self(throwaway_postgres::Database::copied(migrate))
    }

    /// One whose spaces another service made before us.
    pub(crate) fn foreign() -> Self {
        let database = Self::empty();
        database.sql(FOREIGN_SPACES);
        migrate(&database.url());
        database
    }

    /// One with our schema in which another service publishes profiles together with their indexes.
    pub(crate) fn managed() -> Self {
        let database = Self::migrated();
        database.sql("CREATE TABLE projection_set_publication_heads (id uuid PRIMARY KEY)");
        database
    }

    /// As [`Self::sql`], past the triggers: what only a superuser's damage can do.
    pub(crate) fn damage(&self, statements: &str) {
        self.sql(&format!("SET session_replication_role = replica; {statements}"));
    }

    /// Makes each statement that adds to a table take long, so that there is time to interrupt.
    pub(crate) fn slow_down(&self, table: &str) {
        self.sql(&format!(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
               'BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END';
             CREATE TRIGGER dawdle AFTER INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION dawdle();"
        ));
    }

    /// Ends [`Self::slow_down`].
    pub(crate) fn speed_up(&self) {
        self.sql("DROP FUNCTION dawdle CASCADE");
    }

    /// Whether nobody is connected any more: the server finishes what a killed client asked for.
    pub(crate) fn is_left(&self) -> bool {
        self.count("pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == 0
    }

    /// How many rows there are.
    pub(crate) fn count(&self, table: &str) -> u64 {
        self.sql(&format!("SELECT count(*) FROM {table}")).parse().unwrap()
    }
}

impl Deref for Database {
    type Target = throwaway_postgres::Database;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn migrate(url: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_space-profiles"));
    let migrated = command.args(["--store", url, "migrate"]).stdout(Stdio::null()).status().unwrap();
    assert!(migrated.success());
}

/// What the other service has, which is more than we read.
const FOREIGN_SPACES: &str = include_str!("../../../testdata/seed/knowledge_fs_spaces.postgres.sql");
