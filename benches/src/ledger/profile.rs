//! The legacy profile that every space of a benchmark has.

use anyhow::anyhow;
use serde_json::json as value;
use space_profiles_core::snapshot::{DistanceMetric, ModelCapability, Observation, Selection, VectorSpaceId};
use space_profiles_core::{Dimension, Kind, RevisionNumber, json, listed_errors};
use space_profiles_worker::{CheckCode, CheckError, CheckRequest, ModelCheck};

const FINGERPRINT: &str = "sha256:0f4c9a2e6d1b8375c0e9f1a2b3c4d5e60718293a4b5c6d7e8f90a1b2c3d4e5f6";

/// The profile, in canonical form.
pub(super) fn text() -> anyhow::Result<String> {
    let selection = Selection::new("langgenius/openai", "openai", "text-embedding-3-small")
        .map_err(|issues| anyhow!(listed_errors(&issues)))?;
    let profile = value!({
        "pluginId": selection.plugin_id(),
        "provider": selection.provider(),
        "model": selection.model(),
        "revision": 1,
        "vectorSpaceId": VectorSpaceId::version_1(&selection, RevisionNumber::FIRST).to_string(),
    });
    Ok(json::canonicalize(profile.to_string().as_bytes(), json::Limits::ANY)?)
}

/// The metadata of a manifest that holds it.
pub(super) fn metadata() -> anyhow::Result<String> {
    Ok(format!("{{\"{}\":{}}}", Kind::Embedding.legacy_key(), text()?))
}

/// Answers at once.
pub(super) struct AtOnce;

#[async_trait::async_trait]
impl ModelCheck for AtOnce {
    async fn check(&self, request: &CheckRequest) -> Result<ModelCapability, CheckError> {
        let observation = Observation {
            kind: request.kind,
            selection: &request.selection,
            schema_fingerprint: FINGERPRINT,
            plugin_unique_identifier: "langgenius/openai:0.2.7",
            plugin_version: None,
            dimension: Dimension::try_from(1_536).ok(),
            distance_metric: Some(DistanceMetric::Cosine),
            input_modalities: None,
            capabilities: "{}",
        };
        ModelCapability::of_observation(&observation, request.checked_at)
            .map_err(|issues| CheckError::new(CheckCode::Failed, listed_errors(&issues)))
    }
}
