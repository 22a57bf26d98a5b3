//! Everything that belongs to a space, for the audit and for copies.

use std::collections::BTreeMap;

use space_profiles_core::{Kind, PageLimit, Space, SpaceContent, StoreCode, StoreError};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::pages::Position;
use crate::rows::{
    Columns, backfill_columns, head_columns, manifest_columns, readable, revision_columns, space_columns,
};
use crate::sessions::{ReadError, Sessions, Snapshot};
use crate::statement::{Call, statements};

/// The next spaces that a table speaks of. Each step looks for the next one in the index, however many rows the one
/// before it has.
macro_rules! owners_of {
    ($table:literal) => {
        concat!(
            "WITH RECURSIVE owner AS (
               (
                 SELECT knowledge_space_id, tenant_id, 1 AS place
                 FROM ",
            $table,
            "
                 WHERE (tenant_id, knowledge_space_id) > ($1::text, $2::uuid)
                 ORDER BY tenant_id, knowledge_space_id LIMIT 1
               )
               UNION ALL
               SELECT following.knowledge_space_id, following.tenant_id, owner.place + 1
               FROM
                 owner
                 CROSS JOIN LATERAL (
                   SELECT found.knowledge_space_id, found.tenant_id
                   FROM ",
            $table,
            " AS found
                   WHERE
                     (found.tenant_id, found.knowledge_space_id)
                       > (owner.tenant_id, owner.knowledge_space_id)
                   ORDER BY found.tenant_id, found.knowledge_space_id LIMIT 1
                 ) AS following
               WHERE owner.place < $3
             )
             SELECT knowledge_space_id, tenant_id::text FROM owner"
        )
    };
}

/// How many rows of a table an owner has, but not more than $4.
macro_rules! rows_of {
    ($table:literal) => {
        concat!(
            "(
             SELECT count(*)
             FROM (
               SELECT true
               FROM ",
            $table,
            " AS found
               WHERE
                 found.tenant_id = owners.tenant_id AND found.knowledge_space_id = owners.knowledge_space_id
               LIMIT $4
             ) AS counted
           )"
        )
    };
}

/// In no order: [`in_order`] sees to that, since the server must not sort what may be large.
macro_rules! of_wanted {
    ($columns:expr, $table:literal) => {
        concat!(
            "SELECT ",
            $columns,
            "
             FROM
               unnest($1::text[], $2::uuid[]) AS wanted (tenant_id, space_id)
               JOIN ",
            $table,
            " AS found
                 ON found.tenant_id = wanted.tenant_id AND found.knowledge_space_id = wanted.space_id"
        )
    };
}

statements! {
    /// Whether all tables order tenants alike: pages of them are merged, and would come round again for ever.
    ORDERS_ALIKE =
        "SELECT count(DISTINCT attcollation) = 1
         FROM pg_attribute
         WHERE
           attname = 'tenant_id'
           AND attrelid IN (
             'knowledge_spaces'::regclass, 'knowledge_space_manifests'::regclass,
             'knowledge_space_profile_revisions'::regclass, 'knowledge_space_profile_heads'::regclass,
             'knowledge_space_profile_backfills'::regclass
           )";

    /// Also those whose own row is missing; and how many rows that may be large each has, with one for its manifest.
    /// They are not counted on and on, since it is enough to know that they fill a page.
    OWNERS = concat!(
        "SELECT
           owners.tenant_id, owners.knowledge_space_id,
           1 + ", rows_of!("knowledge_space_profile_revisions"), "
           + ", rows_of!("knowledge_space_profile_backfills"), "
         FROM (
           (
             SELECT space.id AS knowledge_space_id, space.tenant_id::text
             FROM knowledge_spaces AS space
             WHERE (space.tenant_id, space.id) > ($1::text, $2::uuid)
             ORDER BY space.tenant_id, space.id LIMIT $3
           )
           UNION
           (
             SELECT manifest.knowledge_space_id, manifest.tenant_id::text
             FROM knowledge_space_manifests AS manifest
             WHERE (manifest.tenant_id, manifest.knowledge_space_id) > ($1::text, $2::uuid)
             ORDER BY manifest.tenant_id, manifest.knowledge_space_id LIMIT $3
           )
           UNION
           (", owners_of!("knowledge_space_profile_revisions"), ")
           UNION
           (", owners_of!("knowledge_space_profile_heads"), ")
           UNION
           (", owners_of!("knowledge_space_profile_backfills"), ")
         ) AS owners
         ORDER BY owners.tenant_id, owners.knowledge_space_id
         LIMIT $3"
    );

    SPACE_ROWS = concat!(
        "SELECT ", space_columns!("found"), "
         FROM
           unnest($1::text[], $2::uuid[]) AS wanted (tenant_id, space_id)
           JOIN knowledge_spaces AS found ON found.tenant_id = wanted.tenant_id AND found.id = wanted.space_id"
    );

    MANIFEST_ROWS = of_wanted!(
        concat!("found.tenant_id::text, found.knowledge_space_id, ", manifest_columns!("found")),
        "knowledge_space_manifests"
    );

    HEAD_ROWS = of_wanted!(
        concat!("found.tenant_id::text, found.knowledge_space_id, found.kind::text, ", head_columns!("found")),
        "knowledge_space_profile_heads"
    );

    REVISION_ROWS = of_wanted!(
        concat!("found.tenant_id::text, found.knowledge_space_id, found.kind::text, ", revision_columns!("found")),
        "knowledge_space_profile_revisions"
    );

    BACKFILL_ROWS = of_wanted!(
        concat!("found.tenant_id::text, found.knowledge_space_id, ", backfill_columns!("found")),
        "knowledge_space_profile_backfills"
    );
}

/// Which spaces are asked about.
enum Asked<'a> {
    After(Option<&'a Space>, PageLimit),
    One(&'a Space),
}

pub(crate) async fn page(
    sessions: &Sessions,
    after: Option<&Space>,
    limit: PageLimit,
) -> Result<Vec<SpaceContent>, StoreError> {
    read(sessions, &Asked::After(after, limit)).await
}

pub(crate) async fn of_space(sessions: &Sessions, space: &Space) -> Result<SpaceContent, StoreError> {
    let found = read(sessions, &Asked::One(space)).await?;
    Ok(found.into_iter().next().unwrap_or_else(|| empty(space.clone())))
}

async fn read(sessions: &Sessions, asked: &Asked<'_>) -> Result<Vec<SpaceContent>, StoreError> {
    let mut repeats = sessions.repeats();
    loop {
        match read_once(sessions, asked).await {
            Err(ReadError::Driver(error)) => repeats.after(&error).await?,
            Err(ReadError::Store(error)) => return Err(error),
            Ok(contents) => return Ok(contents),
        }
    }
}

async fn read_once(sessions: &Sessions, asked: &Asked<'_>) -> Result<Vec<SpaceContent>, ReadError> {
    let mut snapshot = sessions.snapshot().await?;
    let owners = match *asked {
        Asked::One(space) => vec![Owner { space: space.clone(), strangers: Vec::new() }],
        Asked::After(after, limit) => owners(&mut snapshot, Position::after(after), limit).await?,
    };
    let contents = contents(&mut snapshot, owners).await?;
    snapshot.end().await?;
    Ok(contents)
}

/// How many rows that name no space are told one by one.
const TOLD_STRANGERS: usize = 100;

/// A space, and the rows before it (or after the last one) that name a space as none can be named.
struct Owner {
    space: Space,
    strangers: Vec<String>,
}

/// The next spaces. Rows that name none are told with the space that follows them; the last ones with the last space.
async fn owners(snapshot: &mut Snapshot, mut after: Position, limit: PageLimit) -> Result<Vec<Owner>, ReadError> {
    let most = limit.get() as usize;
    let is_first = after.tenant.is_empty();
    if is_first {
        expect_one_order(snapshot).await?;
    }
    let mut owners: Vec<Owner> = Vec::new();
    let mut strangers = Vec::new();
    let most_rows = i64::try_from(SpaceContent::ROWS_OF_A_PAGE).unwrap_or(i64::MAX);
    let mut all_rows = 0;
    loop {
        // One more than asked for tells whether strangers follow the last one.
        let call =
            Call::of(OWNERS).with(&after.tenant).with(after.id).with(i64::from(limit.get()) + 1).with(most_rows);
        let rows = snapshot.read(call).await?;
        for row in &rows {
            after = Columns::of(row).position()?;
            let mut columns = Columns::of(row);
            match readable(columns.space())? {
                Ok(space) => {
                    all_rows += columns.value::<i64>("rows")?;
                    let is_room = owners.is_empty() || owners.len() < most && all_rows <= most_rows;
                    // It begins the next page, which comes by the same strangers again.
                    if !is_room {
                        return Ok(owners);
                    }
                    owners.push(Owner { space, strangers: std::mem::take(&mut strangers) });
                }
                Err(_) if strangers.len() < TOLD_STRANGERS => strangers.push(after.is_no_space()),
                Err(_) => {}
            }
        }
        if rows.len() <= most {
            break;
        }
    }
    match (owners.last_mut(), strangers.first()) {
        (Some(owner), _) => owner.strangers.append(&mut strangers),
        (None, Some(what)) if is_first => return Err(StoreError::new(StoreCode::Schema, what).into()),
        // The page of the last space has told of them.
        (None, _) => {}
    }
    Ok(owners)
}

async fn expect_one_order(snapshot: &mut Snapshot) -> Result<(), ReadError> {
    let rows = snapshot.read(Call::of(ORDERS_ALIKE)).await?;
    if rows.first().is_some_and(|row| Columns::of(row).value("attcollation").unwrap_or(false)) {
        return Ok(());
    }
    let message = "expected every table to order tenants alike, found that `tenant_id` has several collations; run \
                   `doctor`, which names them";
    Err(StoreError::new(StoreCode::Schema, message).into())
}

const fn empty(space: Space) -> SpaceContent {
    SpaceContent {
        space,
        row: None,
        manifest: None,
        heads: Vec::new(),
        revisions: Vec::new(),
        backfills: Vec::new(),
        unreadable: Vec::new(),
        strangers: Vec::new(),
    }
}

/// What belongs to spaces, in their order.
async fn contents(snapshot: &mut Snapshot, owners: Vec<Owner>) -> Result<Vec<SpaceContent>, ReadError> {
    let tenants: Vec<&str> = owners.iter().map(|owner| owner.space.tenant.as_str()).collect();
    let ids: Vec<Uuid> = owners.iter().map(|owner| owner.space.id.as_uuid()).collect();
    let of_spaces = |statement| Call::of(statement).with(&tenants).with(&ids);
    let mut found: BTreeMap<Space, SpaceContent> =
        owners.iter().map(|owner| (owner.space.clone(), empty(owner.space.clone()))).collect();

    // A space's own row names its space itself.
    let rows = snapshot.read(of_spaces(SPACE_ROWS)).await?;
    each(rows, &mut found, |columns| columns.space_row(), |content, row| content.row = Some(row), true)?;
    let rows = snapshot.read(of_spaces(MANIFEST_ROWS)).await?;
    each(rows, &mut found, |columns| columns.manifest_row(), |content, row| content.manifest = Some(row), false)?;
    let rows = snapshot.read(of_spaces(HEAD_ROWS)).await?;
    let head = |columns: &mut Columns<'_>| Ok((columns.parsed::<Kind>("kind")?, columns.head()?));
    each(rows, &mut found, head, |content, head| content.heads.push(head), false)?;
    let rows = snapshot.read(of_spaces(REVISION_ROWS)).await?;
    let revision = |columns: &mut Columns<'_>| Ok((columns.parsed::<Kind>("kind")?, columns.revision_row()?));
    each(rows, &mut found, revision, |content, revision| content.revisions.push(revision), false)?;
    let rows = snapshot.read(of_spaces(BACKFILL_ROWS)).await?;
    each(rows, &mut found, |columns| columns.backfill_row(), |content, row| content.backfills.push(row), false)?;

    let content = |owner: Owner| {
        found.remove(&owner.space).map(|content| SpaceContent { strangers: owner.strangers, ..in_order(content) })
    };
    Ok(owners.into_iter().filter_map(content).collect())
}

fn in_order(mut content: SpaceContent) -> SpaceContent {
    content.heads.sort_by_key(|(kind, _)| *kind);
    content.revisions.sort_by_key(|(kind, row)| (*kind, row.revision));
    content.backfills.sort_by_key(|row| (row.scope.kind, row.source_manifest_version, row.created_at, row.id));
    content.unreadable.sort();
    content
}

/// Puts each row where it belongs; a row that cannot be read leaves a sentence there. Rows may be large and many, so
/// each is let go of once it is read.
fn each<T>(
    rows: Vec<PgRow>,
    found: &mut BTreeMap<Space, SpaceContent>,
    read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    mut put: impl FnMut(&mut SpaceContent, T),
    is_space: bool,
) -> Result<(), StoreError> {
    for row in rows {
        let space = Columns::of(&row).space()?;
        let Some(content) = found.get_mut(&space) else { continue };
        let mut columns = Columns::of(&row);
        if !is_space {
            columns.space()?;
        }
        match readable(read(&mut columns))? {
            Ok(value) => put(content, value),
            Err(what) => content.unreadable.push(what),
        }
    }
    Ok(())
}
