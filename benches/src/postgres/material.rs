//! The revisions that are stored and proposed: of every space the same ones.

use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, anyhow};
use space_profiles_core::snapshot::{
    Capability, DistanceMetric, Draft, ModelCapability, ModelKind, Observation, Selection, Snapshot,
};
use space_profiles_core::{Dimension, Kind, RevisionNumber, Timestamp};

/// Where a scope's history ends in this benchmark.
const MOST: usize = 1 << 16;

/// A revision's snapshot and capability, valid and with their digests.
pub struct Material {
    /// The snapshot, which carries the number.
    pub snapshot: Snapshot,
    /// A typed capability, as the check of a model writes it.
    pub capability: Capability,
}

/// The revisions by number, each made when it is first asked for: making them is nobody's work that is measured.
pub struct Materials(Vec<OnceLock<Arc<Material>>>);

impl Default for Materials {
    fn default() -> Self {
        Self((0..MOST).map(|_| OnceLock::new()).collect())
    }
}

impl Materials {
    /// The revision with a number, which says something else than the one before it.
    ///
    /// # Errors
    ///
    /// The number is too high.
    pub fn revision(&self, number: u32) -> anyhow::Result<Arc<Material>> {
        let place = self.0.get(number as usize).context("a scope has more revisions than expected")?;
        if place.get().is_none() {
            let _ = place.set(Arc::new(make(number)?));
        }
        place.get().cloned().context("a revision is there once it is made")
    }
}

fn make(number: u32) -> anyhow::Result<Material> {
    let invalid = |issues| anyhow!("the revision is not valid: {issues:?}");
    let model = ["text-embedding-3-small", "text-embedding-3-large"][number as usize % 2];
    let dimension = 1_536 * (1 + number % 2);
    let draft = format!(
        r#"{{"dimension":{dimension},"model":"{model}","pluginId":"langgenius/openai","provider":"openai"}}"#
    );
    let capability = ModelCapability::of_observation(
        &Observation {
            kind: ModelKind::Embedding,
            selection: &Selection::new("langgenius/openai", "openai", model).map_err(invalid)?,
            schema_fingerprint: &format!("sha256:{}", "e".repeat(64)),
            plugin_unique_identifier: "langgenius/openai:0.2.7@0123456789abcdef",
            plugin_version: Some("0.2.7"),
            dimension: Some(Dimension::try_from(i64::from(dimension))?),
            distance_metric: Some(DistanceMetric::Cosine),
            input_modalities: None,
            capabilities: "{}",
        },
        Timestamp::from_micros(1_784_030_400_000_000),
    );
    let capability = Capability::of_model(capability.map_err(invalid)?);
    let draft = Draft::parse(Kind::Embedding, draft.as_bytes()).map_err(invalid)?;
    let snapshot = draft.fill(RevisionNumber::try_from(i64::from(number))?, &capability);
    Ok(Material { snapshot, capability })
}
