//! The audit: every rule that stored rows must keep, checked on what is there.

use uuid::Uuid;

use crate::backfill::{Backfill, BackfillRow};
use crate::collation::KeyOrder;
use crate::head::Head;
use crate::json::{Document, Limits};
use crate::refusal::Refusal;
use crate::report::Severity;
use crate::revision::{RevisionRow, RevisionStatus};
use crate::scope::{Kind, Scope, Space};
use crate::store::SpaceContent;
use crate::time::Timestamp;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub scope: Option<Scope>,
    /// In which row.
    pub id: Option<Uuid>,
    /// Which rule.
    pub rule: &'static str,
    /// What was expected and what was found.
    pub message: String,
    /// Whether the rule must hold; times between rows that another writer stamped need not be in order.
    pub severity: Severity,
}

/// What the audit says of a page of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// How many revisions, heads and backfills were checked.
    pub checked: usize,
    /// The broken rules.
    pub findings: Vec<Finding>,
    /// After which space to go on; none once a page is empty.
    pub next: Option<Space>,
}

impl Finding {
    pub(crate) fn of_schema(difference: String) -> Self {
        Self { scope: None, id: None, rule: "schema", message: difference, severity: Severity::Error }
    }
}

/// The findings about one scope.
struct Auditor<'a> {
    scope: &'a Scope,
    findings: Vec<Finding>,
}

impl Auditor<'_> {
    fn error(&mut self, id: Option<Uuid>, rule: &'static str, message: impl Into<String>) {
        self.report(id, rule, message.into(), Severity::Error);
    }

    fn warning(&mut self, id: Option<Uuid>, rule: &'static str, message: impl Into<String>) {
        self.report(id, rule, message.into(), Severity::Warning);
    }

    fn report(&mut self, id: Option<Uuid>, rule: &'static str, message: String, severity: Severity) {
        self.findings.push(Finding { scope: Some(self.scope.clone()), id, rule, message, severity });
    }
}

/// Checks everything that belongs to a space.
pub fn audit_space(content: &SpaceContent) -> Vec<Finding> {
    let unreadable = content.unreadable.iter().map(|what| Finding {
        scope: None,
        id: None,
        rule: "row",
        message: format!("space {}: {what}", content.space),
        severity: Severity::Error,
    });
    let strangers = content.strangers.iter().map(|what| Finding {
        scope: None,
        id: None,
        rule: "row",
        message: what.clone(),
        severity: Severity::Error,
    });
    let mut findings: Vec<Finding> = strangers.chain(unreadable).collect();
    findings.extend(audit_manifest(content));
    for kind in Kind::ALL {
        let scope = content.space.scope(kind);
        let mut auditor = Auditor { scope: &scope, findings: Vec::new() };
        let of_kind = |(row_kind, _): &&(Kind, RevisionRow)| *row_kind == kind;
        let revisions: Vec<&RevisionRow> = content.revisions.iter().filter(of_kind).map(|(_, row)| row).collect();
        let heads: Vec<Head> =
            content.heads.iter().filter(|(row_kind, _)| *row_kind == kind).map(|(_, head)| *head).collect();
        let backfills: Vec<&BackfillRow> = content.backfills.iter().filter(|row| row.scope.kind == kind).collect();
        if content.row.is_none() && !(revisions.is_empty() && heads.is_empty() && backfills.is_empty()) {
            auditor.error(None, "space", "expected the space that these rows belong to, found none");
        }
        audit_rows(&mut auditor, &revisions);
        audit_history(&mut auditor, &revisions);
        audit_head(&mut auditor, &revisions, &heads);
        for row in backfills {
            audit_backfill(&mut auditor, row);
        }
        findings.append(&mut auditor.findings);
    }
    findings
}

fn audit_manifest(content: &SpaceContent) -> Option<Finding> {
    let manifest = content.manifest.as_ref()?;
    let is_object = Document::parse_all(manifest.metadata.as_bytes(), Limits::ROW)
        .0
        .is_some_and(|document| document.is_object());
    let message = if content.row.is_none() {
        format!("space {}: expected the space that this manifest belongs to, found none", content.space)
    } else if !is_object {
        format!("space {}: expected the manifest's metadata to be a JSON object", content.space)
    } else {
        return None;
    };
    let id = Some(manifest.id.as_uuid());
    Some(Finding { scope: None, id, rule: "manifest", message, severity: Severity::Error })
}

fn audit_rows(auditor: &mut Auditor<'_>, revisions: &[&RevisionRow]) {
    for row in revisions {
        let id = Some(row.id.as_uuid());
        for corruption in row.contradictions(auditor.scope) {
            auditor.error(id, corruption.rule, corruption.to_string());
        }
        if !row.has_times_in_order() {
            auditor.error(id, "times", format!("expected the times of revision {} to be in order", row.revision));
        }
    }
}

fn audit_history(auditor: &mut Auditor<'_>, revisions: &[&RevisionRow]) {
    let candidates = revisions.iter().filter(|row| row.status == RevisionStatus::Candidate).count();
    if candidates > 1 {
        auditor.error(None, "one_candidate", format!("expected at most one candidate, found {candidates}"));
    }
    let mut activated: Option<Timestamp> = None;
    let mut superseded: Option<Timestamp> = None;
    for (row, next) in revisions.iter().zip(revisions.iter().skip(1)) {
        let id = Some(next.id.as_uuid());
        if row.revision.next() != Some(next.revision) {
            let message = format!(
                "expected revision {} to be followed by the next number, found {}",
                row.revision, next.revision
            );
            auditor.error(id, "numbers", message);
        }
        if next.created_at < row.created_at {
            let message = format!("revision {} was created before revision {}", next.revision, row.revision);
            auditor.warning(id, "order_of_times", message);
        }
    }
    for row in revisions {
        let id = Some(row.id.as_uuid());
        if let Some(at) = row.activated_at {
            if activated.is_some_and(|before| at < before) || superseded.is_some_and(|before| at < before) {
                let message = format!("revision {} was active before the one before it was done", row.revision);
                auditor.warning(id, "order_of_times", message);
            }
            activated = activated.max(Some(at));
            superseded = superseded.max(row.superseded_at);
        }
    }
    audit_vector_spaces(auditor, revisions);
}

/// Revisions with different models must not share a vector space.
fn audit_vector_spaces(auditor: &mut Auditor<'_>, revisions: &[&RevisionRow]) {
    let mut carriers: std::collections::BTreeMap<&str, &RevisionRow> = std::collections::BTreeMap::new();
    for row in revisions {
        let Some(vector_space_id) = row.vector_space_id.as_deref() else { continue };
        let first = carriers.entry(vector_space_id).or_insert(row);
        let model =
            |row: &RevisionRow| (row.plugin_id.clone(), row.provider.clone(), row.model.clone(), row.dimension);
        if model(first) != model(row) {
            let message = format!(
                "revision {} carries the vector space of revision {}, which has another model or dimension",
                row.revision, first.revision
            );
            auditor.warning(Some(row.id.as_uuid()), "vector_space", message);
        }
    }
}

fn audit_head(auditor: &mut Auditor<'_>, revisions: &[&RevisionRow], heads: &[Head]) {
    if heads.len() > 1 {
        auditor.error(None, "one_head", format!("expected at most one head, found {}", heads.len()));
    }
    let active: Vec<&&RevisionRow> = revisions.iter().filter(|row| row.status == RevisionStatus::Active).collect();
    if active.len() > 1 {
        auditor.error(None, "one_active", format!("expected at most one active revision, found {}", active.len()));
    }
    let Some(head) = heads.first() else {
        if let Some(row) = active.first() {
            let message = format!("expected a head at active revision {}, found none", row.revision);
            auditor.error(Some(row.id.as_uuid()), "head", message);
        } else if let Some(row) = revisions.iter().rfind(|row| row.status.was_ever_active()) {
            let message = format!("expected a head, since revision {} was active once, found none", row.revision);
            auditor.error(Some(row.id.as_uuid()), "head", message);
        }
        return;
    };
    let id = Some(head.id.as_uuid());
    match revisions.iter().find(|row| row.id == head.revision_id) {
        None => {
            let message = format!("expected revision {} to exist, since the head names it", head.active_revision);
            auditor.error(id, "head", message);
        }
        Some(row) if row.status != RevisionStatus::Active => {
            let message =
                format!("expected the head's revision {} to be active, found it {}", row.revision, row.status);
            auditor.error(id, "head", message);
        }
        Some(row) if row.revision != head.active_revision => {
            let message = format!(
                "expected the head to say revision {}, as its row does, found {}",
                row.revision, head.active_revision
            );
            auditor.error(id, "head", message);
        }
        Some(_) => {}
    }
    if head.updated_at < head.created_at {
        auditor.error(id, "times", "expected the head's times to be in order");
    }
    let activations = revisions.iter().filter(|row| row.status.was_ever_active()).count();
    if (head.row_version.get() as usize) < activations {
        let message = format!(
            "expected the head's row version to count its {activations} activations, found {}",
            head.row_version
        );
        auditor.warning(id, "head", message);
    }
}

fn audit_backfill(auditor: &mut Auditor<'_>, row: &BackfillRow) {
    if row.attempts > row.max_attempts || row.max_attempts == 0 {
        auditor.error(Some(row.id.as_uuid()), "ledger", "expected at most as many attempts as allowed");
    }
    if let Err(refusal) = verified_backfill(row.clone()) {
        auditor.error(Some(row.id.as_uuid()), "ledger", refusal.to_string());
    }
}

/// A ledger row whose columns belong together and whose source has its digest.
pub(crate) fn verified_backfill(row: BackfillRow) -> Result<Backfill, Refusal> {
    let id = row.id;
    let broken = |what: &str| Refusal::BackfillCorrupt { id, what: what.to_owned() };
    let backfill =
        row.read().ok_or_else(|| broken("its lease, its completion and its error do not belong to its state"))?;
    let document = Document::parse(backfill.source.snapshot.as_bytes(), Limits::ROW)
        .map_err(|_| broken("its source is not JSON"))?;
    let computed = crate::digest::Digest::of(document.canonical().as_bytes());
    let stored = backfill.source.digest.parse().map_err(|_| broken("its source digest is not a digest"))?;
    if KeyOrder::of(&document, computed, stored).is_none() {
        return Err(broken("its source does not have its digest"));
    }
    Ok(backfill)
}
