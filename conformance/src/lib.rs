//! The behaviours that every store of space-profiles must show.
//!
//! A store's author implements [`StoreBuilder`] and [`StoreUnderTest`] and writes one line:
//!
//! ```ignore
//! space_profiles_conformance::conformance_tests!(MyStoreBuilder);
//! ```
//!
//! which makes a test of every behaviour. [`test_all`] runs them one after the other instead.

mod behaviours;
mod clock;
mod harness;
mod lost_replies;
mod memory;
pub mod random;

pub use behaviours::*;
pub use clock::{ManualClock, SequentialDraw};
pub use harness::*;
pub use lost_replies::{Fate, LostReplies};
pub use memory::MemoryBuilder;
