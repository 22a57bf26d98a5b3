//! Keeps profiles in an SQLite file, or in memory: for offline work and for tests.
//!
//! [`SqliteStore`] implements [`Store`](space_profiles_core::Store) over one connection, which lives on a thread
//! of its own: no call blocks an async runtime, and none is needed. On a runtime that lets a task block there is a
//! faster way, [`SqliteOptions::in_place`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use space_profiles_core::{OsDraw, Registry};
//! use space_profiles_sqlite::{SqliteOptions, SqliteStore};
//!
//! let store = SqliteStore::open(&SqliteOptions::memory())?;
//! let registry = Registry::new(Arc::new(store), Arc::new(OsDraw));
//! # Ok::<(), space_profiles_core::StoreError>(())
//! ```
#![deny(missing_docs)]

mod apply;
mod audit;
mod claim;
mod clock;
mod connection;
mod error;
mod filter;
mod ledger;
mod load;
mod opening;
mod options;
mod pages;
mod rows;
mod schema;
mod store;

pub use clock::SystemClock;
pub use options::SqliteOptions;
pub use store::SqliteStore;
