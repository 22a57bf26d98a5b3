//! The behaviours of the worker and of the catalog, over the in-memory store and, where that matters, Postgres.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

mod catalog;
mod examples;
mod faulty;
mod install;
mod postgres;
mod running;
mod support;
