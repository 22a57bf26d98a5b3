use super::checks::{spaces_are_ours, writable};
use super::{Decided, Decision, Doubt};
use crate::change::{Change, PutManifest};
use crate::identifiers::ManifestId;
use crate::import::ImportLine;
use crate::refusal::Refusal;
use crate::scope::Space;
use crate::space::{ManifestRow, SpaceRow};
use crate::state::SpaceState;
use crate::time::Timestamp;

/// What became of an imported manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The space had no manifest.
    Added,
    /// The space had an older manifest.
    Replaced,
    /// The space had this very manifest.
    Unchanged,
}

/// Decides `space add`. Adding a space that exists is a replay, unless another name is asked for.
///
/// # Errors
///
/// `STORE_FOREIGN_TABLES`, `SPACE_EXISTS`, in this order.
pub fn add_space(state: &SpaceState, space: &Space, name: Option<&str>) -> Decided<SpaceRow> {
    spaces_are_ours(state.neighbour)?;
    if let Some(row) = &state.space {
        if name.is_none_or(|name| name == row.name) {
            return Ok(Decision::Replayed(row.clone()));
        }
        return Err(Refusal::SpaceExists { name: row.name.clone() });
    }
    let row = new_space(space, name, state.now);
    Ok(Decision::change(Change::AddSpace(row.clone()), row))
}

fn new_space(space: &Space, name: Option<&str>, now: Timestamp) -> SpaceRow {
    SpaceRow {
        space: space.clone(),
        name: name.unwrap_or_default().to_owned(),
        lifecycle_state: "active".to_owned(),
        deletion_job: None,
        created_at: now,
        updated_at: now,
    }
}

/// Decides `delete_space`: the space goes, with everything that belongs to it.
///
/// # Errors
///
/// `SPACE_NOT_FOUND`, `STORE_FOREIGN_TABLES`, in this order.
pub fn delete_space(state: &SpaceState, space: &Space, doubt: Doubt) -> Decided<()> {
    match (&state.space, doubt) {
        (Some(_), _) => {
            spaces_are_ours(state.neighbour)?;
            Ok(Decision::change(Change::DeleteSpace(space.clone()), ()))
        }
        (None, Doubt::LostCommit) => Ok(Decision::Replayed(())),
        (None, Doubt::None) => Err(Refusal::SpaceNotFound),
    }
}

/// Decides the import of one line: a higher version replaces, the same content is a replay.
///
/// # Errors
///
/// `STORE_FOREIGN_TABLES`, `SPACE_NOT_WRITABLE`, `MANIFEST_CONFLICT`, in this order.
pub fn import(state: &SpaceState, line: &ImportLine, fresh_id: ManifestId) -> Decided<Imported> {
    spaces_are_ours(state.neighbour)?;
    if state.space.is_some() {
        writable(state.space.as_ref())?;
    }
    let has_other_name = match (&state.space, &line.name) {
        (Some(row), Some(name)) => row.name != *name,
        _ => false,
    };
    if let Some(stored) = &state.manifest {
        if stored.version == line.version && line.has_metadata(&stored.metadata) && !has_other_name {
            return Ok(Decision::Replayed(Imported::Unchanged));
        }
        if stored.version >= line.version {
            return Err(Refusal::ManifestConflict { stored: stored.version, found: line.version });
        }
    }
    let stamps =
        [state.space.as_ref().map(|row| row.updated_at), state.manifest.as_ref().map(|row| row.updated_at)];
    let at = stamps.into_iter().flatten().fold(state.now, Timestamp::max);
    let to = ManifestRow {
        id: state.manifest.as_ref().map_or(fresh_id, |row| row.id),
        version: line.version,
        metadata: line.metadata.clone(),
        created_at: state.manifest.as_ref().map_or(at, |row| row.created_at),
        updated_at: at,
    };
    let put = PutManifest {
        add_space: state.space.is_none().then(|| new_space(&line.space, line.name.as_deref(), at)),
        rename: line.name.clone().filter(|_| has_other_name),
        space: line.space.clone(),
        from: state.manifest.as_ref().map(|row| row.version),
        to,
    };
    let imported = if put.from.is_some() { Imported::Replaced } else { Imported::Added };
    Ok(Decision::change(Change::PutManifest(put), imported))
}
