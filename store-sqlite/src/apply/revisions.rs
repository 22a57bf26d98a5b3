//! Writing revisions and heads.

use rusqlite::{Transaction, params};
use space_profiles_core::{
    Activate, Append, FailRevision, Head, HeadMove, Publish, Revision, RevisionRow, Timestamp,
};

use super::{Held, spaces};
use crate::rows::ScopeKey;

pub(super) fn append(transaction: &Transaction<'_>, append: &Append) -> Held {
    let key = ScopeKey::from(&append.revision.scope);
    Ok(can_append(transaction, &key, append.is_first)? && insert(transaction, &key, &append.revision)?)
}

pub(super) fn activate_all(transaction: &Transaction<'_>, activates: &[Activate]) -> Held {
    for one in activates {
        if !activate(transaction, one)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn activate(transaction: &Transaction<'_>, activate: &Activate) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_profile_revisions
        SET state = 'active', activated_at = ?5, activated_by_subject_id = ?6, updated_at = ?5
        WHERE id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'candidate'";
    let key = ScopeKey::from(&activate.scope);
    if !spaces::is_writable(transaction, &activate.scope.space)? || !supersede(transaction, &key, &activate.head)?
    {
        return Ok(false);
    }
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        key.tenant,
        key.space,
        key.kind,
        activate.revision_id.to_string(),
        activate.at.as_micros(),
        activate.by,
    ])?;
    Ok(changed == 1 && move_head(transaction, &key, &activate.head)?)
}

pub(super) fn publish(transaction: &Transaction<'_>, publish: &Publish) -> Held {
    let key = ScopeKey::from(&publish.revision.scope);
    Ok(can_append(transaction, &key, publish.is_first)?
        && supersede(transaction, &key, &publish.head)?
        && insert(transaction, &key, &publish.revision)?
        && move_head(transaction, &key, &publish.head)?)
}

pub(super) fn fail(transaction: &Transaction<'_>, fail: &FailRevision) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_profile_revisions
        SET
          state = 'failed', failed_at = ?5, failed_by_subject_id = ?6, failure_code = ?7, failure_message = ?8,
          updated_at = ?5
        WHERE id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'candidate'";
    let key = ScopeKey::from(&fail.scope);
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        key.tenant,
        key.space,
        key.kind,
        fail.revision_id.to_string(),
        fail.at.as_micros(),
        fail.by,
        fail.failure.code,
        fail.failure.message,
    ])?;
    Ok(changed == 1)
}

/// The constraints of the scope guard the rest: a free number, at most one candidate and one active revision.
pub(super) fn can_append(transaction: &Transaction<'_>, key: &ScopeKey<'_>, is_first: bool) -> Held {
    const SQL: &str = "
        SELECT NOT EXISTS (
          SELECT 1 FROM knowledge_space_profile_revisions
          WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
        )";
    if !spaces::is_key_writable(transaction, key.tenant, &key.space)? {
        return Ok(false);
    }
    if !is_first {
        return Ok(true);
    }
    transaction.prepare_cached(SQL)?.query_row(params![key.tenant, key.space, key.kind], |row| row.get(0))
}

pub(super) fn insert(transaction: &Transaction<'_>, key: &ScopeKey<'_>, revision: &Revision) -> Held {
    insert_row(transaction, key, &revision.to_row())
}

pub(super) fn insert_row(transaction: &Transaction<'_>, key: &ScopeKey<'_>, row: &RevisionRow) -> Held {
    const SQL: &str = "
        INSERT INTO knowledge_space_profile_revisions (
          id, tenant_id, knowledge_space_id, kind, revision, state,
          snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
          plugin_id, provider, model, vector_space_id, dimension,
          created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code, failure_message,
          created_at, updated_at, activated_at, superseded_at, failed_at
        ) VALUES (
          ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
          ?21, ?22, ?23, ?24, ?25
        )";
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let inserted = transaction.prepare_cached(SQL)?.execute(params![
        row.id.to_string(),
        key.tenant,
        key.space,
        key.kind,
        row.revision.get(),
        row.status.as_str(),
        row.snapshot,
        row.snapshot_digest,
        row.capability_snapshot,
        row.capability_snapshot_digest,
        row.plugin_id,
        row.provider,
        row.model,
        row.vector_space_id,
        row.dimension,
        row.created_by,
        row.activated_by,
        row.failed_by,
        row.failure_code,
        row.failure_message,
        row.created_at.as_micros(),
        row.updated_at.as_micros(),
        micros(row.activated_at),
        micros(row.superseded_at),
        micros(row.failed_at),
    ])?;
    Ok(inserted == 1)
}

/// Takes the former active revision out of the way, if the head still names it: at no time has a scope two.
fn supersede(transaction: &Transaction<'_>, key: &ScopeKey<'_>, head: &HeadMove) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_profile_revisions
        SET state = 'superseded', superseded_at = ?5, updated_at = ?5
        WHERE
          id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active'
          AND EXISTS (
            SELECT 1 FROM knowledge_space_profile_heads
            WHERE
              tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
              AND profile_revision_id = ?4 AND active_revision = ?6 AND row_version = ?7
          )";
    let HeadMove::Advance { from, to } = head else { return has_no_head(transaction, key) };
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        key.tenant,
        key.space,
        key.kind,
        from.revision_id.to_string(),
        to.updated_at.as_micros(),
        from.active_revision.get(),
        from.row_version.get(),
    ])?;
    Ok(changed == 1)
}

fn has_no_head(transaction: &Transaction<'_>, key: &ScopeKey<'_>) -> Held {
    const SQL: &str = "
        SELECT NOT EXISTS (
          SELECT 1 FROM knowledge_space_profile_heads
          WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
        )";
    transaction.prepare_cached(SQL)?.query_row(params![key.tenant, key.space, key.kind], |row| row.get(0))
}

fn move_head(transaction: &Transaction<'_>, key: &ScopeKey<'_>, head: &HeadMove) -> Held {
    const SQL: &str = "
        UPDATE knowledge_space_profile_heads
        SET profile_revision_id = ?4, active_revision = ?5, row_version = ?6, updated_at = ?7
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND row_version = ?8";
    let HeadMove::Advance { from, to } = head else { return create_head(transaction, key, &head.head()) };
    let changed = transaction.prepare_cached(SQL)?.execute(params![
        key.tenant,
        key.space,
        key.kind,
        to.revision_id.to_string(),
        to.active_revision.get(),
        to.row_version.get(),
        to.updated_at.as_micros(),
        from.row_version.get(),
    ])?;
    Ok(changed == 1)
}

pub(super) fn create_head(transaction: &Transaction<'_>, key: &ScopeKey<'_>, head: &Head) -> Held {
    const SQL: &str = "
        INSERT INTO knowledge_space_profile_heads (
          id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
          created_at, updated_at
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let inserted = transaction.prepare_cached(SQL)?.execute(params![
        head.id.to_string(),
        key.tenant,
        key.space,
        key.kind,
        head.revision_id.to_string(),
        head.active_revision.get(),
        head.row_version.get(),
        head.created_at.as_micros(),
        head.updated_at.as_micros(),
    ])?;
    Ok(inserted == 1)
}
