//! Writing a change: one immediate transaction that happens wholly or not at all.

mod backfills;
mod copying;
mod revisions;
mod spaces;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use space_profiles_core::{Applied, Change, Revision};

pub(crate) use backfills::{insert as insert_backfill, write as write_backfill};

use crate::error::{Constraint, JobError};
use crate::rows::ScopeKey;

/// Whether every guard held, so that what was written may stay.
pub(crate) type Held = rusqlite::Result<bool>;

/// Writes a change, or nothing if a guard does not hold.
///
/// The transaction is immediate: it has the write lock before the first guard is looked at, so what the guards
/// saw cannot change before the write.
pub(crate) fn apply(connection: &mut Connection, change: &Change) -> Result<Applied, JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let applied = applied(&transaction, change)?;
    if applied == Applied::Done {
        transaction.commit()?;
    }
    Ok(applied)
}

/// Writes changes in one transaction, each wholly or not at all.
pub(crate) fn apply_each(connection: &mut Connection, changes: &[Change]) -> Result<Vec<Applied>, JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut all = Vec::with_capacity(changes.len());
    for change in changes {
        transaction.execute_batch("SAVEPOINT change")?;
        let applied = applied(&transaction, change)?;
        if applied != Applied::Done {
            transaction.execute_batch("ROLLBACK TO change")?;
        }
        transaction.execute_batch("RELEASE change")?;
        all.push(applied);
    }
    transaction.commit()?;
    Ok(all)
}

/// Writes a change as far as its guards hold, and answers whether it may stay.
fn applied(transaction: &Transaction<'_>, change: &Change) -> Result<Applied, JobError> {
    match write(transaction, change) {
        Ok(true) => Ok(Applied::Done),
        Ok(false) => Ok(Applied::Stale),
        Err(error) => match Constraint::of(&error) {
            Some(Constraint::Scope) => Ok(Applied::Stale),
            Some(Constraint::RevisionId) if is_a_place_taken(transaction, change)? => Ok(Applied::Stale),
            Some(Constraint::RevisionId) => Ok(Applied::RevisionIdTaken),
            None => Err(error.into()),
        },
    }
}

fn write(transaction: &Transaction<'_>, change: &Change) -> Held {
    match change {
        Change::Append(append) => revisions::append(transaction, append),
        Change::Activate(activates) => revisions::activate_all(transaction, activates),
        Change::Publish(publish) => revisions::publish(transaction, publish),
        Change::Fail(fail) => revisions::fail(transaction, fail),
        Change::AddSpace(row) => spaces::add(transaction, row),
        Change::PutManifest(put) => spaces::put_manifest(transaction, put),
        Change::DeleteSpace(space) => spaces::delete(transaction, space),
        Change::Backfill(write) => backfills::write(transaction, write),
        Change::Install(install) => backfills::install(transaction, install),
        Change::CopySpace(copy) => copying::space(transaction, copy),
        Change::CopyScope(copy) => copying::scope(transaction, copy),
    }
}

/// Whether the place of a revision whose id is taken is taken too. Then it may be this very command's own work,
/// which a fresh decision recognises. SQLite tells of one broken constraint only, and the id's comes first.
fn is_a_place_taken(transaction: &Transaction<'_>, change: &Change) -> Held {
    match change {
        Change::Append(append) => is_place_taken(transaction, &append.revision),
        Change::Publish(publish) => is_place_taken(transaction, &publish.revision),
        Change::Install(install) => is_place_taken(transaction, &install.revision),
        _ => Ok(false),
    }
}

fn is_place_taken(transaction: &Transaction<'_>, revision: &Revision) -> Held {
    const SQL: &str = "
        SELECT EXISTS (
          SELECT 1 FROM knowledge_space_profile_revisions
          WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND (revision = ?4 OR state = ?5)
        )";
    let key = ScopeKey::from(&revision.scope);
    let (number, state) = (revision.number().get(), revision.status().as_str());
    transaction.prepare_cached(SQL)?.query_row((key.tenant, &key.space, key.kind, number, state), |row| row.get(0))
}
