//! The runtime that adopts legacy profiles: discover, claim, check, install.
//!
//! A [`Worker`] takes rows from the ledger, asks a [`ModelCheck`] what the models of each are, and installs what
//! was observed. It keeps no state of its own: whatever it holds, it holds by lease, so it may stop or die at any
//! moment and another run goes on. [`Catalog`] is the check that reads a file.
#![deny(missing_docs)]

mod catalog;
mod check;
mod completer;
mod event;
mod options;
mod patience;
mod row;
mod stop;
mod summary;
mod worker;

pub use catalog::{Catalog, CatalogError, CatalogProblem};
pub use check::{CheckCode, CheckError, CheckRequest, ModelCheck};
pub use event::{Event, Observer, RowOutcome};
pub use options::WorkerOptions;
pub use stop::Stop;
pub use summary::{DiscoverySummary, FailedItem, Summary};
pub use worker::Worker;
