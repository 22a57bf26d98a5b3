//! Vector space ids: which vectors may be compared with which.

use std::fmt;
use std::str::FromStr;

use super::capability::ModelCapability;
use super::selection::Selection;
use crate::digest::Digest;
use crate::identifiers::ArgumentError;
use crate::numbers::RevisionNumber;

const PREFIX: &str = "embedding-space-sha256:";

/// The id of a vector space: `embedding-space-sha256:` and 64 lower-case hex digits.
///
/// Version 1 follows from the selection and the revision alone; version 2 also from what was observed of the
/// installed model, so that an upgrade of the plugin makes another space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorSpaceId(Digest);

impl VectorSpaceId {
    /// The id of version 1.
    pub fn version_1(selection: &Selection<'_>, revision: RevisionNumber) -> Self {
        let mut material = String::with_capacity(192);
        material.push('{');
        selection.write_members(&mut material);
        material.push_str(&format!(",\"revision\":{revision},\"schemaVersion\":1}}"));
        Self(Digest::of(material.as_bytes()))
    }

    /// The id of version 2, from the typed capability of an embedding model; `None` if the capability names no
    /// dimension or no distance metric.
    pub fn version_2(
        selection: &Selection<'_>,
        revision: RevisionNumber,
        capability: &ModelCapability,
    ) -> Option<Self> {
        let mut material = String::with_capacity(640);
        material.push_str("{\"installIdentity\":");
        capability.write_install_identity(&mut material)?;
        material.push(',');
        selection.write_members(&mut material);
        material.push_str(&format!(",\"revision\":{revision},\"schemaVersion\":2}}"));
        Some(Self(Digest::of(material.as_bytes())))
    }

    pub(crate) fn push_to(self, out: &mut String) {
        out.push_str(PREFIX);
        self.0.push_to(out);
    }
}

impl fmt::Display for VectorSpaceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.0)
    }
}

impl FromStr for VectorSpaceId {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        text.as_bytes()
            .strip_prefix(PREFIX.as_bytes())
            .and_then(|hex| Digest::from_hex(hex).ok())
            .map(Self)
            .ok_or_else(|| {
                ArgumentError::new("vectorSpaceId", format!("expected `{PREFIX}` and 64 lower-case hex digits"))
            })
    }
}

impl serde::Serialize for VectorSpaceId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
