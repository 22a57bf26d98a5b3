//! Writing what was read from another store, as it is.

use space_profiles_core::{BackfillRow, CopyScope, CopySpace, Head, RevisionRow, Scope};

use super::{column, spaces};
use crate::load::integer;
use crate::statement::{Call, statements};
use crate::time::Moment;

/// How many rows one statement inserts. The largest, a mebibyte each, are in memory once more for it, and well below
/// what one message holds.
const CHUNK: usize = 16;

statements! {
    /// Whatever state the space is in.
    LOCK_ANY_SPACE =
        "SELECT true FROM knowledge_spaces WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE";

    /// After [`LOCK_ANY_SPACE`].
    EXPECT_NOTHING =
        "SELECT
           NOT EXISTS (
             SELECT 1 FROM knowledge_space_profile_revisions
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
           )
           AND NOT EXISTS (
             SELECT 1 FROM knowledge_space_profile_heads
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
           )
           AND NOT EXISTS (
             SELECT 1 FROM knowledge_space_profile_backfills
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
           )";

    /// JSON stays in its array until it is inserted: rows that the server makes of arrays are kept whole.
    COPY_REVISIONS =
        "WITH copied AS (
           INSERT INTO knowledge_space_profile_revisions (
             tenant_id, knowledge_space_id, kind, id, revision, state, snapshot, snapshot_digest,
             capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id,
             dimension, created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code,
             failure_message, created_at, updated_at, activated_at, superseded_at, failed_at
           )
           SELECT
             $1::text, $2::uuid, $3::text, row.id, row.revision, row.state, ($7::text[])[row.place]::jsonb,
             row.snapshot_digest, ($9::text[])[row.place]::jsonb, row.capability_digest, row.plugin_id,
             row.provider, row.model, row.vector_space_id, row.dimension, row.created_by, row.activated_by,
             row.failed_by, row.failure_code, row.failure_message, row.created_at, row.updated_at,
             row.activated_at, row.superseded_at, row.failed_at
           FROM unnest(
             $4::uuid[], $5::integer[], $6::text[], $8::text[], $10::text[], $11::text[], $12::text[],
             $13::text[], $14::text[], $15::integer[], $16::text[], $17::text[], $18::text[], $19::text[],
             $20::text[], $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::timestamptz[],
             $25::timestamptz[]
           ) WITH ORDINALITY AS row (
             id, revision, state, snapshot_digest, capability_digest, plugin_id, provider, model,
             vector_space_id, dimension, created_by, activated_by, failed_by, failure_code, failure_message,
             created_at, updated_at, activated_at, superseded_at, failed_at, place
           )
           RETURNING true
         )
         SELECT count(*) = cardinality($4) FROM copied";

    COPY_HEAD =
        "INSERT INTO knowledge_space_profile_heads (
           tenant_id, knowledge_space_id, kind, id, profile_revision_id, active_revision, row_version,
           created_at, updated_at
         )
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         RETURNING true";

    /// As [`COPY_REVISIONS`].
    COPY_BACKFILLS =
        "WITH copied AS (
           INSERT INTO knowledge_space_profile_backfills (
             tenant_id, knowledge_space_id, kind, id, source_manifest_version, source_snapshot,
             source_snapshot_digest, run_state, execution_attempts, max_execution_attempts, worker_id,
             lease_token, lease_expires_at, heartbeat_at, due_at, retry_code, retry_message, last_error_code,
             last_error_message, row_version, created_at, updated_at, completed_at
           )
           SELECT
             $1::text, $2::uuid, $3::text, row.id, row.manifest_version, ($6::text[])[row.place]::jsonb,
             row.source_digest, row.run_state, row.attempts, row.max_attempts, row.worker_id, row.lease_token,
             row.lease_expires_at, row.heartbeat_at, row.due_at, row.retry_code, row.retry_message,
             row.error_code, row.error_message, row.row_version, row.created_at, row.updated_at,
             row.completed_at
           FROM unnest(
             $4::uuid[], $5::integer[], $7::text[], $8::text[], $9::integer[], $10::integer[], $11::text[],
             $12::uuid[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[], $16::text[], $17::text[],
             $18::text[], $19::text[], $20::integer[], $21::timestamptz[], $22::timestamptz[],
             $23::timestamptz[]
           ) WITH ORDINALITY AS row (
             id, manifest_version, source_digest, run_state, attempts, max_attempts, worker_id, lease_token,
             lease_expires_at, heartbeat_at, due_at, retry_code, retry_message, error_code, error_message,
             row_version, created_at, updated_at, completed_at, place
           )
           RETURNING true
         )
         SELECT count(*) = cardinality($4) FROM copied";
}

pub(super) fn space(copy: &CopySpace) -> Call {
    match &copy.manifest {
        Some(manifest) => spaces::add_with_manifest(&copy.row, manifest),
        None => spaces::add(&copy.row),
    }
}

/// Each call is made when its turn comes, so that the rows are not in memory once more all together.
pub(super) fn scope(copy: &CopyScope) -> impl Iterator<Item = Call> + Send {
    let lock = Call::of(LOCK_ANY_SPACE).with(copy.scope.space.tenant.as_str()).with(copy.scope.space.id.as_uuid());
    [lock, Call::of_scope(EXPECT_NOTHING, &copy.scope)]
        .into_iter()
        .chain(copy.revisions.chunks(CHUNK).map(|rows| revisions(&copy.scope, rows)))
        .chain(copy.head.iter().map(|row| head(&copy.scope, row)))
        .chain(copy.backfills.chunks(CHUNK).map(|rows| backfills(&copy.scope, rows)))
}

fn head(scope: &Scope, head: &Head) -> Call {
    Call::of_scope(COPY_HEAD, scope)
        .with(head.id.as_uuid())
        .with(head.revision_id.as_uuid())
        .with(integer(head.active_revision.get()))
        .with(integer(head.row_version.get()))
        .with(Moment(head.created_at))
        .with(Moment(head.updated_at))
}

fn revisions(scope: &Scope, rows: &[RevisionRow]) -> Call {
    let call = Call::of_scope(COPY_REVISIONS, scope);
    let call = column(call, rows, |row| row.id.as_uuid());
    let call = column(call, rows, |row| integer(row.revision.get()));
    let call = column(call, rows, |row| row.status.as_str());
    let call = column(call, rows, |row| row.snapshot.as_str());
    let call = column(call, rows, |row| row.snapshot_digest.as_str());
    let call = column(call, rows, |row| row.capability_snapshot.as_str());
    let call = column(call, rows, |row| row.capability_snapshot_digest.as_str());
    let call = column(call, rows, |row| row.plugin_id.as_str());
    let call = column(call, rows, |row| row.provider.as_str());
    let call = column(call, rows, |row| row.model.as_str());
    let call = column(call, rows, |row| row.vector_space_id.as_deref());
    let call = column(call, rows, |row| row.dimension.map(|value| i32::try_from(value).unwrap_or(i32::MAX)));
    let call = column(call, rows, |row| row.created_by.as_str());
    let call = column(call, rows, |row| row.activated_by.as_deref());
    let call = column(call, rows, |row| row.failed_by.as_deref());
    let call = column(call, rows, |row| row.failure_code.as_deref());
    let call = column(call, rows, |row| row.failure_message.as_deref());
    let call = column(call, rows, |row| Moment(row.created_at));
    let call = column(call, rows, |row| Moment(row.updated_at));
    let call = column(call, rows, |row| row.activated_at.map(Moment));
    let call = column(call, rows, |row| row.superseded_at.map(Moment));
    column(call, rows, |row| row.failed_at.map(Moment))
}

fn backfills(scope: &Scope, rows: &[BackfillRow]) -> Call {
    let call = Call::of_scope(COPY_BACKFILLS, scope);
    let call = column(call, rows, |row| row.id.as_uuid());
    let call = column(call, rows, |row| integer(row.source_manifest_version.get()));
    let call = column(call, rows, |row| row.source_snapshot.as_str());
    let call = column(call, rows, |row| row.source_snapshot_digest.as_str());
    let call = column(call, rows, |row| row.status.as_str());
    let call = column(call, rows, |row| integer(row.attempts));
    let call = column(call, rows, |row| integer(row.max_attempts));
    let call = column(call, rows, |row| row.worker.as_deref());
    let call = column(call, rows, |row| row.lease_token.map(|token| token.as_uuid()));
    let call = column(call, rows, |row| row.lease_expires_at.map(Moment));
    let call = column(call, rows, |row| row.heartbeat_at.map(Moment));
    let call = column(call, rows, |row| Moment(row.due_at));
    let call = column(call, rows, |row| row.retry_code.as_deref());
    let call = column(call, rows, |row| row.retry_message.as_deref());
    let call = column(call, rows, |row| row.last_error_code.as_deref());
    let call = column(call, rows, |row| row.last_error_message.as_deref());
    let call = column(call, rows, |row| integer(row.row_version.get()));
    let call = column(call, rows, |row| Moment(row.created_at));
    let call = column(call, rows, |row| Moment(row.updated_at));
    column(call, rows, |row| row.completed_at.map(Moment))
}
