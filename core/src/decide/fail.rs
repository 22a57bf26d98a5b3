use super::{Decided, Decision, RevisionEntry};
use crate::change::{Change, FailRevision};
use crate::identifiers::{FailureCode, FailureMessage, SubjectId};
use crate::numbers::RevisionNumber;
use crate::refusal::Refusal;
use crate::revision::{Failure, Revision, RevisionState, RevisionStatus};
use crate::state::ScopeState;

/// Give up a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// The candidate's number.
    pub revision: RevisionNumber,
    /// Why, as a stable code.
    pub code: FailureCode,
    /// Why, in a sentence.
    pub message: FailureMessage,
    /// Who says so.
    pub by: SubjectId,
}

/// Decides `fail`: the candidate becomes failed. The first failure stands. A candidate whose row is corrupt can
/// be failed too; the answer says then what is wrong with it.
///
/// # Errors
///
/// `REVISION_NOT_FOUND`, `NOT_CANDIDATE`, in this order.
pub fn fail(state: &ScopeState, command: &Fail) -> Decided<RevisionEntry> {
    let row = state.revision.as_ref().ok_or(Refusal::RevisionNotFound(command.revision))?;
    match row.status {
        RevisionStatus::Failed => return Ok(Decision::Replayed(row.verify(&state.scope))),
        RevisionStatus::Candidate => {}
        other => return Err(Refusal::NotCandidate { revision: row.revision, state: other }),
    }
    let at = state.stamp();
    let by = command.by.as_str().to_owned();
    let failure = Failure { code: command.code.to_string(), message: command.message.to_string() };
    let change = FailRevision {
        scope: state.scope.clone(),
        revision_id: row.id,
        failure: failure.clone(),
        by: by.clone(),
        at,
    };
    let failed = row.verify(&state.scope).map(|candidate| Revision {
        updated_at: at,
        state: RevisionState::Failed { failure, failed_at: at, failed_by: Some(by) },
        ..candidate
    });
    Ok(Decision::change(Change::Fail(change), failed))
}
