//! Random sequences of commands, to compare stores with each other.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use space_profiles_core::*;

use crate::clock::ManualClock;
use crate::harness::*;

/// Something a caller or a worker does.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the commands are the operations")]
pub enum Command {
    AddSpace { space: u8 },
    DeleteSpace { space: u8 },
    Mark { space: u8, is_writable: bool },
    Import { space: u8, version: u32, content: u8 },
    Propose { scope: u8, revision: u32, content: u8, by: u8 },
    ProposeNext { scope: u8, content: u8 },
    Activate { scope: u8, revision: u32, expected: Option<u32> },
    Publish { scope: u8, revision: u32, content: u8, expected: Option<u32> },
    Restore { scope: u8, revision: u32, expected: Option<u32>, by: u8 },
    ActivateAll { space: u8, targets: [(u32, Option<u32>); 2] },
    Fail { scope: u8, revision: u32 },
    Read { scope: u8, revision: u32 },
    Discover { limit: u32 },
    Claim { limit: u32, seconds: u32 },
    Heartbeat { claimed: u8 },
    Complete { claimed: u8, content: u8 },
    CompleteAll { content: u8 },
    FailBackfill { claimed: u8, is_retryable: bool },
    Release { claimed: u8 },
    Retry { scope: u8 },
    RetryAll,
    Prune,
    Wait { seconds: u32 },
    Repeat,
}

/// Sequences of commands that meet each other often: few spaces, few contents, small numbers.
pub fn commands(most: usize) -> impl Strategy<Value = Vec<Command>> {
    let space = 0..3_u8;
    let scope = 0..6_u8;
    let revision = 1..6_u32;
    let expected = proptest::option::weighted(0.8, 1..5_u32);
    let content = 0..4_u8;
    let claimed = 0..4_u8;
    let one = prop_oneof![
        2 => space.clone().prop_map(|space| Command::AddSpace { space }),
        1 => space.clone().prop_map(|space| Command::DeleteSpace { space }),
        1 => (space.clone(), any::<bool>()).prop_map(|(space, is_writable)| Command::Mark { space, is_writable }),
        3 => (space.clone(), 1..4_u32, content.clone())
            .prop_map(|(space, version, content)| Command::Import { space, version, content }),
        6 => (scope.clone(), revision.clone(), content.clone(), 0..2_u8)
            .prop_map(|(scope, revision, content, by)| Command::Propose { scope, revision, content, by }),
        4 => (scope.clone(), content.clone()).prop_map(|(scope, content)| Command::ProposeNext { scope, content }),
        8 => (scope.clone(), revision.clone(), expected.clone())
            .prop_map(|(scope, revision, expected)| Command::Activate { scope, revision, expected }),
        4 => (scope.clone(), revision.clone(), content.clone(), expected.clone())
            .prop_map(|(scope, revision, content, expected)| Command::Publish { scope, revision, content, expected }),
        4 => (scope.clone(), revision.clone(), expected.clone(), 0..2_u8)
            .prop_map(|(scope, revision, expected, by)| Command::Restore { scope, revision, expected, by }),
        2 => (space, [(revision.clone(), expected.clone()), (revision.clone(), expected)])
            .prop_map(|(space, targets)| Command::ActivateAll { space, targets }),
        2 => (scope.clone(), revision.clone()).prop_map(|(scope, revision)| Command::Fail { scope, revision }),
        2 => (scope.clone(), revision).prop_map(|(scope, revision)| Command::Read { scope, revision }),
        3 => (1..4_u32).prop_map(|limit| Command::Discover { limit }),
        4 => (1..4_u32, 1..60_u32).prop_map(|(limit, seconds)| Command::Claim { limit, seconds }),
        2 => claimed.clone().prop_map(|claimed| Command::Heartbeat { claimed }),
        4 => (claimed.clone(), content.clone())
            .prop_map(|(claimed, content)| Command::Complete { claimed, content }),
        2 => content.prop_map(|content| Command::CompleteAll { content }),
        2 => (claimed.clone(), any::<bool>())
            .prop_map(|(claimed, is_retryable)| Command::FailBackfill { claimed, is_retryable }),
        2 => claimed.prop_map(|claimed| Command::Release { claimed }),
        1 => scope.prop_map(|scope| Command::Retry { scope }),
        1 => Just(Command::RetryAll),
        1 => Just(Command::Prune),
        3 => (0..90_u32).prop_map(|seconds| Command::Wait { seconds }),
        3 => Just(Command::Repeat),
    ];
    proptest::collection::vec(one, 1..most)
}

/// Runs a sequence on a fresh store and answers what every caller heard and every row that is left, as text.
pub async fn run(builder: &dyn StoreBuilder, commands: &[Command]) -> Vec<String> {
    let clock = Arc::new(ManualClock::new());
    let fx = Fixture::new_with_clock(builder, clock).await;
    let mut player = Player { fx: &fx, claimed: Vec::new(), spaces: Vec::new() };
    for space in 0..3 {
        let tenant = if space == 2 { "tenant-b" } else { "tenant-a" };
        player.spaces.push(space_of(tenant, fx.draw.id()));
    }
    let mut heard = Vec::new();
    let mut last: Option<&Command> = None;
    for command in commands {
        let command = match (command, last) {
            (Command::Repeat, Some(last)) => last,
            (command, _) => command,
        };
        heard.push(format!("{command:?} -> {}", player.play(command).await));
        last = Some(command);
    }
    for space in &player.spaces {
        let rows = fx.registry.store().space_content(space).await.expect("the rows are read");
        heard.push(format!("{:?}", canonical(rows)));
    }
    let findings = fx.audit().await;
    assert!(findings.iter().all(|finding| finding.severity == Severity::Warning), "{commands:?}\n{findings:?}");
    heard
}

/// The rows with their JSON in canonical form: how it is kept is the store's business.
fn canonical(mut content: SpaceContent) -> SpaceContent {
    let metadata = content.manifest.iter_mut().map(|row| &mut row.metadata);
    let snapshots =
        content.revisions.iter_mut().flat_map(|(_, row)| [&mut row.snapshot, &mut row.capability_snapshot]);
    let sources = content.backfills.iter_mut().map(|row| &mut row.source_snapshot);
    for text in metadata.chain(snapshots).chain(sources) {
        *text = json::canonicalize(text.as_bytes(), json::Limits::ROW).expect("the store keeps JSON");
    }
    content
}

struct Player<'f> {
    fx: &'f Fixture,
    claimed: Vec<Fence>,
    spaces: Vec<Space>,
}

impl Player<'_> {
    fn scope(&self, scope: u8) -> Scope {
        let kind = if scope.is_multiple_of(2) { Kind::Embedding } else { Kind::Retrieval };
        self.spaces[usize::from(scope / 2)].scope(kind)
    }

    fn fence(&self, claimed: u8) -> Option<Fence> {
        let newest_first = self.claimed.iter().rev();
        newest_first.take(4).nth(usize::from(claimed)).copied()
    }

    async fn play(&mut self, command: &Command) -> String {
        let fx = self.fx;
        match *command {
            Command::AddSpace { space } => {
                told(fx.registry.add_space(&self.spaces[usize::from(space)], None).await)
            }
            Command::DeleteSpace { space } => {
                told(fx.registry.delete_space(&self.spaces[usize::from(space)]).await)
            }
            Command::Mark { space, is_writable } => {
                let space = &self.spaces[usize::from(space)];
                if fx.registry.store().load_space(space).await.unwrap().space.is_some() {
                    fx.mark(space, if is_writable { "active" } else { "deleting" }, None).await;
                }
                String::new()
            }
            Command::Import { space, version, content } => {
                let embedding = (content != 3).then(|| snapshot(Kind::Embedding, 1, content));
                let retrieval = (content != 2).then(|| snapshot(Kind::Retrieval, 1, content));
                told(fx.import(&self.spaces[usize::from(space)], version, embedding, retrieval).await)
            }
            Command::Propose { scope, revision, content, by: subject } => {
                let scope = self.scope(scope);
                let snapshot = snapshot(scope.kind, revision, content);
                let (text, capability) = (snapshot.to_string(), capability(scope.kind, &snapshot, content));
                let proposal = Proposal::new(text.as_bytes(), capability.as_bytes(), by(subject_of(subject)));
                told(fx.registry.propose(&scope, &proposal).await)
            }
            Command::ProposeNext { scope, content } => {
                let scope = self.scope(scope);
                let mut draft = snapshot(scope.kind, 1, content);
                draft.as_object_mut().unwrap().retain(|key, _| key != "revision" && key != "vectorSpaceId");
                let text = draft.to_string();
                let proposal = Proposal::new(text.as_bytes(), b"{}", by(ANN));
                told(fx.registry.propose_next(&scope, &proposal, fx.draw.id().into()).await)
            }
            Command::Activate { scope, revision, expected } => {
                told(fx.activate(&self.scope(scope), revision, expected).await)
            }
            Command::Publish { scope, revision, content, expected } => {
                let scope = self.scope(scope);
                let snapshot = snapshot(scope.kind, revision, content);
                let (text, capability) = (snapshot.to_string(), capability(scope.kind, &snapshot, content));
                let proposal = Proposal::new(text.as_bytes(), capability.as_bytes(), by(ANN));
                let proposal = Proposal { ignore_legacy: content == 0, ..proposal };
                told(fx.registry.publish(&scope, &proposal, expected.map(number)).await)
            }
            Command::Restore { scope, revision, expected, by: subject } => {
                let subject = by(subject_of(subject));
                let expected = expected.map(number);
                told(fx.registry.restore(&self.scope(scope), number(revision), expected, &subject).await)
            }
            Command::ActivateAll { space, targets } => {
                let [embedding, retrieval] = targets.map(|(revision, expected)| target(revision, expected));
                let space = &self.spaces[usize::from(space)];
                told(fx.registry.activate_all(space, embedding, retrieval, &by(ANN)).await)
            }
            Command::Fail { scope, revision } => told(fx.fail(&self.scope(scope), revision, "CODE").await),
            Command::Read { scope, revision } => self.read(&self.scope(scope), revision).await,
            Command::Discover { limit: most } => {
                let mut heard = String::new();
                let mut after = None;
                while let page = fx.ledger.discover(after.as_ref(), limit(most), &SpaceFilter::All).await.unwrap()
                    && page.next.is_some()
                {
                    heard += &format!("{page:?}");
                    after = page.next;
                }
                heard
            }
            Command::Claim { limit: most, seconds } => {
                let lease = Lease::new(Span::from_seconds(seconds)).unwrap();
                let worker = WorkerId::new("worker-a").unwrap();
                let claimed = fx.ledger.claim(&worker, limit(most), lease, &SpaceFilter::All).await.unwrap();
                self.claimed.extend(claimed.backfills.iter().filter_map(Backfill::fence));
                format!("{claimed:?}")
            }
            Command::Heartbeat { claimed } => {
                let Some(fence) = self.fence(claimed) else { return String::new() };
                told(fx.ledger.heartbeat(&fence, five_minutes()).await)
            }
            Command::Complete { claimed, content } => {
                let Some(fence) = self.fence(claimed) else { return String::new() };
                told(fx.ledger.complete(&fence, observed(content).canonical().as_bytes()).await)
            }
            Command::CompleteAll { content } => {
                let capability = observed(content);
                let completion = |fence| Completion { fence, capability: capability.canonical().as_bytes() };
                let completions: Vec<Completion<'_>> =
                    (0..4).filter_map(|claimed| self.fence(claimed)).map(completion).collect();
                format!("{:?}", fx.ledger.complete_all(&completions).await)
            }
            Command::FailBackfill { claimed, is_retryable } => {
                let Some(fence) = self.fence(claimed) else { return String::new() };
                told(fx.fail_backfill(&fence, "CODE", is_retryable, None).await)
            }
            Command::Release { claimed } => {
                let Some(fence) = self.fence(claimed) else { return String::new() };
                told(fx.ledger.release(&fence).await)
            }
            Command::Retry { scope } => told(fx.ledger.retry(&self.scope(scope)).await),
            Command::RetryAll => told(fx.ledger.retry_all(None).await),
            Command::Prune => told(fx.ledger.prune(fx.clock.now()).await),
            Command::Wait { seconds } => {
                fx.clock.advance(Span::from_seconds(seconds));
                String::new()
            }
            Command::Repeat => String::new(),
        }
    }

    async fn read(&self, scope: &Scope, revision: u32) -> String {
        let registry = &self.fx.registry;
        [
            told(registry.head(scope).await),
            told(registry.revision(scope, number(revision)).await),
            told(registry.revisions(scope, None, limit(3)).await),
            told(registry.active_at(scope, self.fx.clock.now()).await),
            told(self.fx.ledger.get(scope).await),
            told(self.fx.ledger.counts(&SpaceFilter::All).await),
        ]
        .join("; ")
    }
}

fn told<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

fn subject_of(subject: u8) -> &'static str {
    if subject == 0 { ANN } else { "user:bob" }
}

/// Typed for one content, so that vector spaces have to be proven; free-form for the others.
fn capability(kind: Kind, snapshot: &serde_json::Value, content: u8) -> String {
    match (kind, content) {
        (Kind::Embedding, 1) => typed_embedding(snapshot, 8, "2026-07-14T12:00:00Z").canonical().to_owned(),
        (Kind::Retrieval, 1) => typed_retrieval(snapshot, "2026-07-14T12:00:00Z").canonical().to_owned(),
        _ => "{}".to_owned(),
    }
}

/// What a check says, of a retrieval profile for one content.
fn observed(content: u8) -> snapshot::Capability {
    match content {
        1 => typed_retrieval(&snapshot(Kind::Retrieval, 1, content), "2026-07-14T12:00:00Z"),
        _ => typed_embedding(&snapshot(Kind::Embedding, 1, content), 8, "2026-07-14T12:00:00Z"),
    }
}

fn snapshot(kind: Kind, revision: u32, content: u8) -> serde_json::Value {
    match kind {
        Kind::Embedding => embedding(&format!("model-{content}"), 8, revision),
        Kind::Retrieval => {
            let mut snapshot = retrieval(u32::from(content) + 1, revision);
            if content == 3 {
                snapshot["rerank"] = json!({"enabled": false});
                snapshot["scoreThreshold"] = json!({"enabled": false, "stage": "rerank"});
            }
            snapshot
        }
    }
}
