//! What was observed of a model when it was checked.

mod install_identity;
mod observation;
mod reading;

use std::borrow::Cow;

pub(super) use install_identity::InstallIdentity;
pub use observation::{Observation, capability_digest};
use reading::read_content;

use super::Profile;
use super::selection::Selection;
use crate::collation::{self, KeysOutOfOrder};
use crate::digest::Digest;
use crate::json::{self, Document, Limits, Path, write_string};
use crate::numbers::Dimension;
use crate::report::{DocumentKind, Issue, IssueCode};
use crate::rules::{Form, Rules, excerpt};
use crate::time::Timestamp;

/// A valid capability snapshot: any JSON object, or a typed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    canonical: String,
    digest: Digest,
    content: CapabilityContent,
}

/// What a capability snapshot says.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each revision, never many")]
pub enum CapabilityContent {
    /// A JSON object of somebody else's making.
    FreeForm,
    /// What was observed of one model.
    Model(ModelCapability),
    /// What was observed of a retrieval profile's models.
    Retrieval {
        /// The reasoning model.
        reasoning: ModelCapability,
        /// The rerank model, where rerank is enabled.
        rerank: Option<ModelCapability>,
    },
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// Turns text into vectors.
    Embedding,
    /// Plans and answers.
    Reasoning,
    /// Orders results.
    Rerank,
}

impl ModelKind {
    const WORDS: [(&'static str, Self); 3] =
        [("embedding", Self::Embedding), ("reasoning", Self::Reasoning), ("rerank", Self::Rerank)];

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Reasoning => "reasoning",
            Self::Rerank => "rerank",
        }
    }
}

/// How the distance of two vectors is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DistanceMetric {
    /// Cosine distance.
    Cosine,
    /// Negative inner product.
    Dot,
    /// Euclidean distance.
    L2,
}

impl DistanceMetric {
    const WORDS: [(&'static str, Self); 3] = [("cosine", Self::Cosine), ("dot", Self::Dot), ("l2", Self::L2)];

    /// The metric's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
            Self::L2 => "l2",
        }
    }

    /// The metric of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| *word == name).map(|(_, metric)| *metric)
    }
}

/// What a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputModalities {
    /// `["text"]`
    Text,
    /// `["text","image"]`
    TextAndImage,
}

impl InputModalities {
    /// The canonical JSON text.
    pub const fn as_json(self) -> &'static str {
        match self {
            Self::Text => "[\"text\"]",
            Self::TextAndImage => "[\"text\",\"image\"]",
        }
    }

    /// The modalities of a list of names.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Option<Self> {
        match names {
            [text] if text.as_ref() == "text" => Some(Self::Text),
            [text, image] if text.as_ref() == "text" && image.as_ref() == "image" => Some(Self::TextAndImage),
            _ => None,
        }
    }
}

/// The typed capability snapshot of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCapability {
    pub(crate) observed: ObservedModel,
    pub(crate) capability_digest: Digest,
    pub(crate) checked_at: Timestamp,
    /// The time as it was written: its digits and offset are part of the digest.
    checked_at_text: String,
}

/// What was observed of one model, apart from when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedModel {
    pub(crate) kind: ModelKind,
    pub(crate) selection: Selection<'static>,
    pub(crate) schema_fingerprint: Digest,
    pub(crate) plugin_unique_identifier: String,
    pub(crate) plugin_version: Option<String>,
    pub(crate) dimension: Option<Dimension>,
    pub(crate) distance_metric: Option<DistanceMetric>,
    pub(crate) input_modalities: Option<InputModalities>,
}

impl Capability {
    /// Validates a capability snapshot.
    ///
    /// # Errors
    ///
    /// Every issue of the text. Whether it fits a snapshot is [`Self::disagreements`]'s question.
    pub fn parse(text: &[u8]) -> Result<Self, Vec<Issue>> {
        let (document, mut rules) = Rules::of_text(DocumentKind::Capability, text);
        let Some(document) = document else {
            return Err(rules.issues);
        };
        let content = match read_content(&document, &mut rules) {
            Ok(Some(content)) if !rules.has_errors() => content,
            _ => return Err(rules.issues),
        };
        let canonical = document.canonical();
        if canonical.len() > Limits::ANY.bytes {
            let error = json::JsonError::too_large(canonical.len(), Limits::ANY.bytes);
            return Err(vec![Issue::of_json(DocumentKind::Capability, error)]);
        }
        Ok(Self::of(canonical, content))
    }

    fn of(canonical: String, content: CapabilityContent) -> Self {
        Self { digest: Digest::of(canonical.as_bytes()), canonical, content }
    }

    /// Reads what a store holds: whatever object somebody wrote is kept, typed only if it follows the rules.
    pub(crate) fn of_row(document: &Document<'_>) -> Option<Self> {
        if !document.is_object() {
            return None;
        }
        let mut rules = Rules::new(DocumentKind::Capability, Form::SNAPSHOT);
        let content = match read_content(document, &mut rules) {
            Ok(Some(content)) if !rules.has_errors() => content,
            _ => CapabilityContent::FreeForm,
        };
        Some(Self::of(document.canonical(), content))
    }

    /// The capability snapshot of a retrieval profile whose models were checked.
    pub fn of_retrieval(reasoning: ModelCapability, rerank: Option<ModelCapability>) -> Self {
        let content = CapabilityContent::Retrieval { reasoning, rerank };
        Self::of(content.canonical().unwrap_or_default(), content)
    }

    /// The capability snapshot of one model that was checked.
    pub fn of_model(model: ModelCapability) -> Self {
        let content = CapabilityContent::Model(model);
        Self::of(content.canonical().unwrap_or_default(), content)
    }

    /// The canonical text.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The digest of the canonical text.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What it says.
    pub const fn content(&self) -> &CapabilityContent {
        &self.content
    }

    /// Whether two capability snapshots are the same but for the times of the checks.
    pub fn is_same_but_for_check_times(&self, other: &Self) -> bool {
        self.substance() == other.substance()
    }

    /// The canonical text without check times: what two checks of an unchanged model have in common.
    fn substance(&self) -> Cow<'_, str> {
        self.content.substance().map_or(Cow::Borrowed(&self.canonical), Cow::Owned)
    }

    /// Two keys of a free-form capability because of which a reader that orders keys by collation would find
    /// another digest. A typed one has no such keys.
    pub(crate) fn keys_out_of_order(&self) -> Option<KeysOutOfOrder> {
        match self.content {
            CapabilityContent::FreeForm => {
                let document = Document::parse(self.canonical.as_bytes(), Limits::ROW).ok()?;
                collation::keys_out_of_order(&document)
            }
            CapabilityContent::Model(_) | CapabilityContent::Retrieval { .. } => None,
        }
    }

    /// The typed capability of an embedding model, if this is one.
    pub const fn embedding_model(&self) -> Option<&ModelCapability> {
        match &self.content {
            CapabilityContent::Model(model) => match model.observed.kind {
                ModelKind::Embedding => Some(model),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where a typed capability is not about the snapshot's models.
    pub fn disagreements(&self, profile: &Profile<'_>) -> Vec<Issue> {
        let mut rules = Rules::new(DocumentKind::Capability, Form::SNAPSHOT);
        let root = &Path::ROOT;
        match (&self.content, profile) {
            (CapabilityContent::FreeForm, _) => {}
            (CapabilityContent::Model(model), Profile::Embedding(embedding)) => {
                model.agree(ModelKind::Embedding, &embedding.selection, root, &mut rules);
                if let (Some(checked), Some(claimed)) = (model.observed.dimension, embedding.dimension)
                    && checked != claimed
                {
                    rules.issue(
                        &root.member("dimension"),
                        IssueCode::CapabilityMismatch,
                        format!("expected the snapshot's dimension {claimed}, found {checked}"),
                    );
                }
            }
            (CapabilityContent::Retrieval { reasoning, rerank }, Profile::Retrieval(retrieval)) => {
                let at = &root.member("reasoning");
                reasoning.agree(ModelKind::Reasoning, &retrieval.reasoning_model, at, &mut rules);
                let at = &root.member("rerank");
                match (rerank, &retrieval.rerank) {
                    (Some(model), super::Switch::On(selection)) => {
                        model.agree(ModelKind::Rerank, selection, at, &mut rules);
                    }
                    (None, super::Switch::On(_)) => rules.issue(
                        at,
                        IssueCode::CapabilityMismatch,
                        "expected the rerank model's capability, since rerank is enabled, found null",
                    ),
                    (Some(_), super::Switch::Off(_)) => rules.issue(
                        at,
                        IssueCode::CapabilityMismatch,
                        "expected null, since rerank is disabled, found a capability",
                    ),
                    (None, super::Switch::Off(_)) => {}
                }
            }
            (CapabilityContent::Model(_), Profile::Retrieval(_)) => rules.issue(
                &root.member("kind"),
                IssueCode::CapabilityMismatch,
                "expected the capabilities of a retrieval profile, found one model's",
            ),
            (CapabilityContent::Retrieval { .. }, Profile::Embedding(_)) => rules.issue(
                &root.member("verification"),
                IssueCode::CapabilityMismatch,
                "expected the capability of an embedding model, found a retrieval profile's",
            ),
        }
        rules.issues
    }
}

impl CapabilityContent {
    /// The canonical text of a typed capability.
    fn canonical(&self) -> Option<String> {
        self.write(true)
    }

    /// The canonical text of a typed capability without check times.
    fn substance(&self) -> Option<String> {
        self.write(false)
    }

    fn write(&self, with_times: bool) -> Option<String> {
        let mut out = String::with_capacity(1_024);
        match self {
            Self::FreeForm => return None,
            Self::Model(model) => model.write(&mut out, with_times),
            Self::Retrieval { reasoning, rerank } => {
                out.push_str("{\"reasoning\":");
                reasoning.write(&mut out, with_times);
                out.push_str(",\"rerank\":");
                match rerank {
                    Some(model) => model.write(&mut out, with_times),
                    None => out.push_str("null"),
                }
                out.push_str(",\"verification\":\"verified\"}");
            }
        }
        Some(out)
    }
}

impl ModelCapability {
    /// What a check observed, as a typed capability snapshot with its capability digest.
    ///
    /// # Errors
    ///
    /// Every way in which the observation is not a valid capability.
    pub fn of_observation(observation: &Observation<'_>, checked_at: Timestamp) -> Result<Self, Vec<Issue>> {
        let mut text = String::with_capacity(1_024);
        observation.write(&mut text, checked_at)?;
        match Capability::parse(text.as_bytes())?.content {
            CapabilityContent::Model(model) => Ok(model),
            // An object with a `kind` is one model's, whatever else it says.
            CapabilityContent::FreeForm | CapabilityContent::Retrieval { .. } => Err(Vec::new()),
        }
    }

    /// What the model is for.
    pub const fn kind(&self) -> ModelKind {
        self.observed.kind
    }

    /// Which model it is.
    pub const fn selection(&self) -> &Selection<'static> {
        &self.observed.selection
    }

    /// The observed number of values.
    pub const fn dimension(&self) -> Option<Dimension> {
        self.observed.dimension
    }

    /// How distances are measured.
    pub const fn distance_metric(&self) -> Option<DistanceMetric> {
        self.observed.distance_metric
    }

    /// The digest over everything observed and declared, apart from when.
    pub const fn capability_digest(&self) -> Digest {
        self.capability_digest
    }

    /// When the model was checked.
    pub const fn checked_at(&self) -> Timestamp {
        self.checked_at
    }

    /// What a vector space of version 2 depends on; `None` without dimension or distance metric.
    pub(super) fn install_identity(&self) -> Option<InstallIdentity<'_>> {
        Some(InstallIdentity {
            capability_digest: self.capability_digest,
            dimension: self.observed.dimension?,
            distance_metric: self.observed.distance_metric?,
            plugin_unique_identifier: (&self.observed.plugin_unique_identifier).into(),
            schema_fingerprint: self.observed.schema_fingerprint,
        })
    }

    fn write(&self, out: &mut String, with_time: bool) {
        let observed = &self.observed;
        out.push_str("{\"capabilityDigest\":\"sha256:");
        self.capability_digest.push_to(out);
        out.push('"');
        if with_time {
            out.push_str(",\"checkedAt\":");
            write_string(out, &self.checked_at_text);
        }
        if let Some(dimension) = observed.dimension {
            out.push_str(&format!(",\"dimension\":{dimension}"));
        }
        if let Some(metric) = observed.distance_metric {
            out.push_str(&format!(",\"distanceMetric\":\"{}\"", metric.as_str()));
        }
        if let Some(modalities) = observed.input_modalities {
            out.push_str(",\"inputModalities\":");
            out.push_str(modalities.as_json());
        }
        out.push_str(&format!(",\"kind\":\"{}\",\"pluginUniqueIdentifier\":", observed.kind.as_str()));
        write_string(out, &observed.plugin_unique_identifier);
        if let Some(version) = &observed.plugin_version {
            out.push_str(",\"pluginVersion\":");
            write_string(out, version);
        }
        out.push_str(",\"schemaFingerprint\":\"sha256:");
        observed.schema_fingerprint.push_to(out);
        out.push_str("\",\"selection\":");
        observed.selection.write(out);
        out.push('}');
    }

    fn agree(&self, kind: ModelKind, selection: &Selection<'_>, path: &Path<'_>, rules: &mut Rules) {
        if self.observed.kind != kind {
            rules.issue(
                &path.member("kind"),
                IssueCode::CapabilityMismatch,
                format!("expected `{}`, found `{}`", kind.as_str(), self.observed.kind.as_str()),
            );
        }
        let checked = &self.observed.selection;
        let at = path.member("selection");
        for (name, expected, found) in [
            ("pluginId", &selection.plugin_id, &checked.plugin_id),
            ("provider", &selection.provider, &checked.provider),
            ("model", &selection.model, &checked.model),
        ] {
            if expected != found {
                rules.issue(
                    &at.member(name),
                    IssueCode::CapabilityMismatch,
                    format!("expected the snapshot's {}, found {}", excerpt(expected), excerpt(found)),
                );
            }
        }
    }
}
