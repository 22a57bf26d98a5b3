//! Connections that are lost on the way, servers that cannot be reached, callers that leave.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_02_g4_12_g6_07_an_activation_survives_a_connection_that_is_lost_at_any_statement() {
    const ROUNDS: u32 = 7;
    let cluster = cluster().await;
    let proxy = Proxy::start(cluster.port());
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    // One that looks and writes, after a load where somebody else proposed; behind a pooler each is a transaction.
    for (pooled, proposes_itself, statements) in
        [("", true, 1), ("", false, 2), ("?pgbouncer=true", true, 3), ("?pgbouncer=true", false, 6)]
    {
        let registry = registry(&format!("{}{pooled}", proxy.url(DATABASE)), 5_000).await;
        let proposer = if proposes_itself { &registry } else { &straight };
        for (cut, replays) in
            [(Cut::BeforeStatement as fn(u32) -> Cut, false), (Cut::AfterStatementSent as fn(u32) -> Cut, true)]
        {
            let mut writer = Writer::new(&registry, &Pace::default()).await;
            writer.propose_and_activate().await;
            for round in 0..ROUNDS * statements {
                let at = round % statements + 1;
                writer.revision += 1;
                writer.registry = proposer.clone();
                writer.until_done(Command::Propose).await;
                writer.registry = registry.clone();
                proxy.cut(cut(at));
                let replayed = writer.once(Command::Activate).await.unwrap();
                tokio::task::block_in_place(|| proxy.wait_for_cut());
                // A single statement whose connection is lost may be overtaken by its repeat.
                let may_replay = replays && at == statements;
                assert!(may_replay || !replayed, "{:?}, pooled: {pooled}", cut(at));
                assert!(!may_replay || replayed || pooled.is_empty(), "{:?}, pooled: {pooled}", cut(at));
            }
            writer.assert_agrees(&straight).await;
        }
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_12_g6_07_what_is_written_without_a_load_survives_a_connection_that_is_lost_at_any_statement() {
    const ROUNDS: u32 = 7;
    let cluster = cluster().await;
    let proxy = Proxy::start(cluster.port());
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    for (pooled, statements) in [("", 1), ("?pgbouncer=true", 3)] {
        let registry = registry(&format!("{}{pooled}", proxy.url(DATABASE)), 5_000).await;
        for (cut, replays) in
            [(Cut::BeforeStatement as fn(u32) -> Cut, false), (Cut::AfterStatementSent as fn(u32) -> Cut, true)]
        {
            for command in [Command::Propose, Command::Publish] {
                let mut writer = Writer::new(&registry, &Pace::default()).await;
                writer.propose_and_activate().await;
                for round in 0..ROUNDS * statements {
                    let at = round % statements + 1;
                    writer.revision += 1;
                    proxy.cut(cut(at));
                    let replayed = writer.once(command).await.unwrap();
                    tokio::task::block_in_place(|| proxy.wait_for_cut());
                    let may_replay = replays && at == statements;
                    assert!(may_replay || !replayed, "{command:?}, {:?}, pooled: {pooled}", cut(at));
                    assert!(!may_replay || replayed || pooled.is_empty(), "{command:?}, {:?}", cut(at));
                    if command == Command::Propose {
                        writer.until_done(Command::Activate).await;
                    }
                }
                writer.assert_agrees(&straight).await;
            }
        }
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_07_a_first_publication_survives_a_connection_that_is_lost_at_its_commit() {
    const SCOPES: u32 = 50;
    let cluster = cluster().await;
    let proxy = Proxy::start(cluster.port());
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    let registry = registry(&proxy.url(DATABASE), 5_000).await;
    for cut in [Cut::BeforeCommit, Cut::AfterCommitApplied] {
        for _ in 0..SCOPES {
            let scope = scope(&straight).await;
            let snapshot = usual(scope.kind, 1).to_string();
            let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by(ANN));
            proxy.cut(cut);
            let published = registry.publish(&scope, &proposal, None).await.unwrap();
            assert!(!proxy.is_armed(), "a first publication is a transaction of two statements");
            assert_eq!(published.replayed, cut == Cut::AfterCommitApplied);
            History::of(&straight, &scope).await.assert_whole();
        }
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_07_a_server_that_cannot_be_reached_for_a_while_is_no_reason_to_lie() {
    const OUTAGES: u32 = 40;
    let seed = Chance::seed();
    let cluster = cluster().await;
    let proxy = Proxy::start(cluster.port());
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    for pooled in ["", "?pgbouncer=true"] {
        let registry = registry(&format!("{}{pooled}", proxy.url(DATABASE)), 200).await;
        let pace = Pace::default();
        let mut writers = JoinSet::new();
        for _ in 0..2 {
            let writer = Writer::new(&registry, &pace).await;
            writers.spawn(writer.until_over());
        }
        let mut chance = Chance::of(seed, 0);
        for _ in 0..OUTAGES {
            pace.wait_for(1 + chance.below(4)).await;
            tokio::time::sleep(Duration::from_micros(u64::from(chance.below(10_000)))).await;
            proxy.cut(Cut::Everything);
            tokio::time::sleep(Duration::from_millis(u64::from(chance.below(400)))).await;
            proxy.heal();
        }
        pace.end();
        let mut answers = Answers::default();
        for writer in writers.join_all().await {
            writer.assert_agrees(&straight).await;
            answers += writer.answers;
        }
        assert!(answers.done >= OUTAGES && answers.unavailable + answers.busy > 0, "{answers:?}");
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_05_a_caller_that_leaves_in_the_middle_leaves_nothing_half_done() {
    const ACTIVATIONS: u32 = 100;
    let seed = Chance::seed();
    let cluster = cluster().await;
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    let mut connection = PgConnection::connect(&cluster.url(DATABASE)).await.unwrap();
    for pooled in ["", "?pgbouncer=true"] {
        let registry = registry(&format!("{}{pooled}", cluster.url(DATABASE)), 5_000).await;
        let mut writer = Writer::new(&registry, &Pace::default()).await;
        let mut chance = Chance::of(seed, 0);
        let mut left = 0;
        for _ in 0..ACTIVATIONS {
            writer.revision += 1;
            writer.until_done(Command::Propose).await;
            let patience = Duration::from_micros(u64::from(chance.below(2_000)));
            match tokio::time::timeout(patience, writer.once(Command::Activate)).await {
                Ok(answer) => drop(answer.unwrap()),
                Err(_) => left += 1,
            }
            let torn: i64 = sqlx::query_scalar(TORN_SCOPES).fetch_one(&mut connection).await.unwrap();
            assert_eq!(torn, 0, "half of an activation is left");
            writer.until_done(Command::Activate).await;
        }
        assert!(left >= 10, "{left}");
        writer.assert_agrees(&straight).await;
    }
    assert_eq!(audit_errors(&straight).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_down_is_unavailable_and_not_busy() {
    let cluster = cluster().await;
    let registry = registry(&cluster.url(DATABASE), 300).await;
    let writer = Writer::new(&registry, &Pace::default()).await;
    tokio::task::block_in_place(|| cluster.stop(Shutdown::Fast));
    for _ in 0..3 {
        let error = registry.head(&writer.scope).await.unwrap_err();
        assert_eq!(error.code(), "STORE_UNAVAILABLE", "{error}");
        let worker = WorkerId::new("worker-a").unwrap();
        let claimed = registry.ledger().claim(&worker, limit(1), five_minutes(), &SpaceFilter::All).await;
        assert_eq!(claimed.unwrap_err().code(), "STORE_UNAVAILABLE", "nothing was sent");
    }
    tokio::task::block_in_place(|| cluster.start_again());
    assert_eq!(registry.head(&writer.scope).await.unwrap_err().code(), "PROFILE_NOT_FOUND");
}
