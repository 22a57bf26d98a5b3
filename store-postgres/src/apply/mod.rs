//! Writing changes.
//!
//! A write is one statement. Under READ COMMITTED an empty last step would not undo the ones before it, so every
//! step that can come out empty runs, and locks its row, before the first step that writes. Guards are qualifiers of
//! the locked rows, which are checked again after a wait, or unique constraints; never a sub-select over other rows,
//! which would still read the old snapshot. The order of locks is that of the other service: the space's row first.
//!
//! No constraint says that a scope is still empty. Where that matters the write is a transaction of two statements:
//! the first locks the space's row, the second, with a snapshot of its own, looks. [`installs`] does so for many scopes.
//!
//! [`optimistic`] writes without a load: its statements look at other rows too, as of the old snapshot, but in the place
//! of the load and not of a guard.

/// The space's row, if profiles of it may change, under a lock: against whoever deletes it or changes its state FOR
/// SHARE (FOR KEY SHARE would let a write pass beside an uncommitted change of the lifecycle state), and against every
/// other write of profiles too FOR NO KEY UPDATE.
macro_rules! writable_space {
    ($lock:literal) => {
        concat!(
            "SELECT true FROM knowledge_spaces
             WHERE tenant_id = $1 AND id = $2 AND lifecycle_state = 'active' AND deletion_job_id IS NULL
             ",
            $lock
        )
    };
}

mod backfills;
mod copying;
mod installs;
mod optimistic;
mod revisions;
mod spaces;

use space_profiles_core::{Applied, Change, StoreError};
use sqlx::encode::Encode;
use sqlx::postgres::PgHasArrayType;
use sqlx::{Postgres, Type};

use crate::sessions::Sessions;
use crate::statement::{Call, Statement};

pub(crate) use installs::install_all;
pub(crate) use optimistic::{try_activate, try_append, try_publish};

pub(crate) fn statements() -> impl Iterator<Item = &'static Statement> {
    let modules = [
        revisions::STATEMENTS,
        spaces::STATEMENTS,
        backfills::STATEMENTS,
        installs::STATEMENTS,
        optimistic::STATEMENTS,
        copying::STATEMENTS,
    ];
    modules.into_iter().flatten()
}

pub(crate) async fn apply(sessions: &Sessions, change: &Change) -> Result<Applied, StoreError> {
    let calls = match change {
        Change::Append(append) => revisions::append(append),
        Change::Activate(targets) => revisions::activate(targets),
        Change::Publish(publish) => revisions::publish(publish),
        Change::Fail(fail) => vec![revisions::fail(fail)],
        Change::AddSpace(row) => vec![spaces::add(row)],
        Change::PutManifest(put) => vec![spaces::put_manifest(put)],
        Change::DeleteSpace(space) => vec![spaces::delete(space)],
        Change::Backfill(write) => vec![backfills::write(write)],
        Change::Install(install) => backfills::install(install),
        Change::CopySpace(copy) => vec![copying::space(copy)],
        Change::CopyScope(copy) => return sessions.apply_in_transaction(copying::scope(copy)).await,
    };
    sessions.apply(calls).await
}

/// One column of many rows.
fn column<'r, Row, Value>(call: Call, rows: &'r [Row], value: impl Fn(&'r Row) -> Value) -> Call
where
    Value: Encode<'r, Postgres> + Type<Postgres> + PgHasArrayType,
    Vec<Value>: Encode<'r, Postgres> + Type<Postgres>,
{
    call.with(rows.iter().map(value).collect::<Vec<Value>>())
}
