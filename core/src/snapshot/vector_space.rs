//! Vector space ids: which vectors may be compared with which.

use std::fmt;
use std::str::FromStr;

use super::capability::{InstallIdentity, ModelCapability};
use super::selection::{Selection, SelectionFields, SelectionMember};
use crate::digest::Digest;
use crate::identifiers::ArgumentError;
use crate::json::{DocumentSource, Out, Path, Source, member_of, shared, write_integer};
use crate::numbers::{LARGEST_NUMBER, RevisionNumber};
use crate::report::{DocumentKind, Issue};
use crate::rules::{self, Read, Rules, Slot, integer};

const PREFIX: &str = "embedding-space-sha256:";

/// The id of a vector space: `embedding-space-sha256:` and 64 lower-case hex digits.
///
/// Version 1 follows from the selection and the revision alone; version 2 also from what was observed of the
/// installed model, so that an upgrade of the plugin makes another space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorSpaceId(Digest);

/// A member of what an id is derived from.
#[derive(Clone, Copy)]
enum Member {
    Revision,
    Selection(SelectionMember),
    InstallIdentity,
}

impl Member {
    const NAMES: [(&'static str, Self); 5] = [
        ("revision", Self::Revision),
        ("pluginId", Self::Selection(SelectionMember::PluginId)),
        ("provider", Self::Selection(SelectionMember::Provider)),
        ("model", Self::Selection(SelectionMember::Model)),
        ("installIdentity", Self::InstallIdentity),
    ];
}

impl VectorSpaceId {
    /// The id of version 1.
    pub fn version_1(selection: &Selection<'_>, revision: RevisionNumber) -> Self {
        let mut material = String::with_capacity(192);
        material.push('{');
        selection.write_members(&mut material);
        write_revision(&mut material, revision, 1);
        Self(Digest::of(material.as_bytes()))
    }

    /// The id of version 2, from the typed capability of an embedding model; `None` if the capability names no
    /// dimension or no distance metric.
    pub fn version_2(
        selection: &Selection<'_>,
        revision: RevisionNumber,
        capability: &ModelCapability,
    ) -> Option<Self> {
        capability.install_identity().map(|identity| Self::of_installation(selection, revision, &identity))
    }

    fn of_installation(
        selection: &Selection<'_>,
        revision: RevisionNumber,
        identity: &InstallIdentity<'_>,
    ) -> Self {
        let mut material = String::with_capacity(640);
        material.push_str("{\"installIdentity\":");
        identity.write(&mut material);
        material.push(',');
        selection.write_members(&mut material);
        write_revision(&mut material, revision, 2);
        Self(Digest::of(material.as_bytes()))
    }

    /// The id that follows from a JSON text of what it is derived from: `{pluginId, provider, model, revision}`
    /// (version 1), or the same with `installIdentity: {capabilityDigest, dimension, distanceMetric,
    /// pluginUniqueIdentifier, schemaFingerprint}` (version 2).
    ///
    /// # Errors
    ///
    /// Every issue of the text.
    ///
    /// ```
    /// use space_profiles_core::snapshot::VectorSpaceId;
    /// let id = VectorSpaceId::of_material(
    ///     br#"{"pluginId": "langgenius/openai", "provider": "openai", "model": "bge-m3", "revision": 1}"#,
    /// );
    /// assert!(id.unwrap().to_string().starts_with("embedding-space-sha256:"));
    /// ```
    pub fn of_material(text: &[u8]) -> Result<Self, Vec<Issue>> {
        let (document, mut rules) = Rules::of_text(DocumentKind::Snapshot, text);
        let Some(document) = document else {
            return Err(rules.issues);
        };
        let mut source = DocumentSource::new(&document, document.root());
        match Self::read_material(&mut shared(&mut source), &mut rules) {
            Ok(Some(id)) if !rules.has_errors() => Ok(id),
            _ => Err(rules.issues),
        }
    }

    fn read_material<'a>(source: &mut impl Source<'a>, rules: &mut Rules) -> Read<Self> {
        let path = &Path::ROOT;
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut selection = SelectionFields::new();
        let mut revision = Slot::Missing;
        let mut identity = Slot::Missing;
        while let Some((key, member)) = member_of(source, &Member::NAMES)? {
            let at = path.member(&key);
            match member {
                Some(Member::Revision) => {
                    revision.fill(source, |source| integer(source, &at, rules, LARGEST_NUMBER))?;
                }
                Some(Member::Selection(member)) => selection.read(member, source, &at, rules)?,
                Some(Member::InstallIdentity) => {
                    identity.fill(source, |source| InstallIdentity::read(source, &at, rules))?;
                }
                None => rules.unknown(source, path, &key)?,
            }
        }
        let selection = selection.finish(path, rules);
        let revision = revision.required(rules, &path.member("revision"));
        let revision = revision.and_then(RevisionNumber::of);
        let (Some(selection), Some(revision), Some(identity)) = (selection, revision, identity.optional()) else {
            return Ok(None);
        };
        Ok(Some(match identity {
            Some(identity) => Self::of_installation(&selection, revision, &identity),
            None => Self::version_1(&selection, revision),
        }))
    }

    /// Reads a text of the only length that there is.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn of_characters(text: &[u8; PREFIX.len() + 64]) -> Option<Self> {
        text.strip_prefix(PREFIX.as_bytes()).and_then(|hex| Digest::from_hex(hex).ok()).map(Self)
    }

    /// Appends the text.
    pub fn push_to(self, out: &mut String) {
        self.write(out);
    }

    pub(super) fn write(self, out: &mut impl Out) {
        out.push_str(PREFIX);
        self.0.write(out);
    }
}

/// What ends the material of either version.
fn write_revision(material: &mut String, revision: RevisionNumber, schema_version: u64) {
    material.push_str(",\"revision\":");
    write_integer(material, revision.get().into());
    material.push_str(",\"schemaVersion\":");
    write_integer(material, schema_version);
    material.push('}');
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
