use space_profiles_core::{Backfill, BackfillState, Error, Failure, Scope, Timestamp};

/// Watches a run, for instance to show its progress. It is called between the steps of the run, so it should
/// return quickly.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn on_event(&self, event: &Event<'_>);
}

/// Looks away.
impl Observer for () {
    fn on_event(&self, _event: &Event<'_>) {}
}

/// What happens in a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A page of spaces was searched for legacy profiles.
    Discovered {
        /// How many spaces were searched so far.
        scanned: u64,
        /// How many profiles were queued so far.
        created: u64,
    },
    /// Rows were claimed.
    Claimed {
        /// How many by this claim.
        rows: usize,
    },
    /// A row is out of this worker's hands.
    Finished {
        /// Whose profile it is.
        scope: &'e Scope,
        /// What became of it.
        outcome: &'e RowOutcome,
    },
    /// The run was asked to stop, or has to since the store is down: nothing is claimed any more.
    Stopping {
        /// How many rows are still held.
        rows: usize,
    },
}

/// What became of a claimed row.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RowOutcome {
    /// The profile is the scope's first revision and head.
    Installed,
    /// The head said the same already.
    AlreadyInstalled,
    /// The profile cannot be installed, until somebody mends the cause and retries it.
    Failed(Failure),
    /// This attempt failed and another one follows.
    Queued {
        /// Why.
        failure: Failure,
        /// Not before this moment.
        due_at: Timestamp,
    },
    /// The row was handed back untouched.
    Released,
    /// Another worker may own the row; the work on it was dropped.
    LeaseLost,
    /// The outcome could not be stored; the row is claimed again, at the latest when its lease has run out.
    Unsettled(Error),
}

impl RowOutcome {
    /// What became of a row that a claim failed.
    pub(crate) fn of_failed(row: &Backfill) -> Option<Self> {
        match &row.state {
            BackfillState::Failed { failure, .. } => Some(Self::Failed(failure.clone())),
            _ => None,
        }
    }
}
