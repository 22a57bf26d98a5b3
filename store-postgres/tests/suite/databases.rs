//! Databases for tests: each fresh and its own, on a cluster that all tests of the process share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use space_profiles_postgres::{PostgresOptions, PostgresStore};
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
        let database = Self::unmade();
        database.cluster.create_database_from(&database.name, template());
        database
    }

    fn unmade() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self { cluster: shared(), name: format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }

    pub(crate) fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::from_url(&self.url()).unwrap()
    }

    pub(crate) fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name, statements)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.drop_database(&self.name);
    }
}

/// A migrated database to copy: a copy is made faster than a schema.
fn template() -> &'static str {
    static TEMPLATE: OnceLock<&'static str> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let name = "migrated";
        shared().create_database(name);
        let options = PostgresOptions::from_url(&shared().url(name)).unwrap();
        // The caller's runtime, if it has one, must not be blocked by another.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(PostgresStore::migrate(&options)).unwrap();
        })
        .join()
        .unwrap();
        name
    })
}
