//! Keyset pages.

use space_profiles_core::{
    BackfillFilter, BackfillId, BackfillRow, BackfillStatus, DiscoveryPage, DiscoverySpace, PageLimit,
    RevisionNumber, RevisionPage, RevisionRow, Scope, Space, SpaceFilter, SpaceRow, StoreError, TenantId,
    Timestamp,
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::filter::Filtered;
use crate::load::integer;
use crate::rows::{
    Columns, all_readable, backfill_columns, head_columns, revision_columns, sorted, space_columns,
};
use crate::sessions::Sessions;
use crate::statement::{Call, statements};
use crate::time::Moment;

/// Profiles are read out of the metadata where it lies: the rest of it may be large and is nobody's business. Manifest
/// and heads are looked up space by space, which a plan for any page cannot do otherwise: as joins it might read both
/// tables from end to end. Each space has its place in the page, which only the server can say: how tenants follow each
/// other is its own affair.
macro_rules! discovery {
    ($source:literal, $condition:literal) => {
        concat!(
            "WITH page AS MATERIALIZED (
               SELECT chosen.*, row_number() OVER (ORDER BY chosen.id, chosen.tenant_id) AS place
               FROM (
                 SELECT
                   space.tenant_id, space.id,
                   space.lifecycle_state = 'active' AND space.deletion_job_id IS NULL AS is_writable
                 FROM ",
            $source,
            "
                 WHERE ",
            $condition,
            " AND (space.id, space.tenant_id) > ($2::uuid, $3::text)
                 ORDER BY space.id, space.tenant_id
                 LIMIT $4
               ) AS chosen
             )
             SELECT
               page.place, coalesce($1::timestamptz, clock_timestamp()), page.tenant_id::text, page.id,
               page.is_writable, manifest.manifest_version,
               (manifest.metadata -> '__knowledgeFsEmbeddingProfile')::text,
               (manifest.metadata -> '__knowledgeFsRetrievalProfile')::text,
               coalesce(heads.has_embedding, false), coalesce(heads.has_retrieval, false)
             FROM
               page
               LEFT JOIN LATERAL (
                 SELECT found.manifest_version, found.metadata
                 FROM knowledge_space_manifests AS found
                 WHERE found.tenant_id = page.tenant_id AND found.knowledge_space_id = page.id
                 LIMIT 1
               ) AS manifest ON true
               LEFT JOIN LATERAL (
                 SELECT
                   bool_or(found.kind = 'embedding') AS has_embedding,
                   bool_or(found.kind = 'retrieval') AS has_retrieval
                 FROM knowledge_space_profile_heads AS found
                 WHERE found.tenant_id = page.tenant_id AND found.knowledge_space_id = page.id
               ) AS heads ON true"
        )
    };
}

/// The ids of a page are found first, since they may have to be sorted. Each row is then looked up, for the same reason
/// as above.
macro_rules! backfills {
    ($source:literal, $condition:literal) => {
        concat!(
            "WITH page AS MATERIALIZED (
               SELECT backfill.id
               FROM ",
            $source,
            "
               WHERE
                 ",
            $condition,
            " AND backfill.id > $1::uuid
                 AND ($2::text IS NULL OR backfill.run_state = $2)
                 AND ($3::text IS NULL OR backfill.last_error_code = $3 OR backfill.retry_code = $3)
               ORDER BY backfill.id
               LIMIT $4
             )
             SELECT ",
            backfill_columns!("backfill"),
            "
             FROM
               page
               CROSS JOIN LATERAL (
                 SELECT * FROM knowledge_space_profile_backfills AS found WHERE found.id = page.id LIMIT 1
               ) AS backfill"
        )
    };
}

statements! {
    /// The head comes with every revision, and alone if there is none.
    REVISIONS = concat!(
        "SELECT revision.revision, ", head_columns!("head"), ", ", revision_columns!("revision"), "
         FROM
           (SELECT) AS always
           LEFT JOIN knowledge_space_profile_heads AS head
             ON head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3
           LEFT JOIN LATERAL (
             SELECT * FROM knowledge_space_profile_revisions AS found
             WHERE
               found.tenant_id = $1 AND found.knowledge_space_id = $2 AND found.kind = $3
               AND found.revision > $4
             ORDER BY found.revision
             LIMIT $5
           ) AS revision ON true"
    );

    REVISION_AT = concat!(
        "SELECT ", revision_columns!("revision"), "
         FROM knowledge_space_profile_revisions AS revision
         WHERE
           revision.tenant_id = $1 AND revision.knowledge_space_id = $2 AND revision.kind = $3
           AND revision.activated_at <= $4
           AND (revision.superseded_at IS NULL OR revision.superseded_at > $4)
         ORDER BY revision.revision DESC
         LIMIT 1"
    );

    SPACES = concat!(
        "SELECT ", space_columns!("space"), "
         FROM knowledge_spaces AS space
         WHERE (space.tenant_id, space.id) > ($1::text, $2::uuid)
         ORDER BY space.tenant_id, space.id
         LIMIT $3"
    );

    SPACES_OF_TENANT = concat!(
        "SELECT ", space_columns!("space"), "
         FROM knowledge_spaces AS space
         WHERE space.tenant_id = $4 AND (space.tenant_id, space.id) > ($1::text, $2::uuid)
         ORDER BY space.tenant_id, space.id
         LIMIT $3"
    );

    DISCOVERY = discovery!("knowledge_spaces AS space", "true");

    DISCOVERY_OF_TENANT = discovery!("knowledge_spaces AS space", "space.tenant_id = $5");

    DISCOVERY_OF_SPACES = discovery!(
        "unnest($5::text[], $6::uuid[]) AS wanted (tenant_id, space_id)
         JOIN knowledge_spaces AS space ON space.tenant_id = wanted.tenant_id AND space.id = wanted.space_id",
        "true"
    );

    BACKFILLS = backfills!("knowledge_space_profile_backfills AS backfill", "true");

    BACKFILLS_OF_TENANT =
        backfills!("knowledge_space_profile_backfills AS backfill", "backfill.tenant_id = $5");

    BACKFILLS_OF_SPACES = backfills!(
        "unnest($5::text[], $6::uuid[]) AS wanted (tenant_id, space_id)
         JOIN knowledge_space_profile_backfills AS backfill
           ON backfill.tenant_id = wanted.tenant_id AND backfill.knowledge_space_id = wanted.space_id",
        "true"
    );
}

const DISCOVER: Filtered = Filtered { all: DISCOVERY, tenant: DISCOVERY_OF_TENANT, spaces: DISCOVERY_OF_SPACES };
const LIST: Filtered = Filtered { all: BACKFILLS, tenant: BACKFILLS_OF_TENANT, spaces: BACKFILLS_OF_SPACES };

pub(crate) async fn revisions(
    sessions: &Sessions,
    scope: &Scope,
    after: Option<RevisionNumber>,
    limit: PageLimit,
) -> Result<RevisionPage, StoreError> {
    let most = limit.get() as usize;
    // One more than asked for tells whether there is more.
    let call = Call::of_scope(REVISIONS, scope)
        .with(after.map_or(0, |number| integer(number.get())))
        .with(i64::from(limit.get()) + 1);
    let found = sorted::<Option<i32>>(sessions.repeatable(call).await?)?;
    let mut page =
        RevisionPage { head: None, rows: Vec::new(), unreadable: Vec::new(), has_more: found.len() > most };
    for row in found.iter().take(most) {
        let mut columns = Columns::of(row);
        let _place: Option<i32> = columns.value("place")?;
        page.head = columns.head_if_found()?;
        match columns.revision_or_corruption_if_found()? {
            Some(Ok(revision)) => page.rows.push(revision),
            Some(Err(corruption)) => page.unreadable.push(corruption),
            None => {}
        }
    }
    Ok(page)
}

pub(crate) async fn revision_at(
    sessions: &Sessions,
    scope: &Scope,
    moment: Timestamp,
) -> Result<Option<RevisionRow>, StoreError> {
    let call = Call::of_scope(REVISION_AT, scope).with(Moment(moment));
    let rows = sessions.repeatable(call).await?;
    rows.first().map(|row| Columns::of(row).revision_row()).transpose()
}

pub(crate) async fn spaces(
    sessions: &Sessions,
    tenant: Option<&TenantId>,
    after: Option<&Space>,
    limit: PageLimit,
) -> Result<Vec<SpaceRow>, StoreError> {
    let page = |after: &Position| {
        let of = |statement| Call::of(statement).with(&after.tenant).with(after.id).with(i64::from(limit.get()));
        match tenant {
            None => of(SPACES),
            Some(tenant) => of(SPACES_OF_TENANT).with(tenant.as_str()),
        }
    };
    let position = |columns: &mut Columns<'_>| columns.position();
    readable_page(sessions, Position::after(after), limit, page, Ok, |columns| columns.space_row(), position).await
}

/// Where a page begins: after this space, as its row names it. No space is before the empty text and the nil UUID.
#[derive(Debug, Clone)]
pub(crate) struct Position {
    pub(crate) tenant: String,
    pub(crate) id: Uuid,
}

impl Position {
    pub(crate) fn after(space: Option<&Space>) -> Self {
        match space {
            None => Self { tenant: String::new(), id: Uuid::nil() },
            Some(space) => Self { tenant: space.tenant.as_str().to_owned(), id: space.id.as_uuid() },
        }
    }
}

impl Position {
    /// Why no space can be named so.
    pub(crate) fn is_no_space(&self) -> String {
        format!(
            "space {}: expected a tenant of 1 to 255 UTF-16 code units without control characters, found `{}`",
            self.id,
            self.tenant.escape_debug()
        )
    }
}

/// The rows of a page that can be read; where none can, of the next page that has one. A row that cannot be read, as
/// the other service may have some, is the audit's; the others still come.
async fn readable_page<T>(
    sessions: &Sessions,
    mut after: Position,
    limit: PageLimit,
    page: impl Fn(&Position) -> Call,
    in_order: impl Fn(Vec<PgRow>) -> Result<Vec<PgRow>, StoreError>,
    read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    position: impl Fn(&mut Columns<'_>) -> Result<Position, StoreError>,
) -> Result<Vec<T>, StoreError> {
    loop {
        let rows = in_order(sessions.repeatable(page(&after)).await?)?;
        let found = all_readable(&rows, &read, &mut Vec::new())?;
        match rows.last() {
            Some(last) if found.is_empty() && rows.len() == limit.get() as usize => {
                after = position(&mut Columns::of(last))?;
            }
            _ => return Ok(found),
        }
    }
}

pub(crate) async fn discovery(
    sessions: &Sessions,
    after: Option<&Space>,
    limit: PageLimit,
    filter: &SpaceFilter,
) -> Result<DiscoveryPage, StoreError> {
    let now = sessions.now();
    let page = |after: &Position| {
        let with_arguments =
            |call: Call| call.with(now).with(after.id).with(&after.tenant).with(i64::from(limit.get()));
        DISCOVER.call(filter, with_arguments)
    };
    let now_of = |columns: &mut Columns<'_>| {
        let _place: i64 = columns.value("place")?;
        columns.time("now")
    };
    let read = |columns: &mut Columns<'_>| Ok((now_of(columns)?, discovery_space(columns)?));
    let position = |columns: &mut Columns<'_>| {
        now_of(columns)?;
        columns.position()
    };
    let found =
        readable_page(sessions, Position::after(after), limit, page, sorted::<i64>, read, position).await?;
    // The clock comes with the spaces; without any, nothing is stamped.
    let clock = found.first().map(|(now, _)| *now);
    let now = clock.or(now.map(|moment| moment.0)).unwrap_or(Timestamp::EARLIEST);
    Ok(DiscoveryPage { now, spaces: found.into_iter().map(|(_, space)| space).collect() })
}

fn discovery_space(columns: &mut Columns<'_>) -> Result<DiscoverySpace, StoreError> {
    Ok(DiscoverySpace {
        space: columns.space()?,
        is_writable: columns.value("lifecycle_state")?,
        manifest_version: columns.optional_number("manifest_version")?,
        profiles: [columns.value("metadata")?, columns.value("metadata")?],
        has_head: [columns.value("head")?, columns.value("head")?],
    })
}

pub(crate) async fn backfills(
    sessions: &Sessions,
    filter: &BackfillFilter,
    after: Option<BackfillId>,
    limit: PageLimit,
) -> Result<Vec<BackfillRow>, StoreError> {
    let page = |after: &Position| {
        let with_arguments = |call: Call| {
            call.with(after.id)
                .with(filter.status.map(BackfillStatus::as_str))
                .with(filter.code.as_deref())
                .with(i64::from(limit.get()))
        };
        LIST.call(&filter.spaces, with_arguments)
    };
    let position =
        |columns: &mut Columns<'_>| Ok(Position { tenant: String::new(), id: columns.value::<Uuid>("id")? });
    let after = Position { tenant: String::new(), id: after.map_or(Uuid::nil(), |id| id.as_uuid()) };
    readable_page(sessions, after, limit, page, sorted::<Uuid>, |columns| columns.backfill_row(), position).await
}
