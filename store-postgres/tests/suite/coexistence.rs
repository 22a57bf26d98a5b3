//! Beside the other service: both write the same scopes at the same time, and each is told the truth.

use std::sync::Arc;
use std::time::Duration;

use space_profiles_conformance::{
    by, five_minutes, free_form, limit, number, space_of, target, typed_embedding, typed_retrieval, usual,
};
use space_profiles_core::decide::{Completed, Target};
use space_profiles_core::{
    ActiveProfile, Draw, Error, FailureCode, FailureMessage, ImportLine, Kind, Ledger, OsDraw, Outcome, Proposal,
    Registry, Scope, Space, SpaceFilter, WorkerId,
};
use space_profiles_postgres::PostgresStore;
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::databases::Database;
use crate::history::{Deed, History, What, audit_errors};
use crate::knowledge_fs::{KnowledgeFs, Refused, Seen};

/// Against waiting for ever only: what is bounded is the number of operations.
const PATIENCE: Duration = Duration::from_secs(300);

/// Some of both services, on one database.
struct Both {
    registry: Registry,
    store: PostgresStore,
    theirs: KnowledgeFs,
    database: Database,
}

impl Both {
    async fn start() -> Self {
        let database = Database::migrated();
        let store = PostgresStore::open(&database.options().max_connections(6)).await.unwrap();
        let registry = Registry::new(Arc::new(store.clone()), Arc::new(OsDraw));
        let theirs = KnowledgeFs::connect(&database.url(), 6).await;
        Self { registry, store, theirs, database }
    }

    /// Every scope is as its writers were told, and the audit finds no error.
    async fn assert_agrees(&self, scopes: &[Scope], deeds: &[Deed]) {
        for scope in scopes {
            let history = History::of(&self.registry, scope).await;
            history.assert_made_by(deeds.iter().filter(|deed| deed.scope == *scope));
        }
        assert_eq!(audit_errors(&self.registry).await, []);
    }

    async fn end(self) {
        self.store.close().await;
        self.theirs.close().await;
        drop(self.database);
    }
}

/// What one writer did, and how often somebody else was first.
#[derive(Default)]
struct Diary {
    deeds: Vec<Deed>,
    refusals: Vec<&'static str>,
}

impl Diary {
    fn note(&mut self, scope: &Scope, revision: u32, what: What) {
        self.deeds.push(Deed { scope: scope.clone(), revision, what });
    }

    /// A move of the head of ours; one that was done before is somebody else's deed.
    fn moved(&mut self, answer: Result<Outcome<ActiveProfile>, Error>, after: Option<u32>, appended: bool) {
        if let Some(profile) = self.ours(answer) {
            let (scope, revision) = (profile.revision.scope.clone(), profile.revision.number().get());
            if appended {
                self.note(&scope, revision, What::Appended);
            }
            self.note(&scope, revision, What::Activated { after });
        }
    }

    /// The answer if it is a success of this very call. Everything else must be a refusal that the other writers
    /// can cause.
    fn ours<T>(&mut self, answer: Result<Outcome<T>, Error>) -> Option<T> {
        match answer {
            Ok(outcome) if outcome.replayed => {
                self.refusals.push("replayed");
                None
            }
            Ok(outcome) => Some(outcome.value),
            Err(Error::Refused(refusal)) => {
                let code = refusal.code();
                let usual = [
                    "CANDIDATE_EXISTS",
                    "HEAD_CONFLICT",
                    "NOT_CANDIDATE",
                    "NOT_RESTORABLE",
                    "NO_CHANGE",
                    "REVISION_CONFLICT",
                    "REVISION_NOT_FOUND",
                ];
                assert!(usual.contains(&code), "expected a refusal that others can cause, found {refusal}");
                self.refusals.push(code);
                None
            }
            Err(Error::Store(error)) => {
                panic!("expected a success or a refusal, found {}: {error}", error.code.as_str())
            }
        }
    }

    /// The same for the other service. Answers whether it did it.
    fn theirs(&mut self, answer: Result<(), Refused>) -> bool {
        match answer {
            Ok(()) => return true,
            Err(Refused::Stale) => self.refusals.push("stale"),
            Err(Refused::ByServer) => self.refusals.push("by the server"),
        }
        false
    }

    fn moves(&self) -> usize {
        self.deeds.iter().filter(|deed| matches!(deed.what, What::Activated { .. })).count()
    }
}

async fn all_of(tasks: JoinSet<Diary>) -> Diary {
    let diaries = tokio::time::timeout(PATIENCE, tasks.join_all()).await.expect("nothing waits for ever");
    let mut all = Diary::default();
    for diary in diaries {
        all.deeds.extend(diary.deeds);
        all.refusals.extend(diary.refusals);
    }
    all
}

/// One operation of ours on a scope, on what was seen of it a moment ago.
async fn act(registry: &Registry, theirs: &KnowledgeFs, scope: &Scope, chance: &mut Chance, diary: &mut Diary) {
    let seen = theirs.look(scope).await;
    let ann = by("user:ann");
    let expected = seen.active.map(number);
    let snapshot = usual(scope.kind, seen.next()).to_string();
    let capability = free_form().to_string();
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), ann.clone());
    match (chance.below(10), seen) {
        (0..5, Seen { candidate: Some(candidate), active, .. }) => {
            diary.moved(registry.activate(scope, number(candidate), expected, &ann).await, active, false);
        }
        (5, Seen { candidate: Some(candidate), .. }) => {
            let (code, message) = (FailureCode::new("CODE").unwrap(), FailureMessage::new("why").unwrap());
            let failed = registry.fail(scope, number(candidate), code, message, &ann).await;
            if diary.ours(failed).is_some() {
                diary.note(scope, candidate, What::Failed);
            }
        }
        (6, Seen { candidate: Some(_), .. }) => both_kinds(registry, theirs, &scope.space, diary).await,
        (0..4, Seen { active: Some(active), .. }) => {
            let earlier = number(1 + chance.below(active));
            diary.moved(registry.restore(scope, earlier, expected, &ann).await, Some(active), true);
        }
        (0..6, _) => {
            diary.moved(registry.publish(scope, &proposal, expected).await, seen.active, true);
        }
        _ => {
            let proposed = registry.propose(scope, &proposal).await;
            if diary.ours(proposed).is_some() {
                diary.note(scope, seen.next(), What::Appended);
            }
        }
    }
}

/// Activates the candidates of both kinds, if there are such.
async fn both_kinds(registry: &Registry, theirs: &KnowledgeFs, space: &Space, diary: &mut Diary) {
    let scopes = Kind::ALL.map(|kind| space.scope(kind));
    let mut targets: Vec<(Target, Option<u32>)> = Vec::new();
    for scope in &scopes {
        let Seen { candidate: Some(candidate), active, .. } = theirs.look(scope).await else { return };
        targets.push((target(candidate, active), active));
    }
    let answer = registry.activate_all(space, targets[0].0, targets[1].0, &by("user:ann")).await;
    for profile in diary.ours(answer).into_iter().flatten() {
        let place = scopes.iter().position(|scope| *scope == profile.revision.scope).unwrap();
        let after = targets[place].1;
        diary.note(&scopes[place], profile.revision.number().get(), What::Activated { after });
    }
}

/// One operation of the other service's.
async fn act_as_other(theirs: &KnowledgeFs, scope: &Scope, chance: &mut Chance, diary: &mut Diary) {
    let seen = theirs.look(scope).await;
    match (chance.below(8), seen.candidate) {
        (0, Some(candidate)) => {
            if diary.theirs(theirs.fail(scope, candidate).await) {
                diary.note(scope, candidate, What::Failed);
            }
        }
        (_, Some(candidate)) => {
            if diary.theirs(theirs.activate(scope, candidate, seen.active).await) {
                diary.note(scope, candidate, What::Activated { after: seen.active });
            }
        }
        (_, None) => {
            if diary.theirs(theirs.propose(scope, seen.next()).await) {
                diary.note(scope, seen.next(), What::Appended);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_services_write_the_same_scopes_and_no_move_of_a_head_is_lost() {
    const WRITERS: u64 = 4;
    const OPERATIONS: u32 = 320;
    let seed = Chance::seed();
    let both = Both::start().await;
    let mut all_scopes = Vec::new();
    for _ in 0..4 {
        let space = space_of("tenant-a", OsDraw.id());
        both.registry.add_space(&space, None).await.unwrap();
        all_scopes.extend(Kind::ALL.map(|kind| space.scope(kind)));
    }
    let (mut ours, mut others) = (JoinSet::new(), JoinSet::new());
    for writer in 0..WRITERS {
        let (registry, theirs) = (both.registry.clone(), both.theirs.clone());
        let scopes = all_scopes.clone();
        let mut chance = Chance::of(seed, writer);
        ours.spawn(async move {
            let mut diary = Diary::default();
            for _ in 0..OPERATIONS {
                let scope = chance.one_of(&scopes).clone();
                act(&registry, &theirs, &scope, &mut chance, &mut diary).await;
            }
            diary
        });
        let (theirs, scopes) = (both.theirs.clone(), all_scopes.clone());
        let mut chance = Chance::of(seed, WRITERS + writer);
        others.spawn(async move {
            let mut diary = Diary::default();
            for _ in 0..OPERATIONS {
                let scope = chance.one_of(&scopes).clone();
                act_as_other(&theirs, &scope, &mut chance, &mut diary).await;
            }
            diary
        });
    }
    let (ours, others) = tokio::join!(all_of(ours), all_of(others));
    let (our_moves, their_moves) = (ours.moves(), others.moves());
    assert!(our_moves >= 100 && their_moves >= 100, "ours {our_moves}, theirs {their_moves}");
    assert!(ours.refusals.len() >= 20, "expected writers who meet, found {:?}", ours.refusals);
    let deeds = [ours.deeds, others.deeds].concat();
    both.assert_agrees(&all_scopes, &deeds).await;
    both.end().await;
}

/// A legacy space with a profile of each kind.
async fn legacy_space(registry: &Registry) -> Space {
    let space = space_of("tenant-a", OsDraw.id());
    let [embedding, retrieval] = Kind::ALL.map(|kind| format!(r#""{}": {}"#, kind.legacy_key(), usual(kind, 1)));
    let line = format!(
        r#"{{"tenantId": "tenant-a", "knowledgeSpaceId": "{}", "manifestVersion": 1, "metadata": {{{embedding}, {retrieval}}}}}"#,
        space.id
    );
    registry.import(&ImportLine::parse(line.as_bytes()).unwrap()).await.unwrap();
    space
}

/// Completes what is due until nothing is.
async fn work(ledger: &Ledger, diary: &mut Diary) {
    let worker = WorkerId::new("worker-a").unwrap();
    loop {
        let claimed = ledger.claim(&worker, limit(2), five_minutes(), &SpaceFilter::All).await.unwrap();
        if claimed.backfills.is_empty() {
            return;
        }
        for backfill in claimed.backfills {
            let profile = usual(backfill.scope.kind, 1);
            let capability = match backfill.scope.kind {
                Kind::Embedding => typed_embedding(&profile, 1_536, "2026-07-14T12:00:00Z"),
                Kind::Retrieval => typed_retrieval(&profile, "2026-07-14T12:00:00Z"),
            };
            let answer =
                ledger.complete(&backfill.fence().unwrap(), capability.canonical().as_bytes()).await.unwrap();
            assert!(!answer.replayed, "nobody else has the lease");
            match answer.value {
                Completed::Installed => {
                    diary.note(&backfill.scope, 1, What::Appended);
                    diary.note(&backfill.scope, 1, What::Activated { after: None });
                }
                Completed::Failed(failure) => {
                    let usual = [
                        "LEGACY_PROFILE_SOURCE_CHANGED",
                        "PROFILE_HEAD_ALREADY_EXISTS",
                        "PROFILE_REVISION_ALREADY_EXISTS",
                    ];
                    assert!(usual.contains(&failure.code.as_str()), "{failure:?}");
                    diary.refusals.push("failed");
                }
                Completed::AlreadyInstalled => panic!("nobody else installs {}", backfill.scope),
            }
        }
    }
}

/// The same by the other service.
async fn work_as_other(theirs: &KnowledgeFs, diary: &mut Diary) {
    loop {
        let Ok(claimed) = theirs.claim(2).await else { continue };
        if claimed.is_empty() {
            return;
        }
        for claimed in claimed {
            match theirs
                .complete(&claimed)
                .await
                .expect("nobody else has the lease, nor writes in the locked space")
            {
                true => {
                    diary.note(&claimed.scope, 1, What::Appended);
                    diary.note(&claimed.scope, 1, What::Activated { after: None });
                }
                false => diary.refusals.push("failed"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_services_adopt_the_same_spaces_beside_their_users_and_each_profile_is_installed_once() {
    const SPACES: usize = 80;
    let seed = Chance::seed();
    let both = Both::start().await;
    let mut spaces = Vec::new();
    for _ in 0..SPACES {
        spaces.push(legacy_space(&both.registry).await);
    }
    let found = both.registry.ledger().discover(None, limit(1_000), &SpaceFilter::All).await.unwrap();
    assert_eq!(found.created.len(), 2 * SPACES);
    let scopes: Vec<Scope> = spaces.iter().flat_map(|space| Kind::ALL.map(|kind| space.scope(kind))).collect();

    let (mut ours, mut others) = (JoinSet::new(), JoinSet::new());
    for _ in 0..2 {
        let ledger = both.registry.ledger();
        ours.spawn(async move {
            let mut diary = Diary::default();
            work(&ledger, &mut diary).await;
            diary
        });
        let theirs = both.theirs.clone();
        others.spawn(async move {
            let mut diary = Diary::default();
            work_as_other(&theirs, &mut diary).await;
            diary
        });
    }
    // Users do not wait for adoption, and neither do those who edit manifests.
    let mut users = JoinSet::new();
    for user in 0..2 {
        let (registry, theirs) = (both.registry.clone(), both.theirs.clone());
        let (scopes, mut chance) = (scopes.clone(), Chance::of(seed, user));
        users.spawn(async move {
            let mut diary = Diary::default();
            for _ in 0..SPACES / 2 {
                let scope = chance.one_of(&scopes);
                let (snapshot, capability) = (usual(scope.kind, 1).to_string(), free_form().to_string());
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:ann"));
                let proposal = Proposal { ignore_legacy: true, ..proposal };
                match chance.below(4) {
                    0 => diary.moved(registry.publish(scope, &proposal, None).await, None, true),
                    1 => {
                        let proposed = registry.propose(scope, &proposal).await;
                        if diary.ours(proposed).is_some() {
                            diary.note(scope, 1, What::Appended);
                        }
                    }
                    2 => act_as_other(&theirs, scope, &mut chance, &mut diary).await,
                    _ => {
                        let edited = theirs.edit_manifest(&scope.space, chance.below(3) == 0).await;
                        diary.theirs(edited);
                    }
                }
            }
            diary
        });
    }
    let (ours, others, users) = tokio::join!(all_of(ours), all_of(others), all_of(users));
    let installed = (ours.moves(), others.moves(), users.moves());
    assert!(installed.0 >= 10 && installed.1 >= 10 && installed.2 >= 3, "{installed:?}");
    let counts = both.registry.ledger().counts(&SpaceFilter::All).await.unwrap();
    assert_eq!((counts.queued, counts.running), (0, 0), "nobody leaves work behind");
    assert_eq!(counts.succeeded as usize, installed.0 + installed.1);
    assert_eq!(counts.failed as usize, ours.refusals.len() + others.refusals.len());
    let deeds = [ours.deeds, others.deeds, users.deeds].concat();
    both.assert_agrees(&scopes, &deeds).await;
    both.end().await;
}
