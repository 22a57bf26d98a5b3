//! Writing ledger rows, and what a completed one installs.

use rusqlite::{Transaction, params};
use space_profiles_core::{BackfillRow, Install, ManifestRow, Space, Timestamp, WriteBackfill};

use super::{Held, revisions};
use crate::rows::ScopeKey;

/// Adds a ledger row, unless the scope has one of the same source or the space does not exist.
pub(crate) fn insert(transaction: &Transaction<'_>, row: &BackfillRow) -> Held {
    const SQL: &str = "
        INSERT INTO knowledge_space_profile_backfills (
          id, tenant_id, knowledge_space_id, kind,
          source_manifest_version, source_snapshot, source_snapshot_digest,
          run_state, execution_attempts, max_execution_attempts,
          worker_id, lease_token, lease_expires_at, heartbeat_at,
          due_at, retry_code, retry_message, last_error_code, last_error_message,
          row_version, created_at, updated_at, completed_at
        )
        SELECT
          ?1, tenant_id, id, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
          ?21, ?22, ?23
        FROM knowledge_spaces
        WHERE tenant_id = ?2 AND id = ?3
        ON CONFLICT (tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot_digest)
          DO NOTHING";
    let key = ScopeKey::from(&row.scope);
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let inserted = transaction.prepare_cached(SQL)?.execute(params![
        row.id.to_string(),
        key.tenant,
        key.space,
        key.kind,
        row.source_manifest_version.get(),
        row.source_snapshot,
        row.source_snapshot_digest,
        row.status.as_str(),
        row.attempts,
        row.max_attempts,
        row.worker,
        row.lease_token.map(|token| token.to_string()),
        micros(row.lease_expires_at),
        micros(row.heartbeat_at),
        row.due_at.as_micros(),
        row.retry_code,
        row.retry_message,
        row.last_error_code,
        row.last_error_message,
        row.row_version.get(),
        row.created_at.as_micros(),
        row.updated_at.as_micros(),
        micros(row.completed_at),
    ])?;
    Ok(inserted == 1)
}

/// Writes the mutable columns of a ledger row that is still as it was found.
pub(crate) fn write(transaction: &Transaction<'_>, write: &WriteBackfill) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_profile_backfills
        SET
          run_state = ?4, execution_attempts = ?5, max_execution_attempts = ?6,
          worker_id = ?7, lease_token = ?8, lease_expires_at = ?9, heartbeat_at = ?10,
          due_at = ?11, retry_code = ?12, retry_message = ?13,
          last_error_code = ?14, last_error_message = ?15,
          row_version = ?16, updated_at = ?17, completed_at = ?18
        WHERE id = ?1 AND row_version = ?2 AND lease_token IS ?3 AND lease_expires_at IS ?19";
    let row = BackfillRow::from(&write.to);
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        write.from.id.to_string(),
        write.from.row_version.get(),
        write.from.lease_token.map(|token| token.to_string()),
        row.status.as_str(),
        row.attempts,
        row.max_attempts,
        row.worker,
        row.lease_token.map(|token| token.to_string()),
        micros(row.lease_expires_at),
        micros(row.heartbeat_at),
        row.due_at.as_micros(),
        row.retry_code,
        row.retry_message,
        row.last_error_code,
        row.last_error_message,
        row.row_version.get(),
        row.updated_at.as_micros(),
        micros(row.completed_at),
        micros(write.from.lease_expires_at),
    ])?;
    Ok(changed == 1)
}

/// Writes the ledger row before the revision, so that a row that is lost is told before an id that is taken.
pub(super) fn install(transaction: &Transaction<'_>, install: &Install) -> Held {
    let key = ScopeKey::from(&install.revision.scope);
    Ok(revisions::can_append(transaction, &key, true)?
        && has_manifest(transaction, &install.revision.scope.space, &install.manifest)?
        && write(transaction, &install.backfill)?
        && revisions::insert(transaction, &key, &install.revision)?
        && revisions::create_head(transaction, &key, &install.head)?)
}

fn has_manifest(transaction: &Transaction<'_>, space: &Space, manifest: &ManifestRow) -> Held {
    const SQL: &str = "
        SELECT EXISTS (
          SELECT 1 FROM knowledge_space_manifests
          WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND manifest_version = ?3 AND metadata = ?4
        )";
    transaction.prepare_cached(SQL)?.query_row(
        params![space.tenant.as_str(), space.id.to_string(), manifest.version.get(), manifest.metadata],
        |row| row.get(0),
    )
}
