//! Decisions before anything is loaded, on what a command usually finds.
//!
//! Each names in [`optimistic`](crate::optimistic) what it expects, and decides as its namesake does on a state in which
//! that is so. `None`: no such state can be named, or the decision would depend on more of it.

use super::propose::{Proposed, Publication};
use super::{Activation, checks::vector_space_is_proven};
use crate::numbers::RevisionNumber;
use crate::optimistic::{Novelty, TryActivate, TryAppend, TryPublish};
use crate::revision::{Revision, RevisionStatus};
use crate::scope::{Kind, Scope};
use crate::snapshot::CapabilityContent;
use crate::time::Timestamp;

/// Decides [`propose`](super::propose); of a retrieval profile, where the active revision is the one before, if any.
pub fn try_propose(scope: &Scope, proposed: &Proposed) -> Option<TryAppend> {
    let previous = proposed.snapshot.revision().previous()?;
    try_append(scope, proposed, previous, previous)
}

/// Decides [`publish`](super::publish) where there is an active revision.
pub fn try_publish(scope: &Scope, publication: &Publication) -> Option<TryPublish> {
    let expected = publication.expected?;
    let previous = publication.proposed.snapshot.revision().previous().filter(|previous| *previous >= expected)?;
    Some(TryPublish { append: try_append(scope, &publication.proposed, previous, expected)?, expected })
}

fn try_append(
    scope: &Scope,
    proposed: &Proposed,
    previous: RevisionNumber,
    active: RevisionNumber,
) -> Option<TryAppend> {
    let Proposed { snapshot, capability, .. } = proposed;
    if !vector_space_is_proven(snapshot, capability) {
        return None;
    }
    let same = match scope.kind {
        Kind::Embedding => None,
        Kind::Retrieval => Some((active, snapshot.renumbered(active).digest())),
    };
    let novelty = Novelty { is_waived: proposed.allow_unchanged, same };
    Some(TryAppend {
        revision: proposed.candidate(scope, Timestamp::EARLIEST),
        previous,
        novelty,
        is_read_alike: *capability.content() != CapabilityContent::FreeForm,
    })
}

/// Decides [`activate`](super::activate) of a revision as it was verified.
pub fn try_activate(revision: Revision, command: &Activation) -> Option<TryActivate> {
    let expected = command.target.expected.filter(|expected| *expected < revision.number())?;
    let is_candidate = revision.status() == RevisionStatus::Candidate;
    is_candidate.then(|| TryActivate { candidate: revision, by: command.by.clone(), expected })
}
