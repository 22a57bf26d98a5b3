use std::collections::BTreeMap;

use space_profiles_core::{Error, Failure, Scope};

use crate::event::RowOutcome;

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many spaces were searched for legacy profiles.
    pub scanned: u64,
    /// How many profiles were queued by this run.
    pub discovered: u64,
    /// How many profiles were installed.
    pub installed: u64,
    /// How many profiles have a head already, seen by discovery or when their row was worked on.
    pub already_installed: u64,
    /// What cannot be installed, and why.
    pub failed: Vec<FailedItem>,
    /// How many rows are left: waiting, or owned by a worker.
    pub pending: u64,
    /// Whether the run was asked to stop before it was done.
    pub was_interrupted: bool,
}

/// What discovery did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoverySummary {
    /// How many spaces were searched.
    pub scanned: u64,
    /// How many profiles were queued.
    pub created: u64,
    /// How many profiles have a head already.
    pub installed: u64,
    /// Profiles that no backfill can install, and why.
    pub skipped: Vec<FailedItem>,
    /// Whether it was asked to stop before it was done.
    pub was_interrupted: bool,
}

/// A profile that cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedItem {
    /// Whose profile it is.
    pub scope: Scope,
    /// Why, as a stable code.
    pub code: String,
    /// Why, in a sentence.
    pub message: String,
}

impl FailedItem {
    fn new(scope: Scope, failure: Failure) -> Self {
        Self { scope, code: failure.code, message: failure.message }
    }
}

impl From<DiscoverySummary> for Summary {
    fn from(found: DiscoverySummary) -> Self {
        Self {
            scanned: found.scanned,
            discovered: found.created,
            already_installed: found.installed,
            failed: found.skipped,
            was_interrupted: found.was_interrupted,
            ..Self::default()
        }
    }
}

/// A summary in the making.
pub(crate) struct Tally {
    pub(crate) summary: Summary,
    /// Rows whose outcome could not be stored, unless a later attempt of this run could.
    unsettled: BTreeMap<Scope, Error>,
}

impl Tally {
    pub(crate) fn new(found: DiscoverySummary) -> Self {
        Self { summary: found.into(), unsettled: BTreeMap::new() }
    }

    /// Counts a row that this worker let go of.
    pub(crate) fn count(&mut self, scope: Scope, outcome: RowOutcome) {
        self.unsettled.remove(&scope);
        match outcome {
            RowOutcome::Installed => self.summary.installed += 1,
            RowOutcome::AlreadyInstalled => self.summary.already_installed += 1,
            RowOutcome::Failed(failure) => self.summary.failed.push(FailedItem::new(scope, failure)),
            RowOutcome::Unsettled(error) => {
                self.unsettled.insert(scope, error);
            }
            RowOutcome::Queued { .. } | RowOutcome::Released | RowOutcome::LeaseLost => {}
        }
    }

    pub(crate) fn finish(self, pending: u64) -> Summary {
        let unsettled = self.unsettled.into_iter().map(|(scope, error)| FailedItem {
            code: error.code().to_owned(),
            message: error.to_string(),
            scope,
        });
        let failed = self.summary.failed.into_iter().chain(unsettled).collect();
        Summary { failed, pending, ..self.summary }
    }
}
