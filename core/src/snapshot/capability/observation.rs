//! Making a capability snapshot of what a check observed.

use super::reading::ObservedFields;
use super::{DistanceMetric, InputModalities, ModelKind, ObservedModel};
use crate::digest::Digest;
use crate::json::{self, Document, DocumentSource, Limits, Node, Path, Source as _, shared, write_string};
use crate::numbers::Dimension;
use crate::report::{DocumentKind, Issue, IssueCode};
use crate::rules::{self, Read, Rules};
use crate::snapshot::Selection;
use crate::time::Timestamp;

/// What a check observed of a model, before it is made a capability snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'o> {
    /// What the model is for.
    pub kind: ModelKind,
    /// Which model it is.
    pub selection: &'o Selection<'o>,
    /// `sha256:` and 64 lower-case hex digits.
    pub schema_fingerprint: &'o str,
    /// The installed plugin, 1 to 1,024 UTF-16 code units.
    pub plugin_unique_identifier: &'o str,
    /// The installed version, 1 to 256 UTF-16 code units.
    pub plugin_version: Option<&'o str>,
    /// The observed number of values; an embedding model has one, the others have none.
    pub dimension: Option<Dimension>,
    /// How distances are measured; adoption needs it of an embedding model.
    pub distance_metric: Option<DistanceMetric>,
    /// What the model takes; `["text"]` where none was declared.
    pub input_modalities: Option<InputModalities>,
    /// The model's declaration, a JSON object; `{}` where there is none.
    pub capabilities: &'o str,
}

impl Observation<'_> {
    /// The material of the capability digest (without `checkedAt`), and the digest.
    ///
    /// # Errors
    ///
    /// `capabilities` is not a JSON object.
    pub fn capability_digest(&self) -> Result<Digest, Vec<Issue>> {
        let declared = |error| vec![Issue::of_json(DocumentKind::Capability, error)];
        let capabilities = json::canonicalize(self.capabilities.as_bytes(), Limits::ANY).map_err(declared)?;
        if !capabilities.starts_with('{') {
            return Err(vec![Issue {
                document: DocumentKind::Capability,
                pointer: json::Pointer::root().child("capabilities"),
                code: IssueCode::WrongType,
                message: "expected an object".to_owned(),
            }]);
        }
        let mut out = String::with_capacity(1_024);
        out.push_str("{\"capabilities\":");
        out.push_str(&capabilities);
        out.push(',');
        self.write_members(&mut out);
        out.push('}');
        Ok(Digest::of(out.as_bytes()))
    }

    pub(super) fn write(&self, out: &mut String, checked_at: Timestamp) -> Result<(), Vec<Issue>> {
        let digest = self.capability_digest()?;
        out.push_str(&format!("{{\"capabilityDigest\":\"sha256:{digest}\",\"checkedAt\":\"{checked_at}\","));
        self.write_members(out);
        out.push('}');
        Ok(())
    }

    fn write_members(&self, out: &mut String) {
        if let Some(dimension) = self.dimension {
            out.push_str(&format!("\"dimension\":{dimension},"));
        }
        if let Some(metric) = self.distance_metric {
            out.push_str(&format!("\"distanceMetric\":\"{}\",", metric.as_str()));
        }
        let modalities = self.input_modalities.unwrap_or(InputModalities::Text);
        out.push_str(&format!(
            "\"inputModalities\":{},\"kind\":\"{}\",\"pluginUniqueIdentifier\":",
            modalities.as_json(),
            self.kind.as_str()
        ));
        write_string(out, self.plugin_unique_identifier);
        if let Some(version) = self.plugin_version {
            out.push_str(",\"pluginVersion\":");
            write_string(out, version);
        }
        out.push_str(",\"schemaFingerprint\":");
        write_string(out, self.schema_fingerprint);
        out.push_str(",\"selection\":");
        self.selection.write(out);
    }
}

/// The capability digest that follows from a JSON text of what it is derived from: `{kind, selection,
/// schemaFingerprint, pluginUniqueIdentifier, pluginVersion?, dimension?, distanceMetric?, inputModalities?,
/// capabilities?}`; where they are not there, modalities are `["text"]` and capabilities `{}`.
///
/// # Errors
///
/// Every issue of the text.
pub fn capability_digest(text: &[u8]) -> Result<Digest, Vec<Issue>> {
    let (document, mut rules) = Rules::of_text(DocumentKind::Capability, text);
    let Some(document) = document else {
        return Err(rules.issues);
    };
    let (observed, capabilities) = match read_material(&document, &mut rules) {
        Ok(Some(material)) if !rules.has_errors() => material,
        _ => return Err(rules.issues),
    };
    let observation = Observation {
        kind: observed.kind,
        selection: &observed.selection,
        schema_fingerprint: &format!("sha256:{}", observed.schema_fingerprint),
        plugin_unique_identifier: &observed.plugin_unique_identifier,
        plugin_version: observed.plugin_version.as_deref(),
        dimension: observed.dimension,
        distance_metric: observed.distance_metric,
        input_modalities: observed.input_modalities,
        capabilities: &capabilities,
    };
    observation.capability_digest()
}

fn read_material(document: &Document<'_>, rules: &mut Rules) -> Read<(ObservedModel, String)> {
    let path = &Path::ROOT;
    let mut source = DocumentSource::new(document, document.root());
    let source = &mut shared(&mut source);
    if !rules::object(source, path, rules)? {
        return Ok(None);
    }
    let mut observed = ObservedFields::new();
    while let Some(key) = source.member()? {
        if key == "capabilities" {
            // Somebody else's declaration: it is taken as it is.
            source.skip()?;
        } else if !observed.read(&key, source, path, rules)? {
            rules.unknown(source, path, &key)?;
        }
    }
    let observed = observed.finish(path, rules);
    let capabilities = match document.member(document.root(), "capabilities") {
        None => "{}".to_owned(),
        Some(node @ Node::Object(_)) => document.canonical_of(node),
        Some(node) => {
            let mut declared = DocumentSource::new(document, node);
            let declared = &mut shared(&mut declared);
            let token = declared.token()?;
            return rules.wrong_type(declared, &path.member("capabilities"), "an object", &token);
        }
    };
    Ok(observed.map(|observed| (observed, capabilities)))
}
