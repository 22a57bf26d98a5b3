use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use space_profiles_core::{Clock, Draw, LeaseToken, Span, Timestamp};
use uuid::Uuid;

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at 2026-07-14T12:00:00Z.
    pub const fn new() -> Self {
        Self(AtomicI64::new(1_784_030_400_000_000))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Span) {
        self.0.fetch_add(span.as_micros(), Ordering::SeqCst);
    }

    /// Sets the clock, backwards too.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.as_micros(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Draws ids in order, the same in every run, so that two stores can be compared row by row.
#[derive(Debug, Default)]
pub struct SequentialDraw(AtomicU64);

impl SequentialDraw {
    /// The ids that a name gives, in order.
    pub fn named(name: &str) -> Self {
        let digest = space_profiles_core::Digest::of(name.as_bytes()).to_string();
        Self(AtomicU64::new(u64::from_str_radix(&digest[..8], 16).unwrap_or_default() << 24))
    }
}

impl Draw for SequentialDraw {
    fn id(&self) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Uuid::from_u128(0x018f_0d60_7a49_7cc2_9c00_0000_0000_0000 | u128::from(number & 0x00ff_ffff_ffff_ffff))
    }

    fn lease_token(&self) -> LeaseToken {
        LeaseToken::try_from(self.id()).expect("an id is not nil")
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}
