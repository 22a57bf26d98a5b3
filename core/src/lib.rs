//! Safe, auditable changes of the embedding and retrieval profiles of knowledge spaces.
#![deny(missing_docs)]

mod backfill;
mod change;
mod collation;
mod digest;
mod head;
mod identifiers;
pub mod json;
mod numbers;
mod refusal;
mod report;
mod revision;
mod scope;
pub mod snapshot;
mod space;
mod state;
mod store;
mod text;
mod time;

pub use backfill::*;
pub use change::*;
pub use collation::KeyOrder;
pub use digest::{Digest, NotADigest};
pub use head::*;
pub use identifiers::*;
pub use numbers::*;
pub use refusal::*;
pub use report::*;
pub use revision::*;
pub use scope::*;
pub use space::*;
pub use state::*;
pub use store::*;
pub use time::*;
