use super::checks::{
    head_is_at, head_is_valid, head_move, heads_move_here, is_readable_by, next_number, no_candidate, writable,
};
use super::{Decided, Decision, Doubt};
use crate::change::{Change, Publish};
use crate::head::ActiveProfile;
use crate::identifiers::{HeadId, RevisionId, SubjectId};
use crate::numbers::RevisionNumber;
use crate::refusal::Refusal;
use crate::revision::{Activation, Revision, RevisionRow, RevisionState, RevisionStatus};
use crate::state::ScopeState;

/// Roll back to a revision that was active once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    /// The revision to restore.
    pub revision: RevisionNumber,
    /// The active revision that the caller saw.
    pub expected: Option<RevisionNumber>,
    /// Who restores it.
    pub by: SubjectId,
    /// The id of the new revision's row.
    pub revision_id: RevisionId,
    /// The id of the head, should it have to be created.
    pub head_id: HeadId,
}

/// Decides `restore`: one write appends a revision with the old one's configuration, capability and vector
/// space id and activates it. Numbers only go up, so no compare-and-swap is fooled by a value that came back.
///
/// # Errors
///
/// `MANAGED_ELSEWHERE`, `REVISION_NOT_FOUND`, `SPACE_NOT_FOUND`, `SPACE_NOT_WRITABLE`, `HEAD_CONFLICT`,
/// `HEAD_INVALID`, `NOT_RESTORABLE`, `SNAPSHOT_CORRUPT`, `CAPABILITY_KEY_ORDER`, `NO_CHANGE`, `CANDIDATE_EXISTS`,
/// `NUMBER_EXHAUSTED`, in this order.
pub fn restore(state: &ScopeState, command: &Restore, doubt: Doubt) -> Decided<ActiveProfile> {
    heads_move_here(state.neighbour)?;
    let row = state.revision.as_ref().ok_or(Refusal::RevisionNotFound(command.revision))?;
    if let Some(profile) = replayed(state, row, command, doubt) {
        return Ok(Decision::Replayed(profile));
    }
    writable(state.space.as_ref())?;
    head_is_at(state, command.expected)?;
    head_is_valid(state)?;
    if !row.status.was_ever_active() {
        return Err(Refusal::NotRestorable { revision: row.revision, state: row.status });
    }
    let old = row.verify(&state.scope)?;
    is_readable_by(state.neighbour, &old.capability)?;
    if row.status == RevisionStatus::Active {
        return Err(Refusal::NoChange(row.revision));
    }
    no_candidate(state)?;
    let at = state.stamp();
    let by = command.by.as_str().to_owned();
    let revision = Revision {
        id: command.revision_id,
        scope: state.scope.clone(),
        snapshot: old.snapshot.renumbered(next_number(state)?),
        capability: old.capability,
        created_by: by.clone(),
        created_at: at,
        updated_at: at,
        state: RevisionState::Active(Activation { at, by: Some(by) }),
    };
    let head = head_move(state, command.head_id, revision.id, revision.number(), at)?;
    let profile = ActiveProfile { head: head.head(), revision: revision.clone() };
    let publish = Publish { revision, is_first: state.newest.is_none(), head };
    Ok(Decision::change(Change::Publish(publish), profile))
}

fn replayed(state: &ScopeState, row: &RevisionRow, command: &Restore, doubt: Doubt) -> Option<ActiveProfile> {
    let head = state.head?;
    let old = row.verify(&state.scope).ok()?;
    let is_ours = |made: &Revision| {
        made.number() > old.number()
            && made.created_by == command.by.as_str()
            && made.capability.digest() == old.capability.digest()
            && made.snapshot.digest() == old.snapshot.renumbered(made.number()).digest()
    };
    let at_head = state.head_revision.as_ref().filter(|_| state.head_predecessor == command.expected);
    // The revision that was activated next after the expected one is the one whose predecessor that is.
    let superseded = state
        .successor
        .as_ref()
        .filter(|row| doubt == Doubt::LostCommit && row.status == RevisionStatus::Superseded);
    at_head
        .into_iter()
        .chain(superseded)
        .filter_map(|row| row.verify(&state.scope).ok())
        .find(is_ours)
        .map(|revision| ActiveProfile { head, revision })
}
