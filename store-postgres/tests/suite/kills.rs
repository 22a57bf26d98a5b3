//! Servers stopped, connections terminated and lost, callers that leave: every answer agrees with what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use space_profiles_conformance::{ANN, by, embedding, five_minutes, free_form, limit, number, space_of, usual};
use space_profiles_core::{
    Draw, Error, Kind, OsDraw, Proposal, Registry, RevisionNumber, RevisionStatus, Scope, SpaceFilter, StoreCode,
    WorkerId,
};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection, PgConnection};
use throwaway_postgres::{Cluster, ClusterOptions, Cut, Proxy, Shutdown};
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::history::{History, audit_errors};

const DATABASE: &str = "kills";

/// How often a command is repeated at most: a server takes its time to recover.
const REPETITIONS: u32 = 1_000;

/// A cluster of one's own, with our schema.
async fn cluster() -> Arc<Cluster> {
    cluster_with(&[]).await
}

async fn cluster_with(settings: &'static [(&'static str, &'static str)]) -> Arc<Cluster> {
    let cluster = tokio::task::spawn_blocking(|| {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // A commit that waits for the disk is more often met.
        let cluster = Cluster::start(&ClusterOptions { fsync: true, settings, ..ClusterOptions::default() });
        cluster.create_database(DATABASE);
        cluster
    });
    let cluster = Arc::new(cluster.await.unwrap());
    PostgresStore::migrate(&PostgresOptions::from_url(&cluster.url(DATABASE)).unwrap()).await.unwrap();
    cluster
}

/// A registry that soon tells when it cannot reach the server.
async fn registry(url: &str, acquire_timeout: u64) -> Registry {
    let options = PostgresOptions::from_url(url).unwrap().max_connections(6);
    let options = options.acquire_timeout(Duration::from_millis(acquire_timeout));
    Registry::new(Arc::new(PostgresStore::open(&options).await.unwrap()), Arc::new(OsDraw))
}

async fn scope(registry: &Registry) -> Scope {
    let space = space_of("tenant-a", OsDraw.id());
    registry.add_space(&space, None).await.unwrap();
    space.scope(Kind::Embedding)
}

/// One of a scope's two commands for each of its revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Propose,
    Activate,
}

/// The only writer of a scope: nobody else explains what it finds.
struct Writer {
    registry: Registry,
    scope: Scope,
    revision: u32,
    answers: Answers,
    pace: Pace,
}

/// How many commands were answered, over all writers: who causes trouble waits for some of them, so that there is
/// progress on a machine however slow.
#[derive(Clone, Default)]
struct Pace {
    answered: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
}

impl Pace {
    fn step(&self) {
        self.answered.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits for so many more answers, or for the end.
    async fn wait_for(&self, more: u32) {
        let goal = self.answered.load(Ordering::SeqCst) + more;
        while self.answered.load(Ordering::SeqCst) < goal && !self.is_over() {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Answers {
    done: u32,
    replayed: u32,
    unknown: u32,
    unavailable: u32,
    busy: u32,
}

impl std::ops::AddAssign for Answers {
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.replayed += other.replayed;
        self.unknown += other.unknown;
        self.unavailable += other.unavailable;
        self.busy += other.busy;
    }
}

impl Writer {
    async fn new(registry: &Registry, pace: &Pace) -> Self {
        let scope = scope(registry).await;
        let (registry, pace) = (registry.clone(), pace.clone());
        Self { registry, scope, revision: 0, answers: Answers::default(), pace }
    }

    async fn propose_and_activate(&mut self) {
        self.revision += 1;
        self.until_done(Command::Propose).await;
        self.until_done(Command::Activate).await;
    }

    async fn until_over(mut self) -> Self {
        while !self.pace.is_over() {
            self.propose_and_activate().await;
        }
        self
    }

    /// Repeats a command until it is done. An answer that says it was not done must be true.
    async fn until_done(&mut self, command: Command) {
        let mut may_be_done = false;
        for _ in 0..REPETITIONS {
            match self.once(command).await {
                Ok(replayed) => {
                    self.pace.step();
                    self.answers.done += 1;
                    self.answers.replayed += u32::from(replayed);
                    return;
                }
                Err(Error::Refused(refusal)) => {
                    panic!("expected that nobody else writes {}, found {refusal} to {command:?}", self.scope)
                }
                Err(Error::Store(error)) => match error.code {
                    StoreCode::OutcomeUnknown => {
                        self.answers.unknown += 1;
                        may_be_done = true;
                    }
                    StoreCode::Unavailable | StoreCode::Busy => {
                        if error.code == StoreCode::Busy {
                            self.answers.busy += 1;
                        } else {
                            self.answers.unavailable += 1;
                        }
                        if !may_be_done {
                            assert!(!self.is_done(command).await, "{command:?} was done, told was {error}");
                        }
                    }
                    other => panic!("expected an outage, found {}: {error}", other.as_str()),
                },
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("expected an end of {command:?} after {REPETITIONS} repetitions");
    }

    fn expected(&self) -> Option<RevisionNumber> {
        self.revision.checked_sub(1).filter(|before| *before > 0).map(number)
    }

    /// Answers whether it was replayed.
    async fn once(&self, command: Command) -> Result<bool, Error> {
        match command {
            Command::Propose => {
                let (snapshot, capability) =
                    (usual(self.scope.kind, self.revision).to_string(), free_form().to_string());
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
                let outcome = self.registry.propose(&self.scope, &proposal).await?;
                assert_eq!(outcome.value.number(), number(self.revision));
                Ok(outcome.replayed)
            }
            Command::Activate => {
                let revision = number(self.revision);
                let outcome = self.registry.activate(&self.scope, revision, self.expected(), &by(ANN)).await?;
                let head = outcome.value.head;
                assert_eq!((head.active_revision, head.row_version.get()), (revision, self.revision));
                Ok(outcome.replayed)
            }
        }
    }

    async fn is_done(&self, command: Command) -> bool {
        for _ in 0..REPETITIONS {
            match self.registry.revision(&self.scope, number(self.revision)).await {
                Ok(revision) => {
                    return command == Command::Propose || revision.status() == RevisionStatus::Active;
                }
                Err(Error::Refused(_)) => return false,
                Err(Error::Store(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        panic!("expected a server that recovers");
    }

    /// Waits for a commit that is sure to come.
    async fn until_seen(&self, command: Command) {
        for _ in 0..REPETITIONS {
            if self.is_done(command).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("expected that {command:?} happens after all");
    }

    /// Each revision was proposed and activated once, whatever happened in between.
    async fn assert_agrees(&self, registry: &Registry) {
        let history = History::of(registry, &self.scope).await;
        assert!(history.numbers().into_iter().eq(1..=self.revision));
        assert_eq!(history.activations().len() as u32, self.revision);
        history.assert_whole();
    }
}

/// What is never to be seen, at no moment: a scope with two active revisions, or with a head that is not at its
/// active one.
const TORN_SCOPES: &str = "
    SELECT count(*)
    FROM
      (
        SELECT tenant_id, knowledge_space_id, kind, count(*) AS active, (array_agg(id))[1] AS id
        FROM knowledge_space_profile_revisions
        WHERE state = 'active'
        GROUP BY tenant_id, knowledge_space_id, kind
      ) AS scope
      FULL JOIN knowledge_space_profile_heads AS head USING (tenant_id, knowledge_space_id, kind)
    WHERE scope.active IS DISTINCT FROM 1 OR head.profile_revision_id IS DISTINCT FROM scope.id";

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
async fn g4_02_g4_12_g6_07_an_activation_survives_a_connection_that_is_lost_at_any_statement() {
    const ROUNDS: u32 = 7;
    let cluster = cluster().await;
    let proxy = Proxy::start(cluster.port());
    let straight = registry(&cluster.url(DATABASE), 5_000).await;
    // A load and a write; behind a pooler each of them is a transaction.
    for (pooled, statements) in [("", 2), ("?pgbouncer=true", 6)] {
        let registry = registry(&format!("{}{pooled}", proxy.url(DATABASE)), 5_000).await;
        for (cut, replays) in
            [(Cut::BeforeStatement as fn(u32) -> Cut, false), (Cut::AfterStatementSent as fn(u32) -> Cut, true)]
        {
            let mut writer = Writer::new(&registry, &Pace::default()).await;
            for round in 0..ROUNDS * statements {
                let at = round % statements + 1;
                writer.revision += 1;
                writer.until_done(Command::Propose).await;
                proxy.cut(cut(at));
                let replayed = writer.once(Command::Activate).await.unwrap();
                tokio::task::block_in_place(|| proxy.wait_for_cut());
                // A single statement whose connection is lost may be overtaken by its repeat.
                let may_replay = replays && at == statements;
                assert!(may_replay || !replayed, "{:?}, pooled: {pooled}", cut(at));
                assert!(!may_replay || replayed || statements == 2, "{:?}, pooled: {pooled}", cut(at));
            }
            writer.assert_agrees(&straight).await;
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
            let patience = Duration::from_micros(u64::from(chance.below(8_000)));
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
