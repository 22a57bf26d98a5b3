//! The Postgres store on real servers.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

mod chance;
mod clients;
mod coexistence;
mod conformance;
mod connections;
mod databases;
mod failures;
mod grants;
mod history;
mod kills;
mod knowledge_fs;
mod ledger;
mod neighbours;
mod optimistic;
mod page;
mod plans;
mod settings;
mod statements;
mod temporary_files;
mod unreadable;
