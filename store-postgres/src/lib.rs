//! Keeps profiles in Postgres: for production, beside the other service that writes the same tables.
//!
//! [`PostgresStore`] implements [`Store`](space_profiles_core::Store) over a pool of connections, directly or
//! behind PgBouncer.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use space_profiles_core::{OsDraw, Registry};
//! use space_profiles_postgres::{PostgresOptions, PostgresStore};
//!
//! let options = PostgresOptions::from_url("postgres://app@db.internal/platform")?;
//! let store = PostgresStore::open(&options).await?;
//! let registry = Registry::new(Arc::new(store), Arc::new(OsDraw));
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]

mod appended;
mod apply;
mod audit;
mod claim;
mod error;
mod filter;
mod json;
mod ledger;
mod load;
mod options;
mod pages;
mod repeats;
mod rows;
mod schema;
mod sessions;
mod statement;
mod store;
mod time;
mod transaction;

/// What tests look at.
#[doc(hidden)]
pub mod testing {
    use crate::{apply, audit, claim, ledger, load, pages, sessions};

    /// Every statement of the store: its name and its text.
    pub fn statements() -> Vec<(&'static str, &'static str)> {
        let modules =
            [pages::STATEMENTS, audit::STATEMENTS, claim::STATEMENTS, ledger::STATEMENTS, sessions::STATEMENTS];
        let statements = modules.into_iter().flatten().chain(load::statements()).chain(apply::statements());
        statements.map(|statement| (statement.name, statement.sql)).collect()
    }
}

pub use options::PostgresOptions;
pub use store::PostgresStore;
