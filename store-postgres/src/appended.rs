//! What this store has appended lately.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use space_profiles_core::{Revision, RevisionNumber, Scope};

/// How many candidates are remembered.
const MOST: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// How long the JSON of a candidate is at most, in bytes, that is worth remembering and sending to be compared: all that
/// are remembered take a few mebibytes.
const LONGEST: usize = 16 << 10;

pub(crate) fn is_short(candidate: &Revision) -> bool {
    candidate.snapshot.canonical().len() + candidate.capability.canonical().len() <= LONGEST
}

/// Candidates that need not be read back to be activated. They are what the database held once, so whoever acts on one
/// compares it.
#[derive(Clone)]
pub(crate) struct Appended(Arc<Mutex<Candidates>>);

type Candidates = LruCache<(Scope, RevisionNumber), Revision>;

impl Appended {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(MOST))))
    }

    pub(crate) fn remember(&self, candidate: Revision) {
        if is_short(&candidate) {
            self.candidates().put((candidate.scope.clone(), candidate.number()), candidate);
        }
    }

    /// The candidate with a number, which is forgotten: its activation usually succeeds, and one that does not reads it
    /// the next time.
    pub(crate) fn take(&self, scope: &Scope, number: RevisionNumber) -> Option<Revision> {
        self.candidates().pop(&(scope.clone(), number))
    }

    fn candidates(&self) -> std::sync::MutexGuard<'_, Candidates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
