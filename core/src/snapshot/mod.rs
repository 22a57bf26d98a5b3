//! Snapshots: what a space's configuration may say, and the report on what it says.
//!
//! The rules are written once, over a stream of tokens. A text that is well formed streams straight through
//! them into a borrowed profile, without a tree; only where something needs a precise answer is the text
//! parsed into a document, which says every fault and streams through the same rules.

mod capability;
mod embedding;
mod retrieval;
mod selection;
mod vector_space;

pub use capability::{
    Capability, CapabilityContent, DistanceMetric, InputModalities, ModelCapability, ModelKind, Observation,
    capability_digest,
};
pub use embedding::Embedding;
pub use retrieval::{Mode, Retrieval, ScoreThreshold, Stage, Switch};
pub use selection::Selection;
pub use vector_space::VectorSpaceId;

use crate::rules::{Form, Read, Rules};
use embedding::EmbeddingFields;
use retrieval::RetrievalFields;

use crate::digest::Digest;
#[cfg(not(target_arch = "wasm32"))]
use crate::digest::Hashing;
use crate::json::{Document, DocumentSource, Irregular, Limits, Out, Reader, SharedReader, Source, shared};
use crate::numbers::{Dimension, RevisionNumber};
use crate::report::{DocumentKind, Issue, Report};
use crate::scope::Kind;

/// What a snapshot says.
#[derive(Debug, Clone, PartialEq)]
pub enum Profile<'a> {
    /// How a space embeds.
    Embedding(Embedding<'a>),
    /// How a space is queried.
    Retrieval(Retrieval<'a>),
}

/// The columns by which a revision is found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity<'a> {
    /// The model; of a retrieval profile, the reasoning model.
    #[serde(flatten)]
    pub selection: &'a Selection<'a>,
    /// The number of values in a vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<Dimension>,
    /// The vector space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_space_id: Option<VectorSpaceId>,
}

impl Profile<'_> {
    /// The kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Embedding(_) => Kind::Embedding,
            Self::Retrieval(_) => Kind::Retrieval,
        }
    }

    /// The revision.
    pub const fn revision(&self) -> RevisionNumber {
        match self {
            Self::Embedding(embedding) => embedding.revision,
            Self::Retrieval(retrieval) => retrieval.revision,
        }
    }

    /// The columns by which a revision is found.
    pub const fn identity(&self) -> Identity<'_> {
        match self {
            Self::Embedding(embedding) => Identity {
                selection: &embedding.selection,
                dimension: embedding.dimension,
                vector_space_id: Some(embedding.vector_space_id),
            },
            Self::Retrieval(retrieval) => {
                Identity { selection: &retrieval.reasoning_model, dimension: None, vector_space_id: None }
            }
        }
    }

    /// The same profile, which borrows from nothing.
    pub fn into_owned(self) -> Profile<'static> {
        match self {
            Self::Embedding(embedding) => Profile::Embedding(embedding.into_owned()),
            Self::Retrieval(retrieval) => Profile::Retrieval(retrieval.into_owned()),
        }
    }

    /// The RFC 8785 canonical text.
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(512);
        self.write(&mut out);
        out
    }

    /// The digest of the canonical text.
    pub fn digest(&self) -> Digest {
        Digest::of_written(|out| self.write(out)).0
    }

    /// The fields are written in key order, so nothing is sorted.
    fn write(&self, out: &mut impl Out) {
        match self {
            Self::Embedding(embedding) => embedding.write(out),
            Self::Retrieval(retrieval) => retrieval.write(out),
        }
    }

    /// Whether two snapshots are equal but for revision and vector space id.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Embedding(one), Self::Embedding(two)) => {
                one.selection == two.selection && one.dimension == two.dimension
            }
            (Self::Retrieval(one), Self::Retrieval(two)) => {
                let two = Retrieval { revision: one.revision, ..two.clone() };
                *one == two
            }
            _ => false,
        }
    }
}

/// A valid snapshot as it was read, with its digest. What its text holds is not copied.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidSnapshot<'a> {
    profile: Profile<'a>,
    digest: Digest,
    /// In the browser the text that was hashed is kept: every report tells it.
    #[cfg(target_arch = "wasm32")]
    canonical: String,
}

impl<'a> ValidSnapshot<'a> {
    #[cfg(not(target_arch = "wasm32"))]
    fn of(profile: Profile<'a>) -> Self {
        let digest = profile.digest();
        Self { profile, digest }
    }

    #[cfg(target_arch = "wasm32")]
    fn of(profile: Profile<'a>) -> Self {
        let canonical = profile.canonical();
        Self { digest: Digest::of(canonical.as_bytes()), profile, canonical }
    }

    /// What it says.
    pub const fn profile(&self) -> &Profile<'a> {
        &self.profile
    }

    /// The revision.
    pub const fn revision(&self) -> RevisionNumber {
        self.profile.revision()
    }

    /// The columns by which a revision is found.
    pub const fn identity(&self) -> Identity<'_> {
        self.profile.identity()
    }

    /// The canonical text.
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(512);
        self.push_canonical_to(&mut out);
        out
    }

    /// Appends the canonical text.
    pub fn push_canonical_to(&self, out: &mut String) {
        #[cfg(target_arch = "wasm32")]
        out.push_str(&self.canonical);
        #[cfg(not(target_arch = "wasm32"))]
        self.profile.write(out);
    }

    /// The digest of the canonical text.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The same snapshot, which borrows from nothing.
    pub fn into_owned(self) -> Snapshot {
        Snapshot { canonical: self.canonical(), profile: self.profile.into_owned(), digest: self.digest }
    }
}

/// A valid snapshot with its canonical text and digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    profile: Profile<'static>,
    canonical: String,
    digest: Digest,
}

impl Snapshot {
    /// Validates a text; warnings are not kept.
    ///
    /// # Errors
    ///
    /// Every issue of the text.
    ///
    /// ```
    /// use space_profiles_core::{Kind, snapshot::Snapshot};
    /// let issues = Snapshot::parse(Kind::Retrieval, b"{}").unwrap_err();
    /// assert!(issues.iter().any(|issue| issue.pointer.as_str() == "/topK"));
    /// ```
    pub fn parse(kind: Kind, text: &[u8]) -> Result<Self, Vec<Issue>> {
        let report = validate(kind, text);
        report.snapshot.map(ValidSnapshot::into_owned).ok_or(report.issues)
    }

    /// Validates a text that is to be proposed: an embedding's dimension must be there.
    pub(crate) fn parse_proposal(kind: Kind, text: &[u8]) -> Result<Self, Vec<Issue>> {
        let (fields, issues) = read(kind, text, Form::PROPOSAL, Limits::SNAPSHOT);
        fields.and_then(Fields::snapshot).ok_or(issues)
    }

    /// Reads what a store holds.
    pub(crate) fn of_row(kind: Kind, text: &[u8]) -> Option<Self> {
        read(kind, text, Form::SNAPSHOT, Limits::ROW).0.and_then(Fields::snapshot)
    }

    pub(crate) fn of(profile: Profile<'static>) -> Self {
        let canonical = profile.canonical();
        let digest = Digest::of(canonical.as_bytes());
        Self { profile, canonical, digest }
    }

    /// What it says.
    pub const fn profile(&self) -> &Profile<'static> {
        &self.profile
    }

    /// The kind.
    pub const fn kind(&self) -> Kind {
        self.profile.kind()
    }

    /// The revision.
    pub const fn revision(&self) -> RevisionNumber {
        self.profile.revision()
    }

    /// The columns by which a revision is found.
    pub const fn identity(&self) -> Identity<'_> {
        self.profile.identity()
    }

    /// The canonical text.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The digest of the canonical text.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The embedding profile, if it is one.
    pub const fn embedding(&self) -> Option<&Embedding<'static>> {
        match &self.profile {
            Profile::Embedding(embedding) => Some(embedding),
            Profile::Retrieval(_) => None,
        }
    }

    /// The same snapshot with another number; the vector space id stays.
    pub(crate) fn renumbered(&self, revision: RevisionNumber) -> Self {
        let mut profile = self.profile.clone();
        match &mut profile {
            Profile::Embedding(embedding) => embedding.revision = revision,
            Profile::Retrieval(retrieval) => retrieval.revision = revision,
        }
        Self::of(profile)
    }

    /// The same snapshot with the dimension that was observed.
    pub(crate) fn with_dimension(&self, dimension: Option<Dimension>) -> Self {
        let mut profile = self.profile.clone();
        if let Profile::Embedding(embedding) = &mut profile {
            embedding.dimension = dimension;
        }
        Self::of(profile)
    }

    /// Whether the vector space id is one that its own revision derives, of version 1 or 2.
    pub(crate) fn has_derived_vector_space(&self, capability: &Capability) -> bool {
        let Some(embedding) = self.embedding() else {
            return true;
        };
        let (selection, revision) = (&embedding.selection, embedding.revision);
        let version_2 =
            || capability.embedding_model().and_then(|model| VectorSpaceId::version_2(selection, revision, model));
        embedding.vector_space_id == VectorSpaceId::version_1(selection, revision)
            || version_2() == Some(embedding.vector_space_id)
    }
}

/// Validates a snapshot's text and tells everything there is to tell.
///
/// An embedding snapshot may lack its dimension here, with a warning; proposing it is refused.
///
/// ```
/// use space_profiles_core::{snapshot::validate, Kind};
/// let report = validate(Kind::Embedding, br#"{"model": ""}"#);
/// assert!(!report.is_valid());
/// assert!(report.issues.iter().any(|issue| issue.pointer.as_str() == "/vectorSpaceId"));
/// ```
pub fn validate(kind: Kind, text: &[u8]) -> Report<'_> {
    let mut rules = Rules::new(DocumentKind::Snapshot, Form::SNAPSHOT);
    match read_valid(kind, text, &mut rules) {
        Ok(snapshot) => Report { kind, issues: rules.issues, snapshot },
        Err(Irregular) => {
            let (fields, issues) = read_irregular(kind, text, Form::SNAPSHOT, Limits::SNAPSHOT);
            Report { kind, issues, snapshot: fields.and_then(Fields::complete).map(ValidSnapshot::of) }
        }
    }
}

/// Reads a well-formed text. Each kind has its way of its own from the text to the digest: what is passed through an
/// enum of both is copied at every step.
#[cfg(not(target_arch = "wasm32"))]
fn read_valid<'a>(kind: Kind, text: &'a [u8], rules: &mut Rules) -> Result<Option<ValidSnapshot<'a>>, Irregular> {
    let source = &mut Reader::new(text, Limits::SNAPSHOT)?;
    match kind {
        Kind::Embedding => {
            let embedding = EmbeddingFields::read(source, rules)?.and_then(EmbeddingFields::complete);
            finish(embedding, source, rules, Embedding::write, Profile::Embedding)
        }
        Kind::Retrieval => {
            let retrieval = RetrievalFields::read(source, rules)?.and_then(RetrievalFields::complete);
            finish(retrieval, source, rules, Retrieval::write, Profile::Retrieval)
        }
    }
}

/// What was read of a text, if that was all of it and no issue refuses it. It is hashed where it lies, before it is
/// moved to where profiles of both kinds lie: a copy of a copy would have to wait for the first.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
fn finish<'a, P>(
    read: Option<P>,
    source: &mut Reader<'a>,
    rules: &Rules,
    write: impl FnOnce(&P, &mut Hashing),
    profile: impl FnOnce(P) -> Profile<'a>,
) -> Result<Option<ValidSnapshot<'a>>, Irregular> {
    if !source.is_finished() {
        return Err(Irregular);
    }
    match read {
        Some(read) if !rules.has_errors() => {
            let (digest, _) = Digest::of_written(|out| write(&read, out));
            Ok(Some(ValidSnapshot { profile: profile(read), digest }))
        }
        _ => Ok(None),
    }
}

/// Reads a well-formed text; in the browser by the way that is there anyway.
#[cfg(target_arch = "wasm32")]
fn read_valid<'a>(kind: Kind, text: &'a [u8], rules: &mut Rules) -> Result<Option<ValidSnapshot<'a>>, Irregular> {
    read_regular(text, Limits::SNAPSHOT, rules, |source, rules| Fields::read(kind, source, rules))
        .map(|fields| fields.and_then(Fields::complete).map(ValidSnapshot::of))
}

/// Validates a text as whichever kind of snapshot it is; one that is neither, as the kind of which it has fewer
/// issues.
///
/// ```
/// use space_profiles_core::{snapshot::validate_either, Kind};
/// assert_eq!(validate_either(br#"{"topK": 5}"#).kind, Kind::Retrieval);
/// ```
pub fn validate_either(text: &[u8]) -> Report<'_> {
    let [one, other] = Kind::ALL.map(|kind| validate(kind, text));
    let is_other = match (one.is_valid(), other.is_valid()) {
        (false, false) => other.issues.len() < one.issues.len(),
        (_, other_is_valid) => other_is_valid,
    };
    if is_other { other } else { one }
}

/// Reads a legacy profile: white space at the ends of identifiers is trimmed, the dimension may be missing.
///
/// # Errors
///
/// Every issue of the text.
pub fn parse_legacy(kind: Kind, text: &[u8]) -> Result<Snapshot, Vec<Issue>> {
    let (fields, issues) = read(kind, text, Form::LEGACY, Limits::SNAPSHOT);
    fields.and_then(Fields::snapshot).ok_or(issues)
}

/// A snapshot of which the revision, and of an embedding the vector space id, may still have to be filled in.
#[derive(Debug, Clone)]
pub struct Draft<'a>(Fields<'a>);

impl<'a> Draft<'a> {
    /// Validates a draft's text.
    ///
    /// # Errors
    ///
    /// Every issue of the text.
    pub fn parse(kind: Kind, text: &'a [u8]) -> Result<Self, Vec<Issue>> {
        let (fields, issues) = read(kind, text, Form::DRAFT, Limits::SNAPSHOT);
        fields.map(Self).ok_or(issues)
    }

    /// Whether the draft names its number, so that none is filled in.
    pub const fn names_its_number(&self) -> bool {
        match &self.0 {
            Fields::Embedding(fields) => fields.revision.is_some(),
            Fields::Retrieval(fields) => fields.revision.is_some(),
        }
    }

    /// The snapshot, with `revision` where the draft names none, and the vector space id that follows from it
    /// (version 2 with a typed capability that names a distance metric, else 1) where the draft has none.
    pub fn fill(&self, revision: RevisionNumber, capability: &Capability) -> Snapshot {
        let filled = match self.0.clone() {
            Fields::Embedding(fields) => {
                let revision = fields.revision.unwrap_or(revision);
                let derived = || {
                    capability
                        .embedding_model()
                        .and_then(|model| VectorSpaceId::version_2(&fields.selection, revision, model))
                        .unwrap_or_else(|| VectorSpaceId::version_1(&fields.selection, revision))
                };
                Profile::Embedding(Embedding {
                    vector_space_id: fields.vector_space_id.unwrap_or_else(derived),
                    revision,
                    dimension: fields.dimension,
                    selection: fields.selection,
                })
            }
            Fields::Retrieval(fields) => {
                let revision = fields.revision.unwrap_or(revision);
                Profile::Retrieval(fields.numbered(revision))
            }
        };
        Snapshot::of(filled.into_owned())
    }
}

#[derive(Debug, Clone)]
enum Fields<'a> {
    Embedding(EmbeddingFields<'a>),
    Retrieval(RetrievalFields<'a>),
}

impl<'a> Fields<'a> {
    fn read(kind: Kind, source: &mut impl Source<'a>, rules: &mut Rules) -> Read<Self> {
        Ok(match kind {
            Kind::Embedding => EmbeddingFields::read(source, rules)?.map(Self::Embedding),
            Kind::Retrieval => RetrievalFields::read(source, rules)?.map(Self::Retrieval),
        })
    }

    fn into_owned(self) -> Fields<'static> {
        match self {
            Self::Embedding(fields) => Fields::Embedding(fields.into_owned()),
            Self::Retrieval(fields) => Fields::Retrieval(fields.into_owned()),
        }
    }

    fn snapshot(self) -> Option<Snapshot> {
        self.complete().map(|profile| Snapshot::of(profile.into_owned()))
    }

    /// The profile, if nothing is left to fill in.
    fn complete(self) -> Option<Profile<'a>> {
        match self {
            Self::Embedding(fields) => fields.complete().map(Profile::Embedding),
            Self::Retrieval(fields) => fields.complete().map(Profile::Retrieval),
        }
    }
}

/// Reads a text: its fields unless an issue refuses them, and every issue.
fn read(kind: Kind, text: &[u8], form: Form, limits: Limits) -> (Option<Fields<'_>>, Vec<Issue>) {
    let mut rules = Rules::new(DocumentKind::Snapshot, form);
    let read = read_regular(text, limits, &mut rules, |source, rules| Fields::read(kind, source, rules));
    match read {
        Ok(fields) => (fields, rules.issues),
        Err(Irregular) => read_irregular(kind, text, form, limits),
    }
}

/// Reads a well-formed text as it streams by.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn read_regular<'a, F>(
    text: &'a [u8],
    limits: Limits,
    rules: &mut Rules,
    read: impl FnOnce(&mut SharedReader<'_, 'a>, &mut Rules) -> Read<F>,
) -> Result<Option<F>, Irregular> {
    let mut reader = Reader::new(text, limits)?;
    let fields = read(&mut shared(&mut reader), rules)?;
    if !reader.is_finished() {
        return Err(Irregular);
    }
    Ok(if rules.has_errors() { None } else { fields })
}

/// Reads a text as a document, which says everything that is wrong with it.
#[cold]
fn read_irregular(kind: Kind, text: &[u8], form: Form, limits: Limits) -> (Option<Fields<'static>>, Vec<Issue>) {
    let mut rules = Rules::new(DocumentKind::Snapshot, form);
    let (document, faults) = Document::parse_all(text, limits);
    rules.issues = faults.into_iter().map(|fault| Issue::of_json(DocumentKind::Snapshot, fault)).collect();
    let Some(document) = document else {
        return (None, rules.issues);
    };
    // A document has nothing irregular about it: it is read to its end.
    let mut source = DocumentSource::new(&document, document.root());
    let fields = Fields::read(kind, &mut shared(&mut source), &mut rules);
    (fields.ok().flatten().filter(|_| !rules.has_errors()).map(Fields::into_owned), rules.issues)
}
