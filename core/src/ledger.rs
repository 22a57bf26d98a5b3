//! The operations on backfills, over any store.

use std::collections::HashSet;
use std::sync::Arc;

use crate::backfill::{Backfill, BackfillRow, Fence};
use crate::change::{Applied, Change, Install};
use crate::decide::{self, Completed, Decision, Settled, Skipped};
use crate::identifiers::{ArgumentError, BackfillId, FailureCode, FailureMessage, LeaseToken, WorkerId};
use crate::numbers::PageLimit;
use crate::refusal::{Error, Refusal};
use crate::registry::{Outcome, run};
use crate::scope::{Scope, Space};
use crate::state::{BackfillKey, LedgerState};
use crate::store::{BackfillCounts, BackfillFilter, Claim, Claimed, Draw, SpaceFilter, Store};
use crate::time::{Lease, Span, Timestamp};

/// How often a backfill is tried unless discovery says otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 3;

/// How many spaces a filter may name.
const LARGEST_FILTER: usize = 1_000;

/// All operations on backfills, over a store.
#[derive(Clone)]
pub struct Ledger {
    store: Arc<dyn Store>,
    draw: Arc<dyn Draw>,
}

/// What discovery found on one page of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// How many spaces were looked at.
    pub scanned: usize,
    /// The rows that were added to the ledger.
    pub created: Vec<BackfillId>,
    /// Profiles that no backfill can install, and why.
    pub skipped: Vec<Skipped>,
    /// How many profiles have a head already.
    pub installed: usize,
    /// After which space to go on; none once a page is empty.
    pub next: Option<Space>,
}

/// A page of backfills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfills {
    /// The rows, by id.
    pub items: Vec<Backfill>,
    /// After which id to go on; none once a page is empty.
    pub next: Option<BackfillId>,
}

/// What a worker observed for a row that it holds.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'c> {
    /// What the worker holds.
    pub fence: Fence,
    /// The typed capability snapshot that the check observed.
    pub capability: &'c [u8],
}

/// What became of one of several rows that were to be completed together.
#[derive(Debug, Clone, PartialEq)]
pub enum Together {
    /// It is completed.
    Settled(Outcome<Completed>),
    /// Nothing is written, as [`Ledger::complete`] refuses.
    Refused(Refusal),
    /// Nobody knows yet: somebody else's change or lock was in the way, the store failed, or the row needs more than
    /// an installation. [`Ledger::complete`] decides.
    Undecided,
}

impl Ledger {
    pub(crate) fn new(store: Arc<dyn Store>, draw: Arc<dyn Draw>) -> Self {
        Self { store, draw }
    }

    /// Looks for legacy profiles on one page of spaces and queues them, each once.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID`, or what the store fails with.
    pub async fn discover(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<Discovery, Error> {
        check_filter(filter)?;
        let page = self.store.discovery_page(after, limit, filter).await?;
        let found = decide::discover(&page, DEFAULT_ATTEMPTS, &mut || self.draw.id().into());
        let created =
            if found.backfills.is_empty() { Vec::new() } else { self.store.enqueue(&found.backfills).await? };
        Ok(Discovery {
            scanned: found.scanned,
            created,
            skipped: found.skipped,
            installed: found.installed,
            next: found.next,
        })
    }

    /// Gives up to `limit` due rows to a worker: first those whose lease has expired, then queued ones.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID`, or what the store fails with.
    pub async fn claim(
        &self,
        worker: &WorkerId,
        limit: PageLimit,
        lease: Lease,
        filter: &SpaceFilter,
    ) -> Result<Claimed, Error> {
        check_filter(filter)?;
        let tokens: Vec<LeaseToken> = (0..limit.get()).map(|_| self.draw.lease_token()).collect();
        let claim = Claim { worker: worker.clone(), lease, tokens, filter: filter.clone() };
        Ok(self.store.claim(&claim).await?)
    }

    /// Extends a lease; the fence stays as it was. Answers when the lease ends now.
    ///
    /// # Errors
    ///
    /// `LEASE_LOST`: stop the work, another worker may own it.
    pub async fn heartbeat(&self, fence: &Fence, lease: Lease) -> Result<Timestamp, Error> {
        self.decide_on(fence, |state| decide::heartbeat(state, fence, lease)).await.map(|outcome| outcome.value)
    }

    /// Installs a legacy profile with what its check observed, or fails the row with the reason.
    ///
    /// # Errors
    ///
    /// `LEASE_LOST`; nothing is written then.
    pub async fn complete(&self, fence: &Fence, capability: &[u8]) -> Result<Outcome<Completed>, Error> {
        let command = self.command(&Completion { fence: *fence, capability });
        self.decide_on(fence, |state| decide::complete(state, &command)).await
    }

    /// Installs several legacy profiles in one write, each under its own guards. What becomes of one row does not
    /// depend on the others, which is why there is an answer for each and no error. None is waited for: a row that is
    /// left [`Together::Undecided`] is for [`Self::complete`], which recognises what this call may have written.
    pub async fn complete_all(&self, completions: &[Completion<'_>]) -> Vec<Together> {
        let mut answers = vec![Together::Undecided; completions.len()];
        let fences: Vec<Fence> = completions.iter().map(|completion| completion.fence).collect();
        let Ok(states) = self.store.load_backfills(&fences).await else { return answers };
        let mut installs: Vec<Install> = Vec::new();
        let mut places = Vec::new();
        let mut scopes = HashSet::new();
        for (place, (completion, state)) in completions.iter().zip(&states).enumerate() {
            let answer = match decide::complete(state, &self.command(completion)) {
                Err(refusal) => Together::Refused(refusal),
                Ok(Decision::Replayed(value)) => Together::Settled(Outcome { value, replayed: true }),
                Ok(Decision::Change(change, _)) => {
                    // Of two rows of one scope the second depends on what becomes of the first.
                    if let Change::Install(install) = *change
                        && scopes.insert(install.revision.scope.clone())
                    {
                        installs.push(install);
                        places.push(place);
                    }
                    continue;
                }
            };
            if let Some(slot) = answers.get_mut(place) {
                *slot = answer;
            }
        }
        if installs.is_empty() {
            return answers;
        }
        let Ok(applied) = self.store.install_all(&installs).await else { return answers };
        for (place, applied) in places.into_iter().zip(applied) {
            if let (Applied::Done, Some(slot)) = (applied, answers.get_mut(place)) {
                *slot = Together::Settled(Outcome { value: Completed::Installed, replayed: false });
            }
        }
        answers
    }

    /// Gives up an attempt: back to the queue if `is_retryable` and an attempt is left, else failed. The next
    /// attempt is due after `delay`, by default 5 seconds, doubling to 10 minutes, with half of it jitter.
    ///
    /// # Errors
    ///
    /// `LEASE_LOST`; nothing is written then.
    pub async fn fail(
        &self,
        fence: &Fence,
        code: FailureCode,
        message: FailureMessage,
        is_retryable: bool,
        delay: Option<Span>,
    ) -> Result<Outcome<Settled>, Error> {
        let jitter = self.draw.fraction();
        let command = decide::FailBackfill { fence: *fence, code, message, is_retryable, delay, jitter };
        self.decide_on(fence, |state| decide::fail_backfill(state, &command)).await
    }

    /// Hands a row back untouched: due now, the attempt refunded.
    ///
    /// # Errors
    ///
    /// `LEASE_LOST`; nothing is written then.
    pub async fn release(&self, fence: &Fence) -> Result<Outcome<()>, Error> {
        self.decide_on(fence, |state| decide::release(state, fence)).await
    }

    /// Queues a scope's failed backfill again.
    ///
    /// # Errors
    ///
    /// `BACKFILL_NOT_FOUND`, `NOT_FAILED`.
    pub async fn retry(&self, scope: &Scope) -> Result<Backfill, Error> {
        let key = BackfillKey::NewestOf(scope.clone());
        let key = &key;
        run(&*self.store, |doubt| {
            Box::pin(async move { Ok(decide::retry(&self.store.load_backfill(key).await?, doubt)) })
        })
        .await
        .map(|outcome| outcome.value)
    }

    /// Queues every scope's failed backfill again, or only those that failed with `code`. Answers how many.
    ///
    /// # Errors
    ///
    /// What the store fails with.
    pub async fn retry_all(&self, code: Option<&FailureCode>) -> Result<u64, Error> {
        Ok(self.store.retry_all(code.map(FailureCode::as_str)).await?)
    }

    /// A scope's newest backfill.
    ///
    /// # Errors
    ///
    /// `BACKFILL_NOT_FOUND`, `SNAPSHOT_CORRUPT`.
    pub async fn get(&self, scope: &Scope) -> Result<Backfill, Error> {
        let state = self.store.load_backfill(&BackfillKey::NewestOf(scope.clone())).await?;
        let row = state.backfill.ok_or(Refusal::BackfillNotFound)?;
        Ok(crate::audit::verified_backfill(row)?)
    }

    /// Backfills that match, by id; a row that contradicts itself is left to the audit.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID`, or what the store fails with.
    pub async fn list(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Backfills, Error> {
        check_filter(&filter.spaces)?;
        let rows = self.store.backfill_page(filter, after, limit).await?;
        let next = rows.last().map(|row| row.id);
        Ok(Backfills { items: rows.into_iter().filter_map(BackfillRow::read).collect(), next })
    }

    /// How many backfills of each state match.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID`, or what the store fails with.
    pub async fn counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, Error> {
        check_filter(filter)?;
        Ok(self.store.backfill_counts(filter).await?)
    }

    /// Removes succeeded rows that were completed before a moment. Failed ones stay: they would be discovered
    /// again. Answers how many.
    ///
    /// # Errors
    ///
    /// What the store fails with.
    pub async fn prune(&self, before: Timestamp) -> Result<u64, Error> {
        Ok(self.store.prune(before).await?)
    }

    fn command<'c>(&self, completion: &Completion<'c>) -> decide::Complete<'c> {
        decide::Complete {
            fence: completion.fence,
            capability: completion.capability,
            revision_id: self.draw.revision_id(),
            head_id: self.draw.id().into(),
        }
    }

    async fn decide_on<T>(
        &self,
        fence: &Fence,
        decide: impl Fn(&LedgerState) -> decide::Decided<T> + Send + Sync,
    ) -> Result<Outcome<T>, Error> {
        let key = BackfillKey::Fenced(*fence);
        let (key, decide) = (&key, &decide);
        run(&*self.store, |_| Box::pin(async move { Ok(decide(&self.store.load_backfill(key).await?)) })).await
    }
}

fn check_filter(filter: &SpaceFilter) -> Result<(), ArgumentError> {
    match filter {
        SpaceFilter::Spaces(spaces) if spaces.len() > LARGEST_FILTER => Err(ArgumentError::new(
            "filter",
            format!("expected at most {LARGEST_FILTER} spaces, found {}", spaces.len()),
        )),
        _ => Ok(()),
    }
}
