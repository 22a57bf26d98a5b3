use super::selection::{Selection, SelectionFields, SelectionMember};
use super::vector_space::VectorSpaceId;
use crate::json::{Out, Path, Source, member_of, put_integer};
use crate::numbers::{Dimension, LARGEST_NUMBER, RevisionNumber};
use crate::report::IssueCode;
use crate::rules::{self, Read, Rules, Slot, integer, string};

/// More values than this pgvector cannot index (`vector` with HNSW or IVFFlat).
const INDEXABLE: u32 = 2_000;
/// More values than this pgvector cannot store.
const STORABLE: u32 = 16_000;

/// How a space embeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedding<'a> {
    pub(crate) selection: Selection<'a>,
    pub(crate) revision: RevisionNumber,
    pub(crate) dimension: Option<Dimension>,
    pub(crate) vector_space_id: VectorSpaceId,
}

/// The members of an embedding snapshot of which some may still have to be filled in.
#[derive(Debug, Clone)]
pub(super) struct EmbeddingFields<'a> {
    pub(super) selection: Selection<'a>,
    pub(super) revision: Option<RevisionNumber>,
    pub(super) dimension: Option<Dimension>,
    pub(super) vector_space_id: Option<VectorSpaceId>,
}

#[derive(Clone, Copy)]
enum Member {
    Revision,
    Selection(SelectionMember),
    Dimension,
    VectorSpaceId,
}

impl Member {
    const NAMES: [(&'static str, Self); 6] = [
        ("revision", Self::Revision),
        ("pluginId", Self::Selection(SelectionMember::PluginId)),
        ("provider", Self::Selection(SelectionMember::Provider)),
        ("model", Self::Selection(SelectionMember::Model)),
        ("dimension", Self::Dimension),
        ("vectorSpaceId", Self::VectorSpaceId),
    ];
}

impl<'a> EmbeddingFields<'a> {
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn read(source: &mut impl Source<'a>, rules: &mut Rules) -> Read<Self> {
        let path = &Path::ROOT;
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut selection = SelectionFields::new();
        let mut revision = Slot::Missing;
        let mut dimension = Slot::Missing;
        let mut vector_space_id = Slot::Missing;
        while let Some((key, member)) = member_of(source, &Member::NAMES)? {
            let at = path.member(&key);
            match member {
                Some(Member::Revision) => {
                    revision.fill(source, |source| integer(source, &at, rules, LARGEST_NUMBER))?;
                }
                Some(Member::Selection(member)) => selection.read(member, source, &at, rules)?,
                Some(Member::Dimension) => dimension.fill(source, |source| read_dimension(source, &at, rules))?,
                Some(Member::VectorSpaceId) => {
                    vector_space_id.fill(source, |source| read_vector_space_id(source, &at, rules))?;
                }
                None => rules.unknown(source, path, &key)?,
            }
        }
        let selection = selection.finish(path, rules);
        let revision = rules.required_when_complete(revision, &path.member("revision"));
        let dimension = finish_dimension(dimension, &path.member("dimension"), rules);
        let vector_space_id = rules.required_when_complete(vector_space_id, &path.member("vectorSpaceId"));
        // One after the other: of a tuple of them the compiler makes copies.
        let Some(selection) = selection else { return Ok(None) };
        let Some(revision) = revision else { return Ok(None) };
        let Some(dimension) = dimension else { return Ok(None) };
        let Some(vector_space_id) = vector_space_id else { return Ok(None) };
        let revision = revision.and_then(RevisionNumber::of);
        Ok(Some(Self { selection, revision, dimension, vector_space_id }))
    }

    /// The profile, if nothing is left to fill in.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn complete(self) -> Option<Embedding<'a>> {
        Some(Embedding {
            revision: self.revision?,
            vector_space_id: self.vector_space_id?,
            dimension: self.dimension,
            selection: self.selection,
        })
    }

    pub(super) fn into_owned(self) -> EmbeddingFields<'static> {
        EmbeddingFields {
            selection: self.selection.into_owned(),
            revision: self.revision,
            dimension: self.dimension,
            vector_space_id: self.vector_space_id,
        }
    }
}

#[allow(clippy::option_option, reason = "absent and unreadable are two things here")]
fn finish_dimension(dimension: Slot<Dimension>, path: &Path<'_>, rules: &mut Rules) -> Option<Option<Dimension>> {
    if rules.form.needs_dimension {
        return dimension.required(rules, path).map(Some);
    }
    if matches!(dimension, Slot::Missing) {
        rules.issue(
            path,
            IssueCode::DimensionUnchecked,
            "the dimension is unknown until the model is checked; proposing needs it",
        );
    }
    dimension.optional()
}

pub(super) fn read_dimension<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<Dimension> {
    let dimension = integer(source, path, rules, LARGEST_NUMBER)?.and_then(Dimension::of);
    match dimension.map(Dimension::get) {
        Some(value) if value > STORABLE => rules.issue(
            path,
            IssueCode::DimensionNotStorable,
            format!("pgvector stores vectors of up to {STORABLE} values, this one has {value}"),
        ),
        Some(value) if value > INDEXABLE => rules.issue(
            path,
            IssueCode::DimensionNotIndexable,
            format!("pgvector indexes vectors of up to {INDEXABLE} values, this one has {value}"),
        ),
        _ => {}
    }
    Ok(dimension)
}

fn read_vector_space_id<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<VectorSpaceId> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(id) = source.fixed_string(VectorSpaceId::of_characters) {
        return Ok(Some(id));
    }
    let Some(text) = string(source, path, rules)? else {
        return Ok(None);
    };
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => {
            rules.issue(
                path,
                IssueCode::BadFormat,
                format!(
                    "expected `embedding-space-sha256:` and 64 lower-case hex digits, found {}",
                    rules::excerpt(&text)
                ),
            );
            Ok(None)
        }
    }
}

impl Embedding<'_> {
    /// The model.
    pub const fn selection(&self) -> &Selection<'_> {
        &self.selection
    }

    /// The revision.
    pub const fn revision(&self) -> RevisionNumber {
        self.revision
    }

    /// The number of values in a vector; only a legacy profile may lack it.
    pub const fn dimension(&self) -> Option<Dimension> {
        self.dimension
    }

    /// The vector space.
    pub const fn vector_space_id(&self) -> VectorSpaceId {
        self.vector_space_id
    }

    pub(super) fn into_owned(self) -> Embedding<'static> {
        Embedding {
            selection: self.selection.into_owned(),
            revision: self.revision,
            dimension: self.dimension,
            vector_space_id: self.vector_space_id,
        }
    }

    pub(super) fn write(&self, out: &mut impl Out) {
        match self.dimension {
            Some(dimension) => {
                out.push_str("{\"dimension\":");
                put_integer(out, dimension.get().into());
                out.push_str(",");
            }
            None => out.push_str("{"),
        }
        self.selection.write_members(out);
        out.push_str(",\"revision\":");
        put_integer(out, self.revision.get().into());
        out.push_str(",\"vectorSpaceId\":\"");
        self.vector_space_id.write(out);
        out.push_str("\"}");
    }
}
