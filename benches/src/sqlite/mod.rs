//! Propose and activate in a file of SQLite, through the library and by hand.

mod by_hand;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::FutureExt as _;
use rusqlite::Connection;
use space_profiles_core::{Kind, OsDraw, Proposal, Registry, Space, SubjectId, TenantId};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use tokio::runtime::Runtime;
use uuid::Uuid;

use self::by_hand::ByHand;
use crate::candidate::{Candidate, revision};
use crate::measure::{Subject, in_turn};
use crate::results::Row;

/// This product: its registry over its store.
pub const OURS: &str = "space-profiles";
/// The same statements without it.
pub const PEER: &str = "rusqlite by hand";
/// Calls are made where they are awaited, as in the command line tool.
pub const IN_PLACE: &str = "propose + activate";
/// Calls are made on the store's own thread, which needs no runtime.
pub const ON_THREAD: &str = "propose + activate, on a thread";
/// Among how many spaces.
pub const SPACES: usize = 1_000;

const TENANT: &str = "acme";
const KIND: &str = Kind::Embedding.as_str();
const BY: &str = "ann@acme.example";

/// Measures each case for as long as `budget`, in files of a folder of its own.
///
/// # Errors
///
/// The files cannot be made.
pub fn run(budget: Duration) -> anyhow::Result<Vec<Row>> {
    let runtime = Runtime::new()?;
    let in_place: fn(SqliteOptions) -> SqliteOptions =
        |options| options.in_place(|call| tokio::task::block_in_place(call));
    // As in a program, the runtime is entered once.
    let mut rows = runtime.block_on(async { case(IN_PLACE, &runtime, in_place, Wait::Never, budget) })?;
    rows.extend(case(ON_THREAD, &runtime, |options| options, Wait::Blocking, budget)?);
    Ok(rows)
}

/// How the end of a call is awaited.
#[derive(Clone, Copy)]
enum Wait {
    /// It is done at once.
    Never,
    /// It takes another thread.
    Blocking,
}

impl Wait {
    fn wait<T>(self, runtime: &Runtime, call: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        match self {
            Self::Never => call.now_or_never().context("a call in place does not wait")?,
            Self::Blocking => runtime.block_on(call),
        }
    }
}

fn case(
    name: &str,
    runtime: &Runtime,
    options: impl FnOnce(SqliteOptions) -> SqliteOptions,
    wait: Wait,
    budget: Duration,
) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let (ours, theirs) = (folder.path().join("ours.db"), folder.path().join("by-hand.db"));
    let spaces: Vec<Space> = (0..SPACES).map(|_| space()).collect::<Result<_, _>>()?;
    make(&ours, &spaces)?;
    make(&theirs, &spaces)?;
    let ours = Ours::over(SqliteStore::open(&options(SqliteOptions::file(ours)))?)?;
    let mut peer = ByHand::open(&theirs)?;
    let subjects = vec![
        subject(OURS, &spaces, |space, number| wait.wait(runtime, ours.propose_and_activate(space, number))),
        subject(PEER, &spaces, |space, number| propose_and_activate(&mut peer, space, number)),
    ];
    Ok(in_turn(name, subjects, budget))
}

/// A subject that goes from space to space, and then gives each of them its next revision.
fn subject<'a>(
    name: &'a str,
    spaces: &'a [Space],
    mut work: impl FnMut(&Space, u32) -> anyhow::Result<()> + 'a,
) -> Subject<'a> {
    let mut turns = (1..).flat_map(move |number| spaces.iter().map(move |space| (space, number)));
    Subject::new(name, move || {
        let (space, number) = turns.next().expect("numbers do not end");
        work(space, number).expect("a space takes one revision after the other");
    })
}

/// Makes a database with spaces. The store makes its schema, and from then on is not there.
fn make(file: &Path, spaces: &[Space]) -> anyhow::Result<()> {
    let in_place = SqliteOptions::file(file).in_place(|call| call());
    SqliteStore::open(&in_place)?.close().now_or_never().context("a call in place does not wait")?;
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction()?;
    for space in spaces {
        transaction.execute(
            "INSERT INTO knowledge_spaces (tenant_id, id, name, lifecycle_state, created_at, updated_at)
             VALUES (?1, ?2, ?2, 'active', 1, 1)",
            (space.tenant.as_str(), space.id.to_string()),
        )?;
    }
    Ok(transaction.commit()?)
}

fn space() -> anyhow::Result<Space> {
    Ok(Space { tenant: TenantId::new(TENANT)?, id: Uuid::now_v7().into() })
}

/// A registry, and who asks it.
struct Ours {
    registry: Registry,
    by: SubjectId,
}

impl Ours {
    fn over(store: SqliteStore) -> anyhow::Result<Self> {
        Ok(Self { registry: Registry::new(Arc::new(store), Arc::new(OsDraw)), by: SubjectId::new(BY)? })
    }

    async fn propose_and_activate(&self, space: &Space, number: u32) -> anyhow::Result<()> {
        let Self { registry, by } = self;
        let candidate = Candidate::new(number)?;
        let expected = if number == 1 { None } else { Some(revision(number - 1)?) };
        let scope = space.scope(Kind::Embedding);
        let proposal = Proposal::new(candidate.snapshot.as_bytes(), candidate.capability.as_bytes(), by.clone());
        registry.propose(&scope, &proposal).await?;
        registry.activate(&scope, revision(number)?, expected, by).await?;
        Ok(())
    }
}

fn propose_and_activate(peer: &mut ByHand, space: &Space, number: u32) -> anyhow::Result<()> {
    let candidate = Candidate::new(number)?;
    let (tenant, space) = (space.tenant.as_str(), space.id.to_string());
    peer.propose(tenant, &space, &candidate)?;
    peer.activate(tenant, &space, number)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    use rusqlite::types::Value;

    use super::*;

    thread_local! {
        static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Notes what SQLite is told by this thread.
    fn watch(connection: &Connection) -> Vec<String> {
        let note = |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                SEEN.with_borrow_mut(|seen| seen.push(sql.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        };
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note));
        SEEN.take()
    }

    #[test]
    fn both_tell_sqlite_the_same_and_leave_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let space = space().unwrap();
        let (ours, theirs) = (folder.path().join("ours.db"), folder.path().join("by-hand.db"));
        make(&ours, std::slice::from_ref(&space)).unwrap();
        make(&theirs, std::slice::from_ref(&space)).unwrap();
        let store = SqliteStore::open(&SqliteOptions::file(ours)).unwrap();
        let ours = Ours::over(store.clone()).unwrap();
        let mut peer = ByHand::open(&theirs).unwrap();
        let asked = |job: fn(&Connection) -> Vec<String>| {
            runtime.block_on(store.with_connection(move |connection| Ok(job(connection)))).unwrap()
        };
        asked(watch);
        watch(&peer.connection);
        for number in 1..=3 {
            runtime.block_on(ours.propose_and_activate(&space, number)).unwrap();
            propose_and_activate(&mut peer, &space, number).unwrap();
            let told = asked(|_| SEEN.take());
            assert_eq!(told, SEEN.take(), "propose and activate {number}");
            assert!(told.len() > 20, "{told:?}");
        }
        let ours = asked(state);
        assert_eq!(ours, state(&peer.connection));
        assert!(ours.iter().any(|row| row.contains("active|")), "{ours:?}");
    }

    /// The connection's settings and every row that a profile is made of, but for ids and times.
    fn state(connection: &Connection) -> Vec<String> {
        const ROWS: &str = "
            SELECT group_concat(concat_ws('|', revision, state, snapshot, snapshot_digest, capability_snapshot_digest,
              model, vector_space_id, created_by_subject_id, activated_by_subject_id, active_revision, row_version))
            FROM knowledge_space_profile_revisions JOIN knowledge_space_profile_heads USING (knowledge_space_id)";
        ["PRAGMA foreign_keys", "PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA wal_autocheckpoint", ROWS]
            .map(|sql| connection.query_row(sql, [], |row| row.get::<_, Value>(0)).unwrap())
            .map(|value| format!("{value:?}"))
            .to_vec()
    }
}
