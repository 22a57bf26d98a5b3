//! What stands in the way of a migration: all of it is found and told before anything is changed.

use space_profiles_core::{StoreCode, StoreError};
use sqlx::PgConnection;

use super::catalog::PROFILE_TABLES;
use super::compare::{Difference, Manner, compare};
use super::history::History;
use super::migrations::{MIGRATIONS, Means, PROFILES, SPACES};
use super::session::{self, Session};
use super::spaces::Spaces;
use super::{catalog, encoding, listed, store_error};

const LISTED_SCOPES: i64 = 20;

const REVISIONS: &str = "knowledge_space_profile_revisions";

pub(super) async fn expect_none(session: &mut Session, pending: &[&'static str]) -> Result<(), StoreError> {
    let schema = session.schema.clone();
    let mut reading = session::reading(&mut session.connection).await?;
    let spaces = Spaces::read(&mut reading).await?;
    let history = History::read(&mut reading).await?;
    let tables = history.compared_tables();
    let found = catalog::read(&mut reading, tables).await?;
    let is_there = |table: &str| found.iter().any(|part| part.sort == "table" && part.name == table);

    let mut obstacles = encoding::differences(&mut reading).await?;
    if !history.has_made_spaces {
        obstacles.extend(of_spaces(&spaces, pending, &schema));
    }
    let differences = compare(&catalog::expected(tables), &found);
    obstacles
        .extend(differences.into_iter().filter(|difference| !is_work(difference, pending)).map(|it| it.sentence));
    // They have foreign keys that point at the spaces.
    let makes_tables = pending.contains(&PROFILES) && !PROFILE_TABLES.iter().all(|table| is_there(table));
    obstacles.extend(of_rights(&mut reading, makes_tables && spaces.may_not_be_referenced()).await?);
    // Rows are read only from tables that have the columns.
    if obstacles.is_empty() && is_there(REVISIONS) {
        obstacles.extend(of_rows(&mut reading).await?);
    }
    reading.rollback().await.map_err(|error| store_error(&error))?;
    if obstacles.is_empty() {
        return Ok(());
    }
    let message =
        format!("this stands in the way of the migration; nothing has been changed:\n{}", listed(&obstacles));
    Err(StoreError::new(StoreCode::Schema, message))
}

/// Whether a difference is what the migrations that are pending are for.
fn is_work(difference: &Difference, pending: &[&'static str]) -> bool {
    let Some(migration) = difference.migration.filter(|name| pending.contains(name)) else { return false };
    match difference.manner {
        // Tables that are there without one of their parts are not ours to complete.
        Manner::Missing => migration != PROFILES || difference.sort == "table",
        Manner::Idle => MIGRATIONS.iter().any(|it| it.name == migration && it.means == Means::Concurrently),
        Manner::Changed | Manner::Unexpected => false,
    }
}

fn of_spaces(spaces: &Spaces, pending: &[&'static str], schema: &str) -> Vec<String> {
    match spaces.tables().as_slice() {
        [] if pending.contains(&SPACES) => Vec::new(),
        [table] if pending.contains(&SPACES) => vec![format!(
            "expected schema `{schema}` to have both `knowledge_spaces` and `knowledge_space_manifests` or neither, \
             found only `{table}`; create the other one, or choose another schema"
        )],
        _ => spaces.differences(),
    }
}

/// Names come quoted where they have to be: a grant is run as it is told.
async fn of_rights(reading: &mut PgConnection, lacks_references: bool) -> Result<Vec<String>, StoreError> {
    const SQL: &str = "
        SELECT
          quote_ident(current_user),
          quote_ident(n.nspname),
          has_schema_privilege(n.oid, 'CREATE'),
          coalesce((
            SELECT array_agg(format('`%s` (owned by `%s`)', c.relname, pg_get_userbyid(c.relowner)) ORDER BY c.relname)
            FROM pg_class c
            WHERE c.relnamespace = n.oid AND NOT pg_has_role(c.relowner, 'USAGE')
              AND c.relname IN (
                'knowledge_space_profile_revisions', 'knowledge_space_profile_heads',
                'knowledge_space_profile_backfills', 'space_profiles_migrations'
              )
          ), '{}')
        FROM pg_namespace n
        WHERE n.nspname = current_schema()";
    let row = sqlx::query_as(SQL).persistent(false).fetch_one(reading).await;
    let (role, schema, may_create, foreign): (String, String, bool, Vec<String>) =
        row.map_err(|error| store_error(&error))?;
    let mut obstacles = Vec::new();
    if lacks_references {
        obstacles.push(format!(
            "expected role `{role}` to be allowed to point foreign keys at `knowledge_spaces`, found that it is not; \
             run GRANT REFERENCES ON {schema}.knowledge_spaces TO {role}"
        ));
    }
    if !may_create {
        obstacles.push(format!(
            "expected role `{role}` to be allowed to create in schema `{schema}`, found that it is not; \
             run GRANT CREATE ON SCHEMA {schema} TO {role}"
        ));
    }
    obstacles.extend(foreign.into_iter().map(|table| {
        format!("expected role `{role}` to be the owner of {table}, or a member of it; migrate as the owner")
    }));
    Ok(obstacles)
}

/// The scopes that have two candidates or two active revisions.
pub(super) async fn of_rows(reading: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    const SQL: &str = "
        SELECT
          tenant_id::text || '/' || knowledge_space_id || '/' || kind,
          state::text,
          string_agg(revision::text, ', ' ORDER BY revision),
          count(*) OVER ()
        FROM knowledge_space_profile_revisions
        WHERE state IN ('candidate', 'active')
        GROUP BY tenant_id, knowledge_space_id, kind, state
        HAVING count(*) > 1
        ORDER BY knowledge_space_id, tenant_id, kind, state
        LIMIT $1";
    let rows = sqlx::query_as(SQL).bind(LISTED_SCOPES).persistent(false).fetch_all(reading);
    let rows: Vec<(String, String, String, i64)> = rows.await.map_err(|error| store_error(&error))?;
    let more = rows.first().map_or(0, |row| row.3 - LISTED_SCOPES);
    let mut obstacles: Vec<String> = rows.into_iter().map(of_scope).collect();
    if more > 0 {
        obstacles.push(format!("and {more} more scopes with two candidates or two active revisions"));
    }
    Ok(obstacles)
}

fn of_scope((scope, state, revisions, _): (String, String, String, i64)) -> String {
    let (what, remedy) = match state.as_str() {
        "active" => ("active revision", "set all but the one that the head names to superseded"),
        _ => ("candidate", "set all but one to failed"),
    };
    format!("expected at most one {what} of {scope}, found revisions {revisions}; {remedy}")
}
