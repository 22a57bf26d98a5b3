//! The documents that scripts read.

use serde::Serialize;
use serde_json::value::RawValue;
use space_profiles_core::decide::RevisionEntry;
use space_profiles_core::{
    ActiveProfile, Backfill, BackfillState, Failure, Finding, Issue, Outcome, ProfileDiff, Revision, RevisionId,
    RevisionNumber, RevisionState, Revisions, RowVersion, Scope, SpaceRow, Timestamp,
};

/// JSON text as it is, so that no digit of a number changes.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Raw(Box<RawValue>);

impl Raw {
    pub(crate) fn new(text: &str) -> Self {
        // Canonical text is JSON; null would show that it was not.
        Self(RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeFields {
    tenant_id: String,
    knowledge_space_id: String,
    kind: &'static str,
}

impl From<&Scope> for ScopeFields {
    fn from(scope: &Scope) -> Self {
        Self {
            tenant_id: scope.space.tenant.to_string(),
            knowledge_space_id: scope.space.id.to_string(),
            kind: scope.kind.as_str(),
        }
    }
}

/// A revision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevisionDocument {
    id: RevisionId,
    #[serde(flatten)]
    scope: ScopeFields,
    revision: RevisionNumber,
    state: &'static str,
    snapshot: Raw,
    snapshot_digest: String,
    capability_snapshot: Raw,
    capability_snapshot_digest: String,
    plugin_id: String,
    provider: String,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_space_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<u32>,
    created_by_subject_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    activated_by_subject_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_by_subject_id: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    activated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_message: Option<String>,
}

impl From<&Revision> for RevisionDocument {
    fn from(revision: &Revision) -> Self {
        let identity = revision.snapshot.identity();
        let activation = revision.state.activation();
        let (failed_at, failed_by, failure) = match &revision.state {
            RevisionState::Failed { failure, failed_at, failed_by } => {
                (Some(*failed_at), failed_by.clone(), Some(failure.clone()))
            }
            _ => (None, None, None),
        };
        let superseded_at = match revision.state {
            RevisionState::Superseded { superseded_at, .. } => Some(superseded_at),
            _ => None,
        };
        Self {
            id: revision.id,
            scope: (&revision.scope).into(),
            revision: revision.number(),
            state: revision.status().as_str(),
            snapshot: Raw::new(revision.snapshot.canonical()),
            snapshot_digest: revision.snapshot.digest().to_string(),
            capability_snapshot: Raw::new(revision.capability.canonical()),
            capability_snapshot_digest: revision.capability.digest().to_string(),
            plugin_id: identity.selection.plugin_id().to_owned(),
            provider: identity.selection.provider().to_owned(),
            model: identity.selection.model().to_owned(),
            vector_space_id: identity.vector_space_id.map(|id| id.to_string()),
            dimension: identity.dimension.map(space_profiles_core::Dimension::get),
            created_by_subject_id: revision.created_by.clone(),
            activated_by_subject_id: activation.and_then(|activation| activation.by.clone()),
            failed_by_subject_id: failed_by,
            created_at: revision.created_at,
            updated_at: revision.updated_at,
            activated_at: activation.map(|activation| activation.at),
            superseded_at,
            failed_at,
            failure_code: failure.as_ref().map(|failure| failure.code.clone()),
            failure_message: failure.map(|failure| failure.message),
        }
    }
}

/// A revision as it was read: whole, or what can be said of a corrupt one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum EntryDocument {
    Whole(Box<RevisionDocument>),
    Corrupt { revision: RevisionNumber, id: RevisionId, code: &'static str },
}

impl From<&RevisionEntry> for EntryDocument {
    fn from(entry: &RevisionEntry) -> Self {
        match entry {
            Ok(revision) => Self::Whole(Box::new(revision.into())),
            Err(corruption) => {
                Self::Corrupt { revision: corruption.revision, id: corruption.id, code: "SNAPSHOT_CORRUPT" }
            }
        }
    }
}

/// What was written, and whether it had been written before.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<T> {
    #[serde(flatten)]
    document: T,
    replayed: bool,
}

impl<T> Answer<T> {
    pub(crate) fn new<V>(outcome: &Outcome<V>, document: impl FnOnce(&V) -> T) -> Self {
        Self { document: document(&outcome.value), replayed: outcome.replayed }
    }
}

/// An active profile.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileDocument {
    #[serde(flatten)]
    scope: ScopeFields,
    active_revision: RevisionNumber,
    row_version: RowVersion,
    created_at: Timestamp,
    updated_at: Timestamp,
    profile: RevisionDocument,
}

impl From<&ActiveProfile> for ProfileDocument {
    fn from(profile: &ActiveProfile) -> Self {
        Self {
            scope: (&profile.revision.scope).into(),
            active_revision: profile.head.active_revision,
            row_version: profile.head.row_version,
            created_at: profile.head.created_at,
            updated_at: profile.head.updated_at,
            profile: (&profile.revision).into(),
        }
    }
}

/// Both active profiles of a space.
#[derive(Debug, Serialize)]
pub(crate) struct BothDocument {
    embedding: ProfileDocument,
    retrieval: ProfileDocument,
}

impl From<&[ActiveProfile; 2]> for BothDocument {
    fn from([embedding, retrieval]: &[ActiveProfile; 2]) -> Self {
        Self { embedding: embedding.into(), retrieval: retrieval.into() }
    }
}

/// A page of a history.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogDocument {
    active_revision: Option<RevisionNumber>,
    items: Vec<EntryDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_revision: Option<RevisionNumber>,
}

impl From<&Revisions> for LogDocument {
    fn from(revisions: &Revisions) -> Self {
        Self {
            active_revision: revisions.active_revision,
            items: revisions.items.iter().map(Into::into).collect(),
            next_revision: revisions.next,
        }
    }
}

/// What changed between two revisions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffDocument {
    from: RevisionNumber,
    to: RevisionNumber,
    needs_reembedding: bool,
    changes: Vec<ChangeDocument>,
}

#[derive(Debug, Serialize)]
struct ChangeDocument {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Raw>,
}

impl DiffDocument {
    pub(crate) fn new(from: RevisionNumber, to: RevisionNumber, diff: &ProfileDiff) -> Self {
        let changes = diff.changes.iter().map(|change| ChangeDocument {
            path: change.pointer.to_string(),
            before: change.before.as_deref().map(Raw::new),
            after: change.after.as_deref().map(Raw::new),
        });
        Self { from, to, needs_reembedding: diff.needs_reembedding, changes: changes.collect() }
    }
}

/// A space.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpaceDocument {
    tenant_id: String,
    knowledge_space_id: String,
    name: String,
    lifecycle_state: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&SpaceRow> for SpaceDocument {
    fn from(row: &SpaceRow) -> Self {
        Self {
            tenant_id: row.space.tenant.to_string(),
            knowledge_space_id: row.space.id.to_string(),
            name: row.name.clone(),
            lifecycle_state: row.lifecycle_state.clone(),
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A backfill.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackfillDocument {
    id: String,
    #[serde(flatten)]
    scope: ScopeFields,
    state: &'static str,
    source_manifest_version: u32,
    source_snapshot_digest: String,
    attempts: u32,
    max_attempts: u32,
    due_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Failure>,
    row_version: RowVersion,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&Backfill> for BackfillDocument {
    fn from(backfill: &Backfill) -> Self {
        let (worker_id, lease_expires_at) = match &backfill.state {
            BackfillState::Running { worker, lease_expires_at, .. } => {
                (Some(worker.clone()), Some(*lease_expires_at))
            }
            _ => (None, None),
        };
        let (completed_at, last_error) = match &backfill.state {
            BackfillState::Succeeded { completed_at } => (Some(*completed_at), None),
            BackfillState::Failed { completed_at, failure } => (Some(*completed_at), Some(failure.clone())),
            _ => (None, None),
        };
        Self {
            id: backfill.id.to_string(),
            scope: (&backfill.scope).into(),
            state: backfill.status().as_str(),
            source_manifest_version: backfill.source.manifest_version.get(),
            source_snapshot_digest: backfill.source.digest.clone(),
            attempts: backfill.attempts,
            max_attempts: backfill.max_attempts,
            due_at: backfill.due_at,
            worker_id,
            lease_expires_at,
            completed_at,
            last_error,
            retry: backfill.retry.clone(),
            row_version: backfill.row_version,
            created_at: backfill.created_at,
            updated_at: backfill.updated_at,
        }
    }
}

/// Something that failed while the rest went on.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FailedDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) issues: Vec<Issue>,
}

/// What an adoption or a run of backfills did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) imported: Option<u64>,
    pub(crate) discovered: u64,
    pub(crate) installed: u64,
    pub(crate) already_installed: u64,
    pub(crate) failed: Vec<FailedDocument>,
    pub(crate) pending: u64,
}

/// A broken rule.
#[derive(Debug, Serialize)]
pub(crate) struct FindingDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    rule: &'static str,
    message: String,
    severity: &'static str,
}

impl From<&Finding> for FindingDocument {
    fn from(finding: &Finding) -> Self {
        Self {
            scope: finding.scope.as_ref().map(ToString::to_string),
            id: finding.id.map(|id| id.to_string()),
            rule: finding.rule,
            message: finding.message.clone(),
            severity: finding.severity.as_str(),
        }
    }
}
