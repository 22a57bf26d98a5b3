//! The two tables of spaces: ours in a database that has neither, otherwise the other service's, of which only what
//! we read must be there.

use space_profiles_core::StoreError;
use sqlx::PgConnection;

use crate::error::store_error;

const TEXT: &[&str] = &["text", "character varying"];
const UUID: &[&str] = &["uuid"];
const TIME: &[&str] = &["timestamp with time zone"];

struct Needed {
    table: &'static str,
    columns: &'static [(&'static str, &'static [&'static str])],
    /// In alphabetical order.
    key: &'static str,
}

const NEEDED: [Needed; 2] = [
    Needed {
        table: "knowledge_spaces",
        columns: &[
            ("tenant_id", TEXT),
            ("id", UUID),
            ("name", TEXT),
            ("lifecycle_state", TEXT),
            ("deletion_job_id", &["uuid", "text", "character varying"]),
            ("created_at", TIME),
            ("updated_at", TIME),
        ],
        key: "id, tenant_id",
    },
    Needed {
        table: "knowledge_space_manifests",
        columns: &[
            ("id", &["uuid", "text", "character varying"]),
            ("tenant_id", TEXT),
            ("knowledge_space_id", UUID),
            ("manifest_version", &["integer"]),
            ("metadata", &["jsonb"]),
            ("created_at", TIME),
            ("updated_at", TIME),
        ],
        key: "knowledge_space_id, tenant_id",
    },
];

/// What is there of the two tables.
pub(super) struct Spaces {
    rows: Vec<(String, String, String, String)>,
}

impl Spaces {
    pub(super) async fn read(reading: &mut PgConnection) -> Result<Self, StoreError> {
        let rows = sqlx::query_as(include_str!("spaces.sql")).persistent(false).fetch_all(reading);
        Ok(Self { rows: rows.await.map_err(|error| store_error(&error))? })
    }

    fn found(&self, table: &str, sort: &str, name: &str) -> Option<&str> {
        let same = |row: &&(String, String, String, String)| row.0 == table && row.1 == sort && row.2 == name;
        self.rows.iter().find(same).map(|row| row.3.as_str())
    }

    /// The names of those that are there.
    pub(super) fn tables(&self) -> Vec<&'static str> {
        let tables = NEEDED.iter().map(|needed| needed.table);
        tables.filter(|table| self.rows.iter().any(|row| row.0 == *table)).collect()
    }

    /// Whether the spaces are there, but no foreign key of ours may point at them.
    pub(super) fn may_not_be_referenced(&self) -> bool {
        self.found("knowledge_spaces", "table", "a table") == Some("REFERENCES")
    }

    /// Of the other service's tables; ours are compared part by part.
    pub(super) fn differences(&self) -> Vec<String> {
        let mut differences = Vec::new();
        for Needed { table, columns, key } in &NEEDED {
            if self.found(table, "table", "a table").is_none() {
                differences.push(format!("expected table `{table}`, found none"));
                continue;
            }
            for (column, types) in *columns {
                let expected = types.join(" or ");
                match self.found(table, "column", column) {
                    None => differences
                        .push(format!("expected column `{column}` of `{table}`, {expected}, found none")),
                    Some(found) if !types.contains(&found) => differences
                        .push(format!("expected column `{column}` of `{table}` to be {expected}, found {found}")),
                    Some(_) => {}
                }
            }
            // Ours are expected to have the default one, so this is whether all tables put tenants in one order.
            if let Some(found) = self.found(table, "collation", "tenant_id") {
                differences.push(format!(
                    "expected column `tenant_id` of `{table}` to have the database's default collation, as the tables \
                     of profiles have, {found}, which locks the table and builds its indexes anew"
                ));
            }
            if let Some(found) = self.found(table, "row security", "") {
                differences.push(format!("expected table `{table}` to show every row, found it {found}"));
            }
            if self.found(table, "key", key).is_none() {
                differences.push(format!("expected ({key}) of `{table}` to be unique, found no such key"));
            }
        }
        differences
    }
}
