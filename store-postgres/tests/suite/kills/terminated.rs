//! Servers that stop, and connections that the server ends.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_16_a_server_that_stops_in_mid_activation_leaves_what_was_answered() {
    const STOPS: u32 = 6;
    const BETWEEN_STOPS: u32 = 80;
    let seed = Chance::seed();
    let cluster = cluster().await;
    let registry = registry(&cluster.url(DATABASE), 400).await;
    let pace = Pace::default();
    let mut writers = JoinSet::new();
    for _ in 0..4 {
        let writer = Writer::new(&registry, &pace).await;
        writers.spawn(writer.until_over());
    }
    let mut chance = Chance::of(seed, 0);
    for _ in 0..STOPS {
        pace.wait_for(BETWEEN_STOPS + chance.below(20)).await;
        tokio::time::sleep(Duration::from_micros(u64::from(chance.below(20_000)))).await;
        let cluster = Arc::clone(&cluster);
        let pause = Duration::from_millis(u64::from(chance.below(1_500)));
        tokio::task::spawn_blocking(move || {
            cluster.stop(Shutdown::Immediate);
            std::thread::sleep(pause);
            cluster.start_again();
        })
        .await
        .unwrap();
    }
    pace.end();
    let mut answers = Answers::default();
    for writer in writers.join_all().await {
        writer.assert_agrees(&registry).await;
        answers += writer.answers;
    }
    assert!(answers.done >= STOPS * BETWEEN_STOPS && answers.unavailable + answers.busy > 0, "{answers:?}");
    assert_eq!(audit_errors(&registry).await, []);
}

/// Ends connections of the store at random moments, and looks for torn scopes, until all is over. Answers how many it
/// ended.
async fn sabotage(url: String, mut chance: Chance, pace: Pace) -> i64 {
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut ended = 0;
    while !pace.is_over() {
        pace.wait_for(chance.below(4)).await;
        tokio::time::sleep(Duration::from_micros(u64::from(chance.below(10_000)))).await;
        ended += sqlx::query_scalar::<_, i64>(
            "SELECT count(pg_terminate_backend(pid))
             FROM (
               SELECT pid FROM pg_stat_activity
               WHERE application_name = 'victim' ORDER BY state = 'active' DESC, random() LIMIT 1
             ) AS victim",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        let torn: i64 = sqlx::query_scalar(TORN_SCOPES).fetch_one(&mut connection).await.unwrap();
        assert_eq!(torn, 0, "a scope was torn for a moment");
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_02_g6_07_connections_that_are_terminated_leave_what_was_answered() {
    const ACTIVATIONS: u32 = 60;
    let seed = Chance::seed();
    let cluster = cluster().await;
    for pooled in ["", "&pgbouncer=true"] {
        let url = format!("{}?application_name=victim{pooled}", cluster.url(DATABASE));
        let registry = registry(&url, 2_000).await;
        let pace = Pace::default();
        let saboteur = sabotage(cluster.url(DATABASE), Chance::of(seed, 1), pace.clone());
        let mut writers = Vec::new();
        for _ in 0..3 {
            writers.push(Writer::new(&registry, &pace).await);
        }
        let saboteur = tokio::spawn(saboteur);
        let mut working = JoinSet::new();
        for mut writer in writers {
            working.spawn(async move {
                for _ in 0..ACTIVATIONS {
                    writer.propose_and_activate().await;
                }
                writer
            });
        }
        let writers = working.join_all().await;
        pace.end();
        let ended = saboteur.await.unwrap();
        let mut answers = Answers::default();
        for writer in &writers {
            writer.assert_agrees(&registry).await;
            answers += writer.answers;
        }
        assert!(ended >= 30, "{ended}");
        assert_eq!(audit_errors(&registry).await, []);
    }
}

/// What somebody who publishes beside others was told of revision `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Published,
    Refused,
    /// The reply was lost for good, and another has published since, so that the repeat is refused.
    Unknown,
}

/// Publishes on what it sees, beside others, so often. Answers what it was told.
async fn publish_beside_others(
    registry: Registry,
    scope: Scope,
    who: String,
    rounds: u32,
    pace: Pace,
) -> Vec<(u32, Told)> {
    let mut told = Vec::new();
    for _ in 0..rounds {
        let mut seen = None;
        for attempt in 0.. {
            match registry.head(&scope).await {
                Ok(profile) => seen = Some(profile.head.active_revision),
                Err(Error::Refused(_)) => {}
                Err(Error::Store(error)) => {
                    assert!(attempt < REPETITIONS, "expected a server that recovers, found {error}");
                    continue;
                }
            }
            break;
        }
        let next = seen.map_or(1, |active| active.get() + 1);
        let snapshot = embedding(&format!("model-{next}-{who}"), 8, next).to_string();
        let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by(&who));
        let mut doubted = false;
        for attempt in 0.. {
            assert!(attempt < REPETITIONS, "expected an end");
            match registry.publish(&scope, &proposal, seen).await {
                Ok(outcome) => {
                    assert_eq!(outcome.value.revision.created_by, who);
                    told.push((next, Told::Published));
                }
                Err(Error::Refused(refusal)) => {
                    assert_eq!(refusal.code(), "HEAD_CONFLICT", "{refusal}");
                    told.push((next, if doubted { Told::Unknown } else { Told::Refused }));
                }
                Err(Error::Store(error)) => {
                    assert!(error.code.is_retryable(), "{error}");
                    doubted |= error.code == StoreCode::OutcomeUnknown;
                    continue;
                }
            }
            break;
        }
        pace.step();
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g6_07_of_many_that_publish_on_terminated_connections_each_learns_who_won() {
    const CALLERS: u32 = 4;
    const ROUNDS: u32 = 60;
    let seed = Chance::seed();
    let cluster = cluster().await;
    let url = format!("{}?application_name=victim", cluster.url(DATABASE));
    let registry = registry(&url, 2_000).await;
    let scope = scope(&registry).await;
    let pace = Pace::default();
    let saboteur = tokio::spawn(sabotage(cluster.url(DATABASE), Chance::of(seed, 1), pace.clone()));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let who = format!("user:{caller}");
        let publishing = publish_beside_others(registry.clone(), scope.clone(), who.clone(), ROUNDS, pace.clone());
        callers.spawn(async move { (who, publishing.await) });
    }
    let told = callers.join_all().await;
    pace.end();
    let ended = saboteur.await.unwrap();
    let history = History::of(&registry, &scope).await;
    history.assert_whole();
    let mut published = 0;
    for (who, told) in &told {
        for (revision, told) in told {
            let made_it = history.revisions[*revision as usize - 1].created_by == *who;
            match told {
                Told::Published => assert!(made_it, "{who} was told to have published {revision}"),
                Told::Refused => assert!(!made_it, "{who} was refused, and has published {revision}"),
                Told::Unknown => {}
            }
            published += u32::from(made_it);
        }
    }
    assert_eq!(published as usize, history.revisions.len(), "each revision is somebody's");
    assert!(ended >= 20 && published >= CALLERS, "{ended} ended, {published} published");
    assert_eq!(audit_errors(&registry).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_passes_over_connections_that_were_terminated_while_they_rested() {
    let cluster = cluster().await;
    let url = format!("{}?application_name=victim", cluster.url(DATABASE));
    let registry = registry(&url, 5_000).await;
    let writer = Writer::new(&registry, &Pace::default()).await;
    for _ in 0..5 {
        writer.registry.head(&writer.scope).await.unwrap_err();
        let end =
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'victim'";
        let ended = tokio::task::block_in_place(|| cluster.sql(DATABASE, end));
        assert_ne!(ended, "0", "expected a connection that rests");
        assert_eq!(audit_errors(&registry).await, []);
    }
}
