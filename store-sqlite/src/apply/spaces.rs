//! Writing spaces and manifests.

use rusqlite::{OptionalExtension, Transaction, params};
use space_profiles_core::{ManifestRow, ManifestVersion, PutManifest, Space, SpaceRow};

use super::Held;

pub(super) fn is_writable(transaction: &Transaction<'_>, space: &Space) -> Held {
    is_key_writable(transaction, space.tenant.as_str(), &space.id.to_string())
}

pub(super) fn is_key_writable(transaction: &Transaction<'_>, tenant: &str, id: &str) -> Held {
    const SQL: &str = "
        SELECT lifecycle_state = 'active' AND deletion_job_id IS NULL
        FROM knowledge_spaces
        WHERE tenant_id = ?1 AND id = ?2";
    let found = transaction.prepare_cached(SQL)?.query_row(params![tenant, id], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

pub(super) fn add(transaction: &Transaction<'_>, row: &SpaceRow) -> Held {
    const SQL: &str = "
        INSERT INTO knowledge_spaces (
          tenant_id, id, name, lifecycle_state, deletion_job_id, created_at, updated_at
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (tenant_id, id) DO NOTHING";
    let inserted = transaction.prepare_cached(SQL)?.execute(params![
        row.space.tenant.as_str(),
        row.space.id.to_string(),
        row.name,
        row.lifecycle_state,
        row.deletion_job.map(|job| job.to_string()),
        row.created_at.as_micros(),
        row.updated_at.as_micros(),
    ])?;
    Ok(inserted == 1)
}

pub(super) fn put_manifest(transaction: &Transaction<'_>, put: &PutManifest) -> Held {
    let is_as_found = match &put.add_space {
        Some(row) => add(transaction, row)?,
        None => is_writable(transaction, &put.space)?,
    };
    if !is_as_found {
        return Ok(false);
    }
    if let (None, Some(name)) = (&put.add_space, &put.rename) {
        rename(transaction, put, name)?;
    }
    match put.from {
        None => insert_manifest(transaction, &put.space, &put.to),
        Some(from) => replace_manifest(transaction, &put.space, from, &put.to),
    }
}

fn rename(transaction: &Transaction<'_>, put: &PutManifest, name: &str) -> rusqlite::Result<()> {
    const SQL: &str = "
        UPDATE knowledge_spaces
        SET name = ?3, updated_at = ?4
        WHERE tenant_id = ?1 AND id = ?2";
    transaction.prepare_cached(SQL)?.execute(params![
        put.space.tenant.as_str(),
        put.space.id.to_string(),
        name,
        put.to.updated_at.as_micros(),
    ])?;
    Ok(())
}

/// That there is still no manifest is guarded by the space's unique constraint.
pub(super) fn insert_manifest(transaction: &Transaction<'_>, space: &Space, manifest: &ManifestRow) -> Held {
    const SQL: &str = "
        INSERT INTO knowledge_space_manifests (
          id, tenant_id, knowledge_space_id, manifest_version, metadata, created_at, updated_at
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let inserted = transaction.prepare_cached(SQL)?.execute(params![
        manifest.id.to_string(),
        space.tenant.as_str(),
        space.id.to_string(),
        manifest.version.get(),
        manifest.metadata,
        manifest.created_at.as_micros(),
        manifest.updated_at.as_micros(),
    ])?;
    Ok(inserted == 1)
}

fn replace_manifest(
    transaction: &Transaction<'_>,
    space: &Space,
    from: ManifestVersion,
    to: &ManifestRow,
) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_manifests
        SET id = ?3, manifest_version = ?4, metadata = ?5, created_at = ?6, updated_at = ?7
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND manifest_version = ?8";
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        space.tenant.as_str(),
        space.id.to_string(),
        to.id.to_string(),
        to.version.get(),
        to.metadata,
        to.created_at.as_micros(),
        to.updated_at.as_micros(),
        from.get(),
    ])?;
    Ok(changed == 1)
}

/// Heads go before the revisions that they may not outlive; the cascade would take them in any order.
pub(super) fn delete(transaction: &Transaction<'_>, space: &Space) -> Held {
    const DELETES: [&str; 4] = [
        "DELETE FROM knowledge_space_profile_backfills WHERE tenant_id = ?1 AND knowledge_space_id = ?2",
        "DELETE FROM knowledge_space_profile_heads WHERE tenant_id = ?1 AND knowledge_space_id = ?2",
        "DELETE FROM knowledge_space_profile_revisions WHERE tenant_id = ?1 AND knowledge_space_id = ?2",
        "DELETE FROM knowledge_space_manifests WHERE tenant_id = ?1 AND knowledge_space_id = ?2",
    ];
    const DELETE_SPACE: &str = "DELETE FROM knowledge_spaces WHERE tenant_id = ?1 AND id = ?2";
    let (tenant, id) = (space.tenant.as_str(), space.id.to_string());
    for sql in DELETES {
        transaction.prepare_cached(sql)?.execute(params![tenant, id])?;
    }
    Ok(transaction.prepare_cached(DELETE_SPACE)?.execute(params![tenant, id])? == 1)
}
