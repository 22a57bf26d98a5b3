//! A TCP proxy before a server that loses connections when it is told to.

mod connection;
mod messages;

use std::collections::HashMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::supervisor::PATIENCE;
use crate::url;

/// Where a [`Proxy`] is to lose the connection.
///
/// A *statement* is a `Query` message, or the messages of the extended protocol up to `Sync` (or to `Flush`) with an
/// `Execute` among them; sqlx's preparing (`Parse`, `Describe`, `Sync`) is none. `BEGIN` and `COMMIT` are statements.
/// They are counted from [`Proxy::cut`] on, in the order in which they arrive, over all connections, from 1.
///
/// A *commit* is a statement whose text begins with the word `COMMIT`, in any case, be it in the `Query` or in the
/// `Parse` of what is executed. `INSERT …; COMMIT` in one `Query` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The n-th statement never reaches the server. Client and server see their connection closed.
    BeforeStatement(u32),
    /// The n-th statement reaches the server, and the client sees its connection closed at once, before any reply.
    /// The server keeps its connection until it has answered, so the statement surely ran, and outside of a
    /// transaction block it is committed. Then it sees its connection closed, which rolls a block back.
    AfterStatementSent(u32),
    /// The next commit never reaches the server. Client and server see their connection closed.
    BeforeCommit,
    /// The next commit reaches the server, whose reply is awaited and thrown away; then client and server see their
    /// connection closed. The client gets the replies of what it sent before.
    AfterCommitApplied,
    /// Now, and until [`Proxy::heal`]: all connections are closed, and new ones as soon as they are accepted.
    Everything,
}

/// A proxy on a port of its own before a server on `127.0.0.1`, a Postgres or a `PgBouncer`.
///
/// It answers a request for encryption with no, whatever the server can do, and passes requests to cancel on. What it
/// does not understand is `COPY FROM STDIN` by the extended protocol, after which a cut may happen too late.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that passes everything on.
    #[must_use]
    pub fn start(target_port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("expected to listen on 127.0.0.1");
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::<Shared>::default();
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, target_port, &shared))
        };
        Self { port, shared, accepting: Some(accepting) }
    }

    /// The address of a database of the server behind.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        url::tcp(self.port, database)
    }

    /// The port on `127.0.0.1`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Arms one cut, which happens once, in place of one that has not happened yet. [`Cut::Everything`] happens now.
    pub fn cut(&self, cut: Cut) {
        assert!(
            !matches!(cut, Cut::BeforeStatement(0) | Cut::AfterStatementSent(0)),
            "expected a statement counted from 1, found {cut:?}"
        );
        let mut state = self.shared.lock();
        if cut == Cut::Everything {
            state.armed = None;
            state.refusing = true;
            state.close_all();
        } else {
            state.armed = Some(cut);
        }
    }

    /// Ends [`Cut::Everything`], and disarms a cut that has not happened.
    pub fn heal(&self) {
        let mut state = self.shared.lock();
        state.refusing = false;
        state.armed = None;
    }

    /// Whether a cut is armed and has not happened yet.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.shared.lock().armed.is_some()
    }

    /// Waits until the armed cut has happened and, if the statement was sent, the server is done with it.
    ///
    /// Call it before looking for the effect of a statement whose reply was cut off.
    ///
    /// # Panics
    ///
    /// If it does not happen within a minute.
    pub fn wait_for_cut(&self) {
        let unfinished = |state: &mut State| state.armed.is_some() || state.unanswered > 0;
        let state = self.shared.lock();
        let (state, waited) = self.shared.changed.wait_timeout_while(state, PATIENCE, unfinished).unwrap();
        assert!(!waited.timed_out(), "expected a cut within {PATIENCE:?}, still armed is {:?}", state.armed);
    }

    /// How many statements have arrived since the start, those cut off among them.
    #[must_use]
    pub fn statements(&self) -> u64 {
        self.shared.lock().statements
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.ended = true;
            state.close_all();
        }
        // `accept` looks when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    armed: Option<Cut>,
    refusing: bool,
    ended: bool,
    statements: u64,
    /// Cuts whose statement the server has not answered yet.
    unanswered: u32,
    connections: HashMap<u64, [TcpStream; 2]>,
    connections_so_far: u64,
}

/// What is to become of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    IsNotSent,
    LosesEveryReply,
    LosesItsReply,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a statement, and fires the armed cut if it is the one.
    fn decide(&self, is_commit: bool) -> Fate {
        let mut state = self.lock();
        state.statements += 1;
        let fate = match state.armed {
            Some(Cut::BeforeStatement(1)) => Fate::IsNotSent,
            Some(Cut::AfterStatementSent(1)) => Fate::LosesEveryReply,
            Some(Cut::BeforeCommit) if is_commit => Fate::IsNotSent,
            Some(Cut::AfterCommitApplied) if is_commit => Fate::LosesItsReply,
            Some(Cut::BeforeStatement(n)) => {
                state.armed = Some(Cut::BeforeStatement(n - 1));
                Fate::Passes
            }
            Some(Cut::AfterStatementSent(n)) => {
                state.armed = Some(Cut::AfterStatementSent(n - 1));
                Fate::Passes
            }
            Some(Cut::BeforeCommit | Cut::AfterCommitApplied | Cut::Everything) | None => Fate::Passes,
        };
        if fate != Fate::Passes {
            state.armed = None;
        }
        if matches!(fate, Fate::LosesEveryReply | Fate::LosesItsReply) {
            state.unanswered += 1;
        }
        self.changed.notify_all();
        fate
    }

    fn answered(&self) {
        self.lock().unanswered -= 1;
        self.changed.notify_all();
    }
}

impl State {
    fn close_all(&self) {
        for connection in self.connections.values() {
            close(connection);
        }
    }
}

fn close(connection: &[TcpStream; 2]) {
    for stream in connection {
        // It may be closed already.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, target_port: u16, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.lock().ended {
            return;
        }
        let Ok(client) = client else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A server that cannot be reached, and a client that leaves, show as closed connections.
            let Ok(server) = TcpStream::connect(("127.0.0.1", target_port)) else { return };
            let _ = connection::serve(client, server, &shared);
        });
    }
}
