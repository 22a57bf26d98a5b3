//! Writers who know what they were told.

use super::*;

/// A command for one of a scope's revisions: each is proposed and activated, or published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Propose,
    Activate,
    Publish,
}

/// The only writer of a scope: nobody else explains what it finds.
pub(super) struct Writer {
    pub(super) registry: Registry,
    pub(super) scope: Scope,
    pub(super) revision: u32,
    pub(super) answers: Answers,
    pub(super) pace: Pace,
}

/// How many commands were answered, over all writers: who causes trouble waits for some of them, so that there is
/// progress on a machine however slow.
#[derive(Clone, Default)]
pub(super) struct Pace {
    pub(super) answered: Arc<AtomicU32>,
    pub(super) is_over: Arc<AtomicBool>,
}

impl Pace {
    pub(super) fn step(&self) {
        self.answered.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits for so many more answers, or for the end.
    pub(super) async fn wait_for(&self, more: u32) {
        let goal = self.answered.load(Ordering::SeqCst) + more;
        while self.answered.load(Ordering::SeqCst) < goal && !self.is_over() {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Answers {
    pub(super) done: u32,
    pub(super) replayed: u32,
    pub(super) unknown: u32,
    pub(super) unavailable: u32,
    pub(super) busy: u32,
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
    pub(super) async fn new(registry: &Registry, pace: &Pace) -> Self {
        let scope = scope(registry).await;
        let (registry, pace) = (registry.clone(), pace.clone());
        Self { registry, scope, revision: 0, answers: Answers::default(), pace }
    }

    pub(super) async fn propose_and_activate(&mut self) {
        self.revision += 1;
        self.until_done(Command::Propose).await;
        self.until_done(Command::Activate).await;
    }

    pub(super) async fn until_over(mut self) -> Self {
        while !self.pace.is_over() {
            self.propose_and_activate().await;
        }
        self
    }

    /// Repeats a command until it is done. An answer that says it was not done must be true.
    pub(super) async fn until_done(&mut self, command: Command) {
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

    pub(super) fn expected(&self) -> Option<RevisionNumber> {
        self.revision.checked_sub(1).filter(|before| *before > 0).map(number)
    }

    /// Answers whether it was replayed.
    pub(super) async fn once(&self, command: Command) -> Result<bool, Error> {
        match command {
            Command::Propose => {
                let (snapshot, capability) = self.proposed();
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
                let outcome = self.registry.propose(&self.scope, &proposal).await?;
                assert_eq!(outcome.value.number(), number(self.revision));
                Ok(outcome.replayed)
            }
            Command::Activate => {
                let revision = number(self.revision);
                let outcome = self.registry.activate(&self.scope, revision, self.expected(), &by(ANN)).await?;
                self.assert_moved(outcome.value.head);
                Ok(outcome.replayed)
            }
            Command::Publish => {
                let (snapshot, capability) = self.proposed();
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
                let outcome = self.registry.publish(&self.scope, &proposal, self.expected()).await?;
                self.assert_moved(outcome.value.head);
                Ok(outcome.replayed)
            }
        }
    }

    fn proposed(&self) -> (String, String) {
        (usual(self.scope.kind, self.revision).to_string(), free_form().to_string())
    }

    fn assert_moved(&self, head: Head) {
        assert_eq!((head.active_revision, head.row_version.get()), (number(self.revision), self.revision));
    }

    pub(super) async fn is_done(&self, command: Command) -> bool {
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
    pub(super) async fn until_seen(&self, command: Command) {
        for _ in 0..REPETITIONS {
            if self.is_done(command).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("expected that {command:?} happens after all");
    }

    /// Each revision was proposed and activated once, whatever happened in between.
    pub(super) async fn assert_agrees(&self, registry: &Registry) {
        let history = History::of(registry, &self.scope).await;
        assert!(history.numbers().into_iter().eq(1..=self.revision));
        assert_eq!(history.activations().len() as u32, self.revision);
        history.assert_whole();
    }
}
