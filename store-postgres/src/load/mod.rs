//! What decisions need to see: one statement each, so that all of it is as of one moment.

use space_profiles_core::{Neighbour, Space, SpaceState, StoreCode, StoreError};
use sqlx::postgres::PgRow;

use crate::rows::{Columns, manifest_columns, space_columns};
use crate::schema::has_foreign_spaces;
use crate::sessions::Sessions;
use crate::statement::{Call, Statement, statements};

/// Whether the other service manages the database, and whether the spaces are its own. The clock comes first.
macro_rules! surroundings {
    ($now:literal) => {
        concat!(
            "(SELECT coalesce(",
            $now,
            "::timestamptz, clock_timestamp())),
             (SELECT to_regclass(quote_ident(current_schema()) || '.projection_set_publication_heads') IS NOT NULL),
             (SELECT ",
            has_foreign_spaces!(),
            ")"
        )
    };
}

mod ledger;
mod scopes;

pub(crate) use ledger::{backfill, backfills};
pub(crate) use scopes::{head, revision_alone, scopes};

pub(crate) fn statements() -> impl Iterator<Item = &'static Statement> {
    [STATEMENTS, scopes::STATEMENTS, ledger::STATEMENTS].into_iter().flatten()
}

statements! {
    SPACE = concat!(
        "SELECT ", surroundings!("$3"), ", ", space_columns!("space"), ", ", manifest_columns!("manifest"), "
         FROM (SELECT $1::text AS tenant_id, $2::uuid AS space_id) AS query
         LEFT JOIN knowledge_spaces AS space
           ON space.tenant_id = query.tenant_id AND space.id = query.space_id
         LEFT JOIN knowledge_space_manifests AS manifest
           ON manifest.tenant_id = query.tenant_id AND manifest.knowledge_space_id = query.space_id"
    );
}

pub(crate) async fn space_state(sessions: &Sessions, space: &Space) -> Result<SpaceState, StoreError> {
    let call = Call::of(SPACE).with(space.tenant.as_str()).with(space.id.as_uuid()).with(sessions.now());
    let rows = sessions.repeatable(call).await?;
    let mut columns = Columns::of(only(&rows)?);
    Ok(SpaceState {
        now: columns.time("now")?,
        neighbour: neighbour(sessions, &mut columns)?,
        space: columns.space_row_if_found()?,
        manifest: columns.manifest_row_if_found()?,
    })
}

fn neighbour(sessions: &Sessions, columns: &mut Columns<'_>) -> Result<Neighbour, StoreError> {
    let is_managed: bool = columns.value("is_managed")?;
    Ok(Neighbour {
        moves_heads: is_managed && !sessions.manages_heads(),
        reads_rows: is_managed,
        owns_spaces: columns.value("owns_spaces")?,
    })
}

/// The row of a statement that always answers one.
fn only(rows: &[PgRow]) -> Result<&PgRow, StoreError> {
    rows.first().ok_or_else(|| StoreError::new(StoreCode::Schema, "expected one row, found none; run `doctor`"))
}

/// A number of ours as a column takes it. INVARIANT: none is above 2,147,483,647.
pub(crate) fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
