//! Installing what several ledger rows hold, in one transaction of two statements.
//!
//! Every row has its own guards, and one whose guards do not hold leaves the others alone. Nothing is waited for, since
//! a row must not keep the others waiting: what somebody else has locked counts as stale. So no order of locks matters.
//! What belongs to a row is looked up for that row: a join of many might read a whole table.

use space_profiles_core::{Applied, Install, RevisionRow, StoreError, Timestamp};
use sqlx::postgres::PgRow;

use super::column;
use crate::load::integer;
use crate::rows::Columns;
use crate::sessions::Sessions;
use crate::statement::{Call, statements};
use crate::time::Moment;

statements! {
    /// Locks each space against every other write of profiles, as [`super::revisions`] does, or passes over it.
    LOCK_SPACES =
        "SELECT wanted.place
         FROM
           unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS wanted (tenant_id, space_id, place)
           CROSS JOIN LATERAL (
             SELECT true FROM knowledge_spaces AS space
             WHERE
               space.tenant_id = wanted.tenant_id AND space.id = wanted.space_id
               AND space.lifecycle_state = 'active' AND space.deletion_job_id IS NULL
             LIMIT 1
             FOR NO KEY UPDATE SKIP LOCKED
           ) AS locked";

    /// After the locks on the spaces. Ledger rows and manifests are locked and compared before anything is written.
    /// The columns of a revision come first, then those of its head, the ledger row and the manifest. Answers the places
    /// of the rows that are installed.
    INSTALL_ALL =
        "WITH
           wanted AS MATERIALIZED (
             SELECT *
             FROM unnest(
               $1::text[], $2::uuid[], $3::text[], $4::uuid[], $5::integer[], $6::text[], $7::text[], $8::text[],
               $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::integer[],
               $16::text[], $17::text[], $18::timestamptz[], $19::timestamptz[], $20::timestamptz[], $21::uuid[],
               $22::integer[], $23::timestamptz[], $24::uuid[], $25::integer[], $26::uuid[], $27::timestamptz[],
               $28::integer[], $29::timestamptz[], $30::integer[], $31::text[]
             ) WITH ORDINALITY AS wanted (
               tenant_id, space_id, kind, revision_id, revision, state, snapshot, snapshot_digest, capability,
               capability_digest, plugin_id, provider, model, vector_space_id, dimension, created_by, activated_by,
               created_at, updated_at, activated_at, head_id, head_version, head_at, backfill_id, from_version,
               lease_token, lease_expires_at, to_version, settled_at, manifest_version, metadata, place
             )
           ),
           held AS MATERIALIZED (
             SELECT wanted.place
             FROM
               wanted
               CROSS JOIN LATERAL (
                 SELECT true FROM knowledge_space_profile_backfills AS backfill
                 WHERE
                   backfill.id = wanted.backfill_id AND backfill.tenant_id = wanted.tenant_id
                   AND backfill.knowledge_space_id = wanted.space_id AND backfill.kind = wanted.kind
                   AND backfill.row_version = wanted.from_version
                   AND backfill.lease_token IS NOT DISTINCT FROM wanted.lease_token
                   AND backfill.lease_expires_at IS NOT DISTINCT FROM wanted.lease_expires_at
                 LIMIT 1
                 FOR UPDATE SKIP LOCKED
               ) AS locked
           ),
           unchanged AS MATERIALIZED (
             SELECT wanted.place
             FROM
               wanted
               CROSS JOIN LATERAL (
                 SELECT true FROM knowledge_space_manifests AS manifest
                 WHERE
                   manifest.tenant_id = wanted.tenant_id AND manifest.knowledge_space_id = wanted.space_id
                   AND manifest.manifest_version = wanted.manifest_version
                   AND manifest.metadata = wanted.metadata::jsonb
                 LIMIT 1
                 FOR SHARE SKIP LOCKED
               ) AS locked
             WHERE wanted.place = ANY (ARRAY(SELECT held.place FROM held))
           ),
           ready AS MATERIALIZED (
             SELECT wanted.*
             FROM wanted
             WHERE
               wanted.place = ANY (ARRAY(SELECT unchanged.place FROM unchanged))
               AND (
                 SELECT found.revision FROM knowledge_space_profile_revisions AS found
                 WHERE
                   found.tenant_id = wanted.tenant_id AND found.knowledge_space_id = wanted.space_id
                   AND found.kind = wanted.kind
                 LIMIT 1
               ) IS NULL
           ),
           installed AS (
             INSERT INTO knowledge_space_profile_revisions (
               id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest,
               capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id, dimension,
               created_by_subject_id, activated_by_subject_id, created_at, updated_at, activated_at
             )
             SELECT
               revision_id, tenant_id, space_id, kind, revision, state, snapshot::jsonb, snapshot_digest,
               capability::jsonb, capability_digest, plugin_id, provider, model, vector_space_id, dimension, created_by,
               activated_by, created_at, updated_at, activated_at
             FROM ready
             RETURNING id
           ),
           heads AS (
             INSERT INTO knowledge_space_profile_heads (
               id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
               created_at, updated_at
             )
             SELECT head_id, tenant_id, space_id, kind, revision_id, revision, head_version, head_at, head_at
             FROM ready
             WHERE revision_id = ANY (ARRAY(SELECT installed.id FROM installed))
             RETURNING profile_revision_id
           ),
           settled AS MATERIALIZED (
             SELECT
               array_agg(backfill_id) AS ids, array_agg(to_version) AS versions, array_agg(settled_at) AS moments,
               array_agg(place) AS places
             FROM ready
             WHERE revision_id = ANY (ARRAY(SELECT heads.profile_revision_id FROM heads))
           )
         UPDATE knowledge_space_profile_backfills AS backfill
         SET
           run_state = 'succeeded', worker_id = NULL, lease_token = NULL, lease_expires_at = NULL,
           heartbeat_at = NULL, retry_code = NULL, retry_message = NULL, last_error_code = NULL,
           last_error_message = NULL,
           row_version = settled.versions[array_position(settled.ids, backfill.id)],
           updated_at = settled.moments[array_position(settled.ids, backfill.id)],
           completed_at = settled.moments[array_position(settled.ids, backfill.id)]
         FROM settled
         WHERE backfill.id = ANY (settled.ids)
         RETURNING settled.places[array_position(settled.ids, backfill.id)]";
}

/// Writes installs of different scopes, each wholly or not at all.
pub(crate) async fn install_all(sessions: &Sessions, installs: &[Install]) -> Result<Vec<Applied>, StoreError> {
    let lock = column(Call::of(LOCK_SPACES), installs, |install| install.revision.scope.space.tenant.as_str());
    let lock = column(lock, installs, |install| install.revision.scope.space.id.as_uuid());
    let mut locked: Vec<usize> = Vec::new();
    let write = |rows: &[PgRow]| {
        locked = places(rows)?;
        let installs = locked.iter().filter_map(|place| installs.get(*place));
        let rows: Vec<Row<'_>> =
            installs.map(|install| Row { install, revision: install.revision.to_row() }).collect();
        Ok((!rows.is_empty()).then(|| self::write(&rows)))
    };
    let rows = sessions.apply_locked(lock, write).await?;
    let mut applied = vec![Applied::Stale; installs.len()];
    for place in places(&rows)? {
        let done = locked.get(place).and_then(|place| applied.get_mut(*place));
        if let Some(done) = done {
            *done = Applied::Done;
        }
    }
    Ok(applied)
}

/// Places are told from 1 on.
fn places(rows: &[PgRow]) -> Result<Vec<usize>, StoreError> {
    let place = |row| Columns::of(row).value::<i64>("place").map(|place| usize::try_from(place - 1).unwrap_or(0));
    rows.iter().map(place).collect()
}

/// An install with its revision as the table has it.
struct Row<'i> {
    install: &'i Install,
    revision: RevisionRow,
}

fn write(rows: &[Row<'_>]) -> Call {
    let moment = |time: Option<Timestamp>| time.map(Moment);
    let call = Call::of(INSTALL_ALL);
    let call = column(call, rows, |row| row.install.revision.scope.space.tenant.as_str());
    let call = column(call, rows, |row| row.install.revision.scope.space.id.as_uuid());
    let call = column(call, rows, |row| row.install.revision.scope.kind.as_str());
    let call = column(call, rows, |row| row.revision.id.as_uuid());
    let call = column(call, rows, |row| integer(row.revision.revision.get()));
    let call = column(call, rows, |row| row.revision.status.as_str());
    let call = column(call, rows, |row| row.revision.snapshot.as_str());
    let call = column(call, rows, |row| row.revision.snapshot_digest.as_str());
    let call = column(call, rows, |row| row.revision.capability_snapshot.as_str());
    let call = column(call, rows, |row| row.revision.capability_snapshot_digest.as_str());
    let call = column(call, rows, |row| row.revision.plugin_id.as_str());
    let call = column(call, rows, |row| row.revision.provider.as_str());
    let call = column(call, rows, |row| row.revision.model.as_str());
    let call = column(call, rows, |row| row.revision.vector_space_id.as_deref());
    let call =
        column(call, rows, |row| row.revision.dimension.map(|value| i32::try_from(value).unwrap_or(i32::MAX)));
    let call = column(call, rows, |row| row.revision.created_by.as_str());
    let call = column(call, rows, |row| row.revision.activated_by.as_deref());
    let call = column(call, rows, |row| Moment(row.revision.created_at));
    let call = column(call, rows, |row| Moment(row.revision.updated_at));
    let call = column(call, rows, |row| moment(row.revision.activated_at));
    let call = column(call, rows, |row| row.install.head.id.as_uuid());
    let call = column(call, rows, |row| integer(row.install.head.row_version.get()));
    let call = column(call, rows, |row| Moment(row.install.head.created_at));
    let call = column(call, rows, |row| row.install.backfill.from.id.as_uuid());
    let call = column(call, rows, |row| integer(row.install.backfill.from.row_version.get()));
    let call = column(call, rows, |row| row.install.backfill.from.lease_token.map(|token| token.as_uuid()));
    let call = column(call, rows, |row| moment(row.install.backfill.from.lease_expires_at));
    let call = column(call, rows, |row| integer(row.install.backfill.to.row_version.get()));
    let call = column(call, rows, |row| Moment(row.install.backfill.to.updated_at));
    let call = column(call, rows, |row| integer(row.install.manifest.version.get()));
    column(call, rows, |row| row.install.manifest.metadata.as_str())
}
