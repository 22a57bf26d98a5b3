//! Opening the store that a URL names.

use std::pin::Pin;
use std::sync::Arc;

use space_profiles_core::{Ledger, OsDraw, Registry, Store, StoreCode, StoreError};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// Where the profiles are kept.
pub(crate) enum Location {
    /// A SQLite database.
    Sqlite(SqliteOptions),
    /// A Postgres database.
    Postgres(Box<PostgresOptions>),
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

    fn postgres(store: PostgresStore) -> Self {
        Self::new(Arc::new(store.clone()), async move { store.close().await })
    }

    fn sqlite(store: SqliteStore) -> Self {
        Self::new(Arc::new(store.clone()), async move { store.close().await })
    }
}

/// Reads an option's URL. It is not repeated in messages: a URL may hold a password.
pub(crate) fn locate(option: &str, url: &str) -> Result<Location, Failure> {
    let wrong = |message: &str| Failure::Usage { message: format!("{option}: {message}") };
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "sqlite" => SqliteOptions::from_url(url)
            .map(|options| Location::Sqlite(options.in_place(|call| tokio::task::block_in_place(call))))
            .map_err(|error| wrong(&error.message)),
        "postgres" | "postgresql" => PostgresOptions::from_url(url)
            .map(|options| Location::Postgres(Box::new(options)))
            .map_err(|error| wrong(&error.message)),
        _ => Err(wrong("expected `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, found another scheme")),
    }
}

/// Opens a store. The schema of a SQLite database is brought up to date by that; that of Postgres by `migrate`.
pub(crate) async fn open(location: &Location) -> Result<Opened, Failure> {
    match location {
        Location::Sqlite(options) => Ok(Opened::sqlite(SqliteStore::open(options)?)),
        Location::Postgres(options) => Ok(Opened::postgres(PostgresStore::open(options).await?)),
    }
}

/// Opens a store as it is: nothing is made or changed by that.
pub(crate) async fn open_as_it_is(location: &Location) -> Result<Opened, Failure> {
    match location {
        Location::Sqlite(options) => Ok(Opened::sqlite(SqliteStore::open(&options.clone().create(false))?)),
        Location::Postgres(_) => open(location).await,
    }
}

/// Refuses a store that `migrate` has still to bring up to date, before any part of a long work meets that by itself.
pub(crate) async fn expect_migrated(location: &Location) -> Result<(), Failure> {
    let Location::Postgres(options) = location else { return Ok(()) };
    let pending = PostgresStore::pending_migrations(options).await?;
    if pending.is_empty() {
        return Ok(());
    }
    let message = format!(
        "expected the schema of space-profiles, found that it lacks {}; run `space-profiles migrate` with this URL as \
         --store",
        pending.join(", ")
    );
    Err(StoreError::new(StoreCode::Schema, message).into())
}

/// Brings a store's schema up to date; answers what it lacked.
pub(crate) async fn migrate(location: &Location) -> Result<Vec<&'static str>, Failure> {
    match location {
        Location::Sqlite(options) => {
            let pending = SqliteStore::pending_migrations(options)?;
            open(location).await?.close().await;
            Ok(pending)
        }
        Location::Postgres(options) => Ok(PostgresStore::migrate(options).await?),
    }
}

/// What a store's schema lacks.
pub(crate) async fn pending_migrations(location: &Location) -> Result<Vec<&'static str>, Failure> {
    match location {
        Location::Sqlite(options) => Ok(SqliteStore::pending_migrations(options)?),
        Location::Postgres(options) => Ok(PostgresStore::pending_migrations(options).await?),
    }
}
