//! Reading a capability snapshot's text.

use super::{CapabilityContent, DistanceMetric, InputModalities, ModelCapability, ModelKind, ObservedModel};
use crate::digest::Digest;
use crate::json::{Document, DocumentSource, Irregular, Node, Path, Source, Token};
use crate::numbers::Dimension;
use crate::report::IssueCode;
use crate::rules::{self, Read, Rules, Slot, check_identifier, choice, excerpt, string};
use crate::snapshot::Selection;
use crate::snapshot::embedding::read_dimension;
use crate::time::Timestamp;

pub(super) const LONGEST_UNIQUE_IDENTIFIER: usize = 1_024;
const LONGEST_VERSION: usize = 256;

/// An object with a `kind` or a `verification` member is meant to be typed.
pub(super) fn read_content(document: &Document<'_>, rules: &mut Rules) -> Read<CapabilityContent> {
    let root = document.root();
    let source = &mut DocumentSource::new(document, root);
    if document.member(root, "verification").is_some() {
        return read_retrieval(source, rules);
    }
    if document.member(root, "kind").is_some() {
        let model = read_model(source, &Path::ROOT, rules)?;
        return Ok(model.map(CapabilityContent::Model));
    }
    match root {
        Node::Object(_) => Ok(Some(CapabilityContent::FreeForm)),
        _ => {
            let token = source.token()?;
            rules.wrong_type(source, &Path::ROOT, "an object", &token)
        }
    }
}

fn read_retrieval<'a>(source: &mut impl Source<'a>, rules: &mut Rules) -> Read<CapabilityContent> {
    let path = &Path::ROOT;
    if !rules::object(source, path, rules)? {
        return Ok(None);
    }
    let mut reasoning = Slot::Missing;
    let mut rerank = Slot::Missing;
    let mut verification = Slot::Missing;
    while let Some(key) = source.member()? {
        let at = path.member(&key);
        match key.as_ref() {
            "reasoning" => reasoning.fill(source, |source| read_model(source, &at, rules))?,
            "rerank" => rerank.fill(source, |source| read_model_or_null(source, &at, rules))?,
            "verification" => {
                verification.fill(source, |source| choice(source, &at, rules, &[("verified", ())]))?;
            }
            _ => rules.unknown(source, path, &key)?,
        }
    }
    let reasoning = reasoning.required(rules, &path.member("reasoning"));
    let rerank = rerank.required(rules, &path.member("rerank"));
    Ok(reasoning.zip(rerank).map(|(reasoning, rerank)| CapabilityContent::Retrieval { reasoning, rerank }))
}

fn read_model_or_null<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<Option<ModelCapability>> {
    match source.token()? {
        Token::Null => Ok(Some(None)),
        Token::Object => Ok(read_model_members(source, path, rules)?.map(Some)),
        other => rules.wrong_type(source, path, "an object, or null where rerank is disabled", &other),
    }
}

fn read_model<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<ModelCapability> {
    if rules::object(source, path, rules)? { read_model_members(source, path, rules) } else { Ok(None) }
}

fn read_model_members<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<ModelCapability> {
    let mut observed = ObservedFields::new();
    let mut capability_digest = Slot::Missing;
    let mut checked_at = Slot::Missing;
    while let Some(key) = source.member()? {
        let at = path.member(&key);
        match key.as_ref() {
            "capabilityDigest" => capability_digest.fill(source, |source| prefixed_digest(source, &at, rules))?,
            "checkedAt" => checked_at.fill(source, |source| time(source, &at, rules))?,
            _ if observed.read(&key, source, path, rules)? => {}
            _ => rules.unknown(source, path, &key)?,
        }
    }
    let observed = observed.finish(path, rules);
    let capability_digest = capability_digest.required(rules, &path.member("capabilityDigest"));
    let checked_at = checked_at.required(rules, &path.member("checkedAt"));
    let read = || {
        let (checked_at_text, checked_at) = checked_at?;
        Some(ModelCapability {
            observed: observed?,
            capability_digest: capability_digest?,
            checked_at,
            checked_at_text,
        })
    };
    Ok(read())
}

/// What was observed of a model while the object that says it is read.
pub(super) struct ObservedFields<'a> {
    kind: Slot<ModelKind>,
    selection: Slot<Selection<'a>>,
    schema_fingerprint: Slot<Digest>,
    plugin_unique_identifier: Slot<String>,
    plugin_version: Slot<String>,
    dimension: Slot<Dimension>,
    distance_metric: Slot<DistanceMetric>,
    input_modalities: Slot<InputModalities>,
}

impl<'a> ObservedFields<'a> {
    pub(super) const fn new() -> Self {
        Self {
            kind: Slot::Missing,
            selection: Slot::Missing,
            schema_fingerprint: Slot::Missing,
            plugin_unique_identifier: Slot::Missing,
            plugin_version: Slot::Missing,
            dimension: Slot::Missing,
            distance_metric: Slot::Missing,
            input_modalities: Slot::Missing,
        }
    }

    /// Reads the member `key`; answers false, and reads nothing, if it is none of these.
    pub(super) fn read(
        &mut self,
        key: &str,
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        rules: &mut Rules,
    ) -> Result<bool, Irregular> {
        let at = path.member(key);
        match key {
            "kind" => self.kind.fill(source, |source| choice(source, &at, rules, &ModelKind::WORDS))?,
            "selection" => self.selection.fill(source, |source| Selection::read(source, &at, rules))?,
            "schemaFingerprint" => {
                self.schema_fingerprint.fill(source, |source| prefixed_digest(source, &at, rules))?;
            }
            "pluginUniqueIdentifier" => self
                .plugin_unique_identifier
                .fill(source, |source| name(source, &at, rules, LONGEST_UNIQUE_IDENTIFIER))?,
            "pluginVersion" => {
                self.plugin_version.fill(source, |source| name(source, &at, rules, LONGEST_VERSION))?;
            }
            "dimension" => self.dimension.fill(source, |source| read_dimension(source, &at, rules))?,
            "distanceMetric" => {
                self.distance_metric.fill(source, |source| choice(source, &at, rules, &DistanceMetric::WORDS))?;
            }
            "inputModalities" => self.input_modalities.fill(source, |source| modalities(source, &at, rules))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn finish(self, path: &Path<'_>, rules: &mut Rules) -> Option<ObservedModel> {
        let kind = self.kind.required(rules, &path.member("kind"));
        let at = path.member("dimension");
        let dimension = match (kind, self.dimension) {
            (Some(ModelKind::Embedding), dimension) => dimension.required(rules, &at).map(Some),
            (Some(kind), Slot::Read(_)) => {
                let message = format!("expected no dimension of a model of kind `{}`; remove it", kind.as_str());
                rules.issue(&at, IssueCode::UnknownField, message);
                None
            }
            (_, dimension) => dimension.optional(),
        };
        let selection = self.selection.required(rules, &path.member("selection"));
        let schema_fingerprint = self.schema_fingerprint.required(rules, &path.member("schemaFingerprint"));
        let plugin_unique_identifier =
            self.plugin_unique_identifier.required(rules, &path.member("pluginUniqueIdentifier"));
        Some(ObservedModel {
            plugin_version: self.plugin_version.optional()?,
            distance_metric: self.distance_metric.optional()?,
            input_modalities: self.input_modalities.optional()?,
            kind: kind?,
            selection: selection?.into_owned(),
            schema_fingerprint: schema_fingerprint?,
            plugin_unique_identifier: plugin_unique_identifier?,
            dimension: dimension?,
        })
    }
}

pub(super) fn name<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
    longest: usize,
) -> Read<String> {
    let Some(text) = string(source, path, rules)? else {
        return Ok(None);
    };
    Ok(check_identifier(&text, path, rules, longest).then(|| text.into_owned()))
}

pub(super) fn prefixed_digest<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<Digest> {
    let Some(text) = string(source, path, rules)? else {
        return Ok(None);
    };
    let digest = text.strip_prefix("sha256:").and_then(|hex| hex.parse().ok());
    if digest.is_none() {
        let message = format!("expected `sha256:` and 64 lower-case hex digits, found {}", excerpt(&text));
        rules.issue(path, IssueCode::BadFormat, message);
    }
    Ok(digest)
}

fn time<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<(String, Timestamp)> {
    let Some(text) = string(source, path, rules)? else {
        return Ok(None);
    };
    match text.parse() {
        Ok(time) => Ok(Some((text.into_owned(), time))),
        Err(_) => {
            let message = format!("expected an RFC 3339 time with offset, found {}", excerpt(&text));
            rules.issue(path, IssueCode::BadFormat, message);
            Ok(None)
        }
    }
}

fn modalities<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<InputModalities> {
    match source.token()? {
        Token::Array => {}
        other => return rules.wrong_type(source, path, "an array", &other),
    }
    let mut names = Vec::new();
    let mut is_readable = true;
    while source.element()? {
        match read_name(source)? {
            Some(name) if names.len() < 3 => names.push(name),
            _ => is_readable = false,
        }
    }
    let modalities = InputModalities::from_names(&names).filter(|_| is_readable);
    if modalities.is_none() {
        let message = "expected `[\"text\"]` or `[\"text\",\"image\"]`, found something else";
        rules.issue(path, IssueCode::BadFormat, message);
    }
    Ok(modalities)
}

fn read_name<'a>(source: &mut impl Source<'a>) -> Result<Option<String>, Irregular> {
    match source.token()? {
        Token::String(text) => Ok(Some(text.into_owned())),
        Token::Array | Token::Object => source.leave().map(|()| None),
        _ => Ok(None),
    }
}
