//! Spaces and their manifests, as far as profiles need them.

use crate::identifiers::ManifestId;
use crate::json::{Document, Limits};
use crate::numbers::ManifestVersion;
use crate::scope::{Kind, Space};
use crate::time::Timestamp;

/// A space's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceRow {
    /// Which space it is.
    pub space: Space,
    /// What people call it.
    pub name: String,
    /// `active`, or whatever else its owner says.
    pub lifecycle_state: String,
    /// The job that deletes it, if one is under way.
    pub deletion_job: Option<uuid::Uuid>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

impl SpaceRow {
    /// Whether profiles of the space may change.
    pub fn is_writable(&self) -> bool {
        self.lifecycle_state == "active" && self.deletion_job.is_none()
    }
}

/// A space's older, mutable settings record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    /// The id of the row.
    pub id: ManifestId,
    /// Its version.
    pub version: ManifestVersion,
    /// A JSON object, as the store writes it.
    pub metadata: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

/// What a manifest holds under a kind's legacy key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LegacyProfile {
    /// Nothing.
    Absent,
    /// JSON that can be digested, in canonical form.
    Readable(String),
    /// Something that cannot be digested, or the metadata is not JSON at all.
    Unreadable,
}

impl ManifestRow {
    /// What lies under a kind's legacy key. A fault elsewhere in the metadata is nobody's business here: another
    /// writer's numbers may be larger than ours.
    pub(crate) fn legacy_profile(&self, kind: Kind) -> LegacyProfile {
        let (document, faults) = Document::parse_all(self.metadata.as_bytes(), Limits::ROW);
        let Some(document) = document else { return LegacyProfile::Unreadable };
        let Some(node) = document.member(document.root(), kind.legacy_key()) else { return LegacyProfile::Absent };
        let place = format!("/{}", kind.legacy_key());
        let is_within = |pointer: &str| {
            pointer.strip_prefix(&place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if faults.iter().any(|fault| is_within(fault.pointer.as_str())) {
            return LegacyProfile::Unreadable;
        }
        LegacyProfile::Readable(document.canonical_of(node))
    }
}
