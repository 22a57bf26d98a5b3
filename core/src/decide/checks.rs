//! Checks that several operations share.

use crate::change::HeadMove;
use crate::head::Head;
use crate::identifiers::{HeadId, RevisionId};
use crate::numbers::{RevisionNumber, RowVersion};
use crate::refusal::Refusal;
use crate::revision::{Revision, RevisionRow, RevisionStatus};
use crate::snapshot::{Capability, Snapshot, VectorSpaceId};
use crate::space::SpaceRow;
use crate::state::{Neighbour, ScopeState};
use crate::time::Timestamp;

pub(super) fn writable(space: Option<&SpaceRow>) -> Result<(), Refusal> {
    let space = space.ok_or(Refusal::SpaceNotFound)?;
    if space.is_writable() {
        return Ok(());
    }
    Err(Refusal::SpaceNotWritable {
        lifecycle_state: space.lifecycle_state.clone(),
        has_deletion_job: space.deletion_job.is_some(),
    })
}

/// Heads that another service moves together with its indexes are not moved past it.
pub(super) fn heads_move_here(neighbour: Neighbour) -> Result<(), Refusal> {
    if neighbour.moves_heads { Err(Refusal::ManagedElsewhere) } else { Ok(()) }
}

/// What another service reads must have the digest that it computes.
pub(super) fn is_readable_by(neighbour: Neighbour, capability: &Capability) -> Result<(), Refusal> {
    let keys = if neighbour.reads_rows { capability.keys_out_of_order() } else { None };
    keys.map_or(Ok(()), |keys| Err(Refusal::CapabilityKeyOrder(keys)))
}

/// Spaces and manifests that another service keeps are made and deleted there.
pub(super) fn spaces_are_ours(neighbour: Neighbour) -> Result<(), Refusal> {
    if neighbour.owns_spaces { Err(Refusal::ForeignTables) } else { Ok(()) }
}

/// A scope without revisions whose manifest holds a profile is to be adopted first.
pub(super) fn adopted(state: &ScopeState, ignore_legacy: bool) -> Result<(), Refusal> {
    if state.newest.is_none() && state.has_legacy_profile && !ignore_legacy {
        return Err(Refusal::AdoptionPending(state.scope.kind));
    }
    Ok(())
}

pub(super) fn head_is_at(state: &ScopeState, expected: Option<RevisionNumber>) -> Result<(), Refusal> {
    let actual = state.head.map(|head| head.active_revision);
    if actual == expected { Ok(()) } else { Err(Refusal::HeadConflict { expected, actual }) }
}

/// The head names an existing, active revision, and no other revision is active.
pub(super) fn head_is_valid(state: &ScopeState) -> Result<(), Refusal> {
    head_agrees(state.head, state.head_revision.as_ref(), state.active)
}

/// As [`head_is_valid`], of the head, the revision that it names by id, and the number of the active one.
pub(crate) fn head_agrees(
    head: Option<Head>,
    revision: Option<&RevisionRow>,
    active: Option<RevisionNumber>,
) -> Result<(), Refusal> {
    let invalid = |what: String| Err(Refusal::HeadInvalid(what));
    let Some(head) = head else {
        return match active {
            None => Ok(()),
            Some(active) => invalid(format!("revision {active} is active, but the scope has no head")),
        };
    };
    let number = head.active_revision;
    match revision {
        None => invalid(format!("it names revision {number}, which does not exist")),
        Some(row) if row.status != RevisionStatus::Active => {
            invalid(format!("it names revision {number}, which is {}", row.status))
        }
        Some(row) if row.revision != number => {
            invalid(format!("it says revision {number}, but names the row of revision {}", row.revision))
        }
        Some(_) => match active {
            Some(active) if active != number => {
                invalid(format!("it names revision {number}, but revision {active} is active too"))
            }
            _ => Ok(()),
        },
    }
}

pub(super) fn no_candidate(state: &ScopeState) -> Result<(), Refusal> {
    state.candidate.map_or(Ok(()), |revision| Err(Refusal::CandidateExists { revision }))
}

/// The number that the scope's next revision has.
pub(super) fn next_number(state: &ScopeState) -> Result<RevisionNumber, Refusal> {
    match state.newest {
        None => Ok(RevisionNumber::FIRST),
        Some(newest) => newest.revision.next().ok_or(Refusal::NumberExhausted("revision")),
    }
}

/// Vectors of two models must not share a space, and a space must follow from what is known.
pub(super) fn vector_space(
    state: &ScopeState,
    snapshot: &Snapshot,
    capability: &Capability,
) -> Result<(), Refusal> {
    let Some(embedding) = snapshot.embedding() else { return Ok(()) };
    let id: VectorSpaceId = embedding.vector_space_id;
    let selection = &embedding.selection;
    let dimension = embedding.dimension.map(i64::from);
    let mut is_restored = false;
    for carrier in &state.carriers {
        let is_same_model = carrier.plugin_id == selection.plugin_id
            && carrier.provider == selection.provider
            && carrier.model == selection.model
            && carrier.dimension == dimension;
        if !is_same_model {
            return Err(Refusal::VectorSpaceReused(id));
        }
        is_restored |= carrier.was_ever_active;
    }
    if is_restored || vector_space_is_proven(snapshot, capability) {
        return Ok(());
    }
    Err(Refusal::VectorSpaceUnproven(id))
}

/// Whether a vector space that nobody had before follows from what is known.
pub(super) fn vector_space_is_proven(snapshot: &Snapshot, capability: &Capability) -> bool {
    capability.embedding_model().is_none() || snapshot.has_derived_vector_space(capability)
}

/// A change must change something. A corrupt active revision counts as a different configuration.
pub(super) fn changes_something(
    state: &ScopeState,
    snapshot: &Snapshot,
    capability: &Capability,
    allow_unchanged: bool,
) -> Result<(), Refusal> {
    // One with other columns is of another configuration or corrupt.
    let may_be_same = |row: &&RevisionRow| row.status == RevisionStatus::Active && row.has_identity_of(snapshot);
    let Some(active) = state.head_revision.as_ref().filter(may_be_same).filter(|_| !allow_unchanged) else {
        return Ok(());
    };
    let Ok(active) = active.verify(&state.scope) else { return Ok(()) };
    let is_same = active.has_configuration_of(snapshot, capability)
        && active.capability.is_same_but_for_check_times(capability);
    if is_same { Err(Refusal::NoChange(active.number())) } else { Ok(()) }
}

/// Moves the head to a revision, or creates it there.
pub(super) fn head_move(
    state: &ScopeState,
    fresh_head: HeadId,
    revision_id: RevisionId,
    active_revision: RevisionNumber,
    at: Timestamp,
) -> Result<HeadMove, Refusal> {
    let Some(from) = state.head else {
        return Ok(HeadMove::Create(Head {
            id: fresh_head,
            revision_id,
            active_revision,
            row_version: RowVersion::FIRST,
            created_at: at,
            updated_at: at,
        }));
    };
    let row_version = from.row_version.next().ok_or(Refusal::NumberExhausted("row version"))?;
    Ok(HeadMove::Advance { from, to: Head { revision_id, active_revision, row_version, updated_at: at, ..from } })
}

/// Whether a stored revision is what a proposal made.
pub(super) fn is_work_of(revision: &Revision, snapshot: &Snapshot, capability: &Capability, by: &str) -> bool {
    revision.snapshot.digest() == snapshot.digest()
        && revision.capability.digest() == capability.digest()
        && revision.created_by == by
}
