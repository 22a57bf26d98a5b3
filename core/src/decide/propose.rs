use super::checks::{
    adopted, changes_something, head_is_at, head_is_valid, head_move, heads_move_here, is_readable_by, is_work_of,
    next_number, no_candidate, vector_space, writable,
};
use super::{Decided, Decision, Doubt};
use crate::change::{Append, Change, Publish};
use crate::head::ActiveProfile;
use crate::identifiers::{HeadId, RevisionId, SubjectId};
use crate::numbers::RevisionNumber;
use crate::refusal::Refusal;
use crate::revision::{Revision, RevisionState, RevisionStatus};
use crate::scope::Scope;
use crate::snapshot::{Capability, Snapshot};
use crate::state::ScopeState;
use crate::time::Timestamp;

/// A valid snapshot that somebody wants to become a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    /// The id of the new row.
    pub revision_id: RevisionId,
    /// The snapshot, which carries the number.
    pub snapshot: Snapshot,
    /// What was observed of its models.
    pub capability: Capability,
    /// Who proposes it.
    pub by: SubjectId,
    /// Whether the caller made the id, so that a repeat is recognised by it.
    pub is_recognised_by_id: bool,
    /// Whether the active revision may say the same.
    pub allow_unchanged: bool,
    /// Whether the manifest may hold a profile that was not adopted.
    pub ignore_legacy: bool,
}

/// A proposal that is to be active at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// What is proposed.
    pub proposed: Proposed,
    /// The active revision that the caller saw.
    pub expected: Option<RevisionNumber>,
    /// The id of the head, should it have to be created.
    pub head_id: HeadId,
}

impl Proposed {
    /// The stored revision that is this proposal's work, whatever its state.
    fn replay(&self, state: &ScopeState) -> Option<Revision> {
        let row = if self.is_recognised_by_id { &state.by_id } else { &state.revision };
        let stored = row.as_ref()?.verify(&state.scope).ok()?;
        let is_ours = if self.is_recognised_by_id {
            // The number was filled in on another state; the rest is what the caller said.
            stored.created_by == self.by.as_str()
                && stored.capability.digest() == self.capability.digest()
                && stored.has_configuration_of(&self.snapshot, &self.capability)
        } else {
            is_work_of(&stored, &self.snapshot, &self.capability, self.by.as_str())
        };
        is_ours.then_some(stored)
    }

    /// Whether the row of the caller-made id is somebody else's work.
    fn id_is_free(&self, state: &ScopeState) -> Result<(), Refusal> {
        if state.by_id.is_some() { Err(Refusal::RevisionIdTaken(self.revision_id)) } else { Ok(()) }
    }

    fn number_is_next(&self, state: &ScopeState) -> Result<(), Refusal> {
        let (expected, actual) = (next_number(state)?, self.snapshot.revision());
        if expected == actual { Ok(()) } else { Err(Refusal::RevisionConflict { expected, actual }) }
    }

    fn content_is_allowed(&self, state: &ScopeState) -> Result<(), Refusal> {
        vector_space(state, &self.snapshot, &self.capability)?;
        changes_something(state, &self.snapshot, &self.capability, self.allow_unchanged)
    }

    pub(super) fn candidate(&self, scope: &Scope, at: Timestamp) -> Revision {
        Revision {
            id: self.revision_id,
            scope: scope.clone(),
            snapshot: self.snapshot.clone(),
            capability: self.capability.clone(),
            created_by: self.by.as_str().to_owned(),
            created_at: at,
            updated_at: at,
            state: RevisionState::Candidate,
        }
    }
}

/// Decides `propose`: appends a candidate.
///
/// # Errors
///
/// `CAPABILITY_KEY_ORDER`, `REVISION_ID_TAKEN`, `SPACE_NOT_FOUND`, `SPACE_NOT_WRITABLE`, `ADOPTION_PENDING`,
/// `CANDIDATE_EXISTS`, `REVISION_CONFLICT`, `VECTOR_SPACE_REUSED`, `VECTOR_SPACE_UNPROVEN`, `NO_CHANGE`, in this
/// order.
pub fn propose(state: &ScopeState, proposed: &Proposed) -> Decided<Revision> {
    is_readable_by(state.neighbour, &proposed.capability)?;
    if let Some(revision) = proposed.replay(state) {
        return Ok(Decision::Replayed(revision));
    }
    proposed.id_is_free(state)?;
    writable(state.space.as_ref())?;
    adopted(state, proposed.ignore_legacy)?;
    no_candidate(state)?;
    proposed.number_is_next(state)?;
    proposed.content_is_allowed(state)?;
    let revision = proposed.candidate(&state.scope, state.stamp());
    let append = Append { revision: revision.clone(), is_first: state.newest.is_none() };
    Ok(Decision::change(Change::Append(append), revision))
}

/// Decides `publish`: proposes and activates in one write.
///
/// # Errors
///
/// `MANAGED_ELSEWHERE`, `CAPABILITY_KEY_ORDER`, `REVISION_ID_TAKEN`, `SPACE_NOT_FOUND`, `SPACE_NOT_WRITABLE`,
/// `ADOPTION_PENDING`, `HEAD_CONFLICT`, `HEAD_INVALID`, `CANDIDATE_EXISTS`, `REVISION_CONFLICT`,
/// `VECTOR_SPACE_REUSED`, `VECTOR_SPACE_UNPROVEN`, `NO_CHANGE`, `NUMBER_EXHAUSTED`, in this order.
pub fn publish(state: &ScopeState, publication: &Publication, doubt: Doubt) -> Decided<ActiveProfile> {
    let proposed = &publication.proposed;
    heads_move_here(state.neighbour)?;
    is_readable_by(state.neighbour, &proposed.capability)?;
    if let Some(profile) = replayed_publication(state, publication, doubt) {
        return Ok(Decision::Replayed(profile));
    }
    proposed.id_is_free(state)?;
    writable(state.space.as_ref())?;
    adopted(state, proposed.ignore_legacy)?;
    head_is_at(state, publication.expected)?;
    head_is_valid(state)?;
    no_candidate(state)?;
    proposed.number_is_next(state)?;
    proposed.content_is_allowed(state)?;
    let at = state.stamp();
    let revision = proposed.candidate(&state.scope, at).activated(at, &proposed.by);
    let head = head_move(state, publication.head_id, revision.id, revision.number(), at)?;
    let profile = ActiveProfile { head: head.head(), revision: revision.clone() };
    let publish = Publish { revision, is_first: state.newest.is_none(), head };
    Ok(Decision::change(Change::Publish(publish), profile))
}

fn replayed_publication(state: &ScopeState, publication: &Publication, doubt: Doubt) -> Option<ActiveProfile> {
    let head = state.head?;
    let revision = publication.proposed.replay(state)?;
    let predecessor = if head.revision_id == revision.id {
        state.head_predecessor
    } else if doubt == Doubt::LostCommit && revision.status() == RevisionStatus::Superseded {
        // A row found by id was not asked for by number: what it was activated after is not loaded.
        if publication.proposed.is_recognised_by_id { publication.expected } else { state.predecessor }
    } else {
        return None;
    };
    (predecessor == publication.expected).then_some(ActiveProfile { head, revision })
}
