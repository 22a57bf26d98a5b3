//! Lines of an import: a space and its manifest as one JSON object.

use crate::identifiers::{TenantId, check_space_name};
use crate::json::{Document, DocumentSource, JsonError, Limits, Node, Path, Source};
use crate::numbers::{LARGEST_NUMBER, ManifestVersion};
use crate::report::{DocumentKind, Issue, IssueCode};
use crate::rules::{self, Form, Read, Rules, Slot, integer, string};
use crate::scope::{Kind, Space};

/// A valid line of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLine {
    /// Which space.
    pub space: Space,
    /// What people call it, if the line says so.
    pub name: Option<String>,
    /// The version of its manifest.
    pub version: ManifestVersion,
    /// The manifest's metadata, a JSON object in canonical form.
    pub metadata: String,
    /// The kinds for which the metadata has something under the legacy key.
    pub profiles: Vec<Kind>,
}

impl ImportLine {
    /// Validates a line.
    ///
    /// # Errors
    ///
    /// Every issue of the line.
    ///
    /// ```
    /// use space_profiles_core::ImportLine;
    /// let line = ImportLine::parse(br#"{"tenantId": "acme", "manifestVersion": 1, "metadata": {},
    ///     "knowledgeSpaceId": "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40"}"#).unwrap();
    /// assert_eq!(line.space.tenant.as_str(), "acme");
    /// ```
    pub fn parse(text: &[u8]) -> Result<Self, Vec<Issue>> {
        let (document, faults) = Document::parse_all(text, Limits::ANY);
        let mut rules = Rules::new(DocumentKind::Snapshot, Form::SNAPSHOT);
        rules.issues.extend(faults.into_iter().map(|fault| Issue::of_json(DocumentKind::Snapshot, fault)));
        let Some(document) = document else { return Err(rules.issues) };
        match Self::read(&document, &mut rules) {
            Ok(Some(line)) if !rules.has_errors() => Ok(line),
            _ => Err(rules.issues),
        }
    }

    fn read(document: &Document<'_>, rules: &mut Rules) -> Read<Self> {
        let path = &Path::ROOT;
        let source = &mut DocumentSource::new(document, document.root());
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut tenant = Slot::Missing;
        let mut space = Slot::Missing;
        let mut name = Slot::Missing;
        let mut version = Slot::Missing;
        let mut metadata = Slot::Missing;
        while let Some(key) = source.member()? {
            let at = path.member(&key);
            match key.as_ref() {
                "tenantId" => tenant.fill(source, |source| parsed::<TenantId>(source, &at, rules))?,
                "knowledgeSpaceId" => space.fill(source, |source| parsed(source, &at, rules))?,
                "name" => name.fill(source, |source| read_name(source, &at, rules))?,
                "manifestVersion" => version.fill(source, |source| integer(source, &at, rules, LARGEST_NUMBER))?,
                "metadata" => metadata.fill(source, |source| {
                    let is_object = rules::object(source, &at, rules)?;
                    if is_object {
                        source.leave()?;
                    }
                    Ok(is_object.then_some(()))
                })?,
                _ => rules.unknown(source, path, &key)?,
            }
        }
        let tenant = tenant.required(rules, &path.member("tenantId"));
        let id = space.required(rules, &path.member("knowledgeSpaceId"));
        let version = version.required(rules, &path.member("manifestVersion"));
        let metadata = metadata.required(rules, &path.member("metadata"));
        let Some(name) = name.optional() else { return Ok(None) };
        let version = version.and_then(ManifestVersion::of);
        let (Some(tenant), Some(id), Some(version), Some(())) = (tenant, id, version, metadata) else {
            return Ok(None);
        };
        let node = document.member(document.root(), "metadata").unwrap_or(&Node::Null);
        let canonical = document.canonical_of(node);
        if canonical.len() > Limits::ANY.bytes {
            let error = JsonError::too_large(canonical.len(), Limits::ANY.bytes);
            rules.issue(&path.member("metadata"), IssueCode::Json(error.code), error.message);
            return Ok(None);
        }
        let has_profile = |kind: &Kind| document.member(node, kind.legacy_key()).is_some();
        Ok(Some(Self {
            space: Space { tenant, id },
            name,
            version,
            metadata: canonical,
            profiles: Kind::ALL.into_iter().filter(has_profile).collect(),
        }))
    }

    /// Whether a stored manifest holds the same metadata.
    pub(crate) fn has_metadata(&self, stored: &str) -> bool {
        stored == self.metadata
            || Document::parse(stored.as_bytes(), Limits::ROW)
                .is_ok_and(|stored| stored.canonical() == self.metadata)
    }
}

fn parsed<'a, T: std::str::FromStr<Err = crate::identifiers::ArgumentError>>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<T> {
    let Some(text) = string(source, path, rules)? else { return Ok(None) };
    match text.parse() {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            rules.issue(path, IssueCode::BadFormat, error.message);
            Ok(None)
        }
    }
}

fn read_name<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<String> {
    let Some(text) = string(source, path, rules)? else { return Ok(None) };
    if let Err(error) = check_space_name(&text) {
        rules.issue(path, IssueCode::TooLong, error.message);
        return Ok(None);
    }
    Ok(Some(text.into_owned()))
}
