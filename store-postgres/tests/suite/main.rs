//! The Postgres store on real servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unimplemented,
    reason = "in tests a panic is how a failure is told"
)]

mod clients;
mod conformance;
mod connections;
mod databases;
mod failures;
mod ledger;
mod neighbours;
mod plans;
mod statements;
