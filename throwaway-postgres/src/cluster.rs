//! A Postgres server and its data.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::binaries::find_postgres;
use crate::certificate::Certificate;
use crate::port::free_port;
use crate::supervisor::{PATIENCE, Supervisor, eventually};
use crate::url::{self, USER};

/// How a cluster is to be. The default suits most tests.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Whether commits wait for the disk (`fsync`). Without, they still survive [`Cluster::kill`], for the
    /// operating system has them.
    pub fsync: bool,
    /// Whether TLS is offered, with a certificate for `localhost` and `127.0.0.1`; see
    /// [`Cluster::certificate_authority`].
    pub ssl: bool,
    /// Further settings, each a name and a value, which win over those of this crate.
    pub settings: Vec<(String, String)>,
}

/// How a server is to stop; the words are Postgres' own (chapter 19.5, "Shutting Down the Server").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Waits for every client to leave.
    Smart,
    /// Disconnects the clients, rolls their transactions back and shuts down cleanly.
    Fast,
    /// Stops at once; the next start recovers from the log.
    Immediate,
}

/// A running Postgres server that ends, and whose folder is removed, when this is dropped or the process dies.
///
/// It listens on `127.0.0.1` and on a socket in its folder, trusts everybody, and its superuser is `postgres`.
pub struct Cluster {
    supervisor: Supervisor,
    binaries: PathBuf,
    settings: Vec<(String, String)>,
    certificate: Option<Certificate>,
    port: u16,
    /// Held while the server is started or stopped.
    changing: Mutex<()>,
}

/// The cluster that the tests of this process share, started at first use. Give each test its own database.
pub fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(|| Cluster::start(&ClusterOptions::default()))
}

impl Cluster {
    /// Makes a new, empty cluster and waits until it accepts connections.
    #[must_use]
    pub fn start(options: &ClusterOptions) -> Self {
        let binaries = installed();
        let supervisor = Supervisor::start(LAST_SIGNAL);
        supervisor.run(&words(
            binaries.join("initdb"),
            &["-D", "data", "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
        ));
        let certificate = options.ssl.then(|| Certificate::make(&supervisor));
        let mut settings = own_settings(&supervisor, options.fsync);
        if let Some(certificate) = &certificate {
            settings.extend([
                ("ssl".to_owned(), "on".to_owned()),
                ("ssl_cert_file".to_owned(), text(&certificate.server)),
                ("ssl_key_file".to_owned(), text(&certificate.server_key)),
            ]);
        }
        settings.extend(options.settings.iter().cloned());
        Self::start_on_free_port(supervisor, binaries, settings, certificate)
    }

    /// A read-only standby that follows this cluster by streaming replication. `sql` there only reads; see
    /// [`Cluster::catch_up_with`].
    #[must_use]
    pub fn standby(&self) -> Self {
        let supervisor = Supervisor::start(LAST_SIGNAL);
        let port = self.port.to_string();
        let socket_folder = text(self.folder());
        supervisor.run(&words(
            self.binaries.join("pg_basebackup"),
            &["-h", &socket_folder, "-p", &port, "-U", USER, "-D", "data", "-R", "-c", "fast", "--no-sync"],
        ));
        let settings = own_settings(&supervisor, false);
        Self::start_on_free_port(supervisor, self.binaries.clone(), settings, None)
    }

    /// Waits until this standby shows everything that `primary` has committed so far.
    pub fn catch_up_with(&self, primary: &Self) {
        let position = primary.sql("postgres", "select pg_current_wal_flush_lsn()");
        let query = format!("select pg_last_wal_replay_lsn() >= '{position}'");
        eventually(|| (self.sql("postgres", &query) == "t").then_some(()))
            .unwrap_or_else(|| panic!("expected a standby that reaches {position} within {PATIENCE:?}"));
    }

    /// The address over TCP.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        url::tcp(self.port, database)
    }

    /// The address over the Unix socket.
    #[must_use]
    pub fn socket_url(&self, database: &str) -> String {
        format!("{}?host={}", url::tcp(self.port, database), self.folder().display())
    }

    /// The port on `127.0.0.1`, the same for as long as the cluster lives.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with the socket, the data (`data`) and the server's log (`log`).
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.supervisor.folder()
    }

    /// What the server has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.supervisor.log()
    }

    /// The certificate (PEM) that a client of a cluster with [`ClusterOptions::ssl`] is to trust.
    ///
    /// # Panics
    ///
    /// Without `ssl`.
    #[must_use]
    pub fn certificate_authority(&self) -> &Path {
        &self.certificate.as_ref().expect("expected a cluster that was started with `ssl`").authority
    }

    /// The process id of the postmaster, while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.supervisor.pid()
    }

    /// Creates an empty database.
    pub fn create_database(&self, name: &str) {
        self.sql("postgres", &format!("create database {}", identifier(name)));
    }

    /// Creates a database that is a copy of `template`, to which nobody may be connected.
    pub fn create_database_from(&self, name: &str, template: &str) {
        self.sql("postgres", &format!("create database {} template {}", identifier(name), identifier(template)));
    }

    /// Drops a database, disconnecting whoever uses it.
    pub fn drop_database(&self, name: &str) {
        self.sql("postgres", &format!("drop database {} with (force)", identifier(name)));
    }

    /// Runs statements with `psql` and answers the rows, a line each, their columns parted by `|`.
    ///
    /// Each statement is a transaction of its own, unless they say `begin`.
    ///
    /// # Panics
    ///
    /// With what `psql` says, if a statement fails.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        self.try_sql(database, statements)
            .unwrap_or_else(|error| panic!("expected a success of `{statements}` in `{database}`: {error}"))
    }

    /// As [`Cluster::sql`].
    ///
    /// # Errors
    ///
    /// What `psql` says, if a statement fails or the server cannot be reached.
    pub fn try_sql(&self, database: &str, statements: &str) -> Result<String, String> {
        psql(&self.binaries, &self.socket_url(database), statements)
    }

    /// Stops the server and waits until it has ended.
    ///
    /// # Panics
    ///
    /// If it still runs after a minute, as with [`Shutdown::Smart`] when a client stays.
    pub fn stop(&self, shutdown: Shutdown) {
        self.end(match shutdown {
            Shutdown::Smart => "TERM",
            Shutdown::Fast => "INT",
            Shutdown::Immediate => "QUIT",
        });
    }

    /// Kills the postmaster as the kernel does when memory runs out, and waits until it has ended. Its children
    /// notice and follow at their next wait.
    pub fn kill(&self) {
        self.end("KILL");
    }

    /// Starts a stopped or killed server again, on the same port, and waits until it accepts connections.
    pub fn start_again(&self) {
        let _changing = self.changing.lock().unwrap();
        let mut failure = String::new();
        // Children of a killed postmaster may still hold its memory.
        eventually(|| match start_server(&self.supervisor, &self.binaries, &self.settings, self.port) {
            Ok(()) => Some(()),
            Err(StartFailure::Other(log)) => panic!("expected a server that starts again: {log}"),
            Err(StartFailure::PortTaken(log) | StartFailure::MemoryInUse(log)) => {
                failure = log;
                thread::sleep(Duration::from_millis(50));
                None
            }
        })
        .unwrap_or_else(|| panic!("expected a server that starts again within {PATIENCE:?}: {failure}"));
    }

    fn end(&self, signal: &str) {
        let _changing = self.changing.lock().unwrap();
        assert!(self.supervisor.pid().is_some(), "expected a running server");
        self.supervisor.signal(signal);
        self.supervisor.wait_until_ended();
    }

    fn start_on_free_port(
        supervisor: Supervisor,
        binaries: PathBuf,
        settings: Vec<(String, String)>,
        certificate: Option<Certificate>,
    ) -> Self {
        let port = eventually(|| {
            let port = free_port();
            match start_server(&supervisor, &binaries, &settings, port) {
                Ok(()) => Some(port),
                Err(StartFailure::PortTaken(_)) => None,
                Err(StartFailure::MemoryInUse(log) | StartFailure::Other(log)) => {
                    panic!("expected a server that starts: {log}")
                }
            }
        })
        .unwrap_or_else(|| panic!("expected a port that stays free"));
        Self { supervisor, binaries, settings, certificate, port, changing: Mutex::new(()) }
    }
}

/// Immediate shutdown: nothing is worth saving.
const LAST_SIGNAL: &str = "QUIT";

enum StartFailure {
    PortTaken(String),
    MemoryInUse(String),
    Other(String),
}

fn start_server(
    supervisor: &Supervisor,
    binaries: &Path,
    settings: &[(String, String)],
    port: u16,
) -> Result<(), StartFailure> {
    let before = supervisor.log().len();
    let mut command = words(binaries.join("postgres"), &["-D", "data", "-p", &port.to_string()]);
    for (name, value) in settings {
        command.extend(["-c".into(), format!("{name}={value}").into()]);
    }
    supervisor.begin(&command);
    let outcome = eventually(|| {
        if supervisor.ended().is_some() {
            let log = supervisor.log_since(before);
            return Some(Err(if log.contains("Address already in use") {
                StartFailure::PortTaken(log)
            } else if log.contains("pre-existing shared memory block") {
                StartFailure::MemoryInUse(log)
            } else {
                StartFailure::Other(log)
            }));
        }
        accepts_connections(supervisor).then_some(Ok(()))
    });
    outcome.unwrap_or_else(|| Err(StartFailure::Other(supervisor.log_since(before))))
}

/// Whether the postmaster says so in its lock file, which is surely ours, as an answer on the port is not. The first
/// line is its process id and the eighth its state (`src/include/utils/pidfile.h`).
fn accepts_connections(supervisor: &Supervisor) -> bool {
    let Ok(lock_file) = fs::read_to_string(supervisor.folder().join("data/postmaster.pid")) else { return false };
    let mut lines = lock_file.lines();
    let process: Option<u32> = lines.next().and_then(|line| line.trim().parse().ok());
    process.is_some() && process == supervisor.pid() && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}

fn own_settings(supervisor: &Supervisor, fsync: bool) -> Vec<(String, String)> {
    [
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", &text(supervisor.folder())),
        ("fsync", if fsync { "on" } else { "off" }),
        ("max_connections", "200"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn psql(binaries: &Path, url: &str, statements: &str) -> Result<String, String> {
    let beside_the_server = binaries.join("psql");
    let program = if beside_the_server.is_file() { beside_the_server } else { "psql".into() };
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
        command.env_remove(name);
    }
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d", url]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut psql = command.spawn().expect("expected to start `psql`");
    let mut input = psql.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // Beside the reading, since long statements and long answers fill both pipes. Whoever stops at an error
        // does not read on.
        scope.spawn(move || input.write_all(statements.as_bytes()));
        psql.wait_with_output().unwrap()
    });
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).expect("expected UTF-8").trim_end_matches('\n').to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
    }
}

fn installed() -> PathBuf {
    find_postgres().expect(
        "expected a Postgres server in /usr/lib/postgresql or PATH, found none; `cargo xtask test` installs it",
    )
}

fn words(program: PathBuf, arguments: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect()
}

fn text(path: &Path) -> String {
    path.to_str().expect("expected a path in UTF-8").to_owned()
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
