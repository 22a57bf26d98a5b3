//! Several workers on one Postgres database, each with connections of its own, as processes have them.

use std::sync::Arc;
use std::time::Duration;

use space_profiles_core::{OsDraw, PageLimit, Registry, SpaceFilter, Store};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use space_profiles_worker::{ModelCheck, Stop, Worker};
use throwaway_postgres::shared;
use tokio::task::JoinSet;

use crate::support::{Scripted, counts, embedding, line, options, retrieval};

const SPACES: u32 = 150;
const ROWS: usize = 2 * SPACES as usize;

async fn open(database: &PostgresOptions) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(database).await.unwrap())
}

fn registry(store: Arc<dyn Store>) -> Registry {
    Registry::new(store, Arc::new(OsDraw))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g5_07_workers_with_stores_of_their_own_install_each_profile_once() {
    shared().create_database("workers");
    let database = PostgresOptions::from_url(&shared().url("workers")).unwrap().max_connections(4);
    PostgresStore::migrate(&database).await.unwrap();
    let store = open(&database).await;
    let registry_here = registry(store.clone());
    for number in 0..SPACES {
        let line = line(number, 1, Some(embedding("small", None)), Some(retrieval(false)));
        registry_here.import(&line).await.unwrap();
    }

    let check = Scripted::new(|_, before| (Duration::from_micros(before as u64 % 7 * 100), Ok(8)));
    let mut workers = JoinSet::new();
    for name in ["one", "two", "three", "four", "five"] {
        let mut options = options(name);
        options.batch = PageLimit::try_from(7).unwrap();
        let check: Arc<dyn ModelCheck> = Arc::clone(&check) as _;
        let ledger = registry(open(&database).await).ledger();
        let worker = Worker::new(ledger, check, options);
        workers.spawn(async move { worker.run(&SpaceFilter::All, &(), &Stop::new()).await.unwrap() });
    }
    let summaries = workers.join_all().await;

    let sum = |count: fn(&space_profiles_worker::Summary) -> u64| summaries.iter().map(count).sum::<u64>();
    assert_eq!((sum(|it| it.discovered), sum(|it| it.installed)), (ROWS as u64, ROWS as u64));
    assert!(summaries.iter().all(|summary| summary.failed.is_empty()), "{summaries:?}");
    assert_eq!(counts(&*store).await, (0, 0, ROWS as u64, 0));
    assert_eq!(check.calls(), ROWS, "no model is checked for a row that another worker has");

    let written = "SELECT
                     (SELECT count(*) FROM knowledge_space_profile_revisions WHERE revision = 1),
                     (SELECT count(*) FROM knowledge_space_profile_revisions),
                     (SELECT count(*) FROM knowledge_space_profile_heads WHERE row_version = 1),
                     (SELECT count(*) FROM knowledge_space_profile_backfills WHERE execution_attempts = 1)";
    assert_eq!(shared().sql("workers", written), [ROWS; 4].map(|count| count.to_string()).join("|"));
    let mut after = None;
    loop {
        let page = registry_here.audit_page(after.as_ref(), PageLimit::LAST).await.unwrap();
        assert_eq!(page.findings, []);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
}
