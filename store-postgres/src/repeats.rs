//! What is tried again, how often, and with what pauses.

use std::time::{Duration, Instant};

use space_profiles_core::{Draw, OsDraw, StoreError};

use crate::error::{is_conflict, is_lost, store_error};

/// How often a call that only met other writers is tried again.
pub(crate) const FRESH_STARTS: u32 = 8;

/// How long what may be repeated is repeated: other writers are met so many times, and a lost connection costs
/// nothing but time until the acquire time-out has passed.
pub(crate) struct Repeats {
    deadline: Instant,
    attempt: u32,
    conflicts: u32,
}

impl Repeats {
    pub(crate) const fn until(deadline: Instant) -> Self {
        Self { deadline, attempt: 0, conflicts: 0 }
    }

    /// Waits before the next attempt, or gives up with the error.
    pub(crate) async fn after(&mut self, error: &sqlx::Error) -> Result<(), StoreError> {
        let again = if is_conflict(error) {
            self.conflicts += 1;
            self.conflicts <= FRESH_STARTS
        } else {
            is_lost(error) && Instant::now() < self.deadline
        };
        if !again {
            return Err(store_error(error));
        }
        self.attempt += 1;
        back_off(self.attempt).await;
        Ok(())
    }
}

/// Waits up to 10 milliseconds an attempt, with jitter.
pub(crate) async fn back_off(attempt: u32) {
    let longest = Duration::from_millis(10).saturating_mul(attempt.min(16));
    tokio::time::sleep(longest.mul_f64(0.25 + 0.75 * OsDraw.fraction())).await;
}
