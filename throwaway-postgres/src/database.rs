//! Databases that go with their tests.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cluster::{Cluster, shared};

/// A database of its own on the cluster that the tests of a process share. It is dropped with this value, and
/// whoever still uses it then is disconnected.
pub struct Database {
    /// Where it is.
    pub cluster: &'static Cluster,
    /// Its name, which no other has.
    pub name: String,
}

impl Database {
    /// An empty one.
    #[must_use]
    pub fn empty() -> Self {
        let database = Self::unmade();
        database.cluster.create_database(&database.name);
        database
    }

    /// An empty one with further words of `CREATE DATABASE`, as in `ENCODING 'LATIN1'`.
    #[must_use]
    pub fn created(how: &str) -> Self {
        let database = Self::unmade();
        database.cluster.sql("postgres", &format!("CREATE DATABASE {} TEMPLATE template0 {how}", database.name));
        database
    }

    /// A copy of one that `make` made of an empty one, once in a process, at the URL that it is given. A copy is
    /// made faster than a schema.
    #[must_use]
    pub fn copied(make: fn(&str)) -> Self {
        static TEMPLATE: OnceLock<&'static str> = OnceLock::new();
        let template = TEMPLATE.get_or_init(|| {
            let name = "template_of_tests";
            shared().create_database(name);
            make(&shared().url(name));
            name
        });
        Self::copy_of(template)
    }

    /// A copy of another, to which nobody may be connected.
    #[must_use]
    pub fn copy_of(template: &str) -> Self {
        let database = Self::unmade();
        database.cluster.create_database_from(&database.name, template);
        database
    }

    fn unmade() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self { cluster: shared(), name: format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }

    /// Its URL, by TCP.
    #[must_use]
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// As [`Cluster::sql`].
    pub fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name, statements)
    }

    /// As [`Cluster::try_sql`].
    ///
    /// # Errors
    ///
    /// What `psql` says, if a statement fails or the server cannot be reached.
    pub fn try_sql(&self, statements: &str) -> Result<String, String> {
        self.cluster.try_sql(&self.name, statements)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.drop_database(&self.name);
    }
}
