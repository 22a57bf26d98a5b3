//! Revisions: numbered snapshots of a scope.

use std::fmt;
use std::str::FromStr;

use crate::collation::KeyOrder;
use crate::digest::Digest;
use crate::identifiers::{ArgumentError, RevisionId, SubjectId};
use crate::json::{Document, Limits};
use crate::numbers::RevisionNumber;
use crate::scope::Scope;
use crate::snapshot::{Capability, Snapshot};
use crate::time::Timestamp;

/// A revision whose digests, identity columns and lifecycle have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The id of its row.
    pub id: RevisionId,
    /// Where it belongs.
    pub scope: Scope,
    /// The snapshot, which carries the number.
    pub snapshot: Snapshot,
    /// What was observed of its models.
    pub capability: Capability,
    /// Who proposed it.
    pub created_by: String,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub state: RevisionState,
}

/// Where a revision stands, with what belongs to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionState {
    /// Proposed.
    Candidate,
    /// The one that its head points at.
    Active(Activation),
    /// Active once.
    Superseded {
        /// When and by whom it was activated.
        activation: Activation,
        /// When another took its place.
        superseded_at: Timestamp,
    },
    /// Given up before it was ever active.
    Failed {
        /// Why.
        failure: Failure,
        /// When.
        failed_at: Timestamp,
        /// Who said so; unknown in rows that another writer made.
        failed_by: Option<String>,
    },
}

/// When and by whom a revision was activated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// When.
    pub at: Timestamp,
    /// By whom; unknown in rows that another writer made.
    pub by: Option<String>,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// The name of a revision's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RevisionStatus {
    /// Proposed.
    Candidate,
    /// The one that its head points at.
    Active,
    /// Active once.
    Superseded,
    /// Given up before it was ever active.
    Failed,
}

impl RevisionStatus {
    const ALL: [Self; 4] = [Self::Candidate, Self::Active, Self::Superseded, Self::Failed];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Active => "active",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
        }
    }

    /// Whether a revision in this state is or was active.
    pub const fn was_ever_active(self) -> bool {
        matches!(self, Self::Active | Self::Superseded)
    }
}

impl fmt::Display for RevisionStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for RevisionStatus {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| ArgumentError::new("state", format!("expected a revision's state, found `{text}`")))
    }
}

impl RevisionState {
    /// The state's name.
    pub const fn status(&self) -> RevisionStatus {
        match self {
            Self::Candidate => RevisionStatus::Candidate,
            Self::Active(_) => RevisionStatus::Active,
            Self::Superseded { .. } => RevisionStatus::Superseded,
            Self::Failed { .. } => RevisionStatus::Failed,
        }
    }

    /// When and by whom the revision was activated, if it ever was.
    pub const fn activation(&self) -> Option<&Activation> {
        match self {
            Self::Active(activation) | Self::Superseded { activation, .. } => Some(activation),
            Self::Candidate | Self::Failed { .. } => None,
        }
    }
}

impl Revision {
    /// The number.
    pub const fn number(&self) -> RevisionNumber {
        self.snapshot.revision()
    }

    /// The state's name.
    pub const fn status(&self) -> RevisionStatus {
        self.state.status()
    }

    /// Whether two revisions configure a space alike: equal but for number and vector space id, and with one
    /// vector space, or each with the one that its own number derives.
    pub fn has_configuration_of(&self, snapshot: &Snapshot, capability: &Capability) -> bool {
        self.snapshot.profile().has_same_settings(snapshot.profile())
            && (self.snapshot.identity().vector_space_id == snapshot.identity().vector_space_id
                || (self.snapshot.has_derived_vector_space(&self.capability)
                    && snapshot.has_derived_vector_space(capability)))
    }

    /// The revision once it is active.
    pub(crate) fn activated(self, at: Timestamp, by: &SubjectId) -> Self {
        let activation = Activation { at, by: Some(by.as_str().to_owned()) };
        Self { updated_at: at, state: RevisionState::Active(activation), ..self }
    }

    /// The columns a store writes.
    pub fn to_row(&self) -> RevisionRow {
        let identity = self.snapshot.identity();
        let (failure, failed_at, failed_by) = match &self.state {
            RevisionState::Failed { failure, failed_at, failed_by } => {
                (Some(failure.clone()), Some(*failed_at), failed_by.clone())
            }
            _ => (None, None, None),
        };
        let activation = self.state.activation();
        RevisionRow {
            id: self.id,
            revision: self.number(),
            status: self.status(),
            snapshot: self.snapshot.canonical().to_owned(),
            snapshot_digest: self.snapshot.digest().to_string(),
            capability_snapshot: self.capability.canonical().to_owned(),
            capability_snapshot_digest: self.capability.digest().to_string(),
            plugin_id: identity.selection.plugin_id().to_owned(),
            provider: identity.selection.provider().to_owned(),
            model: identity.selection.model().to_owned(),
            vector_space_id: identity.vector_space_id.map(|id| id.to_string()),
            dimension: identity.dimension.map(i64::from),
            created_by: self.created_by.clone(),
            activated_by: activation.and_then(|activation| activation.by.clone()),
            failed_by,
            failure_code: failure.as_ref().map(|failure| failure.code.clone()),
            failure_message: failure.map(|failure| failure.message),
            created_at: self.created_at,
            updated_at: self.updated_at,
            activated_at: activation.map(|activation| activation.at),
            superseded_at: match self.state {
                RevisionState::Superseded { superseded_at, .. } => Some(superseded_at),
                _ => None,
            },
            failed_at,
        }
    }
}

/// A revision as a store holds it: columns that nobody has checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the columns of `knowledge_space_profile_revisions`")]
pub struct RevisionRow {
    pub id: RevisionId,
    pub revision: RevisionNumber,
    pub status: RevisionStatus,
    pub snapshot: String,
    pub snapshot_digest: String,
    pub capability_snapshot: String,
    pub capability_snapshot_digest: String,
    pub plugin_id: String,
    pub provider: String,
    pub model: String,
    pub vector_space_id: Option<String>,
    pub dimension: Option<i64>,
    pub created_by: String,
    pub activated_by: Option<String>,
    pub failed_by: Option<String>,
    pub failure_code: Option<String>,
    pub failure_message: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub activated_at: Option<Timestamp>,
    pub superseded_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
}

/// A row that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} (row {id}): {what}")]
pub struct Corruption {
    /// The id of the row.
    pub id: RevisionId,
    /// The number of the revision.
    pub revision: RevisionNumber,
    /// Which rule of the audit it breaks.
    pub rule: &'static str,
    /// What was expected and what was found.
    pub what: String,
}

impl RevisionRow {
    /// Checks digests, identity columns and lifecycle.
    ///
    /// # Errors
    ///
    /// The first contradiction within the row.
    pub fn verify(&self, scope: &Scope) -> Result<Revision, Corruption> {
        self.verify_with_key_order(scope).map(|(revision, _)| revision)
    }

    /// As [`Self::verify`]; also tells over which order of keys each digest was made, snapshot first.
    ///
    /// # Errors
    ///
    /// The first contradiction within the row.
    pub fn verify_with_key_order(&self, scope: &Scope) -> Result<(Revision, [KeyOrder; 2]), Corruption> {
        let (snapshot, snapshot_order) = self.snapshot(scope)?;
        let (capability, capability_order) = self.capability()?;
        self.check_identity(&snapshot)?;
        let state = self.state()?;
        let revision = Revision {
            id: self.id,
            scope: scope.clone(),
            snapshot,
            capability,
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            state,
        };
        Ok((revision, [snapshot_order, capability_order]))
    }

    fn snapshot(&self, scope: &Scope) -> Result<(Snapshot, KeyOrder), Corruption> {
        let text = self.snapshot.as_bytes();
        let mut snapshot = Snapshot::of_row(scope.kind, text);
        // A valid snapshot says all that its text does, so both have one canonical form.
        if let Some(snapshot) = snapshot.take_if(|snapshot| self.snapshot_digest.parse() == Ok(snapshot.digest()))
        {
            return Ok((snapshot, KeyOrder::Rfc8785));
        }
        let document =
            Document::parse(text, Limits::ROW).map_err(|error| self.corrupt("digest", error.to_string()))?;
        let computed = Digest::of(document.canonical().as_bytes());
        let order = self.key_order("snapshot", &document, computed, &self.snapshot_digest)?;
        let snapshot = snapshot
            .ok_or_else(|| self.corrupt("snapshot", format!("expected a valid {} snapshot", scope.kind)))?;
        Ok((snapshot, order))
    }

    fn capability(&self) -> Result<(Capability, KeyOrder), Corruption> {
        let document = Document::parse(self.capability_snapshot.as_bytes(), Limits::ROW)
            .map_err(|error| self.corrupt("digest", error.to_string()))?;
        let capability = Capability::of_row(&document);
        let computed = capability
            .as_ref()
            .map_or_else(|| Digest::of(document.canonical().as_bytes()), |capability| capability.digest());
        let order =
            self.key_order("capability snapshot", &document, computed, &self.capability_snapshot_digest)?;
        let capability = capability
            .ok_or_else(|| self.corrupt("snapshot", "expected the capability snapshot to be an object"))?;
        Ok((capability, order))
    }

    /// Whether the row's columns are those of a snapshot's model and dimension, whatever else it says.
    pub(crate) fn has_identity_of(&self, snapshot: &Snapshot) -> bool {
        let identity = snapshot.identity();
        self.plugin_id == identity.selection.plugin_id()
            && self.provider == identity.selection.provider()
            && self.model == identity.selection.model()
            && self.dimension == identity.dimension.map(i64::from)
    }

    /// The latest time in the row.
    pub fn latest_stamp(&self) -> Timestamp {
        [self.activated_at, self.superseded_at, self.failed_at]
            .into_iter()
            .flatten()
            .fold(self.created_at.max(self.updated_at), Timestamp::max)
    }

    fn corrupt(&self, rule: &'static str, what: impl Into<String>) -> Corruption {
        Corruption { id: self.id, revision: self.revision, rule, what: what.into() }
    }

    fn key_order(
        &self,
        name: &str,
        document: &Document<'_>,
        computed: Digest,
        stored: &str,
    ) -> Result<KeyOrder, Corruption> {
        stored.parse().ok().and_then(|stored| KeyOrder::of(document, computed, stored)).ok_or_else(|| {
            self.corrupt("digest", format!("expected the {name}'s digest to be {computed}, found `{stored}`"))
        })
    }

    fn check_identity(&self, snapshot: &Snapshot) -> Result<(), Corruption> {
        let identity = snapshot.identity();
        let vector_space_id = identity.vector_space_id.map(|id| id.to_string());
        let wrong = if snapshot.revision() != self.revision {
            "revision"
        } else if identity.selection.plugin_id() != self.plugin_id {
            "plugin_id"
        } else if identity.selection.provider() != self.provider {
            "provider"
        } else if identity.selection.model() != self.model {
            "model"
        } else if vector_space_id != self.vector_space_id {
            "vector_space_id"
        } else if identity.dimension.map(i64::from) != self.dimension {
            "dimension"
        } else {
            return Ok(());
        };
        Err(self.corrupt("identity", format!("expected column `{wrong}` to say what the snapshot says")))
    }

    fn state(&self) -> Result<RevisionState, Corruption> {
        let activation = |at| Activation { at, by: self.activated_by.clone() };
        let failure = self.failure_code.as_ref().zip(self.failure_message.as_ref());
        let is_whole = self.failure_code.is_some() == self.failure_message.is_some()
            && (self.status.was_ever_active() || self.activated_by.is_none())
            && (self.status == RevisionStatus::Failed || self.failed_by.is_none());
        let times = (self.activated_at, self.superseded_at, self.failed_at, failure);
        let state = match (self.status, times) {
            (status, _) if !is_whole => return Err(self.misplaced(status)),
            (RevisionStatus::Candidate, (None, None, None, None)) => RevisionState::Candidate,
            (RevisionStatus::Active, (Some(at), None, None, None)) => RevisionState::Active(activation(at)),
            (RevisionStatus::Superseded, (Some(at), Some(superseded_at), None, None)) => {
                RevisionState::Superseded { activation: activation(at), superseded_at }
            }
            (RevisionStatus::Failed, (None, None, Some(failed_at), Some((code, message)))) => {
                RevisionState::Failed {
                    failure: Failure { code: code.clone(), message: message.clone() },
                    failed_at,
                    failed_by: self.failed_by.clone(),
                }
            }
            (status, _) => return Err(self.misplaced(status)),
        };
        Ok(state)
    }

    fn misplaced(&self, status: RevisionStatus) -> Corruption {
        let what = format!("expected the times, the subjects and the failure that belong to state `{status}`");
        self.corrupt("lifecycle", what)
    }

    /// Every contradiction within the row, one of each kind.
    pub(crate) fn contradictions(&self, scope: &Scope) -> Vec<Corruption> {
        let snapshot = self.snapshot(scope);
        let identity = snapshot.as_ref().ok().and_then(|(snapshot, _)| self.check_identity(snapshot).err());
        let parts = [snapshot.err(), self.capability().err(), identity, self.state().err()];
        parts.into_iter().flatten().collect()
    }

    /// Whether the row's times are in order: created, then activated, then superseded, or created, then failed;
    /// none after the last change.
    pub(crate) fn has_times_in_order(&self) -> bool {
        let order = [Some(self.created_at), self.activated_at, self.superseded_at];
        let lifecycle: Vec<Timestamp> = order.into_iter().flatten().collect();
        lifecycle.is_sorted()
            && self.failed_at.is_none_or(|failed_at| failed_at >= self.created_at)
            && self.latest_stamp() <= self.updated_at
    }
}
