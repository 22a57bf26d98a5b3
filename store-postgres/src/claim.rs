//! Giving due ledger rows to a worker.

use space_profiles_core::{
    ATTEMPTS_EXHAUSTED, ATTEMPTS_EXHAUSTED_MESSAGE, Backfill, BackfillRow, Claim, Claimed, EXHAUSTED_PER_CLAIM,
    StoreError,
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::filter::Filtered;
use crate::rows::{Columns, backfill_columns, readable, sorted};
use crate::sessions::Sessions;
use crate::statement::{Call, statements};

/// Rows of one sort that are due, locked, in the order in which they are given away. Rows that another claim or a
/// worker has locked are passed over. A row that contradicts itself, or is at the end of its versions, takes no
/// other's place.
macro_rules! due {
    ($source:expr, $condition:expr, $sort:literal, $time:literal, $state:literal, $attempts:literal, $limit:literal) => {
        concat!(
            "SELECT backfill.id, ",
            $sort,
            " AS sort, backfill.",
            $time,
            " AS time
             FROM ",
            $source,
            "
             WHERE
               ",
            $condition,
            "
               AND backfill.run_state = '",
            $state,
            "' AND backfill.",
            $time,
            " <= (SELECT now FROM clock)
               AND backfill.execution_attempts ",
            $attempts,
            " backfill.max_execution_attempts
               AND backfill.row_version < 2147483647
               AND num_nulls(backfill.retry_code, backfill.retry_message) <> 1
             ORDER BY backfill.",
            $time,
            ", backfill.id
             LIMIT ",
            $limit,
            "
             FOR UPDATE OF backfill SKIP LOCKED"
        )
    };
}

/// The whole claim: what it gives is what [`Backfill::claimed`] says, what it fails what [`Backfill::exhausted`] says,
/// each with its place.
macro_rules! claim {
    ($source:expr, $condition:expr) => {
        concat!(
            "WITH
               clock AS MATERIALIZED (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now),
               expired AS MATERIALIZED (
                 ",
            due!($source, $condition, "1", "lease_expires_at", "running", "<", "cardinality($4::uuid[])"),
            "
               ),
               queued AS MATERIALIZED (
                 ",
            due!(
                $source,
                $condition,
                "2",
                "due_at",
                "queued",
                "<",
                "cardinality($4::uuid[]) - (SELECT count(*) FROM expired)"
            ),
            "
               ),
               spent_running AS MATERIALIZED (
                 ",
            due!($source, $condition, "3", "lease_expires_at", "running", ">=", "$5"),
            "
               ),
               spent_queued AS MATERIALIZED (
                 ",
            due!($source, $condition, "4", "due_at", "queued", ">=", "$5"),
            "
               ),
               given AS MATERIALIZED (
                 SELECT array_agg(id ORDER BY sort, time, id) AS ids
                 FROM (TABLE expired UNION ALL TABLE queued) AS due
               ),
               spent AS MATERIALIZED (
                 SELECT array_agg(id ORDER BY sort, time, id) AS ids
                 FROM (TABLE spent_running UNION ALL TABLE spent_queued) AS due
               ),
               claimed AS (
                 UPDATE knowledge_space_profile_backfills AS backfill
                 SET
                   run_state = 'running', worker_id = $2,
                   lease_token = ($4::uuid[])[array_position(given.ids, backfill.id)],
                   lease_expires_at = least(
                     clock.now + $3::bigint * interval '1 microsecond', '9999-12-31T23:59:59.999999Z'
                   ),
                   heartbeat_at = clock.now, execution_attempts = backfill.execution_attempts + 1,
                   row_version = backfill.row_version + 1,
                   updated_at = greatest(backfill.updated_at, clock.now)
                 FROM given, clock
                 WHERE backfill.id = ANY (given.ids)
                 RETURNING
                   array_position(given.ids, backfill.id) AS place, true AS is_given, ",
            backfill_columns!("backfill"),
            "
               ),
               exhausted AS (
                 UPDATE knowledge_space_profile_backfills AS backfill
                 SET
                   run_state = 'failed', worker_id = NULL, lease_token = NULL, lease_expires_at = NULL,
                   heartbeat_at = NULL, retry_code = NULL, retry_message = NULL, last_error_code = $6,
                   last_error_message = $7, row_version = backfill.row_version + 1,
                   updated_at = greatest(backfill.updated_at, clock.now),
                   completed_at = greatest(backfill.updated_at, clock.now)
                 FROM spent, clock
                 WHERE backfill.id = ANY (spent.ids)
                 RETURNING
                   array_position(spent.ids, backfill.id) AS place, false AS is_given, ",
            backfill_columns!("backfill"),
            "
               )
             TABLE claimed UNION ALL TABLE exhausted"
        )
    };
}

statements! {
    CLAIM = claim!("knowledge_space_profile_backfills AS backfill", "true");

    CLAIM_OF_TENANT = claim!("knowledge_space_profile_backfills AS backfill", "backfill.tenant_id = $8");

    CLAIM_OF_SPACES = claim!(
        "unnest($8::text[], $9::uuid[]) AS wanted (tenant_id, space_id)
         JOIN knowledge_space_profile_backfills AS backfill
           ON backfill.tenant_id = wanted.tenant_id AND backfill.knowledge_space_id = wanted.space_id",
        "true"
    );
}

const CLAIMS: Filtered = Filtered { all: CLAIM, tenant: CLAIM_OF_TENANT, spaces: CLAIM_OF_SPACES };

pub(crate) async fn claim(sessions: &Sessions, claim: &Claim) -> Result<Claimed, StoreError> {
    let tokens: Vec<Uuid> = claim.tokens.iter().map(|token| token.as_uuid()).collect();
    let with_arguments = |call: Call| {
        call.with(sessions.now())
            .with(claim.worker.as_str())
            .with(claim.lease.span().as_micros())
            .with(tokens)
            .with(i64::from(EXHAUSTED_PER_CLAIM))
            .with(ATTEMPTS_EXHAUSTED)
            .with(ATTEMPTS_EXHAUSTED_MESSAGE)
    };
    let call = CLAIMS.call(&claim.filter, with_arguments);
    loop {
        let rows = sorted::<i32>(sessions.write_alone(call.clone()).await?)?;
        let claimed = claimed(&rows)?;
        // Rows that cannot be read are leased now and given to nobody; once their attempts are spent, they are
        // failed. They must not look like the end of the work.
        if rows.is_empty() || claimed != Claimed::default() {
            return Ok(claimed);
        }
    }
}

fn claimed(rows: &[PgRow]) -> Result<Claimed, StoreError> {
    let mut claimed = Claimed::default();
    for row in rows {
        let mut columns = Columns::of(row);
        let _place: i32 = columns.value("place")?;
        let is_given = columns.value("is_given")?;
        let row = readable(columns.backfill_row())?.ok();
        let backfill: Option<Backfill> = row.and_then(BackfillRow::read);
        if is_given { claimed.backfills.extend(backfill) } else { claimed.exhausted.extend(backfill) }
    }
    Ok(claimed)
}
