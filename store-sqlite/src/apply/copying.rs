//! Writing what another store holds, as it is.

use rusqlite::{Transaction, params};
use space_profiles_core::{CopyScope, CopySpace};

use super::{Held, backfills, revisions, spaces};
use crate::rows::ScopeKey;

pub(super) fn space(transaction: &Transaction<'_>, copy: &CopySpace) -> Held {
    if !spaces::add(transaction, &copy.row)? {
        return Ok(false);
    }
    match &copy.manifest {
        Some(manifest) => spaces::insert_manifest(transaction, &copy.row.space, manifest),
        None => Ok(true),
    }
}

pub(super) fn scope(transaction: &Transaction<'_>, copy: &CopyScope) -> Held {
    let key = ScopeKey::from(&copy.scope);
    if !is_empty(transaction, &key)? {
        return Ok(false);
    }
    for row in &copy.revisions {
        if !revisions::insert_row(transaction, &key, row)? {
            return Ok(false);
        }
    }
    if let Some(head) = &copy.head
        && !revisions::create_head(transaction, &key, head)?
    {
        return Ok(false);
    }
    for row in &copy.backfills {
        if !backfills::insert(transaction, row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the space exists and the scope has no row.
fn is_empty(transaction: &Transaction<'_>, key: &ScopeKey<'_>) -> Held {
    const SQL: &str = "
        SELECT
          EXISTS (SELECT 1 FROM knowledge_spaces WHERE tenant_id = ?1 AND id = ?2)
          AND NOT EXISTS (
            SELECT 1 FROM knowledge_space_profile_heads
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
          )
          AND NOT EXISTS (
            SELECT 1 FROM knowledge_space_profile_revisions
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
          )
          AND NOT EXISTS (
            SELECT 1 FROM knowledge_space_profile_backfills
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
          )";
    transaction.prepare_cached(SQL)?.query_row(params![key.tenant, key.space, key.kind], |row| row.get(0))
}
