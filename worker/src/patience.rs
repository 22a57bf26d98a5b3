use std::time::Duration;

use space_profiles_core::{Error, StoreCode, StoreError};
use tokio::time::sleep;

/// How long to insist on a call that a busy store did not take. A repeat is safe: the ledger recognises its own
/// work, and rows of a claim whose answer was lost are claimed again when their lease has run out.
pub(crate) struct Patience(std::array::IntoIter<Duration, 2>);

impl Patience {
    pub(crate) fn new() -> Self {
        Self([Duration::from_millis(100), Duration::from_millis(400)].into_iter())
    }

    /// Waits, if `error` may pass by itself; false if it will not, or not soon.
    pub(crate) async fn outlasts(&mut self, error: &Error) -> bool {
        if !is_passing(error) {
            return false;
        }
        let Some(wait) = self.0.next() else { return false };
        sleep(wait).await;
        true
    }
}

/// Whether the store may take the same call in a moment.
const fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Store(StoreError { code: StoreCode::Busy | StoreCode::OutcomeUnknown, .. }))
}

/// Whether every row would meet the same failure of the store.
pub(crate) const fn is_store_down(error: &Error) -> bool {
    matches!(error, Error::Store(_)) && !is_passing(error)
}
