//! Opening the store that a URL names.

use std::sync::Arc;

use space_profiles_core::{Ledger, OsDraw, Registry};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// Where the profiles are kept.
pub(crate) enum Location {
    /// A SQLite database.
    Sqlite(SqliteOptions),
}

/// An open store with the operations on it.
pub(crate) struct Opened {
    pub(crate) registry: Registry,
    pub(crate) ledger: Ledger,
    store: SqliteStore,
}

impl Opened {
    fn new(store: SqliteStore) -> Self {
        let registry = Registry::new(Arc::new(store.clone()), Arc::new(OsDraw));
        Self { ledger: registry.ledger(), registry, store }
    }

    /// Waits until everything is in the file itself, which can be copied then.
    pub(crate) async fn close(self) {
        self.store.close().await;
    }
}

/// Reads a URL. It is not repeated in messages: a URL may hold a password.
pub(crate) fn locate(url: &str) -> Result<Location, Failure> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "sqlite" => SqliteOptions::from_url(url)
            .map(Location::Sqlite)
            .map_err(|error| Failure::Usage { message: error.to_string() }),
        "postgres" | "postgresql" => Err(Failure::Usage {
            message:
                "expected a store that this build knows, found `postgres:`, which it lacks; use `sqlite:PATH`"
                    .to_owned(),
        }),
        _ => Err(Failure::Usage {
            message: "expected --store to be `sqlite:PATH` or `sqlite::memory:`, found another scheme".to_owned(),
        }),
    }
}

/// Opens a store and brings its schema up to date.
pub(crate) fn open(url: &str) -> Result<Opened, Failure> {
    let Location::Sqlite(options) = locate(url)?;
    Ok(Opened::new(SqliteStore::open(&options)?))
}

/// Opens a store as it is.
pub(crate) fn open_as_it_is(location: &Location) -> Result<Opened, Failure> {
    let Location::Sqlite(options) = location;
    Ok(Opened::new(SqliteStore::open(&options.clone().create(false))?))
}

/// What a store's schema lacks.
pub(crate) fn pending_migrations(location: &Location) -> Result<Vec<&'static str>, Failure> {
    let Location::Sqlite(options) = location;
    Ok(SqliteStore::pending_migrations(options)?)
}
