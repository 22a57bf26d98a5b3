//! The ledger as a whole: adding rows, queueing failed ones again, removing old ones, counting.

use space_profiles_core::{
    Backfill, BackfillCounts, BackfillId, BackfillStatus, SpaceFilter, StoreError, Timestamp,
};
use uuid::Uuid;

use crate::filter::Filtered;
use crate::load::integer;
use crate::rows::Columns;
use crate::sessions::Sessions;
use crate::statement::{Call, statements};
use crate::time::Moment;

macro_rules! counts {
    ($source:literal, $condition:literal) => {
        concat!(
            "SELECT
               backfill.run_state::text, count(*),
               count(*) FILTER (WHERE backfill.due_at <= clock.now),
               count(*) FILTER (WHERE backfill.lease_expires_at <= clock.now)
             FROM
               (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) AS clock
               CROSS JOIN ",
            $source,
            "
             WHERE ",
            $condition,
            "
             GROUP BY backfill.run_state"
        )
    };
}

statements! {
    /// Spaces are locked first, so that none goes while its row is added. Said twice, it answers the same. Snapshots
    /// stay in their array until each is inserted: rows that the server makes of arrays are kept whole, and sorted.
    ENQUEUE =
        "WITH
           wanted AS MATERIALIZED (
             SELECT *
             FROM unnest(
               $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::integer[], $7::text[], $8::integer[],
               $9::timestamptz[], $10::timestamptz[], $11::timestamptz[]
             ) WITH ORDINALITY AS wanted (
               id, tenant_id, space_id, kind, manifest_version, digest, max_attempts, due_at, created_at,
               updated_at, place
             )
           ),
           space AS MATERIALIZED (
             SELECT space.tenant_id, space.id
             FROM knowledge_spaces AS space
             WHERE (space.tenant_id, space.id) IN (SELECT wanted.tenant_id, wanted.space_id FROM wanted)
             ORDER BY space.id, space.tenant_id
             FOR KEY SHARE
           ),
           added AS (
             INSERT INTO knowledge_space_profile_backfills (
               id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot,
               source_snapshot_digest, run_state, execution_attempts, max_execution_attempts, due_at,
               row_version, created_at, updated_at
             )
             SELECT
               ordered.id, ordered.tenant_id, ordered.space_id, ordered.kind, ordered.manifest_version,
               ($6::text[])[ordered.place]::jsonb, ordered.digest, 'queued', 0, ordered.max_attempts,
               ordered.due_at, 1, ordered.created_at, ordered.updated_at
             FROM (
               SELECT wanted.*
               FROM wanted JOIN space ON space.tenant_id = wanted.tenant_id AND space.id = wanted.space_id
               ORDER BY wanted.space_id, wanted.tenant_id, wanted.kind
             ) AS ordered
             ON CONFLICT (
               tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot_digest
             ) DO NOTHING
             RETURNING id
           )
         SELECT id FROM added
         UNION
         SELECT backfill.id FROM knowledge_space_profile_backfills AS backfill WHERE backfill.id = ANY ($1)";

    /// Of a scope's rows only the newest may be queued again. Rows at the end of their versions stay. Some at a time:
    /// a ledger may hold more failures than one statement can take.
    RETRY_SOME =
        "WITH
           clock AS MATERIALIZED (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now),
           chosen AS MATERIALIZED (
             SELECT failed.id
             FROM knowledge_space_profile_backfills AS failed
             WHERE
               failed.run_state = 'failed' AND failed.row_version < 2147483647
               AND ($2::text IS NULL OR failed.last_error_code = $2)
               AND num_nulls(failed.retry_code, failed.retry_message) <> 1
               AND failed.id > $3
               AND NOT EXISTS (
                 SELECT 1
                 FROM knowledge_space_profile_backfills AS newer
                 WHERE
                   newer.tenant_id = failed.tenant_id
                   AND newer.knowledge_space_id = failed.knowledge_space_id
                   AND newer.kind = failed.kind
                   AND (newer.source_manifest_version, newer.created_at, newer.id)
                     > (failed.source_manifest_version, failed.created_at, failed.id)
               )
             ORDER BY failed.id
             LIMIT $4
             FOR UPDATE OF failed
           ),
           queued AS (
             UPDATE knowledge_space_profile_backfills AS failed
             SET
               run_state = 'queued', execution_attempts = 0, last_error_code = NULL, last_error_message = NULL,
               completed_at = NULL, row_version = failed.row_version + 1,
               due_at = greatest(failed.updated_at, clock.now),
               updated_at = greatest(failed.updated_at, clock.now)
             FROM clock
             WHERE failed.id = ANY (ARRAY(SELECT chosen.id FROM chosen))
             RETURNING true
           )
         SELECT (SELECT count(*) FROM queued), (SELECT chosen.id FROM chosen ORDER BY chosen.id DESC LIMIT 1)";

    PRUNE_SOME =
        "WITH
           chosen AS MATERIALIZED (
             SELECT id FROM knowledge_space_profile_backfills
             WHERE run_state = 'succeeded' AND completed_at < $1 AND id > $2
             ORDER BY id
             LIMIT $3
             FOR UPDATE
           ),
           removed AS (
             DELETE FROM knowledge_space_profile_backfills
             WHERE id = ANY (ARRAY(SELECT chosen.id FROM chosen))
             RETURNING true
           )
         SELECT (SELECT count(*) FROM removed), (SELECT chosen.id FROM chosen ORDER BY chosen.id DESC LIMIT 1)";

    COUNTS = counts!("knowledge_space_profile_backfills AS backfill", "true");

    COUNTS_OF_TENANT = counts!("knowledge_space_profile_backfills AS backfill", "backfill.tenant_id = $2");

    COUNTS_OF_SPACES = counts!(
        "unnest($2::text[], $3::uuid[]) AS wanted (tenant_id, space_id)
         JOIN knowledge_space_profile_backfills AS backfill
           ON backfill.tenant_id = wanted.tenant_id AND backfill.knowledge_space_id = wanted.space_id",
        "true"
    );
}

const COUNT: Filtered = Filtered { all: COUNTS, tenant: COUNTS_OF_TENANT, spaces: COUNTS_OF_SPACES };

pub(crate) async fn enqueue(sessions: &Sessions, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError> {
    let ids: Vec<Uuid> = backfills.iter().map(|backfill| backfill.id.as_uuid()).collect();
    let moments = |time: fn(&Backfill) -> Timestamp| -> Vec<Moment> {
        backfills.iter().map(|backfill| Moment(time(backfill))).collect()
    };
    let texts = |text: fn(&Backfill) -> &str| -> Vec<&str> { backfills.iter().map(text).collect() };
    let numbers = |number: fn(&Backfill) -> u32| -> Vec<i32> {
        backfills.iter().map(|backfill| integer(number(backfill))).collect()
    };
    let spaces: Vec<Uuid> = backfills.iter().map(|backfill| backfill.scope.space.id.as_uuid()).collect();
    let call = Call::of(ENQUEUE)
        .with(ids)
        .with(texts(|backfill| backfill.scope.space.tenant.as_str()))
        .with(spaces)
        .with(texts(|backfill| backfill.scope.kind.as_str()))
        .with(numbers(|backfill| backfill.source.manifest_version.get()))
        .with(texts(|backfill| backfill.source.snapshot.as_str()))
        .with(texts(|backfill| backfill.source.digest.as_str()))
        .with(numbers(|backfill| backfill.max_attempts))
        .with(moments(|backfill| backfill.due_at))
        .with(moments(|backfill| backfill.created_at))
        .with(moments(|backfill| backfill.updated_at));
    let rows = sessions.repeatable(call).await?;
    let mut added = Vec::new();
    for row in &rows {
        added.push(Columns::of(row).value::<Uuid>("id")?);
    }
    // In the order in which they were given.
    Ok(backfills.iter().map(|backfill| backfill.id).filter(|id| added.contains(&id.as_uuid())).collect())
}

pub(crate) async fn retry_all(sessions: &Sessions, code: Option<&str>) -> Result<u64, StoreError> {
    some_at_a_time(sessions, |after| Call::of(RETRY_SOME).with(sessions.now()).with(code).with(after)).await
}

pub(crate) async fn prune(sessions: &Sessions, before: Timestamp) -> Result<u64, StoreError> {
    some_at_a_time(sessions, |after| Call::of(PRUNE_SOME).with(Moment(before)).with(after)).await
}

/// How many rows one statement queues again or removes.
const BATCH: i64 = 2_000;

/// Repeats a statement, each time on the rows that follow by id, until none is left; answers how many it wrote.
async fn some_at_a_time(sessions: &Sessions, call: impl Fn(Uuid) -> Call) -> Result<u64, StoreError> {
    let mut after = Uuid::nil();
    let mut written = 0;
    loop {
        let rows = sessions.write_alone(call(after).with(BATCH)).await?;
        let Some(row) = rows.first() else { return Ok(written) };
        let mut columns = Columns::of(row);
        written += columns.value::<i64>("count")?.unsigned_abs();
        match columns.value::<Option<Uuid>>("id")? {
            Some(last) => after = last,
            None => return Ok(written),
        }
    }
}

pub(crate) async fn counts(sessions: &Sessions, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError> {
    let call = COUNT.call(filter, |call| call.with(sessions.now()));
    let mut counts = BackfillCounts::default();
    for row in &sessions.repeatable(call).await? {
        let mut columns = Columns::of(row);
        let status = columns.parsed("run_state")?;
        let mut count = || columns.value::<i64>("count").map(i64::unsigned_abs);
        let (all, due, expired) = (count()?, count()?, count()?);
        match status {
            BackfillStatus::Queued => (counts.queued, counts.due) = (all, due),
            BackfillStatus::Running => (counts.running, counts.expired) = (all, expired),
            BackfillStatus::Succeeded => counts.succeeded = all,
            BackfillStatus::Failed => counts.failed = all,
        }
    }
    Ok(counts)
}
