//! The Postgres store on real servers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "in tests a panic is how a failure is told")]

mod conformance;
mod databases;
mod grants;
mod page;
mod plans;
mod statements;
