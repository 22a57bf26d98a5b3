//! The host's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use space_profiles_core::{Clock, Timestamp};

/// Tells the time of the host, cut to the microsecond.
///
/// ```
/// use space_profiles_core::{Clock, Timestamp};
/// use space_profiles_sqlite::SystemClock;
/// assert!(SystemClock.now() > Timestamp::from_micros(1_700_000_000_000_000));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
        };
        Timestamp::from_micros(micros)
    }
}
