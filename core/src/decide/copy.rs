use super::checks::{heads_move_here, is_readable_by, spaces_are_ours};
use super::{Decided, Decision, Doubt};
use crate::audit::audit_space;
use crate::backfill::{BackfillRow, BackfillStatus};
use crate::change::{Change, CopyScope, CopySpace};
use crate::collation::KeyOrder;
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

/// Verifies what a source holds of one space: whatever the audit calls broken stays behind.
///
/// # Errors
///
/// `SNAPSHOT_CORRUPT`: the space or its manifest is broken or missing, or a row cannot be read at all.
pub fn departing(content: &SpaceContent) -> Result<Departing, Refusal> {
    let broken = |what: &str| Refusal::SourceBroken { what: what.to_owned() };
    if let Some(unreadable) = content.unreadable.first() {
        return Err(broken(unreadable));
    }
    let Some(row) = content.row.clone() else {
        return Err(broken("expected the space that these rows belong to, found none"));
    };
    let findings = audit_space(content);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    if let Some(finding) = errors.clone().find(|finding| finding.scope.is_none()) {
        let place = format!("space {}: ", content.space);
        return Err(broken(finding.message.strip_prefix(&place).unwrap_or(&finding.message)));
    }
    let mut scopes = Vec::new();
    for kind in Kind::ALL {
        let scope = content.space.scope(kind);
        let rows = rows_of(content, &scope);
        if rows.is_empty() {
            continue;
        }
        let finding = errors.clone().find(|finding| finding.scope.as_ref() == Some(&scope));
        let departing = match finding {
            Some(finding) => Err(broken(&finding.message)),
            None => {
                let backfills = rows.backfills.into_iter().map(handed_back).collect();
                Ok(CopyScope { backfills, ..rows })
            }
        };
        scopes.push((scope, departing));
    }
    Ok(Departing { space: CopySpace { row, manifest: content.manifest.clone().map(canonical_manifest) }, scopes })
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
    scope: &CopyScope,
    target: &SpaceContent,
    neighbour: Neighbour,
    doubt: Doubt,
) -> Decided<Copied> {
    let there = rows_of(target, &scope.scope);
    let is_readable = target.unreadable.is_empty();
    if is_readable && there == *scope {
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
        None if there.is_empty() => Ok(Decision::change(Change::CopyScope(scope.clone()), Copied::Written)),
        None => Err(conflict(&difference(scope, &there))),
    }
}

fn conflict(found: &str) -> Refusal {
    Refusal::CopyConflict { found: found.to_owned() }
}

/// A row that was digested in the legacy order is what the other service made itself.
fn is_row_readable_by(neighbour: Neighbour, scope: &Scope, row: &RevisionRow) -> Result<(), Refusal> {
    let (revision, [_, order]) = row.verify_with_key_order(scope)?;
    if order == KeyOrder::Rfc8785 { is_readable_by(neighbour, &revision.capability) } else { Ok(()) }
}

/// A scope's rows, whose JSON is compared by value: each store prints it in its own way.
fn rows_of(content: &SpaceContent, scope: &Scope) -> CopyScope {
    let revisions = content.revisions.iter().filter(|(kind, _)| *kind == scope.kind).map(|(_, row)| RevisionRow {
        snapshot: canonical(&row.snapshot),
        capability_snapshot: canonical(&row.capability_snapshot),
        ..row.clone()
    });
    let backfills = content
        .backfills
        .iter()
        .filter(|row| row.scope.kind == scope.kind)
        .map(|row| BackfillRow { source_snapshot: canonical(&row.source_snapshot), ..row.clone() });
    CopyScope {
        head: content.heads.iter().find(|(kind, _)| *kind == scope.kind).map(|(_, head)| *head),
        revisions: revisions.collect(),
        backfills: backfills.collect(),
        scope: scope.clone(),
    }
}

impl CopyScope {
    fn is_empty(&self) -> bool {
        self.head.is_none() && self.revisions.is_empty() && self.backfills.is_empty()
    }
}

fn canonical_manifest(manifest: ManifestRow) -> ManifestRow {
    ManifestRow { metadata: canonical(&manifest.metadata), ..manifest }
}

/// The canonical text; of what has none, such as another writer's large numbers, the text itself.
fn canonical(text: &str) -> String {
    canonicalize(text.as_bytes(), Limits::ROW).unwrap_or_else(|_| text.to_owned())
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

/// The first thing in which the target's rows differ.
fn difference(here: &CopyScope, there: &CopyScope) -> String {
    let revision = there.revisions.iter().find(|row| !here.revisions.contains(row)).map(|row| {
        let is_known = here.revisions.iter().any(|known| known.revision == row.revision);
        let which = if is_known { "another" } else { "the additional" };
        format!("{which} revision {}", row.revision)
    });
    let missing = || {
        let row = here.revisions.iter().find(|row| !there.revisions.contains(row))?;
        Some(format!("revision {} missing", row.revision))
    };
    let head = || match (here.head, there.head) {
        (here, there) if here == there => None,
        (_, Some(head)) => {
            Some(format!("another head, at revision {} in row version {}", head.active_revision, head.row_version))
        }
        (_, None) => Some("no head".to_owned()),
    };
    let other_backfill = || {
        let row = there.backfills.iter().find(|row| !here.backfills.contains(row))?;
        Some(format!("another backfill {}, which is {}", row.id, row.status))
    };
    revision.or_else(missing).or_else(head).or_else(other_backfill).unwrap_or_else(|| "fewer backfills".to_owned())
}
