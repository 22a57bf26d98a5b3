//! Postgres databases for tests: each fresh and its own, on a cluster that all tests of the process share.

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use throwaway_postgres::{Cluster, shared};

/// A database that goes with its test.
pub(crate) struct Database {
    pub(crate) cluster: &'static Cluster,
    pub(crate) name: String,
}

impl Database {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        let database = Self::unmade();
        database.cluster.create_database(&database.name);
        database
    }

    /// One with our schema.
    pub(crate) fn migrated() -> Self {
        static TEMPLATE: OnceLock<&'static str> = OnceLock::new();
        // A copy is made faster than a schema.
        let template = TEMPLATE.get_or_init(|| {
            shared().create_database("migrated");
            migrate(&shared().url("migrated"));
            "migrated"
        });
        let database = Self::unmade();
        database.cluster.create_database_from(&database.name, template);
        database
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

    fn unmade() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self { cluster: shared(), name: format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }

    pub(crate) fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    pub(crate) fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name, statements)
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

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.drop_database(&self.name);
    }
}

fn migrate(url: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_space-profiles"));
    let migrated = command.args(["--store", url, "migrate"]).stdout(Stdio::null()).status().unwrap();
    assert!(migrated.success());
}

/// What the other service has, which is more than we read.
const FOREIGN_SPACES: &str = "
CREATE TABLE knowledge_spaces (
  id uuid PRIMARY KEY, tenant_id text NOT NULL, slug text NOT NULL DEFAULT '', name text NOT NULL DEFAULT '',
  description text, lifecycle_state varchar(16) NOT NULL DEFAULT 'active', deletion_job_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, id)
);
CREATE TABLE knowledge_space_manifests (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL, knowledge_space_id uuid NOT NULL,
  manifest_version integer NOT NULL, metadata jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(), UNIQUE (tenant_id, knowledge_space_id)
);";
