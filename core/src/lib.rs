//! Safe, auditable changes of the embedding and retrieval profiles of knowledge spaces.
//!
//! A profile is an immutable, numbered [`Revision`] of a [`Scope`] (tenant, space, kind). The scope's [`Head`] points
//! at the active one and moves by compare-and-swap. Everything here is pure: a [`Store`] loads state, the functions
//! of [`decide`] turn state and a command into a [`Refusal`] or a [`Change`], and the store applies the change. The
//! [`Registry`] and the [`Ledger`] are what callers use.
//!
//! ```
//! use std::sync::Arc;
//! use space_profiles_core::{memory::MemoryStore, *};
//! # struct Noon;
//! # impl Clock for Noon {
//! #     fn now(&self) -> Timestamp { Timestamp::from_micros(1_784_030_400_000_000) }
//! # }
//! # struct Counting(std::sync::atomic::AtomicU64);
//! # impl Draw for Counting {
//! #     fn id(&self) -> uuid::Uuid {
//! #         uuid::Uuid::from_u128(1 + u128::from(self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst)))
//! #     }
//! #     fn lease_token(&self) -> LeaseToken { LeaseToken::try_from(self.id()).unwrap() }
//! #     fn fraction(&self) -> f64 { 0.5 }
//! # }
//! # let draw = Counting(Default::default());
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! // In production a SQLite or Postgres store, and `OsDraw`.
//! let registry = Registry::new(Arc::new(MemoryStore::new(Arc::new(Noon))), Arc::new(draw));
//! let space: Space = "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40".parse()?;
//! registry.add_space(&space, Some("Handbook")).await?;
//!
//! let scope = space.scope(Kind::Embedding);
//! let ann: SubjectId = "user:ann".parse()?;
//! let snapshot = br#"{"pluginId": "langgenius/openai", "provider": "openai", "model": "text-embedding-3-small",
//!     "dimension": 1536, "revision": 1, "vectorSpaceId":
//!     "embedding-space-sha256:dee54439e74d6aa00be2145649df55d567e0587ee48bd89a7b27a9b10a846fa1"}"#;
//! let proposal = Proposal::new(snapshot, br#"{"source": "model card"}"#, ann.clone());
//! let candidate = registry.propose(&scope, &proposal).await?;
//! let active = registry.activate(&scope, candidate.value.number(), None, &ann).await?;
//! assert_eq!(active.value.head.row_version.get(), 1);
//!
//! // Whoever still believes that nothing is active is told what is.
//! let stale = registry.restore(&scope, candidate.value.number(), None, &ann).await;
//! assert_eq!(stale.unwrap_err().code(), "HEAD_CONFLICT");
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
#![deny(missing_docs)]

mod audit;
mod backfill;
mod change;
mod collation;
mod copy;
pub mod decide;
mod diff;
mod digest;
mod head;
#[cfg(any(test, target_arch = "wasm32"))]
mod hex;
mod identifiers;
mod import;
pub mod json;
mod ledger;
pub mod memory;
mod numbers;
mod optimistic;
mod places;
mod refusal;
mod registry;
mod report;
mod revision;
mod rules;
mod scope;
pub mod snapshot;
mod space;
mod state;
mod store;
mod text;
mod time;

pub use audit::{AuditPage, Finding, audit_space};
pub use backfill::*;
pub use change::*;
pub use collation::{KeyOrder, KeysOutOfOrder, stored_key_order};
pub use copy::{CopyPart, CopyStep, StoreCopy};
pub use diff::{MemberChange, ProfileDiff, diff};
pub use digest::{Digest, NotADigest};
pub use head::*;
pub use identifiers::*;
pub use import::ImportLine;
pub use ledger::{Backfills, Completion, DEFAULT_ATTEMPTS, Discovery, Ledger, Together};
pub use numbers::*;
pub use optimistic::*;
pub use places::{Place, place_of_fault, places};
pub use refusal::*;
pub use registry::{Outcome, Proposal, Registry, Revisions};
pub use report::*;
pub use revision::*;
pub use scope::*;
pub use space::*;
pub use state::*;
pub use store::*;
pub use time::*;
