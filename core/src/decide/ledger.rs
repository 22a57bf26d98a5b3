use super::checks::{is_readable_by, writable};
use super::{Decided, Decision, Doubt};
use crate::backfill::{BACKFILL_SUBJECT, Backfill, BackfillState, BackfillStatus, Fence, LegacySource};
use crate::change::{BackfillGuard, Change, Install, WriteBackfill};
use crate::head::Head;
use crate::identifiers::{BackfillId, FailureCode, FailureMessage, HeadId, RevisionId};
use crate::json::{Document, Limits, Pointer};
use crate::numbers::RowVersion;
use crate::refusal::Refusal;
use crate::report::{DocumentKind, Issue, IssueCode, listed_errors};
use crate::revision::{Activation, Failure, Revision, RevisionRow, RevisionState, RevisionStatus};
use crate::scope::{Kind, Scope, Space};
use crate::snapshot::{self, Capability, CapabilityContent, Snapshot};
use crate::space::{LegacyProfile, ManifestRow};
use crate::state::{LedgerState, Neighbour};
use crate::store::{DiscoveryPage, DiscoverySpace};
use crate::time::{Lease, Span, Timestamp};

const SPACE_NOT_WRITABLE: &str = "KNOWLEDGE_SPACE_NOT_WRITABLE";
const MANIFEST_NOT_FOUND: &str = "LEGACY_MANIFEST_NOT_FOUND";
const SOURCE_CHANGED: &str = "LEGACY_PROFILE_SOURCE_CHANGED";
/// The code of a legacy profile that is not valid, or not valid for the capability that was observed.
pub const LEGACY_PROFILE_INVALID: &str = "LEGACY_PROFILE_INVALID";
const HEAD_EXISTS: &str = "PROFILE_HEAD_ALREADY_EXISTS";
const REVISION_EXISTS: &str = "PROFILE_REVISION_ALREADY_EXISTS";

/// Install a legacy profile.
#[derive(Debug, Clone, Copy)]
pub struct Complete<'c> {
    /// What the worker holds.
    pub fence: Fence,
    /// The typed capability snapshot that the check observed.
    pub capability: &'c [u8],
    /// The id of the revision's row.
    pub revision_id: RevisionId,
    /// The id of the head's row.
    pub head_id: HeadId,
}

/// What became of a legacy profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// It is the scope's first revision and head.
    Installed,
    /// The head said the same already.
    AlreadyInstalled,
    /// It cannot be installed; the row is failed.
    Failed(Failure),
}

/// Give up an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct FailBackfill {
    /// What the worker holds.
    pub fence: Fence,
    /// Why, as a stable code.
    pub code: FailureCode,
    /// Why, in a sentence.
    pub message: FailureMessage,
    /// Whether another attempt can help.
    pub is_retryable: bool,
    /// When the next attempt is due; by default 5 seconds, doubling to 10 minutes, with half of it jitter.
    pub delay: Option<Span>,
    /// The jitter: a number from 0 to 1.
    pub jitter: f64,
}

/// Where a row stands after its worker let go of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is to be claimed again.
    Queued {
        /// Not before this moment.
        due_at: Timestamp,
    },
    /// It is given up.
    Failed,
}

/// The row, if it exists and its columns belong together.
fn found(state: &LedgerState) -> Result<Option<Backfill>, Refusal> {
    let Some(row) = &state.backfill else { return Ok(None) };
    row.clone().read().map(Some).ok_or_else(|| Refusal::BackfillCorrupt {
        id: row.id,
        what: "its lease, its completion and its error do not belong to its state".to_owned(),
    })
}

/// The row that a fence names, and whether it is as a command under that fence may have left it.
fn fenced(state: &LedgerState, fence: &Fence) -> Result<(Backfill, bool), Refusal> {
    let backfill = found(state)?.filter(|row| row.id == fence.backfill).ok_or(Refusal::LeaseLost)?;
    let was_settled = fence.row_version.next() == Some(backfill.row_version);
    Ok((backfill, was_settled))
}

fn held(backfill: &Backfill, fence: &Fence, now: Timestamp) -> Result<(), Refusal> {
    if backfill.is_held_by(fence, now) { Ok(()) } else { Err(Refusal::LeaseLost) }
}

fn write(from: &Backfill, to: Option<Backfill>) -> Result<WriteBackfill, Refusal> {
    let guard = BackfillGuard {
        id: from.id,
        row_version: from.row_version,
        lease_token: from.fence().map(|fence| fence.lease_token),
        lease_expires_at: from.lease_expires_at(),
    };
    Ok(WriteBackfill { from: guard, to: to.ok_or(Refusal::NumberExhausted("row version"))? })
}

/// Decides `heartbeat`: the lease is extended, the fence stays as it was. The answer is the new expiry.
///
/// # Errors
///
/// `LEASE_LOST`.
pub fn heartbeat(state: &LedgerState, fence: &Fence, lease: Lease) -> Decided<Timestamp> {
    let (backfill, _) = fenced(state, fence)?;
    held(&backfill, fence, state.now)?;
    let mut extended = backfill.clone();
    let mut expiry = state.now.plus(lease.span());
    if let BackfillState::Running { lease_expires_at, heartbeat_at, .. } = &mut extended.state {
        expiry = expiry.max(*lease_expires_at);
        *lease_expires_at = expiry;
        *heartbeat_at = state.now.max(*heartbeat_at);
    }
    Ok(Decision::change(Change::Backfill(write(&backfill, Some(extended))?), expiry))
}

/// Decides `release`: the row is handed back untouched, due now, and the attempt is refunded.
///
/// # Errors
///
/// `LEASE_LOST`.
pub fn release(state: &LedgerState, fence: &Fence) -> Decided<()> {
    let (backfill, was_settled) = fenced(state, fence)?;
    if was_settled && backfill.status() == BackfillStatus::Queued && backfill.due_at == backfill.updated_at {
        return Ok(Decision::Replayed(()));
    }
    held(&backfill, fence, state.now)?;
    let queued = backfill.queued(state.now, Span::ZERO);
    let refunded = queued.map(|row| Backfill { attempts: row.attempts.saturating_sub(1), ..row });
    Ok(Decision::change(Change::Backfill(write(&backfill, refunded)?), ()))
}

/// Decides `fail` of a backfill: back to the queue if another attempt can help and one is left, else failed.
///
/// # Errors
///
/// `LEASE_LOST`.
pub fn fail_backfill(state: &LedgerState, command: &FailBackfill) -> Decided<Settled> {
    let (backfill, was_settled) = fenced(state, &command.fence)?;
    let failure = Failure { code: command.code.to_string(), message: command.message.to_string() };
    if was_settled {
        match &backfill.state {
            // A released row is due at once; one that failed is due later, and may carry an older failure.
            BackfillState::Queued
                if command.is_retryable
                    && backfill.retry.as_ref() == Some(&failure)
                    && backfill.due_at > backfill.updated_at =>
            {
                return Ok(Decision::Replayed(Settled::Queued { due_at: backfill.due_at }));
            }
            BackfillState::Failed { failure: stored, .. }
                if *stored == failure && (!command.is_retryable || backfill.is_exhausted()) =>
            {
                return Ok(Decision::Replayed(Settled::Failed));
            }
            _ => {}
        }
    }
    held(&backfill, &command.fence, state.now)?;
    if !command.is_retryable || backfill.is_exhausted() {
        let failed = backfill.failed(failure, state.now);
        return Ok(Decision::change(Change::Backfill(write(&backfill, failed)?), Settled::Failed));
    }
    let delay = command.delay.unwrap_or_else(|| default_delay(backfill.attempts, command.jitter));
    // A failed row is never due at once, which tells it from a released one.
    let delay = delay.max(Span::from_micros(1));
    let queued = backfill.queued(state.now, delay).map(|row| Backfill { retry: Some(failure), ..row });
    let write = write(&backfill, queued)?;
    let settled = Settled::Queued { due_at: write.to.due_at };
    Ok(Decision::change(Change::Backfill(write), settled))
}

/// 5 seconds after the first attempt, doubling to 10 minutes; half of it is jitter.
fn default_delay(attempts: u32, jitter: f64) -> Span {
    const FIRST: u64 = 5_000_000;
    const LONGEST: u64 = 600_000_000;
    let doublings = attempts.saturating_sub(1).min(16);
    let half = (FIRST << doublings).min(LONGEST) / 2;
    Span::from_micros(half + (half as f64 * jitter.clamp(0.0, 1.0)) as u64)
}

/// Decides `retry`: a failed row is queued again, due now, with no attempts.
///
/// # Errors
///
/// `BACKFILL_NOT_FOUND`, `NOT_FAILED`, in this order.
pub fn retry(state: &LedgerState, doubt: Doubt) -> Decided<Backfill> {
    let backfill = found(state)?.ok_or(Refusal::BackfillNotFound)?;
    let is_fresh = backfill.attempts == 0 && backfill.due_at == backfill.updated_at;
    if doubt == Doubt::LostCommit && backfill.status() == BackfillStatus::Queued && is_fresh {
        return Ok(Decision::Replayed(backfill));
    }
    if backfill.status() != BackfillStatus::Failed {
        return Err(Refusal::NotFailed(backfill.status()));
    }
    let write = write(&backfill, backfill.requeued(state.now))?;
    let queued = write.to.clone();
    Ok(Decision::change(Change::Backfill(write), queued))
}

/// Decides `complete`: installs revision and head and marks the row succeeded, or fails it with the reason.
///
/// # Errors
///
/// `LEASE_LOST`; nothing is written then.
pub fn complete(state: &LedgerState, command: &Complete<'_>) -> Decided<Completed> {
    let (backfill, was_settled) = fenced(state, &command.fence)?;
    if was_settled && let Some(completed) = completed_before(state, &backfill) {
        return Ok(Decision::Replayed(completed));
    }
    held(&backfill, &command.fence, state.now)?;
    match installation(state, &backfill, command) {
        Ok(Verdict::Install(install)) => Ok(Decision::change(Change::Install(*install), Completed::Installed)),
        Ok(Verdict::AlreadyInstalled) => {
            let write = write(&backfill, backfill.succeeded(state.now))?;
            Ok(Decision::change(Change::Backfill(write), Completed::AlreadyInstalled))
        }
        Ok(Verdict::Fail(failure)) => {
            let write = write(&backfill, backfill.failed(failure.clone(), state.now))?;
            Ok(Decision::change(Change::Backfill(write), Completed::Failed(failure)))
        }
        Err(refusal) => Err(refusal),
    }
}

enum Verdict {
    Install(Box<Install>),
    AlreadyInstalled,
    Fail(Failure),
}

impl Verdict {
    fn fail(code: &str, message: impl AsRef<str>) -> Result<Self, Refusal> {
        let message = FailureMessage::cut(message.as_ref()).to_string();
        Ok(Self::Fail(Failure { code: code.to_owned(), message }))
    }
}

/// What an earlier `complete` under the same fence answered, if the row is as one leaves it.
fn completed_before(state: &LedgerState, backfill: &Backfill) -> Option<Completed> {
    match &backfill.state {
        BackfillState::Succeeded { completed_at } => {
            let is_ours =
                |row: &RevisionRow| row.created_by == BACKFILL_SUBJECT && row.created_at == *completed_at;
            let was_installed = state.first.as_ref().is_some_and(is_ours);
            Some(if was_installed { Completed::Installed } else { Completed::AlreadyInstalled })
        }
        BackfillState::Failed { failure, .. } => {
            const OWN: [&str; 6] = [
                SPACE_NOT_WRITABLE,
                MANIFEST_NOT_FOUND,
                SOURCE_CHANGED,
                LEGACY_PROFILE_INVALID,
                HEAD_EXISTS,
                REVISION_EXISTS,
            ];
            OWN.contains(&failure.code.as_str()).then(|| Completed::Failed(failure.clone()))
        }
        BackfillState::Queued | BackfillState::Running { .. } => None,
    }
}

fn installation(state: &LedgerState, backfill: &Backfill, command: &Complete<'_>) -> Result<Verdict, Refusal> {
    let kind = backfill.scope.kind;
    if let Err(refusal) = writable(state.space.as_ref()) {
        return Verdict::fail(SPACE_NOT_WRITABLE, refusal.to_string());
    }
    let Some(manifest) = &state.manifest else {
        return Verdict::fail(MANIFEST_NOT_FOUND, "expected the space's manifest, found none");
    };
    if let Err(message) = source_is_unchanged(manifest, &backfill.source, kind) {
        return Verdict::fail(SOURCE_CHANGED, message);
    }
    let legacy = legacy_profile(kind, &backfill.source.snapshot, command.capability, state.neighbour);
    let (snapshot, capability) = match legacy {
        Ok(valid) => valid,
        Err(issues) => return Verdict::fail(LEGACY_PROFILE_INVALID, listed_errors(&issues)),
    };
    if let Some(head) = &state.head {
        let active = state.head_revision.as_ref().and_then(|row| row.verify(&backfill.scope).ok());
        let is_same = active.is_some_and(|active| {
            active.status() == RevisionStatus::Active
                && active.snapshot.digest() == snapshot.digest()
                && active.capability.is_same_but_for_check_times(&capability)
        });
        if is_same {
            return Ok(Verdict::AlreadyInstalled);
        }
        let message =
            format!("expected no head or one with this profile, found one at revision {}", head.active_revision);
        return Verdict::fail(HEAD_EXISTS, message);
    }
    if let Some(first) = &state.first {
        let message = format!("expected no revision in a scope without a head, found revision {}", first.revision);
        return Verdict::fail(REVISION_EXISTS, message);
    }
    let write = write(backfill, backfill.succeeded(state.now))?;
    let at = write.to.updated_at;
    let revision = Revision {
        id: command.revision_id,
        scope: backfill.scope.clone(),
        snapshot,
        capability,
        created_by: BACKFILL_SUBJECT.to_owned(),
        created_at: at,
        updated_at: at,
        state: RevisionState::Active(Activation { at, by: Some(BACKFILL_SUBJECT.to_owned()) }),
    };
    let head = Head {
        id: command.head_id,
        revision_id: revision.id,
        active_revision: revision.number(),
        row_version: RowVersion::FIRST,
        created_at: at,
        updated_at: at,
    };
    Ok(Verdict::Install(Box::new(Install { backfill: write, manifest: manifest.clone(), revision, head })))
}

fn source_is_unchanged(manifest: &ManifestRow, source: &LegacySource, kind: Kind) -> Result<(), String> {
    if manifest.version != source.manifest_version {
        return Err(format!("expected manifest version {}, found {}", source.manifest_version, manifest.version));
    }
    let frozen = source.recomputed_digest();
    match manifest.legacy_profile(kind) {
        LegacyProfile::Readable(text) if frozen == Some(crate::digest::Digest::of(text.as_bytes())) => Ok(()),
        _ => Err(format!(
            "expected the manifest to hold the {kind} profile that was discovered, found another or none"
        )),
    }
}

/// A legacy profile and its capability, valid and valid for each other, with the observed dimension.
fn legacy_profile(
    kind: Kind,
    source: &str,
    capability: &[u8],
    neighbour: Neighbour,
) -> Result<(Snapshot, Capability), Vec<Issue>> {
    let parsed = (snapshot::parse_legacy(kind, source.as_bytes()), Capability::parse(capability));
    let (snapshot, capability) = match parsed {
        (Ok(snapshot), Ok(capability)) => (snapshot, capability),
        (snapshot, capability) => {
            let snapshot_issues = snapshot.err().into_iter().flatten();
            return Err(snapshot_issues.chain(capability.err().into_iter().flatten()).collect());
        }
    };
    let mut issues = capability.disagreements(snapshot.profile());
    let issue = |document, name: &str, code, message: &str| Issue {
        document,
        pointer: Pointer::root().child(name),
        code,
        message: message.to_owned(),
    };
    let observed = match (kind, capability.content()) {
        (Kind::Embedding, CapabilityContent::Model(model)) => {
            if model.distance_metric().is_none() {
                let message = "expected a distance metric, which adoption needs, found none";
                issues.push(issue(DocumentKind::Capability, "distanceMetric", IssueCode::MissingField, message));
            }
            model.dimension()
        }
        (Kind::Retrieval, CapabilityContent::Retrieval { .. }) => None,
        _ => {
            let name = if kind == Kind::Embedding { "kind" } else { "verification" };
            let message = "expected the typed capability that a check observes, found another object";
            issues.push(issue(DocumentKind::Capability, name, IssueCode::MissingField, message));
            None
        }
    };
    if let Err(Refusal::CapabilityKeyOrder(keys)) = is_readable_by(neighbour, &capability) {
        issues.push(Issue {
            document: DocumentKind::Capability,
            pointer: Pointer::root(),
            code: IssueCode::CapabilityKeyOrder,
            message: keys.to_string(),
        });
    }
    if !snapshot.has_derived_vector_space(&capability) {
        let message = "expected the vector space id of version 1 or 2 for this model, found another";
        issues.push(issue(DocumentKind::Snapshot, "vectorSpaceId", IssueCode::VectorSpaceUnproven, message));
    }
    if issues.iter().any(Issue::is_error) {
        return Err(issues);
    }
    let installed = if kind == Kind::Embedding { snapshot.with_dimension(observed) } else { snapshot };
    Ok((installed, capability))
}

/// What a page of spaces holds for adoption.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// How many spaces were looked at.
    pub scanned: usize,
    /// Rows for the ledger.
    pub backfills: Vec<Backfill>,
    /// Profiles that no backfill can install.
    pub skipped: Vec<Skipped>,
    /// Profiles whose scope has a head already.
    pub installed: usize,
    /// The last space of the page: where to go on.
    pub next: Option<Space>,
}

/// A profile that no backfill can install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it was found.
    pub scope: Scope,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// Why discovery passes over a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// It is not a JSON object.
    NotAnObject,
    /// It is not JSON that can be digested.
    NotParseable,
}

impl SkipReason {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotAnObject => "LEGACY_PROFILE_NOT_AN_OBJECT",
            Self::NotParseable => "LEGACY_PROFILE_NOT_PARSEABLE",
        }
    }

    /// A sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NotAnObject => {
                "expected the manifest to hold an object, found something else; correct the manifest"
            }
            Self::NotParseable => "expected JSON that can be digested, found other text; correct the manifest",
        }
    }
}

/// Decides `discover` for a page: of each writable space and each kind without a head, the legacy profile is
/// frozen into a queued row.
pub fn discover(page: &DiscoveryPage, max_attempts: u32, fresh_id: &mut dyn FnMut() -> BackfillId) -> Discovered {
    let mut discovered = Discovered {
        scanned: page.spaces.len(),
        next: page.spaces.last().map(|space| space.space.clone()),
        ..Discovered::default()
    };
    for space in page.spaces.iter().filter(|space| space.is_writable) {
        for ((kind, text), has_head) in Kind::ALL.into_iter().zip(&space.profiles).zip(space.has_head) {
            let Some(text) = text else { continue };
            if has_head {
                discovered.installed += 1;
                continue;
            }
            let scope = space.space.scope(kind);
            match frozen(space, text) {
                Ok(source) => discovered.backfills.push(Backfill {
                    id: fresh_id(),
                    scope,
                    source,
                    state: BackfillState::Queued,
                    attempts: 0,
                    max_attempts,
                    due_at: page.now,
                    retry: None,
                    row_version: RowVersion::FIRST,
                    created_at: page.now,
                    updated_at: page.now,
                }),
                Err(reason) => discovered.skipped.push(Skipped { scope, reason }),
            }
        }
    }
    discovered
}

fn frozen(space: &DiscoverySpace, text: &str) -> Result<LegacySource, SkipReason> {
    let document = Document::parse(text.as_bytes(), Limits::ROW).map_err(|_| SkipReason::NotParseable)?;
    if !document.is_object() {
        return Err(SkipReason::NotAnObject);
    }
    let snapshot = document.canonical();
    let digest = crate::digest::Digest::of(snapshot.as_bytes()).to_string();
    // A space without a manifest has no profile.
    let manifest_version = space.manifest_version.ok_or(SkipReason::NotParseable)?;
    Ok(LegacySource { manifest_version, snapshot, digest })
}
