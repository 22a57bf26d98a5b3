//! Everything that belongs to a space, for the audit and for a copy.

use rusqlite::{Connection, params};
use space_profiles_core::{BackfillRow, Kind, PageLimit, RevisionRow, Space, SpaceContent};

use crate::error::JobError;
use crate::load;
use crate::pages::bound;
use crate::rows::{self, Columns, ScopeKey, all_readable, backfill_columns, readable, revision_columns};

pub(crate) fn page(
    connection: &mut Connection,
    after: Option<&Space>,
    limit: PageLimit,
) -> Result<Vec<SpaceContent>, JobError> {
    let transaction = connection.transaction()?;
    let spaces = owners(&transaction, after, limit)?;
    let (mut page, mut rows): (Vec<SpaceContent>, usize) = (Vec::new(), 0);
    for space in spaces {
        // Not known before it is read; one space too many is dropped again.
        let content = content(&transaction, space)?;
        rows += content.rows();
        if rows > SpaceContent::ROWS_OF_A_PAGE && !page.is_empty() {
            break;
        }
        page.push(content);
    }
    Ok(page)
}

pub(crate) fn space(connection: &mut Connection, space: Space) -> Result<SpaceContent, JobError> {
    let transaction = connection.transaction()?;
    content(&transaction, space)
}

/// Spaces that any table speaks of. Each leg walks its own index and stops at the limit.
fn owners(connection: &Connection, after: Option<&Space>, limit: PageLimit) -> Result<Vec<Space>, JobError> {
    const SQL: &str = "
        SELECT tenant_id, knowledge_space_id FROM (
          SELECT * FROM (
            SELECT tenant_id, id AS knowledge_space_id FROM knowledge_spaces
            WHERE (tenant_id, id) > (?1, ?2)
            ORDER BY tenant_id, id LIMIT ?3
          )
          UNION
          SELECT * FROM (
            SELECT DISTINCT tenant_id, knowledge_space_id FROM knowledge_space_manifests
            WHERE (tenant_id, knowledge_space_id) > (?1, ?2)
            ORDER BY tenant_id, knowledge_space_id LIMIT ?3
          )
          UNION
          SELECT * FROM (
            SELECT DISTINCT tenant_id, knowledge_space_id FROM knowledge_space_profile_revisions
            WHERE (tenant_id, knowledge_space_id) > (?1, ?2)
            ORDER BY tenant_id, knowledge_space_id LIMIT ?3
          )
          UNION
          SELECT * FROM (
            SELECT DISTINCT tenant_id, knowledge_space_id FROM knowledge_space_profile_heads
            WHERE (tenant_id, knowledge_space_id) > (?1, ?2)
            ORDER BY tenant_id, knowledge_space_id LIMIT ?3
          )
          UNION
          SELECT * FROM (
            SELECT DISTINCT tenant_id, knowledge_space_id FROM knowledge_space_profile_backfills
            WHERE (tenant_id, knowledge_space_id) > (?1, ?2)
            ORDER BY tenant_id, knowledge_space_id LIMIT ?3
          )
        )
        ORDER BY tenant_id, knowledge_space_id LIMIT ?3";
    let (after_tenant, after_id) = bound(after);
    // An id that is none is found by the check of the schema's constraints; the others still come.
    all_readable(
        connection,
        SQL,
        params![after_tenant, after_id, limit.get()],
        |row| Ok(Columns::of("knowledge_spaces", row).space("tenant_id", "id")?),
        &mut Vec::new(),
    )
}

fn content(connection: &Connection, space: Space) -> Result<SpaceContent, JobError> {
    let mut heads = Vec::new();
    let mut revisions = Vec::new();
    let mut unreadable = Vec::new();
    for kind in Kind::ALL {
        let scope = space.scope(kind);
        let key = ScopeKey::from(&scope);
        let head = if_readable(load::head(connection, &key), &mut unreadable)?;
        heads.extend(head.map(|head| (kind, head)));
        let of_scope = revisions_of(connection, &key, &mut unreadable)?;
        revisions.extend(of_scope.into_iter().map(|row| (kind, row)));
    }
    Ok(SpaceContent {
        row: if_readable(load::space(connection, &space), &mut unreadable)?,
        manifest: if_readable(load::manifest(connection, &space), &mut unreadable)?,
        heads,
        revisions,
        backfills: backfills_of(connection, &space, &mut unreadable)?,
        unreadable,
        strangers: Vec::new(),
        space,
    })
}

fn if_readable<T>(read: Result<Option<T>, JobError>, unreadable: &mut Vec<String>) -> Result<Option<T>, JobError> {
    readable(read).map(|read| {
        read.unwrap_or_else(|what| {
            unreadable.push(what);
            None
        })
    })
}

fn revisions_of(
    connection: &Connection,
    key: &ScopeKey<'_>,
    unreadable: &mut Vec<String>,
) -> Result<Vec<RevisionRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
         ORDER BY revision"
    );
    all_readable(connection, sql, params![key.tenant, key.space, key.kind], rows::revision, unreadable)
}

fn backfills_of(
    connection: &Connection,
    space: &Space,
    unreadable: &mut Vec<String>,
) -> Result<Vec<BackfillRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        backfill_columns!(),
        " FROM knowledge_space_profile_backfills
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2
         ORDER BY kind, source_manifest_version, created_at, id"
    );
    let params = params![space.tenant.as_str(), space.id.to_string()];
    all_readable(connection, sql, params, rows::backfill, unreadable)
}
