//! What decisions need to see: one statement each, so that all of it is as of one moment.

use space_profiles_core::{
    BackfillKey, Fence, LedgerState, Neighbour, Newest, ScopeQuery, ScopeState, Space, SpaceState, StoreCode,
    StoreError, VectorSpaceCarrier,
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::rows::{Columns, backfill_columns, head_columns, manifest_columns, revision_columns, space_columns};
use crate::schema::has_foreign_spaces;
use crate::sessions::Sessions;
use crate::statement::{Call, statements};

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

/// A revision of the scope that `query` names, under another condition.
macro_rules! revision_where {
    ($alias:literal, $condition:literal) => {
        concat!(
            "LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_revisions AS found
               WHERE
                 found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
                 AND found.kind = query.kind AND ",
            $condition,
            "
             ) AS ",
            $alias,
            " ON true "
        )
    };
}

/// The number of a revision of the scope in a state, the first or the last one under another condition. Asking
/// state by state costs one look at an index, however long the history is.
macro_rules! number_where {
    ($state:literal, $condition:expr, $order:literal) => {
        concat!(
            "(SELECT found.revision FROM knowledge_space_profile_revisions AS found
              WHERE
                found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
                AND found.kind = query.kind AND found.state = '",
            $state,
            "'",
            $condition,
            "
              ORDER BY found.revision ",
            $order,
            " LIMIT 1)"
        )
    };
}

/// The highest revision below a number that was ever active.
macro_rules! predecessor {
    ($number:literal) => {
        concat!(
            "greatest(",
            number_where!("active", concat!(" AND found.revision < ", $number), "DESC"),
            ", ",
            number_where!("superseded", concat!(" AND found.revision < ", $number), "DESC"),
            ")"
        )
    };
}

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
    SCOPES = concat!(
        "SELECT ", surroundings!("$9"), ", ",
        space_columns!("space"), ", ",
        "coalesce(
           jsonb_typeof(
             manifest.metadata -> CASE query.kind
               WHEN 'embedding' THEN '__knowledgeFsEmbeddingProfile' ELSE '__knowledgeFsRetrievalProfile'
             END
           ) = 'object',
           false
         ), ",
        head_columns!("head"), ", ",
        revision_columns!("head_revision"), ", ",
        predecessor!("head_revision.revision"), ", ",
        number_where!("active", "", "ASC"), ", ",
        number_where!("candidate", "", "ASC"), ", ",
        "newest.revision, newest.state::text, newest.updated_at, ",
        revision_columns!("revision"), ", ",
        predecessor!("query.revision"), ", ",
        revision_columns!("by_id"), ", ",
        revision_columns!("successor"), ", ",
        "carriers.plugin_ids, carriers.providers, carriers.models, carriers.dimensions, carriers.were_active
         FROM
           unnest(
             $1::text[], $2::uuid[], $3::text[], $4::integer[], $5::uuid[], $6::text[], $7::boolean[], $8::integer[]
           ) WITH ORDINALITY AS query (
             tenant_id, space_id, kind, revision, revision_id, vector_space_id, asks_successor, after, position
           )
           LEFT JOIN knowledge_spaces AS space
             ON space.tenant_id = query.tenant_id AND space.id = query.space_id
           LEFT JOIN knowledge_space_manifests AS manifest
             ON manifest.tenant_id = query.tenant_id AND manifest.knowledge_space_id = query.space_id
           LEFT JOIN knowledge_space_profile_heads AS head
             ON
               head.tenant_id = query.tenant_id AND head.knowledge_space_id = query.space_id
               AND head.kind = query.kind ",
        revision_where!("head_revision", "found.id = head.profile_revision_id"),
        revision_where!("revision", "found.revision = query.revision"),
        revision_where!("by_id", "found.id = query.revision_id"),
        revision_where!("newest", "true ORDER BY found.revision DESC LIMIT 1"),
        "LEFT JOIN LATERAL (
           SELECT least(",
        number_where!("active", " AND (query.after IS NULL OR found.revision > query.after)", "ASC"), ", ",
        number_where!("superseded", " AND (query.after IS NULL OR found.revision > query.after)", "ASC"),
        "  ) AS revision
         ) AS next ON query.asks_successor ",
        revision_where!("successor", "found.revision = next.revision"),
        "LEFT JOIN LATERAL (
           SELECT
             array_agg(carrier.plugin_id) AS plugin_ids, array_agg(carrier.provider) AS providers,
             array_agg(carrier.model) AS models, array_agg(carrier.dimension) AS dimensions,
             array_agg(carrier.was_ever_active) AS were_active
           FROM (
             SELECT
               found.plugin_id::text, found.provider::text, found.model::text, found.dimension,
               bool_or(found.state IN ('active', 'superseded')) AS was_ever_active
             FROM knowledge_space_profile_revisions AS found
             WHERE
               found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
               AND found.kind = query.kind AND found.vector_space_id = query.vector_space_id
             GROUP BY found.plugin_id, found.provider, found.model, found.dimension
           ) AS carrier
         ) AS carriers ON query.vector_space_id IS NOT NULL
         ORDER BY query.position"
    );

    SPACE = concat!(
        "SELECT ", surroundings!("$3"), ", ", space_columns!("space"), ", ", manifest_columns!("manifest"), "
         FROM (SELECT $1::text AS tenant_id, $2::uuid AS space_id) AS query
         LEFT JOIN knowledge_spaces AS space
           ON space.tenant_id = query.tenant_id AND space.id = query.space_id
         LEFT JOIN knowledge_space_manifests AS manifest
           ON manifest.tenant_id = query.tenant_id AND manifest.knowledge_space_id = query.space_id"
    );

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

pub(crate) async fn scopes(sessions: &Sessions, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
    let tenants: Vec<&str> = queries.iter().map(|query| query.scope.space.tenant.as_str()).collect();
    let spaces: Vec<Uuid> = queries.iter().map(|query| query.scope.space.id.as_uuid()).collect();
    let kinds: Vec<&str> = queries.iter().map(|query| query.scope.kind.as_str()).collect();
    let revisions: Vec<Option<i32>> =
        queries.iter().map(|query| query.revision.map(|number| integer(number.get()))).collect();
    let revision_ids: Vec<Option<Uuid>> =
        queries.iter().map(|query| query.revision_id.map(|id| id.as_uuid())).collect();
    let vector_spaces: Vec<Option<String>> =
        queries.iter().map(|query| query.vector_space_id.map(|id| id.to_string())).collect();
    let asks: Vec<bool> = queries.iter().map(|query| query.successor_of.is_some()).collect();
    let after: Vec<Option<i32>> =
        queries.iter().map(|query| query.successor_of.flatten().map(|number| integer(number.get()))).collect();
    let call = Call::of(SCOPES)
        .with(tenants)
        .with(spaces)
        .with(kinds)
        .with(revisions)
        .with(revision_ids)
        .with(vector_spaces)
        .with(asks)
        .with(after)
        .with(sessions.now());
    let rows = sessions.repeatable(call).await?;
    queries.iter().zip(&rows).map(|(query, row)| scope(sessions, query, row)).collect()
}

fn scope(sessions: &Sessions, query: &ScopeQuery, row: &PgRow) -> Result<ScopeState, StoreError> {
    let mut columns = Columns::of(row);
    let now = columns.time("now")?;
    // The columns come in the order in which the statement names them.
    Ok(ScopeState {
        scope: query.scope.clone(),
        now,
        neighbour: neighbour(sessions, &mut columns)?,
        space: columns.space_row_if_found()?,
        has_legacy_profile: columns.value("has_legacy_profile")?,
        head: columns.head_if_found()?,
        head_revision: columns.revision_row_if_found()?,
        head_predecessor: columns.optional_number("head_predecessor")?,
        active: columns.optional_number("active")?,
        candidate: columns.optional_number("candidate")?,
        newest: newest(&mut columns)?,
        revision: columns.revision_row_if_found()?,
        predecessor: columns.optional_number("predecessor")?,
        by_id: columns.revision_row_if_found()?,
        successor: columns.revision_row_if_found()?,
        carriers: carriers(&mut columns)?,
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

fn newest(columns: &mut Columns<'_>) -> Result<Option<Newest>, StoreError> {
    columns.if_found(3, |columns| {
        Ok(Newest {
            revision: columns.number("revision")?,
            status: columns.parsed("state")?,
            updated_at: columns.time("updated_at")?,
        })
    })
}

fn carriers(columns: &mut Columns<'_>) -> Result<Vec<VectorSpaceCarrier>, StoreError> {
    let plugin_ids: Option<Vec<String>> = columns.value("plugin_id")?;
    let providers: Option<Vec<String>> = columns.value("provider")?;
    let models: Option<Vec<String>> = columns.value("model")?;
    let dimensions: Option<Vec<Option<i32>>> = columns.value("dimension")?;
    let were_active: Option<Vec<bool>> = columns.value("was_ever_active")?;
    let names = plugin_ids.into_iter().flatten().zip(providers.into_iter().flatten());
    let models = models.into_iter().flatten().zip(dimensions.into_iter().flatten());
    let mut carriers: Vec<VectorSpaceCarrier> = names
        .zip(models)
        .zip(were_active.into_iter().flatten())
        .map(|(((plugin_id, provider), (model, dimension)), was_ever_active)| VectorSpaceCarrier {
            plugin_id,
            provider,
            model,
            dimension: dimension.map(i64::from),
            was_ever_active,
        })
        .collect();
    carriers.sort();
    Ok(carriers)
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

/// The row of a statement that always answers one.
fn only(rows: &[PgRow]) -> Result<&PgRow, StoreError> {
    rows.first().ok_or_else(|| StoreError::new(StoreCode::Schema, "expected one row, found none; run `doctor`"))
}

/// A number of ours as a column takes it. INVARIANT: none is above 2,147,483,647.
pub(crate) fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
