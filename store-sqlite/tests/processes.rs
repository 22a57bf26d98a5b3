//! Many processes work on one file.
#![allow(clippy::unwrap_used, reason = "in tests a panic is how a failure is told")]

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use space_profiles_conformance::{ANN, by, embedding, limit, number, space_of};
use space_profiles_core::{
    BackfillFilter, ImportLine, Kind, Lease, OsDraw, Proposal, Registry, SpaceFilter, WorkerId,
};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use uuid::Uuid;

const PROCESSES: u32 = 8;
const CALLS: u32 = 25;
const FILE: &str = "SPACE_PROFILES_TEST_FILE";
const PROCESS: &str = "SPACE_PROFILES_TEST_PROCESS";

fn registry(path: &Path) -> Registry {
    let store = SqliteStore::open(&SqliteOptions::file(path)).unwrap();
    Registry::new(Arc::new(store), Arc::new(OsDraw))
}

#[tokio::test]
async fn g6_13_many_processes_write_one_file_without_an_error() {
    if let (Some(file), Ok(process)) = (env::var_os(FILE), env::var(PROCESS)) {
        return work(Path::new(&file), process.parse().unwrap()).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let registry = registry(&path);
    for number in 0..PROCESSES * CALLS {
        let line = format!(
            r#"{{"tenantId":"legacy","knowledgeSpaceId":"{}","manifestVersion":1,
                "metadata":{{"__knowledgeFsEmbeddingProfile":{{}}}}}}"#,
            Uuid::from_u128(1_000 + u128::from(number)),
        );
        registry.import(&ImportLine::parse(line.as_bytes()).unwrap()).await.unwrap();
    }
    let page = registry.ledger().discover(None, limit(1_000), &SpaceFilter::All).await.unwrap();
    assert_eq!(page.created.len() as u32, PROCESSES * CALLS);

    let working: Vec<Child> = (0..PROCESSES).map(|process| start(&path, process)).collect();
    for child in working {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    for process in 0..PROCESSES {
        let scope = space_of("own", Uuid::from_u128(1 + u128::from(process))).scope(Kind::Embedding);
        let head = registry.head(&scope).await.unwrap().head;
        assert_eq!((head.active_revision.get(), head.row_version.get()), (CALLS, CALLS));
    }
    let rows = registry.ledger().list(&BackfillFilter::default(), None, limit(1_000)).await.unwrap().items;
    assert!(rows.iter().all(|row| row.attempts == 1 && row.fence().is_some()), "each row is claimed exactly once");
    assert_eq!(rows.len() as u32, PROCESSES * CALLS);
    assert_eq!(registry.audit_page(None, limit(1_000)).await.unwrap().findings, []);
}

fn start(path: &Path, process: u32) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "g6_13_many_processes_write_one_file_without_an_error"])
        .env(FILE, path)
        .env(PROCESS, process.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

async fn work(path: &Path, process: u32) {
    let registry = registry(path);
    let space = space_of("own", Uuid::from_u128(1 + u128::from(process)));
    let scope = space.scope(Kind::Embedding);
    registry.add_space(&space, None).await.unwrap();
    let worker = WorkerId::new(format!("process-{process}")).unwrap();
    for revision in 1..=CALLS {
        let snapshot = embedding("m", revision, revision).to_string();
        let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by(ANN));
        registry.propose(&scope, &proposal).await.unwrap();
        let expected = (revision > 1).then(|| number(revision - 1));
        registry.activate(&scope, number(revision), expected, &by(ANN)).await.unwrap();
        let claimed = registry.ledger().claim(&worker, limit(1), Lease::DEFAULT, &SpaceFilter::All).await.unwrap();
        assert_eq!(claimed.backfills.len(), 1);
    }
}
