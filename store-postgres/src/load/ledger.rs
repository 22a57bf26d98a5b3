//! The states of ledger rows.

use space_profiles_core::{BackfillKey, Fence, LedgerState, StoreError};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{neighbour, only};
use crate::rows::{Columns, backfill_columns, head_columns, manifest_columns, revision_columns, space_columns};
use crate::schema::has_foreign_spaces;
use crate::sessions::Sessions;
use crate::statement::{Call, statements};

/// Ledger rows with what their completion depends on. What belongs to a row is looked up for that row: a join of many
/// might read a whole table.
macro_rules! ledger_state {
    ($now:literal, $source:literal) => {
        concat!(
            "SELECT ",
            surroundings!($now),
            ", ",
            backfill_columns!("backfill"),
            ", ",
            space_columns!("space"),
            ", ",
            manifest_columns!("manifest"),
            ", ",
            head_columns!("head"),
            ", ",
            revision_columns!("head_revision"),
            ", ",
            revision_columns!("lowest"),
            "
             FROM ",
            $source,
            "
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_spaces AS found
               WHERE found.tenant_id = backfill.tenant_id AND found.id = backfill.knowledge_space_id
               LIMIT 1
             ) AS space ON true
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_manifests AS found
               WHERE
                 found.tenant_id = backfill.tenant_id
                 AND found.knowledge_space_id = backfill.knowledge_space_id
               LIMIT 1
             ) AS manifest ON true
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_heads AS found
               WHERE
                 found.tenant_id = backfill.tenant_id
                 AND found.knowledge_space_id = backfill.knowledge_space_id AND found.kind = backfill.kind
               LIMIT 1
             ) AS head ON true
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_revisions AS found
               WHERE
                 found.id = head.profile_revision_id AND found.tenant_id = head.tenant_id
                 AND found.knowledge_space_id = head.knowledge_space_id AND found.kind = head.kind
               LIMIT 1
             ) AS head_revision ON true
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_revisions AS found
               WHERE
                 found.tenant_id = backfill.tenant_id
                 AND found.knowledge_space_id = backfill.knowledge_space_id AND found.kind = backfill.kind
               ORDER BY found.revision LIMIT 1
             ) AS lowest ON true"
        )
    };
}

statements! {
    BACKFILL_BY_ID = ledger_state!(
        "$2",
        "(SELECT) AS always
         LEFT JOIN (SELECT * FROM knowledge_space_profile_backfills WHERE id = $1) AS backfill ON true"
    );

    BACKFILLS_BY_ID = concat!(
        ledger_state!(
            "$2",
            "unnest($1::uuid[]) WITH ORDINALITY AS wanted (id, place)
             LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_backfills AS found WHERE found.id = wanted.id LIMIT 1
             ) AS backfill ON true"
        ),
        " ORDER BY wanted.place"
    );

    NEWEST_BACKFILL = ledger_state!(
        "$4",
        "(SELECT) AS always
         LEFT JOIN (
           SELECT * FROM knowledge_space_profile_backfills
           WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
           ORDER BY source_manifest_version DESC, created_at DESC, id DESC LIMIT 1
         ) AS backfill ON true"
    );
}

pub(crate) async fn backfill(sessions: &Sessions, key: &BackfillKey) -> Result<LedgerState, StoreError> {
    let call = match key {
        BackfillKey::Fenced(fence) => Call::of(BACKFILL_BY_ID).with(fence.backfill.as_uuid()),
        BackfillKey::NewestOf(scope) => Call::of_scope(NEWEST_BACKFILL, scope),
    };
    let rows = sessions.repeatable(call.with(sessions.now())).await?;
    ledger_state(sessions, only(&rows)?)
}

pub(crate) async fn backfills(sessions: &Sessions, fences: &[Fence]) -> Result<Vec<LedgerState>, StoreError> {
    let ids: Vec<Uuid> = fences.iter().map(|fence| fence.backfill.as_uuid()).collect();
    let rows = sessions.repeatable(Call::of(BACKFILLS_BY_ID).with(ids).with(sessions.now())).await?;
    rows.iter().map(|row| ledger_state(sessions, row)).collect()
}

fn ledger_state(sessions: &Sessions, row: &PgRow) -> Result<LedgerState, StoreError> {
    let mut columns = Columns::of(row);
    Ok(LedgerState {
        now: columns.time("now")?,
        neighbour: neighbour(sessions, &mut columns)?,
        backfill: columns.backfill_row_if_found()?,
        space: columns.space_row_if_found()?,
        manifest: columns.manifest_row_if_found()?,
        head: columns.head_if_found()?,
        head_revision: columns.revision_row_if_found()?,
        first: columns.revision_row_if_found()?,
    })
}
