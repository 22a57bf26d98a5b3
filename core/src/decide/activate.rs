use super::checks::{head_is_at, head_is_valid, head_move, heads_move_here, writable};
use super::{Decided, Decision, Doubt};
use crate::change::{Activate, Change};
use crate::head::ActiveProfile;
use crate::identifiers::{HeadId, SubjectId};
use crate::numbers::RevisionNumber;
use crate::refusal::Refusal;
use crate::revision::{RevisionRow, RevisionStatus};
use crate::state::ScopeState;

/// Activate a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// Which, and what the caller saw.
    pub target: Target,
    /// Who activates it.
    pub by: SubjectId,
    /// The id of the head, should it have to be created.
    pub head_id: HeadId,
}

/// A candidate, and the active revision that the caller saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The candidate's number.
    pub revision: RevisionNumber,
    /// The active revision that the caller saw, or none.
    pub expected: Option<RevisionNumber>,
}

/// Activate candidates of both kinds of one space, together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivateAll {
    /// The embedding profile's, with the id of its head should it have to be created.
    pub embedding: (Target, HeadId),
    /// The retrieval profile's.
    pub retrieval: (Target, HeadId),
    /// Who activates them.
    pub by: SubjectId,
}

/// Decides `activate`: the candidate becomes active, the former active becomes superseded, the head advances.
///
/// # Errors
///
/// `MANAGED_ELSEWHERE`, `REVISION_NOT_FOUND`, `SPACE_NOT_FOUND`, `SPACE_NOT_WRITABLE`, `HEAD_CONFLICT`,
/// `HEAD_INVALID`, `NOT_CANDIDATE`, `SNAPSHOT_CORRUPT`, `REVISION_CONFLICT`, `NUMBER_EXHAUSTED`, in this order.
pub fn activate(state: &ScopeState, command: &Activation, doubt: Doubt) -> Decided<ActiveProfile> {
    heads_move_here(state.neighbour)?;
    let row = found(state, &command.target)?;
    if is_replay(state, row, &command.target, doubt) {
        return replayed(state, row).map(Decision::Replayed);
    }
    let (activate, profile) = decide_new(state, row, command)?;
    Ok(Decision::change(Change::Activate(vec![activate]), profile))
}

/// Decides `activate_all` on the states of both kinds, embedding first.
///
/// # Errors
///
/// `MANAGED_ELSEWHERE`; then as [`activate`], naming the kind; embedding is checked first.
pub fn activate_all(states: [&ScopeState; 2], command: &ActivateAll, doubt: Doubt) -> Decided<[ActiveProfile; 2]> {
    let [embedding, retrieval] = states;
    heads_move_here(embedding.neighbour)?;
    let first = of_kind(command.embedding, &command.by);
    let second = of_kind(command.retrieval, &command.by);
    if let (Some(one), Some(two)) = (&embedding.revision, &retrieval.revision)
        && is_replay(embedding, one, &first.target, doubt)
        && is_replay(retrieval, two, &second.target, doubt)
    {
        let profiles = [named(embedding, replayed(embedding, one))?, named(retrieval, replayed(retrieval, two))?];
        return Ok(Decision::Replayed(profiles));
    }
    let decide = |state: &ScopeState, command: &Activation| {
        named(state, found(state, &command.target).and_then(|row| decide_new(state, row, command)))
    };
    let (one, first_profile) = decide(embedding, &first)?;
    let (two, second_profile) = decide(retrieval, &second)?;
    Ok(Decision::change(Change::Activate(vec![one, two]), [first_profile, second_profile]))
}

fn of_kind((target, head_id): (Target, HeadId), by: &SubjectId) -> Activation {
    Activation { target, by: by.clone(), head_id }
}

fn named<T>(state: &ScopeState, answer: Result<T, Refusal>) -> Result<T, Refusal> {
    answer.map_err(|refusal| Refusal::OfKind { kind: state.scope.kind, refusal: Box::new(refusal) })
}

fn found<'s>(state: &'s ScopeState, target: &Target) -> Result<&'s RevisionRow, Refusal> {
    state.revision.as_ref().ok_or(Refusal::RevisionNotFound(target.revision))
}

/// Whether the stored state is this command's work: the head is at the revision, which was activated after
/// the expected one; after a lost commit also if somebody has superseded it since.
fn is_replay(state: &ScopeState, row: &RevisionRow, target: &Target, doubt: Doubt) -> bool {
    let is_at_head =
        row.status == RevisionStatus::Active && state.head.is_some_and(|head| head.revision_id == row.id);
    let was_superseded = doubt == Doubt::LostCommit && row.status == RevisionStatus::Superseded;
    (is_at_head || was_superseded) && state.predecessor == target.expected
}

fn replayed(state: &ScopeState, row: &RevisionRow) -> Result<ActiveProfile, Refusal> {
    let revision = row.verify(&state.scope)?;
    let head = state.head.ok_or(Refusal::ProfileNotFound)?;
    Ok(ActiveProfile { head, revision })
}

fn decide_new(
    state: &ScopeState,
    row: &RevisionRow,
    command: &Activation,
) -> Result<(Activate, ActiveProfile), Refusal> {
    writable(state.space.as_ref())?;
    head_is_at(state, command.target.expected)?;
    head_is_valid(state)?;
    if row.status != RevisionStatus::Candidate {
        return Err(Refusal::NotCandidate { revision: row.revision, state: row.status });
    }
    let candidate = row.verify(&state.scope)?;
    is_above_head(state, row.revision)?;
    let at = state.stamp();
    let head = head_move(state, command.head_id, row.id, row.revision, at)?;
    let by = command.by.as_str().to_owned();
    let activate =
        Activate { scope: state.scope.clone(), revision_id: row.id, revision: row.revision, by, at, head };
    Ok((activate, ActiveProfile { head: head.head(), revision: candidate.activated(at, &command.by) }))
}

fn is_above_head(state: &ScopeState, number: RevisionNumber) -> Result<(), Refusal> {
    match state.head {
        Some(head) if number <= head.active_revision => Err(Refusal::RevisionConflict {
            expected: head.active_revision.next().ok_or(Refusal::NumberExhausted("revision"))?,
            actual: number,
        }),
        _ => Ok(()),
    }
}
