//! What the server says about the tables, and what it should say.
//!
//! What it should say is data (`expected.tsv`), made from a freshly migrated database and checked against one by a
//! test. Making the tables anew to compare with them, in a transaction that is rolled back, would need the right to
//! create and a server that takes writes; a reader of a standby has neither.

use sqlx::PgConnection;

use crate::error::store_error;
use space_profiles_core::StoreError;

pub(super) const PROFILE_TABLES: &[&str] =
    &["knowledge_space_profile_revisions", "knowledge_space_profile_heads", "knowledge_space_profile_backfills"];

/// With those of spaces, which are compared part by part only where they were made here.
pub(super) const ALL_TABLES: &[&str] = &[
    "knowledge_spaces",
    "knowledge_space_manifests",
    "knowledge_space_profile_revisions",
    "knowledge_space_profile_heads",
    "knowledge_space_profile_backfills",
];

/// A table, a column, a constraint, an index, a trigger or a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// Empty for a function.
    pub(super) table: String,
    pub(super) sort: String,
    pub(super) name: String,
    pub(super) definition: String,
    /// Empty when it does its duty; otherwise why it does not: `invalid`, `disabled` and the like.
    pub(super) state: String,
}

/// A part and the migration that makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedPart {
    pub(super) migration: &'static str,
    pub(super) part: Part,
}

pub(super) async fn read(reading: &mut PgConnection, tables: &[&str]) -> Result<Vec<Part>, StoreError> {
    let rows = sqlx::query_as(include_str!("catalog.sql")).bind(tables).persistent(false).fetch_all(reading);
    let rows: Vec<(String, String, String, String, String)> = rows.await.map_err(|error| store_error(&error))?;
    let part = |(table, sort, name, definition, state)| Part { table, sort, name, definition, state };
    Ok(rows.into_iter().map(part).collect())
}

/// What tables should be, and the function that their triggers call.
pub(super) fn expected(tables: &[&str]) -> Vec<ExpectedPart> {
    let parts = include_str!("expected.tsv").lines().filter_map(expected_part);
    parts.filter(|it| it.part.table.is_empty() || tables.contains(&it.part.table.as_str())).collect()
}

fn expected_part(line: &'static str) -> Option<ExpectedPart> {
    let mut fields = line.split('\t');
    let migration = fields.next()?;
    let mut field = || fields.next().map(str::to_owned);
    let part =
        Part { table: field()?, sort: field()?, name: field()?, definition: field()?, state: String::new() };
    Some(ExpectedPart { migration, part })
}
