//! What a database cannot do is told by its code, and leaves no half of a change.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use space_profiles_conformance::{ANN, SequentialDraw, by, embedding, limit, number, space_of};
use space_profiles_core::{
    ActiveProfile, Error, ImportLine, Kind, Lease, Outcome, Proposal, Registry, RevisionNumber, Scope,
    SpaceFilter, StoreCode, WorkerId,
};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use uuid::Uuid;

struct Opened {
    store: SqliteStore,
    registry: Registry,
    scope: Scope,
}

impl Opened {
    async fn with_a_space(options: &SqliteOptions) -> Self {
        let opened = Self::again(options);
        opened.registry.add_space(&opened.scope.space, None).await.unwrap();
        opened
    }

    fn again(options: &SqliteOptions) -> Self {
        let store = SqliteStore::open(options).unwrap();
        let registry = Registry::new(Arc::new(store.clone()), Arc::new(SequentialDraw::named("failures")));
        Self { store, registry, scope: space_of("acme", Uuid::from_u128(1)).scope(Kind::Embedding) }
    }

    async fn publish(&self, revision: u32) -> Result<Outcome<ActiveProfile>, Error> {
        let snapshot = embedding(&"m".repeat(200), 8 + revision, revision).to_string();
        let capability = format!(r#"{{"revision":{revision},"note":"{}"}}"#, "n".repeat(2_000));
        let expected = revision.checked_sub(1).filter(|before| *before > 0).map(number);
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        self.registry.publish(&self.scope, &proposal, expected).await
    }

    async fn active(&self) -> Option<RevisionNumber> {
        self.registry.head(&self.scope).await.ok().map(|active| active.head.active_revision)
    }

    async fn assert_sound(&self) {
        assert_eq!(self.registry.audit_page(None, limit(10)).await.unwrap().findings, []);
        assert_eq!(
            space_profiles_core::Store::schema_differences(&self.store).await.unwrap(),
            Vec::<String>::new()
        );
    }
}

#[track_caller]
fn assert_store_error<T: std::fmt::Debug>(answer: Result<T, Error>, code: StoreCode) {
    match answer {
        Err(Error::Store(error)) if error.code == code => {}
        other => panic!("expected {}, found {other:?}", code.as_str()),
    }
}

#[tokio::test]
async fn g6_14_a_lock_that_outlasts_the_time_out_is_told_as_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let time_out = Duration::from_millis(300);
    let opened = Opened::with_a_space(&SqliteOptions::file(&path).busy_timeout(time_out)).await;
    opened.publish(1).await.unwrap();

    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    assert_store_error(opened.publish(2).await, StoreCode::Busy);
    assert!(begun.elapsed() >= time_out, "it gave up before its time-out");
    assert_eq!(opened.active().await, Some(number(1)), "reading goes on meanwhile");

    other.execute_batch("ROLLBACK").unwrap();
    opened.publish(2).await.unwrap();
    opened.assert_sound().await;
}

#[tokio::test]
async fn opening_gives_up_on_a_lock_that_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let options = SqliteOptions::file(&path).busy_timeout(Duration::from_millis(200));
    assert_eq!(SqliteStore::open(&options).err().unwrap().code, StoreCode::Busy);
    other.execute_batch("ROLLBACK").unwrap();
    SqliteStore::open(&options).unwrap();
}

#[tokio::test]
async fn g4_02_g4_16_a_failure_after_any_statement_of_an_activation_leaves_the_old_state() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Opened::with_a_space(&SqliteOptions::file(folder.path().join("profiles.db"))).await;
    opened.publish(1).await.unwrap();
    let snapshot = embedding("next", 8, 2).to_string();
    let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by(ANN));
    opened.registry.propose(&opened.scope, &proposal).await.unwrap();
    let history = async || opened.registry.revisions(&opened.scope, None, limit(10)).await.unwrap();
    let activate = async || opened.registry.activate(&opened.scope, number(2), Some(number(1)), &by(ANN)).await;
    let before = (history().await, opened.registry.head(&opened.scope).await.unwrap());
    for statement in [
        "UPDATE ON knowledge_space_profile_revisions WHEN NEW.state = 'superseded'",
        "UPDATE ON knowledge_space_profile_revisions WHEN NEW.state = 'active'",
        "UPDATE ON knowledge_space_profile_heads",
    ] {
        let trigger =
            format!("CREATE TEMP TRIGGER cut AFTER {statement} BEGIN SELECT RAISE(ABORT, 'cut off here'); END");
        opened.store.with_connection(move |connection| connection.execute_batch(&trigger)).await.unwrap();
        assert_store_error(activate().await, StoreCode::Schema);
        assert_eq!((history().await, opened.registry.head(&opened.scope).await.unwrap()), before, "{statement}");
        let mend = |connection: &mut Connection| connection.execute_batch("DROP TRIGGER cut");
        opened.store.with_connection(mend).await.unwrap();
    }
    assert_eq!(activate().await.unwrap().value.head.row_version.get(), 2, "the same call succeeds");
    opened.assert_sound().await;
}

/// Runs a statement that no constraint and no trigger stands against.
async fn damage(opened: &Opened, sql: &'static str) {
    let damage = move |connection: &mut Connection| {
        connection.pragma_update(None, "ignore_check_constraints", true)?;
        connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let changed = connection.execute(sql, []);
        connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
        connection.pragma_update(None, "ignore_check_constraints", false)?;
        changed
    };
    assert_eq!(opened.store.with_connection(damage).await.unwrap(), 1, "{sql}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_and_stands_in_nobodys_way() {
    let opened = Opened::with_a_space(&SqliteOptions::memory()).await;
    opened.publish(1).await.unwrap();
    opened.publish(2).await.unwrap();
    damage(&opened, "UPDATE knowledge_space_profile_revisions SET state = 'bogus' WHERE revision = 1").await;
    let history = opened.registry.revisions(&opened.scope, None, limit(10)).await.unwrap();
    let sound: Vec<bool> = history.items.iter().map(Result::is_ok).collect();
    assert_eq!(sound, [false, true], "an entry of its own, in its place");
    let findings = opened.registry.audit_page(None, limit(10)).await.unwrap().findings;
    assert!(
        findings.iter().any(|finding| finding.rule == "row" && finding.message.contains("`state`")),
        "{findings:?}"
    );

    for id in 1..=2_u128 {
        let line = format!(
            r#"{{"tenantId": "acme", "knowledgeSpaceId": "{}", "manifestVersion": 1,
                 "metadata": {{"{}": {{}}}}}}"#,
            Uuid::from_u128(id),
            Kind::Retrieval.legacy_key()
        );
        opened.registry.import(&ImportLine::parse(line.as_bytes()).unwrap()).await.unwrap();
    }
    let ledger = opened.registry.ledger();
    ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    damage(
        &opened,
        "UPDATE knowledge_space_profile_backfills SET max_execution_attempts = -1
         WHERE knowledge_space_id = '00000000-0000-0000-0000-000000000001'",
    )
    .await;
    let worker = WorkerId::new("worker").unwrap();
    let claimed = ledger.claim(&worker, limit(10), Lease::DEFAULT, &SpaceFilter::All).await.unwrap();
    assert_eq!(claimed.backfills.len(), 1, "the other row is given away");
}

#[tokio::test]
async fn g6_16_a_full_disk_leaves_the_last_transition_fully_absent() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Opened::with_a_space(&SqliteOptions::file(folder.path().join("profiles.db"))).await;
    opened.publish(1).await.unwrap();
    set_room(&opened.store, 16).await;

    let mut last = 1;
    let refusal = loop {
        match opened.publish(last + 1).await {
            Ok(_) => last += 1,
            Err(error) => break error,
        }
    };
    assert_store_error::<()>(Err(refusal), StoreCode::Full);
    assert_eq!(opened.active().await, Some(number(last)));
    let rows = opened.registry.revisions(&opened.scope, None, limit(1_000)).await.unwrap().items;
    assert_eq!(rows.len(), last as usize, "nothing of the refused revision is there");
    opened.assert_sound().await;

    set_room(&opened.store, 10_000).await;
    opened.publish(last + 1).await.unwrap();
    opened.assert_sound().await;
}

/// Stands for a small disk: the file may grow by so many pages.
async fn set_room(store: &SqliteStore, pages: i64) {
    let limited = store.with_connection(move |connection| {
        let used: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        connection.query_row(&format!("PRAGMA max_page_count = {}", used + pages), [], |row| row.get::<_, i64>(0))
    });
    limited.await.unwrap();
}

const READ_ONLY_FILE: &str = "SPACE_PROFILES_TEST_READ_ONLY_FILE";

/// Beside the file: a copy in a folder that takes no files, where WAL cannot even be read.
const LOCKED: &str = "locked/profiles.db";

#[tokio::test]
async fn a_read_only_file_is_read_and_takes_no_writes() {
    if let Some(path) = env::var_os(READ_ONLY_FILE) {
        return read_but_never_write(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let opened = Opened::with_a_space(&SqliteOptions::file(&path)).await;
    opened.publish(1).await.unwrap();
    opened.store.close().await;
    let locked = folder.path().join(LOCKED);
    fs::create_dir(locked.parent().unwrap()).unwrap();
    fs::copy(&path, &locked).unwrap();
    let permit = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    permit(&path, 0o444);
    permit(&locked, 0o444);
    permit(locked.parent().unwrap(), 0o555);
    permit(folder.path(), 0o777);
    if OpenOptions::new().write(true).open(&path).is_err() {
        return read_but_never_write(&path).await;
    }
    // Permissions mean nothing to root, so somebody else looks.
    let program = folder.path().join("test");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    permit(&program, 0o755);
    let mut again = Command::new(program);
    again
        .args(["--exact", "a_read_only_file_is_read_and_takes_no_writes"])
        .env(READ_ONLY_FILE, &path)
        .current_dir(folder.path())
        .uid(65_534)
        .gid(65_534);
    let output = loop {
        match again.output() {
            // Another test that starts a process at this moment may hold the copy open for a while.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            answer => break answer.unwrap(),
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

async fn read_but_never_write(path: &Path) {
    let opened = Opened::again(&SqliteOptions::file(path));
    assert_eq!(opened.active().await, Some(number(1)));
    assert_store_error(opened.publish(2).await, StoreCode::ReadOnly);
    assert_eq!(opened.active().await, Some(number(1)));

    let locked = SqliteOptions::file(path.with_file_name(LOCKED));
    let error = SqliteStore::open(&locked).err().expect("expected a refusal");
    assert_eq!(error.code, StoreCode::ReadOnly, "{error}");
}

#[tokio::test]
async fn a_damaged_row_is_told_by_table_id_and_column() {
    let opened = Opened::with_a_space(&SqliteOptions::memory()).await;
    let id = opened.publish(1).await.unwrap().value.revision.id;
    let damage = "
        PRAGMA ignore_check_constraints = ON;
        UPDATE knowledge_space_profile_revisions SET state = 'lost';
        PRAGMA ignore_check_constraints = OFF;";
    opened.store.with_connection(move |connection| connection.execute_batch(damage)).await.unwrap();
    let Err(Error::Store(error)) = opened.publish(2).await else { panic!("expected a refusal") };
    assert_eq!(error.code, StoreCode::Schema);
    for part in ["knowledge_space_profile_revisions", &id.to_string(), "`state`", "`lost`"] {
        assert!(error.message.contains(part), "expected {part}, found {error}");
    }
}
