//! Opening the store that a URL names.

use std::pin::Pin;
use std::sync::Arc;

use space_profiles_core::{Ledger, OsDraw, Registry, Store};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// Where the profiles are kept.
pub(crate) enum Location {
    /// A SQLite database.
    Sqlite(SqliteOptions),
}

/// An open store, whichever it is, with the operations on it.
pub(crate) struct Opened {
    pub(crate) registry: Registry,
    pub(crate) ledger: Ledger,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Opened {
    /// A store, and what is to be waited for when it is not used any more.
    pub(crate) fn new(store: Arc<dyn Store>, closing: impl Future<Output = ()> + Send + 'static) -> Self {
        let registry = Registry::new(store, Arc::new(OsDraw));
        Self { ledger: registry.ledger(), registry, closing: Box::pin(closing) }
    }

    /// What is in a file is in the file itself then, which can be copied.
    pub(crate) async fn close(self) {
        self.closing.await;
    }

    fn sqlite(store: SqliteStore) -> Self {
        Self::new(Arc::new(store.clone()), async move { store.close().await })
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
            message: "expected a store's URL, `sqlite:PATH` or `sqlite::memory:`, found another scheme".to_owned(),
        }),
    }
}

/// Opens a store and brings its schema up to date.
pub(crate) async fn open(location: &Location) -> Result<Opened, Failure> {
    match location {
        Location::Sqlite(options) => Ok(Opened::sqlite(SqliteStore::open(options)?)),
    }
}

/// Opens a store as it is: nothing is made or changed by that.
pub(crate) async fn open_as_it_is(location: &Location) -> Result<Opened, Failure> {
    match location {
        Location::Sqlite(options) => Ok(Opened::sqlite(SqliteStore::open(&options.clone().create(false))?)),
    }
}

/// What a store's schema lacks.
pub(crate) async fn pending_migrations(location: &Location) -> Result<Vec<&'static str>, Failure> {
    match location {
        Location::Sqlite(options) => Ok(SqliteStore::pending_migrations(options)?),
    }
}
