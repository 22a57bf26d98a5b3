use std::collections::HashMap;
use std::sync::Arc;

use space_profiles_core::{
    Claimed, Discovery, Error, Ledger, PageLimit, Scope, Space, SpaceFilter, StoreCode, StoreError,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::{Id, JoinError, JoinSet};

use crate::check::ModelCheck;
use crate::completer::Completer;
use crate::event::{Event, Observer, RowOutcome};
use crate::options::WorkerOptions;
use crate::patience::{Patience, is_store_down};
use crate::row::{RowWork, Shared};
use crate::stop::Stop;
use crate::summary::{DiscoverySummary, FailedItem, Summary, Tally};

/// Works off the ledger. Any number of workers, in any number of processes, may do so at the same time.
///
/// ```
/// use std::sync::Arc;
/// use space_profiles_core::{Clock, OsDraw, Registry, SpaceFilter, Timestamp, WorkerId, memory::MemoryStore};
/// use space_profiles_worker::{Catalog, Stop, Worker, WorkerOptions};
///
/// struct Noon;
/// impl Clock for Noon {
///     fn now(&self) -> Timestamp {
///         Timestamp::from_micros(1_783_944_000_000_000)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new(Arc::new(MemoryStore::new(Arc::new(Noon))), Arc::new(OsDraw));
/// let catalog = Catalog::read("../examples/models.toml".as_ref())?;
/// let options = WorkerOptions::new(WorkerId::new("host-17/4711")?);
/// let worker = Worker::new(registry.ledger(), Arc::new(catalog), options);
/// let summary = worker.run(&SpaceFilter::All, &(), &Stop::new()).await?;
/// assert_eq!(summary.pending, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Worker {
    ledger: Ledger,
    check: Arc<dyn ModelCheck>,
    options: Arc<WorkerOptions>,
}

impl Worker {
    /// A worker on a ledger, with its way to check models.
    pub fn new(ledger: Ledger, check: Arc<dyn ModelCheck>, options: WorkerOptions) -> Self {
        Self { ledger, check, options: Arc::new(options) }
    }

    /// Queues every legacy profile of the spaces, each once.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID` if the filter names more than 1,000 spaces, or what the store fails with.
    pub async fn discover(
        &self,
        filter: &SpaceFilter,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<DiscoverySummary, Error> {
        let mut found = DiscoverySummary::default();
        let mut after = None;
        while !stop.is_requested() {
            let page = self.discover_page(after.as_ref(), filter).await?;
            found.scanned += page.scanned as u64;
            found.created += page.created.len() as u64;
            found.installed += page.installed as u64;
            found.skipped.extend(page.skipped.into_iter().map(|skipped| FailedItem {
                scope: skipped.scope,
                code: skipped.reason.code().to_owned(),
                message: skipped.reason.message().to_owned(),
            }));
            observer.on_event(&Event::Discovered { scanned: found.scanned, created: found.created });
            if page.next.is_none() {
                return Ok(found);
            }
            after = page.next;
        }
        found.was_interrupted = true;
        Ok(found)
    }

    /// Discovers, then checks and installs until nothing is due. A row that is to be tried again later is left
    /// for a later run.
    ///
    /// Asked to stop, it claims nothing more, gives running checks their grace, and hands back what it still
    /// holds.
    ///
    /// # Errors
    ///
    /// As [`Self::discover`]. A failure of the store that concerns one row, such as `STORE_BUSY`, is that row's
    /// outcome; with a store that is down the run ends, after trying to hand back what it holds.
    pub async fn run(&self, filter: &SpaceFilter, observer: &dyn Observer, stop: &Stop) -> Result<Summary, Error> {
        let mut tally = Tally::new(self.discover(filter, observer, stop).await?);
        self.work_off(filter, observer, stop, &mut tally).await?;
        let counts = self.ledger.counts(filter).await?;
        Ok(tally.finish(counts.queued + counts.running))
    }

    async fn work_off(
        &self,
        filter: &SpaceFilter,
        observer: &dyn Observer,
        stop: &Stop,
        tally: &mut Tally,
    ) -> Result<(), Error> {
        let mut held = Held::new(&self.ledger, &self.options);
        let mut unchecked = held.shared.unchecked.subscribe();
        let mut store_failure = None;
        // Whether the last claim got nothing; more may be due once a row that is held now is finished.
        let mut is_drained = false;
        loop {
            if stop.is_requested() && !held.is_halted() {
                tally.summary.was_interrupted = true;
                held.halt(observer);
            }
            if held.wants_more() && !is_drained {
                let was_idle = held.rows.is_empty();
                match self.claim(filter).await {
                    Ok(claimed) if claimed.backfills.is_empty() && claimed.exhausted.is_empty() => {
                        if was_idle {
                            break;
                        }
                        is_drained = true;
                    }
                    Ok(claimed) => self.take(claimed, &mut held, observer, tally),
                    Err(error) => {
                        store_failure.get_or_insert(error);
                        held.halt(observer);
                    }
                }
                continue;
            }
            let is_halted = held.is_halted();
            let finished = tokio::select! {
                finished = held.next() => finished,
                () = stop.requested(), if !is_halted => continue,
                // A check is over, and its slot may be idle.
                _ = unchecked.changed(), if !is_halted && !is_drained => continue,
            };
            let Some((scope, outcome)) = finished else { break };
            observer.on_event(&Event::Finished { scope: &scope, outcome: &outcome });
            if let RowOutcome::Unsettled(error) = &outcome
                && is_store_down(error)
                && store_failure.is_none()
            {
                store_failure = Some(error.clone());
                held.halt(observer);
            }
            tally.count(scope, outcome);
            is_drained &= !held.rows.is_empty();
        }
        store_failure.map_or(Ok(()), Err)
    }

    async fn discover_page(&self, after: Option<&Space>, filter: &SpaceFilter) -> Result<Discovery, Error> {
        let mut patience = Patience::new();
        loop {
            match self.ledger.discover(after, PageLimit::LAST, filter).await {
                Err(error) if patience.outlasts(&error).await => {}
                page => return page,
            }
        }
    }

    async fn claim(&self, filter: &SpaceFilter) -> Result<Claimed, Error> {
        let options = &self.options;
        let mut patience = Patience::new();
        loop {
            match self.ledger.claim(&options.worker, options.batch, options.lease, filter).await {
                Err(error) if patience.outlasts(&error).await => {}
                claimed => return claimed,
            }
        }
    }

    fn take(&self, claimed: Claimed, held: &mut Held, observer: &dyn Observer, tally: &mut Tally) {
        if !claimed.backfills.is_empty() {
            observer.on_event(&Event::Claimed { rows: claimed.backfills.len() });
        }
        for row in claimed.exhausted {
            if let Some(outcome) = RowOutcome::of_failed(&row) {
                observer.on_event(&Event::Finished { scope: &row.scope, outcome: &outcome });
                tally.count(row.scope, outcome);
            }
        }
        for row in claimed.backfills {
            let scope = row.scope.clone();
            let work = RowWork::new(row, &self.ledger, &self.check, &self.options, &held.shared);
            if let Some(work) = work {
                held.spawn(scope, work);
            }
        }
    }
}

/// The rows that a run holds by lease, each with the task that works on it. Dropped, it aborts them all.
struct Held {
    rows: JoinSet<RowOutcome>,
    scopes: HashMap<Id, Scope>,
    batch: usize,
    shared: Shared,
    /// Completes the rows.
    _completing: JoinSet<()>,
}

impl Held {
    fn new(ledger: &Ledger, options: &WorkerOptions) -> Self {
        let concurrency = options.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        let batch = options.batch.get() as usize;
        let mut completing = JoinSet::new();
        let shared = Shared {
            concurrency,
            slots: Arc::new(Semaphore::new(concurrency)),
            halt: Stop::new(),
            unchecked: watch::Sender::new(0),
            completer: Completer::start(ledger, batch, &mut completing),
        };
        Self { rows: JoinSet::new(), scopes: HashMap::new(), batch, shared, _completing: completing }
    }

    /// Whether a slot would be idle without another claim. Rows that are checked already need none, but while many of
    /// them are not yet written, no more are claimed.
    fn wants_more(&self) -> bool {
        let unchecked = *self.shared.unchecked.borrow();
        !self.is_halted()
            && unchecked < self.shared.concurrency
            && self.rows.len().saturating_sub(unchecked) <= self.batch.max(self.shared.concurrency)
    }

    fn is_halted(&self) -> bool {
        self.shared.halt.is_requested()
    }

    fn halt(&self, observer: &dyn Observer) {
        self.shared.halt.request();
        observer.on_event(&Event::Stopping { rows: self.rows.len() });
    }

    fn spawn(&mut self, scope: Scope, work: RowWork) {
        let task = self.rows.spawn(work.run());
        self.scopes.insert(task.id(), scope);
    }

    /// The next row that is finished; none if none is held.
    async fn next(&mut self) -> Option<(Scope, RowOutcome)> {
        loop {
            let (id, outcome) = match self.rows.join_next_with_id().await? {
                Ok(finished) => finished,
                Err(error) => (error.id(), ended_without_outcome(&error)),
            };
            if let Some(scope) = self.scopes.remove(&id) {
                return Some((scope, outcome));
            }
        }
    }
}

/// A check's panic is that check's failure; this is a panic of the store or our own.
fn ended_without_outcome(error: &JoinError) -> RowOutcome {
    let what = if error.is_panic() { "panicked" } else { "was aborted" };
    let message = format!("the work on the row {what}; the row is claimed again when its lease has run out");
    RowOutcome::Unsettled(StoreError::new(StoreCode::OutcomeUnknown, message).into())
}
