//! The work on one claimed row, from the claim until the worker lets go of it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use space_profiles_core::decide::{Completed, LEGACY_PROFILE_INVALID, Settled};
use space_profiles_core::snapshot::{
    Capability, ModelCapability, ModelKind, Profile, Selection, Snapshot, Switch, parse_legacy,
};
use space_profiles_core::{
    Backfill, BackfillState, Error, Failure, FailureCode, FailureMessage, Fence, Ledger, Refusal, Timestamp,
    Together, listed_errors,
};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};

use crate::check::{CheckCode, CheckError, CheckRequest, ModelCheck};
use crate::completer::Completer;
use crate::event::RowOutcome;
use crate::options::WorkerOptions;
use crate::patience::{Patience, is_store_down};
use crate::stop::Stop;

/// What is stored of a failure that nobody can vouch for: its own text may hold what a provider said, or a key.
const CHECK_FAILED: &str = "the model check failed in a way that it does not explain; see to the model service, \
                            then retry";

/// A claimed row and what working on it needs.
pub(crate) struct RowWork {
    backfill: Backfill,
    fence: Fence,
    claimed_at: Timestamp,
    ledger: Ledger,
    check: Arc<dyn ModelCheck>,
    options: Arc<WorkerOptions>,
    shared: Shared,
    unchecked: Option<Unchecked>,
}

/// What the rows of a run share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// How many checks run at a time.
    pub(crate) concurrency: usize,
    /// A slot for each of them.
    pub(crate) slots: Arc<Semaphore>,
    /// Tells the rows to come to their end.
    pub(crate) halt: Stop,
    /// How many rows wait for their check or are checked.
    pub(crate) unchecked: watch::Sender<usize>,
    pub(crate) completer: Completer,
}

/// Counts a row until its check is over.
struct Unchecked(Shared);

impl Unchecked {
    fn new(shared: &Shared) -> Self {
        shared.unchecked.send_if_modified(|count| {
            *count += 1;
            false
        });
        Self(shared.clone())
    }
}

impl Drop for Unchecked {
    /// Tells the run, if a slot is idle now.
    fn drop(&mut self) {
        self.0.unchecked.send_if_modified(|count| {
            *count -= 1;
            *count < self.0.concurrency
        });
    }
}

/// Why the work on a row ends before its check does.
enum Cut {
    /// Another worker may own the row.
    LeaseLost,
    /// The run comes to its end.
    Halted,
}

impl RowWork {
    /// The work on a row; none if the row is not one that is claimed.
    pub(crate) fn new(
        backfill: Backfill,
        ledger: &Ledger,
        check: &Arc<dyn ModelCheck>,
        options: &Arc<WorkerOptions>,
        shared: &Shared,
    ) -> Option<Self> {
        let fence = backfill.fence()?;
        let BackfillState::Running { heartbeat_at, .. } = backfill.state else { return None };
        Some(Self {
            backfill,
            fence,
            claimed_at: heartbeat_at,
            ledger: ledger.clone(),
            check: Arc::clone(check),
            options: Arc::clone(options),
            unchecked: Some(Unchecked::new(shared)),
            shared: shared.clone(),
        })
    }

    pub(crate) async fn run(mut self) -> RowOutcome {
        match self.settle().await {
            Ok(outcome) => outcome,
            Err(Error::Refused(Refusal::LeaseLost)) => RowOutcome::LeaseLost,
            Err(error) => {
                if is_store_down(&error) {
                    // It ends the run. If this works all the same, nobody has to wait for the lease to run out.
                    let _ = self.ledger.release(&self.fence).await;
                }
                RowOutcome::Unsettled(error)
            }
        }
    }

    async fn settle(&mut self) -> Result<RowOutcome, Error> {
        let source = &self.backfill.source.snapshot;
        let snapshot = match parse_legacy(self.backfill.scope.kind, source.as_bytes()) {
            Ok(snapshot) => snapshot,
            Err(issues) => return self.fail(LEGACY_PROFILE_INVALID, &listed_errors(&issues), false).await,
        };
        let observed = self.observe(snapshot).await;
        self.unchecked = None;
        match observed {
            Ok(Ok(capability)) => self.complete(&capability).await,
            Ok(Err(error)) => self.fail(error.code(), &error.message, error.is_retryable()).await,
            Err(Cut::Halted) => self.release().await,
            Err(Cut::LeaseLost) => Ok(RowOutcome::LeaseLost),
        }
    }

    /// Waits for a slot, then checks the profile's models, with a sign of life every third of the lease.
    async fn observe(&self, snapshot: Snapshot) -> Result<Result<Capability, CheckError>, Cut> {
        let period = self.options.heartbeat_period();
        let mut heartbeats = interval_at(Instant::now() + period, period);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);

        let _slot = self.slot(&mut heartbeats).await?;
        // A task of its own, so that a check that blocks or panics harms neither the heartbeats nor the run.
        // Whichever way this function ends, the set aborts it.
        let mut checks = JoinSet::new();
        checks.spawn(check_models(Arc::clone(&self.check), snapshot, self.claimed_at, self.options.check_timeout));
        let mut end_of_grace = pin!(async {
            self.shared.halt.requested().await;
            sleep(self.options.grace).await;
        });
        loop {
            tokio::select! {
                biased;
                checked = checks.join_next() => {
                    return Ok(match checked {
                        Some(Ok(checked)) => checked.map_err(vouched),
                        Some(Err(_)) | None => Err(CheckError::new(CheckCode::Failed, CHECK_FAILED)),
                    });
                }
                () = &mut end_of_grace => return Err(Cut::Halted),
                _ = heartbeats.tick() => self.heartbeat().await?,
            }
        }
    }

    async fn slot(&self, heartbeats: &mut Interval) -> Result<SemaphorePermit<'_>, Cut> {
        let mut halted = pin!(self.shared.halt.requested());
        let mut free = pin!(self.shared.slots.acquire());
        loop {
            tokio::select! {
                biased;
                () = &mut halted => return Err(Cut::Halted),
                // Nobody closes the semaphore.
                slot = &mut free => return slot.map_err(|_| Cut::Halted),
                _ = heartbeats.tick() => self.heartbeat().await?,
            }
        }
    }

    /// Whatever else than a lost lease goes wrong, the lease still holds for a while and the next sign may arrive.
    async fn heartbeat(&self) -> Result<(), Cut> {
        match self.ledger.heartbeat(&self.fence, self.options.lease).await {
            Err(Error::Refused(Refusal::LeaseLost)) => Err(Cut::LeaseLost),
            _ => Ok(()),
        }
    }

    async fn complete(&self, capability: &Capability) -> Result<RowOutcome, Error> {
        let text = capability.canonical();
        let completed = match self.shared.completer.complete(self.fence, text.to_owned()).await {
            Together::Settled(outcome) => outcome.value,
            Together::Refused(refusal) => return Err(refusal.into()),
            Together::Undecided => self.complete_alone(text.as_bytes()).await?,
        };
        Ok(match completed {
            Completed::Installed => RowOutcome::Installed,
            Completed::AlreadyInstalled => RowOutcome::AlreadyInstalled,
            Completed::Failed(failure) => RowOutcome::Failed(failure),
        })
    }

    async fn complete_alone(&self, capability: &[u8]) -> Result<Completed, Error> {
        let mut patience = Patience::new();
        loop {
            match self.ledger.complete(&self.fence, capability).await {
                Err(error) if patience.outlasts(&error).await => {}
                completed => return completed.map(|outcome| outcome.value),
            }
        }
    }

    async fn fail(&self, code: &str, message: &str, is_retryable: bool) -> Result<RowOutcome, Error> {
        let (code, message) = (FailureCode::new(code)?, FailureMessage::cut(message));
        let failure = Failure { code: code.to_string(), message: message.to_string() };
        let mut patience = Patience::new();
        loop {
            match self.ledger.fail(&self.fence, code.clone(), message.clone(), is_retryable, None).await {
                Err(error) if patience.outlasts(&error).await => {}
                settled => {
                    return Ok(match settled?.value {
                        Settled::Queued { due_at } => RowOutcome::Queued { failure, due_at },
                        Settled::Failed => RowOutcome::Failed(failure),
                    });
                }
            }
        }
    }

    async fn release(&self) -> Result<RowOutcome, Error> {
        let mut patience = Patience::new();
        loop {
            match self.ledger.release(&self.fence).await {
                Err(error) if patience.outlasts(&error).await => {}
                released => return released.map(|_| RowOutcome::Released),
            }
        }
    }
}

/// Checks every model of a profile: the embedding model, or the reasoning model and then, if rerank is enabled,
/// the rerank model.
async fn check_models(
    check: Arc<dyn ModelCheck>,
    snapshot: Snapshot,
    checked_at: Timestamp,
    limit: Duration,
) -> Result<Capability, CheckError> {
    let models = Models { check, checked_at, limit };
    match snapshot.profile() {
        Profile::Embedding(embedding) => {
            models.check(ModelKind::Embedding, embedding.selection()).await.map(Capability::of_model)
        }
        Profile::Retrieval(retrieval) => {
            let reasoning = models.check(ModelKind::Reasoning, retrieval.reasoning_model()).await?;
            let rerank = match retrieval.rerank() {
                Switch::On(selection) => Some(models.check(ModelKind::Rerank, selection).await?),
                Switch::Off(_) => None,
            };
            Ok(Capability::of_retrieval(reasoning, rerank))
        }
    }
}

/// The models of one row.
struct Models {
    check: Arc<dyn ModelCheck>,
    checked_at: Timestamp,
    limit: Duration,
}

impl Models {
    async fn check(&self, kind: ModelKind, selection: &Selection<'_>) -> Result<ModelCapability, CheckError> {
        let selection = selection.clone().into_owned();
        let request = CheckRequest { kind, selection, checked_at: self.checked_at };
        timeout(self.limit, self.check.check(&request)).await.unwrap_or_else(|_| {
            let message = format!(
                "expected an answer about {} model `{}` within {:?}, found none",
                kind.as_str(),
                request.selection.model(),
                self.limit
            );
            Err(CheckError::new(CheckCode::Timeout, message))
        })
    }
}

/// The failure with a text that may be stored.
fn vouched(error: CheckError) -> CheckError {
    match error.code {
        CheckCode::Failed => CheckError::new(CheckCode::Failed, CHECK_FAILED),
        _ => error,
    }
}
