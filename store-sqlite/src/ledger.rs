//! The ledger as a whole: adding rows, queueing failed ones again, removing old ones, counting.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use space_profiles_core::{
    Backfill, BackfillCounts, BackfillGuard, BackfillId, BackfillRow, BackfillStatus, Clock, SpaceFilter,
    Timestamp, WriteBackfill,
};

use crate::apply::{insert_backfill, write_backfill};
use crate::error::JobError;
use crate::filter::Filtered;
use crate::load::backfill_by_id;
use crate::rows::Columns;

pub(crate) fn enqueue(connection: &mut Connection, backfills: &[Backfill]) -> Result<Vec<BackfillId>, JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut added = Vec::new();
    for backfill in backfills {
        if insert_backfill(&transaction, &BackfillRow::from(backfill))? {
            added.push(backfill.id);
        }
    }
    transaction.commit()?;
    Ok(added)
}

pub(crate) fn retry_all(
    connection: &mut Connection,
    code: Option<&str>,
    clock: &dyn Clock,
) -> Result<u64, JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now = clock.now();
    let mut queued = 0;
    for id in newest_failed(&transaction, code)? {
        let Some(row) = backfill_by_id(&transaction, &id)?.and_then(BackfillRow::read) else { continue };
        let Some(to) = row.requeued(now) else { continue };
        let from =
            BackfillGuard { id: row.id, row_version: row.row_version, lease_token: None, lease_expires_at: None };
        queued += u64::from(write_backfill(&transaction, &WriteBackfill { from, to })?);
    }
    transaction.commit()?;
    Ok(queued)
}

/// Ids only: the sources of a large ledger would fill the memory.
fn newest_failed(transaction: &Transaction<'_>, code: Option<&str>) -> rusqlite::Result<Vec<String>> {
    const SQL: &str = "
        SELECT id
        FROM knowledge_space_profile_backfills AS failed
        WHERE
          run_state = 'failed' AND (?1 IS NULL OR last_error_code = ?1)
          AND NOT EXISTS (
            SELECT 1
            FROM knowledge_space_profile_backfills AS newer
            WHERE
              newer.tenant_id = failed.tenant_id
              AND newer.knowledge_space_id = failed.knowledge_space_id
              AND newer.kind = failed.kind
              AND (newer.source_manifest_version, newer.created_at, newer.id)
                > (failed.source_manifest_version, failed.created_at, failed.id)
          )";
    transaction.prepare_cached(SQL)?.query_map(params![code], |row| row.get(0))?.collect()
}

pub(crate) fn prune(connection: &mut Connection, before: Timestamp) -> Result<u64, JobError> {
    const SQL: &str = "
        DELETE FROM knowledge_space_profile_backfills
        WHERE run_state = 'succeeded' AND completed_at < ?1";
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let removed = transaction.prepare_cached(SQL)?.execute(params![before.as_micros()])?;
    transaction.commit()?;
    Ok(removed as u64)
}

pub(crate) fn counts(
    connection: &mut Connection,
    filter: &SpaceFilter,
    clock: &dyn Clock,
) -> Result<BackfillCounts, JobError> {
    let filtered = Filtered::rows_of("knowledge_space_profile_backfills", "knowledge_space_id", None, filter);
    let sql = format!(
        "SELECT
           run_state, count(*), coalesce(sum(due_at <= ?2), 0), coalesce(sum(lease_expires_at <= ?2), 0)
         FROM {source}
         WHERE {wanted}
         GROUP BY run_state",
        source = filtered.source,
        wanted = filtered.condition,
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![filtered.argument, clock.now().as_micros()])?;
    let mut counts = BackfillCounts::default();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of("knowledge_space_profile_backfills", row);
        let status = columns.parsed("run_state")?;
        let all = columns.number("count")?;
        let (due, expired) = (columns.number("due_at")?, columns.number("lease_expires_at")?);
        match status {
            BackfillStatus::Queued => (counts.queued, counts.due) = (all, due),
            BackfillStatus::Running => (counts.running, counts.expired) = (all, expired),
            BackfillStatus::Succeeded => counts.succeeded = all,
            BackfillStatus::Failed => counts.failed = all,
        }
    }
    Ok(counts)
}
