//! Spaces and their manifests, as far as profiles need them.

use crate::identifiers::ManifestId;
use crate::numbers::ManifestVersion;
use crate::scope::Space;
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
    /// Whether a job that deletes it is under way.
    pub has_deletion_job: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

impl SpaceRow {
    /// Whether profiles of the space may change.
    pub fn is_writable(&self) -> bool {
        self.lifecycle_state == "active" && !self.has_deletion_job
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
