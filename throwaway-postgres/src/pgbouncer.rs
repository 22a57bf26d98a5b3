//! `PgBouncer` before a cluster.

use std::fmt::Write as _;

use crate::binaries::find_pgbouncer;
use crate::cluster::Cluster;
use crate::port::free_port;
use crate::supervisor::{PATIENCE, Supervisor, eventually};
use crate::url::{self, USER};

/// When a server connection goes back into the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client leaves.
    Session,
    /// When the transaction ends.
    Transaction,
    /// When the statement ends.
    Statement,
}

/// How a pooler is to be. The default pools transactions, 20 connections to a database.
#[derive(Clone, Debug)]
pub struct PgBouncerOptions {
    /// When a server connection goes back into the pool.
    pub pool_mode: PoolMode,
    /// How many server connections a database has.
    pub default_pool_size: u32,
    /// How many clients may be connected.
    pub max_client_conn: u32,
    /// Further settings of the section `[pgbouncer]`, each a name and a value, which win over those of this crate.
    pub settings: Vec<(String, String)>,
}

impl Default for PgBouncerOptions {
    fn default() -> Self {
        Self {
            pool_mode: PoolMode::Transaction,
            default_pool_size: 20,
            max_client_conn: 1000,
            settings: Vec::new(),
        }
    }
}

/// A running `PgBouncer` that ends, and whose folder is removed, when this is dropped or the process dies.
pub struct PgBouncer {
    supervisor: Supervisor,
    port: u16,
}

impl PgBouncer {
    /// Starts a pooler before every database of `cluster` and waits until it accepts connections.
    ///
    /// Whoever connects is `postgres`. It ignores the parameter `extra_float_digits`, which sqlx sends, and tries a
    /// lost server again after a tenth of a second.
    #[must_use]
    pub fn start(cluster: &Cluster, options: &PgBouncerOptions) -> Self {
        Self::start_before(cluster.port(), options)
    }

    /// As [`PgBouncer::start`], before whatever listens on a port of `127.0.0.1`, such as a [`crate::Proxy`].
    #[must_use]
    pub fn start_before(target_port: u16, options: &PgBouncerOptions) -> Self {
        // It has no children, and versions differ in what the other signals mean.
        let supervisor = Supervisor::start("KILL");
        let port = eventually(|| {
            let port = free_port();
            start_pooler(&supervisor, &configuration(target_port, port, options)).then_some(port)
        })
        .unwrap_or_else(|| panic!("expected a port that stays free"));
        Self { supervisor, port }
    }

    /// The address of a database of the cluster behind.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        url::tcp(self.port, database)
    }

    /// The port on `127.0.0.1`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the pooler has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.supervisor.log()
    }
}

/// Whether it runs; it does not if somebody has just taken the port.
fn start_pooler(supervisor: &Supervisor, configuration: &str) -> bool {
    let program = find_pgbouncer()
        .expect("expected `pgbouncer` in /usr/sbin or PATH, found none; `cargo xtask test` installs it");
    let before = supervisor.log().len();
    // As the supervisor's user, who may not be allowed to read a file of ours.
    let write = format!("cat >pgbouncer.ini <<'END'\n{configuration}END");
    supervisor.run(&["sh", "-c", &write]);
    supervisor.begin(&[program.as_os_str(), "pgbouncer.ini".as_ref()]);
    let runs = eventually(|| {
        let log = supervisor.log_since(before);
        if log.contains("process up") {
            return Some(true);
        }
        supervisor.ended().map(|_| {
            assert!(log.contains("Address already in use"), "expected a pooler that starts: {log}");
            false
        })
    });
    runs.unwrap_or_else(|| panic!("expected a pooler that starts within {PATIENCE:?}: {}", supervisor.log()))
}

fn configuration(target_port: u16, port: u16, options: &PgBouncerOptions) -> String {
    let PgBouncerOptions { pool_mode, default_pool_size, max_client_conn, settings } = options;
    let pool_mode = match pool_mode {
        PoolMode::Session => "session",
        PoolMode::Transaction => "transaction",
        PoolMode::Statement => "statement",
    };
    let mut configuration = format!(
        "[databases]
* = host=127.0.0.1 port={target_port} user={USER}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {pool_mode}
default_pool_size = {default_pool_size}
max_client_conn = {max_client_conn}
ignore_startup_parameters = extra_float_digits
server_login_retry = 0.1
"
    );
    for (name, value) in settings {
        writeln!(configuration, "{name} = {value}").unwrap();
    }
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_has_taken_is_told_from_a_failure() {
        let supervisor = Supervisor::start("KILL");
        let somebody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = somebody.local_addr().unwrap().port();
        let options = PgBouncerOptions::default();
        assert!(!start_pooler(&supervisor, &configuration(1, taken, &options)));
        assert!(start_pooler(&supervisor, &configuration(1, free_port(), &options)));
    }
}
