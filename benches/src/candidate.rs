//! What is proposed: one embedding profile after the other.

use space_profiles_core::RevisionNumber;
use space_profiles_core::snapshot::{Selection, VectorSpaceId};

/// A new configuration for every number, so that none is refused as no change.
pub struct Candidate {
    /// Its number.
    pub number: u32,
    /// The model's plugin.
    pub plugin_id: &'static str,
    /// The provider within the plugin.
    pub provider: &'static str,
    /// The model's name.
    pub model: String,
    /// How long its vectors are.
    pub dimension: u32,
    /// Of version 1.
    pub vector_space_id: String,
    /// The snapshot's canonical text.
    pub snapshot: String,
    /// The canonical text of a typed capability.
    pub capability: String,
}

impl Candidate {
    /// The candidate of a number.
    ///
    /// # Errors
    ///
    /// The number is out of range.
    pub fn new(number: u32) -> anyhow::Result<Self> {
        let (plugin_id, provider, dimension) = ("langgenius/openai", "openai", 1_536);
        let model = format!("text-embedding-{}", number % 100);
        let selection =
            Selection::new(plugin_id, provider, &model).map_err(|issues| anyhow::anyhow!("{issues:?}"))?;
        let vector_space_id = VectorSpaceId::version_1(&selection, revision(number)?).to_string();
        let snapshot = format!(
            "{{\"dimension\":{dimension},\"model\":\"{model}\",\"pluginId\":\"{plugin_id}\",\
             \"provider\":\"{provider}\",\"revision\":{number},\"vectorSpaceId\":\"{vector_space_id}\"}}"
        );
        let hex = "e".repeat(64);
        let capability = format!(
            "{{\"capabilityDigest\":\"sha256:{hex}\",\"checkedAt\":\"2026-07-14T12:00:00Z\",\
             \"dimension\":{dimension},\"distanceMetric\":\"cosine\",\"inputModalities\":[\"text\"],\
             \"kind\":\"embedding\",\"pluginUniqueIdentifier\":\"{plugin_id}:0.2.7\",\
             \"schemaFingerprint\":\"sha256:{hex}\",\"selection\":{{\"model\":\"{model}\",\
             \"pluginId\":\"{plugin_id}\",\"provider\":\"{provider}\"}}}}"
        );
        Ok(Self { number, plugin_id, provider, model, dimension, vector_space_id, snapshot, capability })
    }
}

/// A revision's number.
///
/// # Errors
///
/// It is out of range.
pub fn revision(number: u32) -> anyhow::Result<RevisionNumber> {
    Ok(RevisionNumber::try_from(i64::from(number))?)
}
