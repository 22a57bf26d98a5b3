//! The binary as people and scripts use it, over SQLite files and Postgres databases.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

mod adopting;
mod bench;
mod broken_stores;
mod copying;
mod databases;
mod edges;
mod inspector;
mod lifecycle;
mod offline;
mod people;
mod postgres;
mod spaces;
