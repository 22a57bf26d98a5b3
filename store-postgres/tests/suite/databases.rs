//! Databases for tests, with our schema or without.

use std::ops::Deref;

use space_profiles_postgres::{PostgresOptions, PostgresStore};

/// The tables of spaces as knowledge-fs has them.
pub(crate) const THEIR_SPACES: &str = include_str!("../../../testdata/seed/knowledge_fs_spaces.postgres.sql");

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

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::from_url(&self.url()).unwrap()
    }
}

impl Deref for Database {
    type Target = throwaway_postgres::Database;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn migrate(url: &str) {
    let options = PostgresOptions::from_url(url).unwrap();
    // The caller's runtime, if it has one, must not be blocked by another.
    let migrated = std::thread::spawn(move || {
        tokio::runtime::Runtime::new().unwrap().block_on(PostgresStore::migrate(&options)).unwrap();
    });
    migrated.join().unwrap();
}
