//! What decisions need to see, as of one moment.

use rusqlite::{Connection, OptionalExtension, Row, params};
use space_profiles_core::snapshot::VectorSpaceId;
use space_profiles_core::{
    BackfillKey, BackfillRow, Clock, Fence, Head, Kind, LedgerState, ManifestRow, Neighbour, Newest, RevisionId,
    RevisionNumber, RevisionRow, Scope, ScopeQuery, ScopeState, Space, SpaceRow, SpaceState, Timestamp,
    VectorSpaceCarrier,
};

use crate::error::JobError;
use crate::rows::{
    self, Columns, ScopeKey, all, backfill_columns, first, head_columns, manifest_columns, revision_columns,
    space_columns,
};

/// Loads scopes in one read transaction, so that all are as of one moment.
pub(crate) fn scopes(
    connection: &mut Connection,
    queries: &[ScopeQuery],
    clock: &dyn Clock,
) -> Result<Vec<ScopeState>, JobError> {
    let transaction = connection.transaction()?;
    let now = clock.now();
    queries.iter().map(|query| scope(&transaction, query, now)).collect()
}

pub(crate) fn space_state(
    connection: &mut Connection,
    space: &Space,
    clock: &dyn Clock,
) -> Result<SpaceState, JobError> {
    let transaction = connection.transaction()?;
    let now = clock.now();
    Ok(SpaceState {
        now,
        neighbour: Neighbour::default(),
        space: self::space(&transaction, space)?,
        manifest: manifest(&transaction, space)?,
    })
}

pub(crate) fn backfill(
    connection: &mut Connection,
    key: &BackfillKey,
    clock: &dyn Clock,
) -> Result<LedgerState, JobError> {
    let transaction = connection.transaction()?;
    let now = clock.now();
    let row = match key {
        BackfillKey::Fenced(fence) => backfill_by_id(&transaction, &fence.backfill.to_string())?,
        BackfillKey::NewestOf(scope) => newest_backfill(&transaction, scope)?,
    };
    ledger_state(&transaction, row, now)
}

/// Loads the rows of fences in one read transaction, so that all are as of one moment.
pub(crate) fn backfills(
    connection: &mut Connection,
    fences: &[Fence],
    clock: &dyn Clock,
) -> Result<Vec<LedgerState>, JobError> {
    let transaction = connection.transaction()?;
    let now = clock.now();
    let state = |fence: &Fence| {
        ledger_state(&transaction, backfill_by_id(&transaction, &fence.backfill.to_string())?, now)
    };
    fences.iter().map(state).collect()
}

fn ledger_state(
    transaction: &Connection,
    row: Option<BackfillRow>,
    now: Timestamp,
) -> Result<LedgerState, JobError> {
    let Some(row) = row else {
        return Ok(LedgerState {
            now,
            neighbour: Neighbour::default(),
            backfill: None,
            space: None,
            manifest: None,
            head: None,
            head_revision: None,
            first: None,
        });
    };
    let key = ScopeKey::from(&row.scope);
    let head = head(transaction, &key)?;
    Ok(LedgerState {
        now,
        neighbour: Neighbour::default(),
        space: space(transaction, &row.scope.space)?,
        manifest: manifest(transaction, &row.scope.space)?,
        head,
        head_revision: by_id(transaction, &key, head.map(|head| head.revision_id))?,
        first: lowest_revision(transaction, &key)?,
        backfill: Some(row),
    })
}

fn scope(connection: &Connection, query: &ScopeQuery, now: Timestamp) -> Result<ScopeState, JobError> {
    let key = &ScopeKey::from(&query.scope);
    let head = head(connection, key)?;
    let head_revision = by_id(connection, key, head.map(|head| head.revision_id))?;
    let head_number = head_revision.as_ref().map(|row| row.revision);
    let successor = match query.successor_of {
        Some(after) => successor(connection, key, after)?,
        None => None,
    };
    Ok(ScopeState {
        scope: query.scope.clone(),
        now,
        neighbour: Neighbour::default(),
        space: space(connection, &query.scope.space)?,
        has_legacy_profile: has_legacy_profile(connection, key, query.scope.kind)?,
        head_predecessor: predecessor(connection, key, head_number)?,
        active: active(connection, key)?,
        candidate: candidate(connection, key)?,
        newest: newest(connection, key)?,
        revision: by_number(connection, key, query.revision)?,
        predecessor: predecessor(connection, key, query.revision)?,
        by_id: by_id(connection, key, query.revision_id)?,
        successor,
        carriers: carriers(connection, key, query.vector_space_id)?,
        head,
        head_revision,
    })
}

pub(crate) fn space(connection: &Connection, space: &Space) -> Result<Option<SpaceRow>, JobError> {
    let sql = concat!("SELECT ", space_columns!(), " FROM knowledge_spaces WHERE tenant_id = ?1 AND id = ?2");
    first(connection, sql, params![space.tenant.as_str(), space.id.to_string()], rows::space)
}

pub(crate) fn manifest(connection: &Connection, space: &Space) -> Result<Option<ManifestRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        manifest_columns!(),
        " FROM knowledge_space_manifests
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2"
    );
    first(connection, sql, params![space.tenant.as_str(), space.id.to_string()], rows::manifest)
}

/// Metadata that is no JSON, which no CHECK lets in, holds no profile; asking SQLite for a member of it would
/// be an error.
fn has_legacy_profile(connection: &Connection, key: &ScopeKey<'_>, kind: Kind) -> Result<bool, JobError> {
    const SQL: &str = "
        SELECT CASE WHEN json_valid(metadata) THEN json_type(metadata, ?3) END IS 'object'
        FROM knowledge_space_manifests
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2";
    let mut statement = connection.prepare_cached(SQL)?;
    let path = legacy_path(kind);
    let found = statement.query_row(params![key.tenant, key.space, path], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// Where a manifest's metadata holds a legacy profile, as SQLite's JSON functions write it.
pub(crate) fn legacy_path(kind: Kind) -> String {
    format!("$.{}", kind.legacy_key())
}

pub(crate) fn head(connection: &Connection, key: &ScopeKey<'_>) -> Result<Option<Head>, JobError> {
    let sql = concat!(
        "SELECT ",
        head_columns!(),
        " FROM knowledge_space_profile_heads
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3"
    );
    first(connection, sql, params![key.tenant, key.space, key.kind], rows::head)
}

fn by_id(
    connection: &Connection,
    key: &ScopeKey<'_>,
    id: Option<RevisionId>,
) -> Result<Option<RevisionRow>, JobError> {
    let Some(id) = id else { return Ok(None) };
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3"
    );
    first(connection, sql, params![key.tenant, key.space, key.kind, id.to_string()], rows::revision)
}

fn by_number(
    connection: &Connection,
    key: &ScopeKey<'_>,
    number: Option<RevisionNumber>,
) -> Result<Option<RevisionRow>, JobError> {
    let Some(number) = number else { return Ok(None) };
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND revision = ?4"
    );
    first(connection, sql, params![key.tenant, key.space, key.kind, number.get()], rows::revision)
}

fn lowest_revision(connection: &Connection, key: &ScopeKey<'_>) -> Result<Option<RevisionRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM knowledge_space_profile_revisions
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
         ORDER BY revision LIMIT 1"
    );
    first(connection, sql, params![key.tenant, key.space, key.kind], rows::revision)
}

fn active(connection: &Connection, key: &ScopeKey<'_>) -> Result<Option<RevisionNumber>, JobError> {
    const SQL: &str = "
        SELECT id, revision
        FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active'
        ORDER BY revision LIMIT 1";
    first(connection, SQL, params![key.tenant, key.space, key.kind], number)
}

/// Not one statement with [`active`] and a parameter: each state has a partial index, so SQLite would plan anew
/// whenever the parameter changes.
fn candidate(connection: &Connection, key: &ScopeKey<'_>) -> Result<Option<RevisionNumber>, JobError> {
    const SQL: &str = "
        SELECT id, revision
        FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'candidate'
        ORDER BY revision LIMIT 1";
    first(connection, SQL, params![key.tenant, key.space, key.kind], number)
}

/// Two looks at the end of an index, one a state, cost the same however long the history is.
fn predecessor(
    connection: &Connection,
    key: &ScopeKey<'_>,
    below: Option<RevisionNumber>,
) -> Result<Option<RevisionNumber>, JobError> {
    const SQL: &str = "
        SELECT id, revision FROM (
          SELECT * FROM (
            SELECT id, revision FROM knowledge_space_profile_revisions
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active' AND revision < ?4
            ORDER BY revision DESC LIMIT 1
          )
          UNION ALL
          SELECT * FROM (
            SELECT id, revision FROM knowledge_space_profile_revisions
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'superseded' AND revision < ?4
            ORDER BY revision DESC LIMIT 1
          )
        )
        ORDER BY revision DESC LIMIT 1";
    let Some(below) = below else { return Ok(None) };
    first(connection, SQL, params![key.tenant, key.space, key.kind, below.get()], number)
}

fn successor(
    connection: &Connection,
    key: &ScopeKey<'_>,
    after: Option<RevisionNumber>,
) -> Result<Option<RevisionRow>, JobError> {
    const SQL: &str = "
        SELECT id, revision FROM (
          SELECT * FROM (
            SELECT id, revision FROM knowledge_space_profile_revisions
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active' AND revision > ?4
            ORDER BY revision LIMIT 1
          )
          UNION ALL
          SELECT * FROM (
            SELECT id, revision FROM knowledge_space_profile_revisions
            WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'superseded' AND revision > ?4
            ORDER BY revision LIMIT 1
          )
        )
        ORDER BY revision LIMIT 1";
    let above = after.map_or(0, RevisionNumber::get);
    let found = first(connection, SQL, params![key.tenant, key.space, key.kind, above], number)?;
    by_number(connection, key, found)
}

fn newest(connection: &Connection, key: &ScopeKey<'_>) -> Result<Option<Newest>, JobError> {
    const SQL: &str = "
        SELECT id, revision, state, updated_at
        FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
        ORDER BY revision DESC LIMIT 1";
    first(connection, SQL, params![key.tenant, key.space, key.kind], |row| {
        let mut columns = Columns::of("knowledge_space_profile_revisions", row);
        columns.text("id")?;
        Ok(Newest {
            revision: columns.number("revision")?,
            status: columns.parsed("state")?,
            updated_at: columns.time("updated_at")?,
        })
    })
}

fn carriers(
    connection: &Connection,
    key: &ScopeKey<'_>,
    vector_space_id: Option<VectorSpaceId>,
) -> Result<Vec<VectorSpaceCarrier>, JobError> {
    const SQL: &str = "
        SELECT plugin_id, provider, model, dimension, max(state IN ('active', 'superseded'))
        FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND vector_space_id = ?4
        GROUP BY plugin_id, provider, model, dimension
        ORDER BY plugin_id, provider, model, dimension";
    let Some(vector_space_id) = vector_space_id else { return Ok(Vec::new()) };
    all(connection, SQL, params![key.tenant, key.space, key.kind, vector_space_id.to_string()], |row| {
        let mut columns = Columns::of("knowledge_space_profile_revisions", row);
        Ok(VectorSpaceCarrier {
            plugin_id: columns.text("plugin_id")?,
            provider: columns.text("provider")?,
            model: columns.text("model")?,
            dimension: columns.optional_number("dimension")?,
            was_ever_active: columns.flag("state")?,
        })
    })
}

pub(crate) fn backfill_by_id(connection: &Connection, id: &str) -> Result<Option<BackfillRow>, JobError> {
    let sql = concat!("SELECT ", backfill_columns!(), " FROM knowledge_space_profile_backfills WHERE id = ?1");
    first(connection, sql, params![id], rows::backfill)
}

fn newest_backfill(connection: &Connection, scope: &Scope) -> Result<Option<BackfillRow>, JobError> {
    let sql = concat!(
        "SELECT ",
        backfill_columns!(),
        " FROM knowledge_space_profile_backfills
         WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
         ORDER BY source_manifest_version DESC, created_at DESC, id DESC LIMIT 1"
    );
    let key = ScopeKey::from(scope);
    first(connection, sql, params![key.tenant, key.space, key.kind], rows::backfill)
}

/// Reads a revision's number beside its id.
fn number(row: &Row<'_>) -> Result<RevisionNumber, JobError> {
    let mut columns = Columns::of("knowledge_space_profile_revisions", row);
    columns.text("id")?;
    Ok(columns.number("revision")?)
}
