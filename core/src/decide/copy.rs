use std::sync::Arc;

use super::checks::{heads_move_here, is_readable_by, spaces_are_ours};
use super::{Decided, Decision, Doubt};
use crate::audit::audit_space;
use crate::backfill::{BackfillRow, BackfillStatus};
use crate::change::{Change, CopyScope, CopySpace};
use crate::collation::KeyOrder;
use crate::head::Head;
use crate::json::{Limits, canonicalize};
use crate::refusal::Refusal;
use crate::report::Severity;
use crate::revision::RevisionRow;
use crate::scope::{Kind, Scope};
use crate::space::ManifestRow;
use crate::state::{Neighbour, SpaceState};
use crate::store::SpaceContent;

/// What became of a part of a store's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// It was written.
    Written,
    /// The target held the same already.
    Skipped,
}

impl Copied {
    /// What is found there after a lost reply was written by this copy.
    const fn found(doubt: Doubt) -> Self {
        match doubt {
            Doubt::None => Self::Skipped,
            Doubt::LostCommit => Self::Written,
        }
    }
}

/// What a source holds of one space, verified and as it is to arrive.
#[derive(Debug, Clone, PartialEq)]
pub struct Departing {
    /// The space and its manifest.
    pub space: CopySpace,
    /// The scopes that have rows, embedding first; a broken one is refused, and the other one still goes.
    pub scopes: Vec<(Scope, Result<CopyScope, Refusal>)>,
}

/// Verifies what a source holds of one space: whatever the audit calls broken stays behind. The rows are moved and
/// not copied, since there may be many.
///
/// # Errors
///
/// `SNAPSHOT_CORRUPT`: the space or its manifest is broken or missing, or a row cannot be read at all.
pub fn departing(mut content: SpaceContent) -> Result<Departing, Refusal> {
    // Rows beside the space that name none are the audit's: they say nothing about this one.
    content.strangers.clear();
    if let Some(unreadable) = content.unreadable.first() {
        return Err(broken(unreadable));
    }
    if content.row.is_none() {
        return Err(no_space());
    }
    let findings = audit_space(&content);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    if let Some(finding) = errors.clone().find(|finding| finding.scope.is_none()) {
        let place = format!("space {}: ", content.space);
        return Err(broken(finding.message.strip_prefix(&place).unwrap_or(&finding.message)));
    }
    let SpaceContent { space, row, manifest, heads, mut revisions, mut backfills, .. } = content;
    let Some(row) = row else { return Err(no_space()) };
    let mut scopes = Vec::new();
    for kind in Kind::ALL {
        let scope = space.scope(kind);
        let rows = CopyScope {
            head: heads.iter().find(|(head_kind, _)| *head_kind == kind).map(|(_, head)| *head),
            revisions: revisions.extract_if(.., |(row_kind, _)| *row_kind == kind).map(|(_, row)| row).collect(),
            backfills: backfills.extract_if(.., |row| row.scope.kind == kind).collect(),
            scope: scope.clone(),
        };
        if rows.is_empty() {
            continue;
        }
        let departing = match errors.clone().find(|finding| finding.scope.as_ref() == Some(&scope)) {
            Some(finding) => Err(broken(&finding.message)),
            None => Ok(CopyScope {
                revisions: rows.revisions.into_iter().map(canonical_revision).collect(),
                backfills: rows.backfills.into_iter().map(canonical_backfill).map(handed_back).collect(),
                ..rows
            }),
        };
        scopes.push((scope, departing));
    }
    Ok(Departing { space: CopySpace { row, manifest: manifest.map(canonical_manifest) }, scopes })
}

/// Decides the copy of a space and its manifest. Where another service keeps the spaces, one that is there is taken
/// as it is. The answer also says who else writes the target.
///
/// # Errors
///
/// `STORE_FOREIGN_TABLES`, `COPY_CONFLICT`, in this order.
pub fn copy_space(space: &CopySpace, target: &SpaceState, doubt: Doubt) -> Decided<(Copied, Neighbour)> {
    let neighbour = target.neighbour;
    let there = Ok(Decision::Replayed((Copied::found(doubt), neighbour)));
    let Some(row) = &target.space else {
        spaces_are_ours(neighbour)?;
        if target.manifest.is_some() {
            return Err(conflict("a manifest without its space"));
        }
        return Ok(Decision::change(Change::CopySpace(space.clone()), (Copied::Written, neighbour)));
    };
    if neighbour.owns_spaces {
        return there;
    }
    if *row != space.row {
        return Err(conflict("the space with another name, state or time"));
    }
    match (target.manifest.clone().map(canonical_manifest), &space.manifest) {
        (Some(found), Some(expected)) if found != *expected => Err(conflict("another manifest")),
        (Some(_), None) => Err(conflict("a manifest, which the source lacks")),
        (None, Some(_)) => Err(conflict("the space without its manifest")),
        _ => there,
    }
}

/// Decides the copy of a scope. What is equal already is skipped, whoever else writes the target.
///
/// # Errors
///
/// `SPACE_NOT_FOUND`, `MANAGED_ELSEWHERE`, `CAPABILITY_KEY_ORDER`, `COPY_CONFLICT`, in this order.
pub fn copy_scope(
    scope: &Arc<CopyScope>,
    target: &SpaceContent,
    neighbour: Neighbour,
    doubt: Doubt,
) -> Decided<Copied> {
    let there = There::of(target, scope.scope.kind);
    if target.unreadable.is_empty() && there.is(scope) {
        return Ok(Decision::Replayed(Copied::found(doubt)));
    }
    if target.row.is_none() {
        return Err(Refusal::SpaceNotFound);
    }
    if scope.head.is_some() {
        heads_move_here(neighbour)?;
    }
    if neighbour.reads_rows {
        scope.revisions.iter().try_for_each(|row| is_row_readable_by(neighbour, &scope.scope, row))?;
    }
    match target.unreadable.first() {
        Some(unreadable) => Err(conflict(unreadable)),
        None if there.is_empty() => Ok(Decision::change(Change::CopyScope(Arc::clone(scope)), Copied::Written)),
        None => Err(conflict(&there.difference(scope))),
    }
}

fn broken(what: &str) -> Refusal {
    Refusal::SourceBroken { what: what.to_owned() }
}

fn no_space() -> Refusal {
    broken("expected the space that these rows belong to, found none")
}

fn conflict(found: &str) -> Refusal {
    Refusal::CopyConflict { found: found.to_owned() }
}

/// A row that was digested in the legacy order is what the other service made itself.
fn is_row_readable_by(neighbour: Neighbour, scope: &Scope, row: &RevisionRow) -> Result<(), Refusal> {
    let (revision, [_, order]) = row.verify_with_key_order(scope)?;
    if order == KeyOrder::Rfc8785 { is_readable_by(neighbour, &revision.capability) } else { Ok(()) }
}

impl CopyScope {
    fn is_empty(&self) -> bool {
        self.head.is_none() && self.revisions.is_empty() && self.backfills.is_empty()
    }
}

fn canonical_manifest(manifest: ManifestRow) -> ManifestRow {
    ManifestRow { metadata: canonical(manifest.metadata), ..manifest }
}

fn canonical_revision(row: RevisionRow) -> RevisionRow {
    RevisionRow {
        snapshot: canonical(row.snapshot),
        capability_snapshot: canonical(row.capability_snapshot),
        ..row
    }
}

fn canonical_backfill(row: BackfillRow) -> BackfillRow {
    BackfillRow { source_snapshot: canonical(row.source_snapshot), ..row }
}

/// The canonical text; of what has none, such as another writer's large numbers, the text itself.
fn canonical(text: String) -> String {
    match canonicalize(text.as_bytes(), Limits::ROW) {
        Ok(mut canonical) if canonical != text => {
            // It is kept as long as its space is copied.
            canonical.shrink_to_fit();
            canonical
        }
        _ => text,
    }
}

/// No worker holds a lease of the target. Everything but the lease and the attempt stays, the row version too, so
/// that a second copy finds the row equal.
fn handed_back(row: BackfillRow) -> BackfillRow {
    if row.status != BackfillStatus::Running {
        return row;
    }
    BackfillRow {
        status: BackfillStatus::Queued,
        attempts: row.attempts.saturating_sub(1),
        worker: None,
        lease_token: None,
        lease_expires_at: None,
        heartbeat_at: None,
        ..row
    }
}

/// What the target holds of a scope. Its rows are brought into canonical form one at a time, and a row that is
/// compared is let go of before the next: the scope may be large.
struct There<'t> {
    head: Option<Head>,
    revisions: Vec<&'t RevisionRow>,
    backfills: Vec<&'t BackfillRow>,
}

impl<'t> There<'t> {
    fn of(target: &'t SpaceContent, kind: Kind) -> Self {
        let revisions = target.revisions.iter().filter(|(row_kind, _)| *row_kind == kind);
        Self {
            head: target.heads.iter().find(|(row_kind, _)| *row_kind == kind).map(|(_, head)| *head),
            revisions: revisions.map(|(_, row)| row).collect(),
            backfills: target.backfills.iter().filter(|row| row.scope.kind == kind).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.head.is_none() && self.revisions.is_empty() && self.backfills.is_empty()
    }

    /// Whether every row is equal, and as many are here.
    fn is(&self, here: &CopyScope) -> bool {
        self.head == here.head
            && self.revisions.len() == here.revisions.len()
            && self.backfills.len() == here.backfills.len()
            && self.revisions.iter().zip(&here.revisions).all(|(there, here)| is_revision(there, here))
            && self.backfills.iter().zip(&here.backfills).all(|(there, here)| is_backfill(there, here))
    }

    /// The first thing in which the target's rows differ.
    fn difference(&self, here: &CopyScope) -> String {
        let of_number = |number| here.revisions.iter().find(|row| row.revision == number);
        let revision = self.revisions.iter().find_map(|row| match of_number(row.revision) {
            Some(known) if is_revision(row, known) => None,
            Some(_) => Some(format!("another revision {}", row.revision)),
            None => Some(format!("the additional revision {}", row.revision)),
        });
        let missing = || {
            let is_missing =
                |row: &&RevisionRow| self.revisions.iter().all(|there| there.revision != row.revision);
            here.revisions.iter().find(is_missing).map(|row| format!("revision {} missing", row.revision))
        };
        let head = || match (here.head, self.head) {
            (here, there) if here == there => None,
            (_, Some(head)) => Some(format!(
                "another head, at revision {} in row version {}",
                head.active_revision, head.row_version
            )),
            (_, None) => Some("no head".to_owned()),
        };
        let other_backfill = || {
            let is_other = |row: &&&BackfillRow| !here.backfills.iter().any(|known| is_backfill(row, known));
            let row = self.backfills.iter().find(is_other)?;
            Some(format!("another backfill {}, which is {}", row.id, row.status))
        };
        let found = revision.or_else(missing).or_else(head).or_else(other_backfill);
        found.unwrap_or_else(|| "fewer backfills".to_owned())
    }
}

/// Whether a row of the target is one that has its JSON in canonical form. What is cheap is compared first.
fn is_revision(there: &RevisionRow, here: &RevisionRow) -> bool {
    there.id == here.id && canonical_revision(there.clone()) == *here
}

fn is_backfill(there: &BackfillRow, here: &BackfillRow) -> bool {
    there.id == here.id && canonical_backfill(there.clone()) == *here
}
