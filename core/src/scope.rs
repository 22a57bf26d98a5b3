//! Tenant, space and kind.

use std::fmt;
use std::str::FromStr;

use crate::identifiers::{ArgumentError, SpaceId, TenantId};

/// What a profile is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How a space turns text into vectors.
    Embedding,
    /// How a space is queried.
    Retrieval,
}

impl Kind {
    /// Both kinds, in the order in which operations take them.
    pub const ALL: [Self; 2] = [Self::Embedding, Self::Retrieval];

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Retrieval => "retrieval",
        }
    }

    /// The member of a manifest's metadata that holds a legacy profile of this kind.
    pub const fn legacy_key(self) -> &'static str {
        match self {
            Self::Embedding => "__knowledgeFsEmbeddingProfile",
            Self::Retrieval => "__knowledgeFsRetrievalProfile",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            ArgumentError::new("kind", format!("expected `embedding` or `retrieval`, found `{text}`"))
        })
    }
}

/// A knowledge space of a tenant, written `TENANT/SPACE-UUID`.
///
/// ```
/// use space_profiles_core::Space;
/// let space: Space = "acme/eu/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40".parse()?;
/// assert_eq!(space.tenant.as_str(), "acme/eu");
/// # Ok::<(), space_profiles_core::ArgumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space {
    /// Who it belongs to.
    pub tenant: TenantId,
    /// Its id.
    pub id: SpaceId,
}

impl Space {
    /// One of the space's two scopes.
    pub fn scope(&self, kind: Kind) -> Scope {
        Scope { space: self.clone(), kind }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.tenant, self.id)
    }
}

impl FromStr for Space {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        // A tenant may contain `/`, so the parts are split from the right.
        let (tenant, id) = text
            .rsplit_once('/')
            .ok_or_else(|| ArgumentError::new("space", format!("expected TENANT/SPACE-UUID, found `{text}`")))?;
        Ok(Self { tenant: tenant.parse()?, id: id.parse()? })
    }
}

impl serde::Serialize for Space {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A space and a kind: what has revisions and a head. Written `TENANT/SPACE-UUID/KIND`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The space.
    pub space: Space,
    /// The kind.
    pub kind: Kind,
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.space, self.kind)
    }
}

impl FromStr for Scope {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let (space, kind) = text.rsplit_once('/').ok_or_else(|| {
            ArgumentError::new("scope", format!("expected TENANT/SPACE-UUID/KIND, found `{text}`"))
        })?;
        Ok(Self { kind: kind.parse()?, space: space.parse()? })
    }
}

impl serde::Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
