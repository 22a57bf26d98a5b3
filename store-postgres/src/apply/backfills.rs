//! Writing ledger rows, and installing what they hold.

use space_profiles_core::{BackfillRow, Install, WriteBackfill};

use super::revisions::{insert_head, insert_revision, lock_space, scope_is_empty, with_head, with_revision};
use crate::load::integer;
use crate::statement::{Call, statements};
use crate::time::Moment;

statements! {
    WRITE =
        "UPDATE knowledge_space_profile_backfills
         SET
           run_state = $8, execution_attempts = $9::integer, max_execution_attempts = $10::integer,
           worker_id = $11, lease_token = $12, lease_expires_at = $13, heartbeat_at = $14, due_at = $15,
           retry_code = $16, retry_message = $17, last_error_code = $18, last_error_message = $19,
           row_version = $20::integer, updated_at = $21, completed_at = $22
         WHERE
           id = $4 AND tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
           AND row_version = $5::integer
           AND lease_token IS NOT DISTINCT FROM $6::uuid
           AND lease_expires_at IS NOT DISTINCT FROM $7::timestamptz
         RETURNING true";

    /// After the lock on the space. The ledger row and the manifest are locked and compared before anything is
    /// written; the ledger row comes before the manifest, as in the other service.
    INSTALL = concat!(
        "WITH
           backfill AS MATERIALIZED (
             SELECT id FROM knowledge_space_profile_backfills
             WHERE
               id = $24 AND tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
               AND row_version = $25::integer
               AND lease_token IS NOT DISTINCT FROM $26::uuid
               AND lease_expires_at IS NOT DISTINCT FROM $27::timestamptz
             FOR UPDATE
           ),
           manifest AS MATERIALIZED (
             SELECT backfill.id AS backfill_id
             FROM backfill, knowledge_space_manifests AS manifest
             WHERE
               manifest.tenant_id = $1 AND manifest.knowledge_space_id = $2
               AND manifest.manifest_version = $28::integer AND manifest.metadata = $29::jsonb
             FOR SHARE OF manifest
           ),
           installed AS (
             ", insert_revision!(), " FROM manifest WHERE ", scope_is_empty!(), " RETURNING true
           ),
           head AS (
             ", insert_head!("$21", "$4", "$5", "$22", "$23"), " FROM installed RETURNING true
           )
         UPDATE knowledge_space_profile_backfills AS backfill
         SET
           run_state = 'succeeded', worker_id = NULL, lease_token = NULL, lease_expires_at = NULL,
           heartbeat_at = NULL, retry_code = NULL, retry_message = NULL, last_error_code = NULL,
           last_error_message = NULL, row_version = $30::integer, updated_at = $31::timestamptz,
           completed_at = $31::timestamptz
         FROM head, manifest
         WHERE backfill.id = manifest.backfill_id
         RETURNING true"
    );
}

pub(super) fn write(write: &WriteBackfill) -> Call {
    let row = BackfillRow::from(&write.to);
    Call::of_scope(WRITE, &row.scope)
        .with(write.from.id.as_uuid())
        .with(integer(write.from.row_version.get()))
        .with(write.from.lease_token.map(|token| token.as_uuid()))
        .with(write.from.lease_expires_at.map(Moment))
        .with(row.status.as_str())
        .with(integer(row.attempts))
        .with(integer(row.max_attempts))
        .with(row.worker.as_deref())
        .with(row.lease_token.map(|token| token.as_uuid()))
        .with(row.lease_expires_at.map(Moment))
        .with(row.heartbeat_at.map(Moment))
        .with(Moment(row.due_at))
        .with(row.retry_code.as_deref())
        .with(row.retry_message.as_deref())
        .with(row.last_error_code.as_deref())
        .with(row.last_error_message.as_deref())
        .with(integer(row.row_version.get()))
        .with(Moment(row.updated_at))
        .with(row.completed_at.map(Moment))
}

pub(super) fn install(install: &Install) -> Vec<Call> {
    let scope = &install.revision.scope;
    let WriteBackfill { from, to } = &install.backfill;
    let call = with_revision(Call::of_scope(INSTALL, scope), &install.revision.to_row());
    let call = with_head(call, &install.head)
        .with(from.id.as_uuid())
        .with(integer(from.row_version.get()))
        .with(from.lease_token.map(|token| token.as_uuid()))
        .with(from.lease_expires_at.map(Moment))
        .with(integer(install.manifest.version.get()))
        .with(install.manifest.metadata.as_str())
        .with(integer(to.row_version.get()))
        .with(Moment(to.updated_at));
    vec![lock_space(scope), call]
}
