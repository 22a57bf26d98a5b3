//! Giving due ledger rows to a worker.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use space_profiles_core::{
    Backfill, BackfillGuard, BackfillRow, Claim, Claimed, Clock, EXHAUSTED_PER_CLAIM, SpaceFilter, Timestamp,
    WriteBackfill,
};

use crate::apply::write_backfill;
use crate::error::JobError;
use crate::filter::Filtered;
use crate::rows::{self, backfill_columns};

/// Rows of one sort that are due, in the order in which they are given away.
struct Due {
    index: &'static str,
    condition: &'static str,
    order: &'static str,
}

const EXPIRED: Due = Due {
    index: "knowledge_space_profile_backfills_running_idx",
    condition: "run_state = 'running' AND lease_expires_at <= ?2
                AND execution_attempts < max_execution_attempts",
    order: "lease_expires_at, id",
};
const QUEUED: Due = Due {
    index: "knowledge_space_profile_backfills_queued_idx",
    condition: "run_state = 'queued' AND due_at <= ?2
                AND execution_attempts < max_execution_attempts",
    order: "due_at, id",
};
const EXPIRED_AND_SPENT: Due = Due {
    index: "knowledge_space_profile_backfills_running_idx",
    condition: "run_state = 'running' AND lease_expires_at <= ?2
                AND execution_attempts >= max_execution_attempts",
    order: "lease_expires_at, id",
};
const QUEUED_AND_SPENT: Due = Due {
    index: "knowledge_space_profile_backfills_spent_idx",
    condition: "run_state = 'queued' AND due_at <= ?2
                AND execution_attempts >= max_execution_attempts",
    order: "due_at, id",
};

/// Claims in one immediate transaction. The clock is read once the write lock is held, since waiting for it may
/// take longer than a lease.
pub(crate) fn claim(connection: &mut Connection, claim: &Claim, clock: &dyn Clock) -> Result<Claimed, JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now = clock.now();
    let mut claimed = Claimed::default();
    let mut writes = Vec::new();
    let mut tokens = claim.tokens.iter();
    for due in [EXPIRED, QUEUED] {
        let most = tokens.len();
        let given = due.find(&transaction, &claim.filter, now, most, |row| {
            let given = row.claimed(&claim.worker, *tokens.as_slice().first()?, claim.lease, now)?;
            tokens.next();
            Some(given)
        })?;
        claimed.backfills.extend(given.iter().map(|write| write.to.clone()));
        writes.extend(given);
    }
    for due in [EXPIRED_AND_SPENT, QUEUED_AND_SPENT] {
        let most = EXHAUSTED_PER_CLAIM as usize;
        let spent = due.find(&transaction, &claim.filter, now, most, |row| row.exhausted(now))?;
        claimed.exhausted.extend(spent.iter().map(|write| write.to.clone()));
        writes.extend(spent);
    }
    for write in &writes {
        // INVARIANT: the write lock is held since before the row was read, so it is as it was found.
        write_backfill(&transaction, write)?;
    }
    transaction.commit()?;
    Ok(claimed)
}

impl Due {
    /// The first `most` rows that have a transition. A row that contradicts itself, or that is at the end of its
    /// versions, has none and takes no other's place.
    fn find(
        &self,
        transaction: &Transaction<'_>,
        filter: &SpaceFilter,
        now: Timestamp,
        most: usize,
        mut transition: impl FnMut(&Backfill) -> Option<Backfill>,
    ) -> Result<Vec<WriteBackfill>, JobError> {
        let mut found = Vec::new();
        if most == 0 {
            return Ok(found);
        }
        let table = "knowledge_space_profile_backfills";
        let filtered = Filtered::rows_of(table, "knowledge_space_id", Some(self.index), filter);
        let sql = format!(
            "SELECT {columns}
             FROM {source}
             WHERE {wanted} AND {condition}
             ORDER BY {order}",
            columns = backfill_columns!(),
            source = filtered.source,
            wanted = filtered.condition,
            condition = self.condition,
            order = self.order,
        );
        let mut statement = transaction.prepare_cached(&sql)?;
        let mut rows = statement.query(params![filtered.argument, now.as_micros()])?;
        while found.len() < most
            && let Some(row) = rows.next()?
        {
            let Some(row) = rows::readable(rows::backfill(row))?.ok().and_then(BackfillRow::read) else {
                continue;
            };
            let from = BackfillGuard {
                id: row.id,
                row_version: row.row_version,
                lease_token: row.fence().map(|fence| fence.lease_token),
                lease_expires_at: row.lease_expires_at(),
            };
            if let Some(to) = transition(&row) {
                found.push(WriteBackfill { from, to });
            }
        }
        Ok(found)
    }
}
