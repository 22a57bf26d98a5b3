//! Postgres clusters, standbys and `PgBouncer`s for tests, which never outlive the test process, and a proxy that
//! loses connections at a chosen moment.
//!
//! ```no_run
//! let cluster = throwaway_postgres::shared();
//! cluster.create_database("bank");
//! assert_eq!(cluster.sql("bank", "select 1 + 1"), "2");
//! ```
//!
//! Everything here blocks, and panics with the reason when something fails: it is for tests. It needs a Unix with
//! `sh`, `id` and `mktemp`, the binaries of a Postgres server, `pgbouncer` for [`PgBouncer`], and `openssl` for
//! [`ClusterOptions::ssl`].
//!
//! Every server runs under a small shell that waits on a pipe from the test process. However the test process ends,
//! be it with `kill -9`, the kernel closes the pipe, and the shell kills the server and removes its folder.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "this crate is for tests, where a panic is how a failure is told"
)]

mod binaries;
mod certificate;
mod cluster;
mod database;
mod pgbouncer;
mod port;
mod proxy;
mod supervisor;
mod url;

pub use binaries::{find_pgbouncer, find_postgres};
pub use cluster::{Cluster, ClusterOptions, Shutdown, shared};
pub use database::Database;
pub use pgbouncer::{PgBouncer, PgBouncerOptions, PoolMode};
pub use proxy::{Cut, Proxy};
