//! Connections that are lost while their commit is under way.

use super::*;

/// A cluster whose commits, of the role `waiting`, wait for a standby that never comes. While one waits its rows are
/// locked and not seen by others; whoever ends its session ends the wait, and then it is committed.
struct Waiting {
    cluster: Arc<Cluster>,
    waiting: String,
}

impl Waiting {
    async fn start() -> Self {
        let cluster =
            cluster_with(&[("synchronous_commit", "local"), ("synchronous_standby_names", "nobody")]).await;
        let role = "CREATE ROLE waiting SUPERUSER LOGIN; ALTER ROLE waiting SET synchronous_commit = on";
        tokio::task::block_in_place(|| cluster.sql(DATABASE, role));
        let waiting = cluster.url(DATABASE).replace("postgres@", "waiting@");
        Self { cluster, waiting }
    }

    /// Waits for a commit that waits; then ends it, if it is to end.
    async fn meet_a_commit(&self, ends_it: bool) {
        let mut connection = PgConnection::connect(&self.cluster.url(DATABASE)).await.unwrap();
        let sql = if ends_it {
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        } else {
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        };
        for _ in 0..REPETITIONS {
            if sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut connection).await.unwrap() > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("expected a commit that waits");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_07_an_activation_whose_connection_is_terminated_in_its_commit_counts_as_done() {
    const ACTIVATIONS: u32 = 25;
    let waiting = Waiting::start().await;
    let straight = registry(&waiting.cluster.url(DATABASE), 5_000).await;
    for pooled in ["", "?pgbouncer=true"] {
        let registry = registry(&format!("{}{pooled}", waiting.waiting), 5_000).await;
        let mut writer = Writer::new(&straight, &Pace::default()).await;
        for _ in 0..ACTIVATIONS {
            writer.revision += 1;
            writer.registry = straight.clone();
            writer.until_done(Command::Propose).await;
            writer.registry = registry.clone();
            let (replayed, ()) = tokio::join!(writer.once(Command::Activate), waiting.meet_a_commit(true));
            assert!(replayed.unwrap(), "it was committed before the connection ended");
        }
        writer.assert_agrees(&straight).await;
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_07_a_commit_that_is_still_under_way_when_its_repeat_meets_it_has_an_unknown_outcome() {
    let waiting = Waiting::start().await;
    let straight = registry(&waiting.cluster.url(DATABASE), 5_000).await;
    let proxy = Proxy::start(waiting.cluster.port());
    let url = waiting.waiting.replace(&waiting.cluster.port().to_string(), &proxy.port().to_string());
    for pooled in ["", "&pgbouncer=true"] {
        let registry = registry(&format!("{url}?lock_timeout_ms=100{pooled}"), 5_000).await;
        let mut writer = Writer::new(&straight, &Pace::default()).await;
        writer.revision = 1;
        writer.until_done(Command::Propose).await;
        writer.registry = registry;
        let loses_its_connection = async {
            waiting.meet_a_commit(false).await;
            proxy.cut(Cut::Everything);
            proxy.heal();
        };
        // The repeat waits for the rows of the commit, in vain.
        let (answer, ()) = tokio::join!(writer.once(Command::Activate), loses_its_connection);
        let error = answer.unwrap_err();
        waiting.meet_a_commit(true).await;
        writer.registry = straight.clone();
        writer.until_seen(Command::Activate).await;
        assert_eq!(error.code(), "STORE_OUTCOME_UNKNOWN", "{error}");
        writer.until_done(Command::Activate).await;
        writer.assert_agrees(&straight).await;
    }
}
