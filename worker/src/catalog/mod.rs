//! The catalog: a file that says what models there are, for checks without a model service.

mod entry;
mod error;

pub use error::{CatalogError, CatalogProblem};

use std::collections::BTreeMap;
use std::path::Path;

use space_profiles_core::Dimension;
use space_profiles_core::snapshot::{
    DistanceMetric, InputModalities, ModelCapability, ModelKind, Observation, Selection,
};

use crate::check::{CheckCode, CheckError, CheckRequest, ModelCheck};
use entry::Entry;

/// What a catalog file says about models. Checking a model looks it up.
///
/// ```
/// use space_profiles_worker::Catalog;
/// Catalog::parse(r#"
///     [[model]]
///     pluginId = "langgenius/openai"
///     provider = "openai"
///     model = "gpt-4.1"
///     kinds = ["reasoning"]
///     pluginUniqueIdentifier = "langgenius/openai:0.2.7"
///     schemaFingerprint = "sha256:0f4c9a2e6d1b8375c0e9f1a2b3c4d5e60718293a4b5c6d7e8f90a1b2c3d4e5f6"
/// "#)?;
/// # Ok::<(), space_profiles_worker::CatalogError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalog {
    models: BTreeMap<Selection<'static>, Model>,
}

/// What the catalog says about one model.
#[derive(Debug, Clone)]
struct Model {
    kinds: Vec<ModelKind>,
    dimension: Option<Dimension>,
    distance_metric: Option<DistanceMetric>,
    plugin_unique_identifier: String,
    schema_fingerprint: String,
    plugin_version: Option<String>,
    input_modalities: Option<InputModalities>,
    /// A JSON object.
    capabilities: String,
}

impl Catalog {
    /// Reads a catalog's text: an array of tables, `[[model]]`.
    ///
    /// # Errors
    ///
    /// Where the text is not TOML, or every problem of every entry.
    pub fn parse(toml: &str) -> Result<Self, CatalogError> {
        let document = toml.parse().map_err(|error| CatalogError::syntax(toml, &error))?;
        let mut problems = Vec::new();
        let mut models = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for (number, table) in entry::entries(document, &mut problems) {
            let Some((selection, model)) = Entry::new(number, table, &mut problems).read() else { continue };
            if let Some(first) = numbers.get(&selection) {
                let message = format!("expected each model once, found that entry {first} is the same one");
                problems.push(CatalogProblem::of_field(number, "model", message));
                continue;
            }
            numbers.insert(selection.clone(), number);
            models.insert(selection, model);
        }
        if problems.is_empty() { Ok(Self { models }) } else { Err(CatalogError::Invalid(problems)) }
    }

    /// Reads a catalog file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or as [`Self::parse`].
    pub fn read(path: &Path) -> Result<Self, CatalogError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CatalogError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    fn not_found(&self, request: &CheckRequest) -> CheckError {
        let wanted = &request.selection;
        let mut message = format!(
            "expected the catalog to list {}, found no such entry; add a `[[model]]` with these names and with \
             `{}` among its kinds",
            described(wanted),
            request.kind.as_str()
        );
        let is_near = |listed: &&Selection<'_>| listed.model().eq_ignore_ascii_case(wanted.model());
        if let Some(near) = self.models.keys().find(is_near) {
            message.push_str(&format!(", or correct the names if {} is meant", described(near)));
        }
        CheckError::new(CheckCode::SelectionNotFound, message)
    }
}

#[async_trait::async_trait]
impl ModelCheck for Catalog {
    async fn check(&self, request: &CheckRequest) -> Result<ModelCapability, CheckError> {
        let model = self.models.get(&request.selection).ok_or_else(|| self.not_found(request))?;
        if !model.kinds.contains(&request.kind) {
            let kinds: Vec<String> = model.kinds.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
            let message = format!(
                "expected {} to be for `{}`, found that the catalog lists it for {}",
                described(&request.selection),
                request.kind.as_str(),
                kinds.join(" and ")
            );
            return Err(CheckError::new(CheckCode::CapabilityMismatch, message));
        }
        let observation = model.observation(request.kind, &request.selection);
        ModelCapability::of_observation(&observation, request.checked_at)
            // Parsing has tried the same observation.
            .map_err(|_| CheckError::new(CheckCode::Failed, "the catalog's entry is not a valid capability"))
    }
}

impl Model {
    fn observation<'o>(&'o self, kind: ModelKind, selection: &'o Selection<'o>) -> Observation<'o> {
        let is_embedding = kind == ModelKind::Embedding;
        Observation {
            kind,
            selection,
            schema_fingerprint: &self.schema_fingerprint,
            plugin_unique_identifier: &self.plugin_unique_identifier,
            plugin_version: self.plugin_version.as_deref(),
            dimension: self.dimension.filter(|_| is_embedding),
            distance_metric: self.distance_metric.filter(|_| is_embedding),
            input_modalities: self.input_modalities,
            capabilities: &self.capabilities,
        }
    }
}

fn described(selection: &Selection<'_>) -> String {
    format!(
        "model `{}` of plugin `{}`, provider `{}`",
        selection.model(),
        selection.plugin_id(),
        selection.provider()
    )
}
