//! Decisions: pure functions from what is stored and a command to a refusal or a change.
//!
//! Each function takes the state as a store loaded it and checks in the order of the operations' tables, so that
//! every store and every caller gets the same answer. None has a clock, a database or randomness.

mod activate;
mod checks;
mod copy;
mod fail;
mod ledger;
mod optimistic;
mod propose;
mod restore;
mod space;

pub use activate::{ActivateAll, Activation, Target, activate, activate_all};
pub(crate) use checks::head_agrees;
pub use copy::{Copied, Departing, copy_scope, copy_space, departing};
pub use fail::{Fail, fail};
pub use ledger::{
    Complete, Completed, Discovered, FailBackfill, LEGACY_PROFILE_INVALID, Settled, SkipReason, Skipped, complete,
    discover, fail_backfill, heartbeat, release, retry,
};
pub use optimistic::{try_activate, try_propose, try_publish};
pub use propose::{Proposed, Publication, propose, publish};
pub use restore::{Restore, restore};
pub use space::{Imported, add_space, delete_space, import};

use crate::change::Change;
use crate::refusal::Refusal;
use crate::revision::{Corruption, Revision};

/// A decision, unless the command is refused.
pub type Decided<T> = Result<Decision<T>, Refusal>;

/// What a command comes to. The answer is what the caller gets once the change, if any, is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<T> {
    /// The stored state is this very command's work.
    Replayed(T),
    /// There is something to write.
    Change(Box<Change>, T),
}

impl<T> Decision<T> {
    fn change(change: Change, answer: T) -> Self {
        Self::Change(Box::new(change), answer)
    }
}

/// Whether an earlier attempt of the same command may have been committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// No: it was never tried, or it is known to have written nothing.
    None,
    /// The reply to its commit was lost. A revision of its making that somebody has superseded since then
    /// counts as applied.
    LostCommit,
}

/// A revision as it was read: verified, or what contradicts itself in its row.
pub type RevisionEntry = Result<Revision, Corruption>;
