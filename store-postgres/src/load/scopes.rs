//! The states of scopes.
//!
//! Much of what may be asked of a scope matters only when a command is repeated or restores something. So there are
//! short statements for what is usual, which see whether that is enough; where it is not, the long one is asked
//! instead, for all of it at a moment of its own.

use space_profiles_core::{
    HeadState, Newest, RevisionNumber, RevisionRow, Scope, ScopeQuery, ScopeState, StoreError, VectorSpaceCarrier,
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{integer, neighbour, only};
use crate::rows::{Columns, head_columns, revision_columns, space_columns};
use crate::schema::has_foreign_spaces;
use crate::sessions::Sessions;
use crate::statement::{Call, statements};

/// A revision of the scope that `query` names, by its id. The fence `OFFSET 0` keeps the planner from looking it up by
/// the scope, whose every revision it would read.
macro_rules! revision_by_id {
    ($alias:literal, $id:literal) => {
        concat!(
            "LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_revisions AS found WHERE found.id = ",
            $id,
            " OFFSET 0
             ) AS ",
            $alias,
            " ON ",
            $alias,
            ".tenant_id = query.tenant_id AND ",
            $alias,
            ".knowledge_space_id = query.space_id AND ",
            $alias,
            ".kind = query.kind "
        )
    };
}

/// The newest revision of the scope that `query` names, under another condition.
macro_rules! newest_revision {
    ($alias:literal, $condition:expr, $on:expr) => {
        concat!(
            "LEFT JOIN LATERAL (
               SELECT * FROM knowledge_space_profile_revisions AS found
               WHERE
                 found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
                 AND found.kind = query.kind",
            $condition,
            "
               ORDER BY found.revision DESC LIMIT 1
             ) AS ",
            $alias,
            " ON ",
            $on,
            " "
        )
    };
}

/// A revision of the scope that `query` names, by its number: the newest up to there. Of the indexes that begin with
/// the scope only one has this order, while a mere equality the planner may look up in any, entry by entry.
macro_rules! revision_numbered {
    ($alias:literal, $number:literal) => {
        newest_revision!(
            $alias,
            concat!(" AND found.revision <= ", $number),
            concat!($alias, ".revision = ", $number)
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

/// Whether the manifest holds a profile, which matters as long as the scope has no revision.
macro_rules! has_legacy_profile {
    () => {
        "CASE WHEN newest.revision IS NULL THEN
           EXISTS (
             SELECT FROM knowledge_space_manifests AS manifest
             WHERE
               manifest.tenant_id = query.tenant_id AND manifest.knowledge_space_id = query.space_id
               AND jsonb_typeof(
                 manifest.metadata -> CASE query.kind
                   WHEN 'embedding' THEN '__knowledgeFsEmbeddingProfile' ELSE '__knowledgeFsRetrievalProfile'
                 END
               ) = 'object'
           )
         ELSE false END"
    };
}

/// What every decision sees of each scope that `$query` names, and what `$columns` and `$joins` add.
macro_rules! scope_states {
    ($now:literal, $query:expr, $columns:expr, $joins:expr) => {
        concat!(
            "SELECT ",
            surroundings!($now),
            ", ",
            space_columns!("space"),
            ", ",
            head_columns!("head"),
            ", ",
            revision_columns!("head_revision"),
            ", ",
            number_where!("active", "", "ASC"),
            ", ",
            number_where!("candidate", "", "ASC"),
            ", newest.revision, newest.state::text, newest.updated_at, ",
            has_legacy_profile!(),
            $columns,
            " FROM ",
            $query,
            "
             LEFT JOIN knowledge_spaces AS space
               ON space.tenant_id = query.tenant_id AND space.id = query.space_id
             LEFT JOIN knowledge_space_profile_heads AS head
               ON
                 head.tenant_id = query.tenant_id AND head.knowledge_space_id = query.space_id
                 AND head.kind = query.kind ",
            revision_by_id!("head_revision", "head.profile_revision_id"),
            newest_revision!("newest", "", "true"),
            $joins
        )
    };
}

/// One scope, its first three arguments, and further ones. Since they are plain arguments, the server soon keeps one
/// plan for every scope; arrays it plans anew each time, for it takes their lengths for a surprise.
macro_rules! one_scope {
    ($further:expr) => {
        concat!("(SELECT $1::text AS tenant_id, $2::uuid AS space_id, $3::text AS kind", $further, ") AS query")
    };
}

/// What the long statements add, in the order in which [`scope`] reads it.
macro_rules! every_column {
    () => {
        concat!(
            ", ",
            revision_columns!("revision"),
            ", ",
            predecessor!("head_revision.revision"),
            ", ",
            predecessor!("query.revision"),
            ", ",
            revision_columns!("by_id"),
            ", ",
            revision_columns!("successor"),
            ", carriers.plugin_ids, carriers.providers, carriers.models, carriers.dimensions, carriers.were_active"
        )
    };
}

macro_rules! every_join {
    () => {
        concat!(
            revision_numbered!("revision", "query.revision"),
            revision_by_id!("by_id", "query.revision_id"),
            "LEFT JOIN LATERAL (
               SELECT least(",
            number_where!("active", " AND (query.after IS NULL OR found.revision > query.after)", "ASC"),
            ", ",
            number_where!("superseded", " AND (query.after IS NULL OR found.revision > query.after)", "ASC"),
            ") AS revision
             ) AS next ON query.asks_successor ",
            revision_numbered!("successor", "next.revision"),
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
             ) AS carriers ON query.vector_space_id IS NOT NULL "
        )
    };
}

statements! {
    /// For whoever reads the active profile: the head, and the active revision, which it usually names. To look for that
    /// one among the active ones takes a smaller index than to look for an id among all.
    HEAD = concat!(
        "SELECT ", head_columns!("head"), ", ", revision_columns!("revision"), "
         FROM ", one_scope!(""), "
         LEFT JOIN knowledge_space_profile_heads AS head
           ON
             head.tenant_id = query.tenant_id AND head.knowledge_space_id = query.space_id
             AND head.kind = query.kind
         LEFT JOIN LATERAL (
           SELECT * FROM knowledge_space_profile_revisions AS found
           WHERE
             found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
             AND found.kind = query.kind AND found.state = 'active'
           ORDER BY found.revision LIMIT 1
         ) AS revision ON true"
    );

    /// The head, the revision that it names, and which one is active, where those are two.
    HEAD_APART = concat!(
        "SELECT ", head_columns!("head"), ", ", revision_columns!("revision"), ", ", number_where!("active", "", "ASC"), "
         FROM ", one_scope!(""), "
         LEFT JOIN knowledge_space_profile_heads AS head
           ON
             head.tenant_id = query.tenant_id AND head.knowledge_space_id = query.space_id
             AND head.kind = query.kind ",
        revision_by_id!("revision", "head.profile_revision_id")
    );

    /// For a decision that asks for no revision.
    SCOPE_ALONE = scope_states!("$4", one_scope!(""), "", "");

    /// For a change of a revision.
    REVISION = scope_states!(
        "$4",
        one_scope!(", $5::integer AS revision"),
        concat!(", ", revision_columns!("revision")),
        revision_numbered!("revision", "query.revision")
    );

    /// For a proposal, of which usually nothing is there yet.
    PROPOSAL = scope_states!(
        "$4",
        one_scope!(", $5::text AS vector_space_id, $6::uuid AS revision_id"),
        ", EXISTS (
             SELECT FROM knowledge_space_profile_revisions AS found
             WHERE
               found.tenant_id = query.tenant_id AND found.knowledge_space_id = query.space_id
               AND found.kind = query.kind AND found.vector_space_id = query.vector_space_id
           ),
           EXISTS (SELECT FROM knowledge_space_profile_revisions AS found WHERE found.id = query.revision_id)",
        ""
    );

    /// A revision and nothing else, as `revision_numbered!` finds it.
    REVISION_ALONE = concat!(
        "SELECT ", revision_columns!("newest"), "
         FROM (
           SELECT * FROM knowledge_space_profile_revisions
           WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND revision <= $4
           ORDER BY revision DESC LIMIT 1
         ) AS newest
         WHERE newest.revision = $4"
    );

    /// For whatever may be asked of a scope.
    SCOPE = scope_states!(
        "$4",
        one_scope!(
            ", $5::integer AS revision, $6::text AS vector_space_id, $7::uuid AS revision_id,
             $8::boolean AS asks_successor, $9::integer AS after"
        ),
        every_column!(),
        every_join!()
    );

    /// As [`SCOPE`], of several.
    SCOPES = scope_states!(
        "$1",
        "unnest(
           $2::text[], $3::uuid[], $4::text[], $5::integer[], $6::text[], $7::uuid[], $8::boolean[], $9::integer[]
         ) WITH ORDINALITY AS query (
           tenant_id, space_id, kind, revision, vector_space_id, revision_id, asks_successor, after, position
         )",
        every_column!(),
        concat!(every_join!(), "ORDER BY query.position")
    );
}

pub(crate) async fn scopes(sessions: &Sessions, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
    let call = match queries {
        [query] => match usual(sessions, query).await? {
            Some(state) => return Ok(vec![state]),
            None => of_one(sessions, query),
        },
        _ => of_several(sessions, queries),
    };
    let rows = sessions.repeatable(call).await?;
    queries.iter().zip(&rows).map(|(query, row)| scope(sessions, query, row)).collect()
}

/// The state of a scope as a short statement sees it, if that is all that a decision can ask about.
async fn usual(sessions: &Sessions, query: &ScopeQuery) -> Result<Option<ScopeState>, StoreError> {
    if query.successor_of.is_some() {
        return Ok(None);
    }
    let call = |statement| Call::of_scope(statement, &query.scope).with(sessions.now());
    let is_proposal = query.vector_space_id.is_some() || query.revision_id.is_some();
    let call = if is_proposal {
        call(PROPOSAL).with(vector_space(query)).with(revision_id(query))
    } else if query.revision.is_some() {
        call(REVISION).with(revision(query))
    } else {
        call(SCOPE_ALONE)
    };
    let rows = sessions.repeatable(call).await?;
    let mut columns = Columns::of(only(&rows)?);
    let mut state = scope_alone(sessions, query, &mut columns)?;
    if is_proposal {
        let has_carriers: bool = columns.value("has_carriers")?;
        let id_is_there: bool = columns.value("id_is_there")?;
        let newest = state.newest.map(|newest| newest.revision);
        let number_is_there = query.revision.is_some_and(|number| Some(number) <= newest);
        return Ok((!has_carriers && !id_is_there && !number_is_there).then_some(state));
    }
    if query.revision.is_some() {
        state.revision = columns.revision_row_if_found()?;
    }
    // Of a revision that was ever active it matters after which other.
    Ok(Some(state).filter(|state| state.revision.as_ref().is_none_or(|row| !row.status.was_ever_active())))
}

pub(crate) async fn head(sessions: &Sessions, scope: &Scope) -> Result<HeadState, StoreError> {
    let rows = sessions.repeatable(Call::of_scope(HEAD, scope)).await?;
    let mut columns = Columns::of(only(&rows)?);
    let (head, revision) = (columns.head_if_found()?, columns.revision_row_if_found()?);
    if head.map(|head| head.revision_id) == revision.as_ref().map(|revision| revision.id) {
        let active = revision.as_ref().map(|revision| revision.revision);
        return Ok(HeadState { head, revision, active });
    }
    let rows = sessions.repeatable(Call::of_scope(HEAD_APART, scope)).await?;
    let mut columns = Columns::of(only(&rows)?);
    Ok(HeadState {
        head: columns.head_if_found()?,
        revision: columns.revision_row_if_found()?,
        active: columns.optional_number("active")?,
    })
}

pub(crate) async fn revision_alone(
    sessions: &Sessions,
    scope: &Scope,
    number: RevisionNumber,
) -> Result<Option<RevisionRow>, StoreError> {
    let rows = sessions.repeatable(Call::of_scope(REVISION_ALONE, scope).with(integer(number.get()))).await?;
    rows.first().map(|row| Columns::of(row).revision_row()).transpose()
}

fn of_one(sessions: &Sessions, query: &ScopeQuery) -> Call {
    Call::of_scope(SCOPE, &query.scope)
        .with(sessions.now())
        .with(revision(query))
        .with(vector_space(query))
        .with(revision_id(query))
        .with(query.successor_of.is_some())
        .with(after(query))
}

fn of_several(sessions: &Sessions, queries: &[ScopeQuery]) -> Call {
    let tenants: Vec<&str> = queries.iter().map(|query| query.scope.space.tenant.as_str()).collect();
    let spaces: Vec<Uuid> = queries.iter().map(|query| query.scope.space.id.as_uuid()).collect();
    let kinds: Vec<&str> = queries.iter().map(|query| query.scope.kind.as_str()).collect();
    let asks: Vec<bool> = queries.iter().map(|query| query.successor_of.is_some()).collect();
    Call::of(SCOPES)
        .with(sessions.now())
        .with(tenants)
        .with(spaces)
        .with(kinds)
        .with(queries.iter().map(revision).collect::<Vec<_>>())
        .with(queries.iter().map(vector_space).collect::<Vec<_>>())
        .with(queries.iter().map(revision_id).collect::<Vec<_>>())
        .with(asks)
        .with(queries.iter().map(after).collect::<Vec<_>>())
}

fn revision(query: &ScopeQuery) -> Option<i32> {
    query.revision.map(|number| integer(number.get()))
}

fn vector_space(query: &ScopeQuery) -> Option<String> {
    query.vector_space_id.map(|id| id.to_string())
}

fn revision_id(query: &ScopeQuery) -> Option<Uuid> {
    query.revision_id.map(|id| id.as_uuid())
}

fn after(query: &ScopeQuery) -> Option<i32> {
    query.successor_of.flatten().map(|number| integer(number.get()))
}

fn scope(sessions: &Sessions, query: &ScopeQuery, row: &PgRow) -> Result<ScopeState, StoreError> {
    let mut columns = Columns::of(row);
    let state = scope_alone(sessions, query, &mut columns)?;
    // The columns come in the order in which the statement names them.
    Ok(ScopeState {
        revision: columns.revision_row_if_found()?,
        head_predecessor: columns.optional_number("head_predecessor")?,
        predecessor: columns.optional_number("predecessor")?,
        by_id: columns.revision_row_if_found()?,
        successor: columns.revision_row_if_found()?,
        carriers: carriers(&mut columns)?,
        ..state
    })
}

/// What every statement about a scope begins with.
fn scope_alone(
    sessions: &Sessions,
    query: &ScopeQuery,
    columns: &mut Columns<'_>,
) -> Result<ScopeState, StoreError> {
    Ok(ScopeState {
        scope: query.scope.clone(),
        now: columns.time("now")?,
        neighbour: neighbour(sessions, columns)?,
        space: columns.space_row_if_found()?,
        head: columns.head_if_found()?,
        head_revision: columns.revision_row_if_found()?,
        head_predecessor: None,
        active: columns.optional_number("active")?,
        candidate: columns.optional_number("candidate")?,
        newest: newest(columns)?,
        has_legacy_profile: columns.value("has_legacy_profile")?,
        revision: None,
        predecessor: None,
        by_id: None,
        successor: None,
        carriers: Vec::new(),
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
