//! Opening: fresh files, files of others, files that cannot be opened.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "in tests a panic is how a failure is told")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use space_profiles_conformance::{SequentialDraw, limit, space_of};
use space_profiles_core::{Registry, Store, StoreCode, StoreError};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use uuid::Uuid;

fn fresh() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    (folder, path)
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(&SqliteOptions::file(path))
}

fn refused(path: &Path) -> StoreError {
    open(path).err().expect("expected a refusal")
}

fn registry(store: &SqliteStore) -> Registry {
    Registry::new(Arc::new(store.clone()), Arc::new(SequentialDraw::named("opening")))
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_made_once_and_kept_ever_after() {
    let (_folder, path) = fresh();
    let space = space_of("acme", Uuid::from_u128(1));
    let store = open(&path).unwrap();
    registry(&store).add_space(&space, None).await.unwrap();
    store.close().await;

    let again = open(&path).unwrap();
    assert_eq!(registry(&again).spaces(None, None, limit(10)).await.unwrap().len(), 1);
    assert_eq!(again.schema_differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_closed_store_is_one_file_and_takes_no_more_calls() {
    let (folder, path) = fresh();
    let store = open(&path).unwrap();
    registry(&store).add_space(&space_of("acme", Uuid::from_u128(1)), None).await.unwrap();
    let handle = store.clone();
    store.close().await;
    assert_eq!(files(&folder), ["profiles.db"]);
    assert_eq!(handle.schema_differences().await.unwrap_err().code, StoreCode::Unavailable);
    handle.close().await;
}

#[tokio::test]
async fn a_store_whose_calls_are_made_in_place_is_closed_too() {
    let (folder, path) = fresh();
    let store = SqliteStore::open(&SqliteOptions::file(&path).in_place(|call| call())).unwrap();
    let handle = store.clone();
    assert_eq!(handle.schema_differences().await.unwrap(), Vec::<String>::new());
    store.close().await;
    assert_eq!(files(&folder), ["profiles.db"]);
    assert_eq!(handle.schema_differences().await.unwrap_err().code, StoreCode::Unavailable);
    let never = SqliteStore::open(&SqliteOptions::file(&path).in_place(|_| {})).unwrap();
    assert_eq!(never.schema_differences().await.unwrap_err().code, StoreCode::Unavailable);
}

#[test]
fn the_last_handle_ends_the_thread() {
    let (folder, path) = fresh();
    let store = open(&path).unwrap();
    drop(store.clone());
    assert!(files(&folder).len() > 1, "a handle is left");
    drop(store);
    let is_closed = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        files(&folder).len() == 1
    });
    assert!(is_closed, "expected the connection to go with its last handle");
}

#[test]
fn looking_changes_nothing() {
    let (folder, path) = fresh();
    let options = SqliteOptions::file(&path).create(false);
    assert_eq!(SqliteStore::pending_migrations(&options).unwrap(), ["0001_profiles"]);
    assert_eq!(SqliteStore::open(&options).err().unwrap().code, StoreCode::Unavailable);
    assert_eq!(files(&folder), Vec::<String>::new());

    fs::write(&path, "").unwrap();
    assert_eq!(SqliteStore::pending_migrations(&options).unwrap(), ["0001_profiles"]);
    let error = SqliteStore::open(&options).err().unwrap();
    assert_eq!(error.code, StoreCode::Schema);
    assert!(error.message.contains("run `migrate`"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"");

    drop(open(&path).unwrap());
    assert!(SqliteStore::pending_migrations(&options).unwrap().is_empty());
    assert!(SqliteStore::open(&options).is_ok());
}

#[test]
fn a_newer_schema_is_refused() {
    let (_folder, path) = fresh();
    drop(open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = refused(&path);
    assert_eq!(error.code, StoreCode::Schema);
    assert!(error.message.contains("found 99"), "{error}");
    assert_eq!(SqliteStore::pending_migrations(&SqliteOptions::file(&path)).unwrap_err(), error);
}

#[test]
fn another_programs_database_is_refused_and_left_as_it_is() {
    let (folder, path) = fresh();
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (id INTEGER)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = refused(&path);
    assert_eq!(error.code, StoreCode::Schema);
    assert!(error.message.contains("choose another file"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(files(&folder), ["profiles.db"]);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let (_folder, path) = fresh();
    let content = "a letter to a friend, long enough to have a header ".repeat(100);
    fs::write(&path, &content).unwrap();
    let error = refused(&path);
    assert_eq!(error.code, StoreCode::Unavailable);
    assert!(error.message.contains("a file that is not one"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), content);
}

#[test]
fn what_cannot_be_opened_is_unavailable() {
    let (folder, path) = fresh();
    let nowhere = folder.path().join("nowhere/profiles.db");
    assert!(refused(&nowhere).message.contains("its folder does not exist"));
    fs::create_dir(&path).unwrap();
    for path in [nowhere, path] {
        assert_eq!(refused(&path).code, StoreCode::Unavailable, "{}", path.display());
    }
}

#[test]
fn many_open_a_fresh_file_at_once() {
    for _ in 0..10 {
        let (_folder, path) = fresh();
        let together = Arc::new(Barrier::new(8));
        let opening: Vec<_> = (0..8)
            .map(|_| {
                let (path, together) = (path.clone(), Arc::clone(&together));
                thread::spawn(move || {
                    together.wait();
                    open(&path)
                })
            })
            .collect();
        for opened in opening {
            opened.join().unwrap().unwrap();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn without_a_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn calls_need_no_runtime() {
    let store = SqliteStore::open(&SqliteOptions::memory()).unwrap();
    without_a_runtime(async {
        registry(&store).add_space(&space_of("acme", Uuid::from_u128(1)), None).await.unwrap();
        store.back_off(1).await;
        assert_eq!(registry(&store).spaces(None, None, limit(10)).await.unwrap().len(), 1);
    });
}

#[test]
fn a_call_that_nobody_waits_for_is_finished() {
    let store = SqliteStore::open(&SqliteOptions::memory()).unwrap();
    let row = space_profiles_core::SpaceRow {
        space: space_of("acme", Uuid::from_u128(1)),
        name: String::new(),
        lifecycle_state: "active".to_owned(),
        deletion_job: None,
        created_at: space_profiles_core::Timestamp::EARLIEST,
        updated_at: space_profiles_core::Timestamp::EARLIEST,
    };
    let change = space_profiles_core::Change::AddSpace(row.clone());
    {
        let mut call = store.apply(&change);
        // Begun, and then dropped, whether it is done by now or not.
        let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    let rows = without_a_runtime(store.space_page(None, None, limit(10))).unwrap();
    assert_eq!(rows, [row]);
}
