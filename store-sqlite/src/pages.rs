//! Keyset pages.

use rusqlite::{Connection, Row, params};
use space_profiles_core::{
    BackfillFilter, BackfillId, BackfillRow, BackfillStatus, Clock, DiscoveryPage, DiscoverySpace, Kind,
    PageLimit, RevisionNumber, RevisionPage, RevisionRow, Scope, Space, SpaceFilter, SpaceRow, TenantId,
    Timestamp,
};

use crate::error::JobError;
use crate::filter::Filtered;
use crate::load::{head, legacy_path};
use crate::rows::{
    self, Columns, ScopeKey, all, all_readable, backfill_columns, first, revision_columns, space_columns,
};

pub(crate) fn revisions(
    connection: &mut Connection,
    scope: &Scope,
    after: Option<RevisionNumber>,
    limit: PageLimit,
) -> Result<RevisionPage, JobError> {
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND revision > ?4
         ORDER BY revision LIMIT ?5"
    );
    let transaction = connection.transaction()?;
    let key = ScopeKey::from(scope);
    let after = after.map_or(0, RevisionNumber::get);
    // One more than asked for tells whether there is more.
    let one_more = limit.get() + 1;
    let params = params![key.tenant, key.space, key.kind, after, one_more];
    let mut read = all(&transaction, sql, params, rows::revision_or_corruption)?;
    let has_more = read.len() > limit.get() as usize;
    read.truncate(limit.get() as usize);
    let (mut rows, mut unreadable) = (Vec::new(), Vec::new());
    for row in read {
        match row {
            Ok(row) => rows.push(row),
            Err(corruption) => unreadable.push(corruption),
        }
    }
    Ok(RevisionPage { head: head(&transaction, &key)?, rows, unreadable, has_more })
}

pub(crate) fn revision_at(
    connection: &Connection,
    scope: &Scope,
    moment: Timestamp,
) -> Result<Option<RevisionRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE
           tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
           AND activated_at <= ?4 AND (superseded_at IS NULL OR superseded_at > ?4)
         ORDER BY revision DESC LIMIT 1"
    );
    let key = ScopeKey::from(scope);
    first(connection, sql, params![key.tenant, key.space, key.kind, moment.as_micros()], rows::revision)
}

pub(crate) fn spaces(
    connection: &Connection,
    tenant: Option<&TenantId>,
    after: Option<&Space>,
    limit: PageLimit,
) -> Result<Vec<SpaceRow>, JobError> {
    let of_all = concat!(
        "SELECT ",
        space_columns!(),
        " FROM knowledge_spaces
         WHERE (tenant_id, id) > (?1, ?2)
         ORDER BY tenant_id, id LIMIT ?3"
    );
    let of_tenant = concat!(
        "SELECT ",
        space_columns!(),
        " FROM knowledge_spaces
         WHERE tenant_id = ?4 AND (tenant_id, id) > (?1, ?2)
         ORDER BY id LIMIT ?3"
    );
    let (after_tenant, after_id) = bound(after);
    match tenant {
        None => all(connection, of_all, params![after_tenant, after_id, limit.get()], rows::space),
        Some(tenant) => {
            let params = params![after_tenant, after_id, limit.get(), tenant.as_str()];
            all(connection, of_tenant, params, rows::space)
        }
    }
}

/// What a page begins after, as (tenant, id): nothing is before the empty texts.
pub(crate) fn bound(after: Option<&Space>) -> (&str, String) {
    after.map_or(("", String::new()), |space| (space.tenant.as_str(), space.id.to_string()))
}

pub(crate) fn discovery(
    connection: &mut Connection,
    after: Option<&Space>,
    limit: PageLimit,
    filter: &SpaceFilter,
    clock: &dyn Clock,
) -> Result<DiscoveryPage, JobError> {
    let filtered = Filtered::rows_of("knowledge_spaces", "id", None, filter);
    // Profiles are read out of the metadata where it lies: the rest of it may be large and is nobody's business.
    let sql = format!(
        "WITH page AS (
           SELECT tenant_id, id, lifecycle_state = 'active' AND deletion_job_id IS NULL AS is_writable
           FROM {source}
           WHERE {wanted} AND (id, tenant_id) > (?2, ?3)
           ORDER BY id, tenant_id LIMIT ?4
         )
         SELECT
           page.tenant_id, page.id, page.is_writable, manifest.manifest_version,
           CASE json_valid(manifest.metadata) WHEN 1 THEN manifest.metadata -> ?5 WHEN 0 THEN '' END,
           CASE json_valid(manifest.metadata) WHEN 1 THEN manifest.metadata -> ?6 WHEN 0 THEN '' END,
           EXISTS (
             SELECT 1 FROM knowledge_space_profile_heads AS head
             WHERE
               head.tenant_id = page.tenant_id AND head.knowledge_space_id = page.id AND head.kind = 'embedding'
           ),
           EXISTS (
             SELECT 1 FROM knowledge_space_profile_heads AS head
             WHERE
               head.tenant_id = page.tenant_id AND head.knowledge_space_id = page.id AND head.kind = 'retrieval'
           )
         FROM page
         LEFT JOIN knowledge_space_manifests AS manifest
           ON manifest.tenant_id = page.tenant_id AND manifest.knowledge_space_id = page.id
         ORDER BY page.id, page.tenant_id",
        source = filtered.source,
        wanted = filtered.condition,
    );
    let now = clock.now();
    let (after_tenant, after_id) = bound(after);
    let [embedding, retrieval] = Kind::ALL.map(legacy_path);
    let params = params![filtered.argument, after_id, after_tenant, limit.get(), embedding, retrieval];
    // A row that cannot be read is the audit's; the others still come.
    Ok(DiscoveryPage { now, spaces: all_readable(connection, &sql, params, discovery_space, &mut Vec::new())? })
}

fn discovery_space(row: &Row<'_>) -> Result<DiscoverySpace, JobError> {
    let mut columns = Columns::of("knowledge_spaces", row);
    Ok(DiscoverySpace {
        space: columns.space("tenant_id", "id")?,
        is_writable: columns.flag("lifecycle_state")?,
        manifest_version: columns.optional_number("manifest_version")?,
        profiles: [columns.optional_text("metadata")?, columns.optional_text("metadata")?],
        has_head: [columns.flag("head")?, columns.flag("head")?],
    })
}

pub(crate) fn backfills(
    connection: &Connection,
    filter: &BackfillFilter,
    after: Option<BackfillId>,
    limit: PageLimit,
) -> Result<Vec<BackfillRow>, JobError> {
    let table = "knowledge_space_profile_backfills";
    let filtered = Filtered::rows_of(table, "knowledge_space_id", None, &filter.spaces);
    let sql = format!(
        "SELECT {columns}
         FROM {source}
         WHERE
           {wanted} AND id > ?2
           AND (?3 IS NULL OR run_state = ?3)
           AND (?4 IS NULL OR last_error_code = ?4 OR retry_code = ?4)
         ORDER BY id LIMIT ?5",
        columns = backfill_columns!(),
        source = filtered.source,
        wanted = filtered.condition,
    );
    let params = params![
        filtered.argument,
        after.map(|id| id.to_string()).unwrap_or_default(),
        filter.status.map(BackfillStatus::as_str),
        filter.code,
        limit.get(),
    ];
    all_readable(connection, &sql, params, rows::backfill, &mut Vec::new())
}
