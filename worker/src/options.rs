use std::time::Duration;

use space_profiles_core::{Lease, PageLimit, WorkerId};

/// How a worker works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The name under which rows are claimed.
    pub worker: WorkerId,
    /// How many rows are checked at a time; 0 counts as 1.
    pub concurrency: usize,
    /// How many rows are claimed, and at most installed, at a time.
    pub batch: PageLimit,
    /// How long a claim holds without a sign of life; the worker gives one every third of it.
    pub lease: Lease,
    /// How long the check of one model may take.
    pub check_timeout: Duration,
    /// How long running checks may go on after the run was asked to stop.
    pub grace: Duration,
}

impl WorkerOptions {
    /// 4 rows at a time, 16 to a claim, a lease of 30 seconds, 30 seconds for a check, 10 seconds of grace.
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            concurrency: 4,
            batch: PageLimit::try_from(16).unwrap_or(PageLimit::FIRST),
            lease: Lease::DEFAULT,
            check_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }

    /// How often a held row gives a sign of life.
    pub(crate) fn heartbeat_period(&self) -> Duration {
        Duration::from_micros(self.lease.span().as_micros().unsigned_abs() / 3)
    }
}
