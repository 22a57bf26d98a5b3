//! Reads the entries of a catalog and says everything that is wrong with them.

use space_profiles_core::snapshot::{
    DistanceMetric, InputModalities, ModelCapability, ModelKind, Observation, Selection,
};
use space_profiles_core::{Dimension, Issue, Severity, Timestamp};
use toml::{Table, Value};

use super::Model;
use super::error::CatalogProblem;

const KINDS: [ModelKind; 3] = [ModelKind::Embedding, ModelKind::Reasoning, ModelKind::Rerank];

const FIELDS: &str = "pluginId, provider, model, kinds, dimension, distanceMetric, pluginUniqueIdentifier, \
                      schemaFingerprint, pluginVersion, inputModalities and capabilities";

/// Stands for what an entry lacks while the rest of it is tried.
const PLACEHOLDER: &str = "-";
const PLACEHOLDER_FINGERPRINT: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The entries of a document, each with its number.
pub(super) fn entries(mut document: Table, problems: &mut Vec<CatalogProblem>) -> Vec<(usize, Table)> {
    let models = document.remove("model");
    for key in document.keys() {
        problems.push(CatalogProblem::of_catalog(format!("expected `[[model]]` and nothing else, found `{key}`")));
    }
    let models = match models {
        Some(Value::Array(models)) if !models.is_empty() => models,
        Some(Value::Array(_)) | None => {
            problems.push(CatalogProblem::of_catalog("expected at least one `[[model]]`, found none"));
            return Vec::new();
        }
        Some(other) => {
            let found = other.type_str();
            let message = format!("expected `[[model]]` in double brackets, found `model` as {found}");
            problems.push(CatalogProblem::of_catalog(message));
            return Vec::new();
        }
    };
    let mut entries = Vec::with_capacity(models.len());
    for (number, model) in (1..).zip(models) {
        match model {
            Value::Table(table) => entries.push((number, table)),
            other => {
                let message = format!("expected a table, found {}", other.type_str());
                problems.push(CatalogProblem::of_entry(number, message));
            }
        }
    }
    entries
}

/// One entry while it is read; what has been read is taken out of the table.
pub(super) struct Entry<'p> {
    number: usize,
    table: Table,
    problems: &'p mut Vec<CatalogProblem>,
}

impl<'p> Entry<'p> {
    pub(super) fn new(number: usize, table: Table, problems: &'p mut Vec<CatalogProblem>) -> Self {
        Self { number, table, problems }
    }

    /// The model, unless something is wrong with it.
    pub(super) fn read(mut self) -> Option<(Selection<'static>, Model)> {
        let problems_before = self.problems.len();
        let selection = self.selection();
        let kinds = self.kinds();
        let is_embedding = kinds.as_ref().map(|kinds| kinds.contains(&ModelKind::Embedding));
        let dimension = self.embedding_only("dimension", is_embedding, dimension);
        let distance_metric = self.embedding_only("distanceMetric", is_embedding, distance_metric);
        let plugin_unique_identifier = self.required("pluginUniqueIdentifier", text);
        let schema_fingerprint = self.required("schemaFingerprint", text);
        let plugin_version = self.optional("pluginVersion", text);
        let input_modalities = self.optional("inputModalities", input_modalities);
        let capabilities = self.optional("capabilities", capabilities).unwrap_or_else(|| "{}".to_owned());
        self.try_out(&Observation {
            kind: ModelKind::Reasoning,
            selection: &placeholder()?,
            schema_fingerprint: schema_fingerprint.as_deref().unwrap_or(PLACEHOLDER_FINGERPRINT),
            plugin_unique_identifier: plugin_unique_identifier.as_deref().unwrap_or(PLACEHOLDER),
            plugin_version: plugin_version.as_deref(),
            dimension: None,
            distance_metric: None,
            input_modalities,
            capabilities: &capabilities,
        });
        self.refuse_the_rest();
        if self.problems.len() > problems_before {
            return None;
        }
        let model = Model {
            kinds: kinds?,
            dimension,
            distance_metric,
            plugin_unique_identifier: plugin_unique_identifier?,
            schema_fingerprint: schema_fingerprint?,
            plugin_version,
            input_modalities,
            capabilities,
        };
        Some((selection?, model))
    }

    fn selection(&mut self) -> Option<Selection<'static>> {
        let names = ["pluginId", "provider", "model"].map(|name| self.required(name, text));
        let [plugin_id, provider, model] = names.each_ref().map(|name| name.as_deref().unwrap_or(PLACEHOLDER));
        Selection::new(plugin_id, provider, model).map_err(|issues| self.issues(&issues)).ok()
    }

    fn kinds(&mut self) -> Option<Vec<ModelKind>> {
        self.required("kinds", |value| {
            let expected = "expected a list of `embedding`, `reasoning` and `rerank`, each at most once";
            let names = texts(value).filter(|names| !names.is_empty());
            let names = names.ok_or_else(|| format!("{expected}, found something else"))?;
            let mut kinds = Vec::new();
            for name in &names {
                let kind = KINDS.into_iter().find(|kind| kind.as_str() == name);
                match kind.filter(|kind| !kinds.contains(kind)) {
                    Some(kind) => kinds.push(kind),
                    None => return Err(format!("{expected}, found `{}`", names.join("`, `"))),
                }
            }
            Ok(kinds)
        })
    }

    fn optional<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Result<T, String>) -> Option<T> {
        let value = self.table.remove(name)?;
        read(value).map_err(|message| self.problem(name, message)).ok()
    }

    fn required<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Result<T, String>) -> Option<T> {
        if !self.table.contains_key(name) {
            self.problem(name, "expected this field, found none");
        }
        self.optional(name, read)
    }

    /// Reads a field that an embedding model must have and the others must not.
    fn embedding_only<T>(
        &mut self,
        name: &str,
        is_embedding: Option<bool>,
        read: impl FnOnce(Value) -> Result<T, String>,
    ) -> Option<T> {
        match is_embedding {
            Some(true) => self.required(name, read),
            Some(false) => self.optional(name, |_| {
                Err("expected no such field of a model that is not for `embedding`; remove it".to_owned())
            }),
            None => self.optional(name, read),
        }
    }

    /// Lets core judge what a check would observe.
    fn try_out(&mut self, observation: &Observation<'_>) {
        if let Err(issues) = observation.capability_digest() {
            for issue in issues {
                let at = if issue.pointer.as_str().starts_with("/capabilities") { "" } else { "capabilities" };
                self.problem(&format!("{at}{}", issue.pointer.as_str()), issue.message);
            }
        }
        let without_declaration = Observation { capabilities: "{}", ..*observation };
        if let Err(issues) = ModelCapability::of_observation(&without_declaration, Timestamp::EARLIEST) {
            self.issues(&issues);
        }
    }

    fn refuse_the_rest(&mut self) {
        let unknown: Vec<String> = self.table.keys().cloned().collect();
        for name in unknown {
            self.problem(&name, format!("expected {FIELDS} only; remove this field"));
        }
    }

    fn issues(&mut self, issues: &[Issue]) {
        for issue in issues.iter().filter(|issue| issue.severity() == Severity::Error) {
            self.problem(issue.pointer.as_str().trim_start_matches('/'), issue.message.as_str());
        }
    }

    fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(CatalogProblem::of_field(self.number, field, message));
    }
}

fn placeholder() -> Option<Selection<'static>> {
    Selection::new(PLACEHOLDER, PLACEHOLDER, PLACEHOLDER).ok()
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("expected a text in quotes, found {}", other.type_str())),
    }
}

fn texts(value: Value) -> Option<Vec<String>> {
    let Value::Array(values) = value else { return None };
    values.into_iter().map(|value| text(value).ok()).collect()
}

fn dimension(value: Value) -> Result<Dimension, String> {
    match value {
        Value::Integer(value) => Dimension::try_from(value).map_err(|error| error.message),
        other => Err(format!("expected a whole number, found {}", other.type_str())),
    }
}

fn distance_metric(value: Value) -> Result<DistanceMetric, String> {
    let name = text(value)?;
    DistanceMetric::from_name(&name).ok_or_else(|| format!("expected `cosine`, `dot` or `l2`, found `{name}`"))
}

fn input_modalities(value: Value) -> Result<InputModalities, String> {
    texts(value)
        .and_then(|names| InputModalities::from_names(&names))
        .ok_or_else(|| "expected `[\"text\"]` or `[\"text\", \"image\"]`, found something else".to_owned())
}

/// The declaration as JSON, with every number as it is in the file.
fn capabilities(value: Value) -> Result<String, String> {
    let Value::Table(table) = value else {
        return Err(format!("expected a table, found {}", value.type_str()));
    };
    if let Some(what) = table.values().find_map(without_json) {
        return Err(format!("expected values that JSON has, found {what}"));
    }
    serde_json::to_string(&table).map_err(|error| format!("expected values that JSON has, found that {error}"))
}

/// The first value within that JSON cannot say.
fn without_json(value: &Value) -> Option<String> {
    match value {
        Value::Datetime(time) => Some(format!("the date or time {time}; write it as a text in quotes")),
        Value::Float(number) if !number.is_finite() => Some(format!("the number {number}")),
        Value::Array(values) => values.iter().find_map(without_json),
        Value::Table(table) => table.values().find_map(without_json),
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => None,
    }
}
