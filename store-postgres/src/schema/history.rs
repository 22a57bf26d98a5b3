//! Which migrations a schema has had.

use std::collections::BTreeMap;

use space_profiles_core::{StoreCode, StoreError};
use sqlx::PgConnection;

use super::catalog::{ALL_TABLES, PROFILE_TABLES};
use super::migrations::SPACES;
use super::{MIGRATIONS, OWN_TABLE, store_error};

/// `made` says whether the migration made its tables, columns and so on, or found them there.
pub(super) const OWN_TABLE_SQL: &str = r#"
CREATE TABLE IF NOT EXISTS "space_profiles_migrations" (
  "name" TEXT PRIMARY KEY NOT NULL,
  "checksum" TEXT NOT NULL,
  "made" BOOLEAN NOT NULL,
  "applied_at" TIMESTAMPTZ NOT NULL DEFAULT now()
)"#;

/// The checksums of what was applied, by name, and whether spaces and manifests were made by it.
pub(super) struct History {
    schema: String,
    applied: BTreeMap<String, String>,
    pub(super) has_made_spaces: bool,
}

impl History {
    pub(super) async fn read(reading: &mut PgConnection) -> Result<Self, StoreError> {
        const EXISTS: &str = "
            SELECT current_schema()::text, EXISTS (
              SELECT FROM pg_class
              WHERE relname = $1 AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))";
        let exists = sqlx::query_as(EXISTS).bind(OWN_TABLE).persistent(false);
        let (schema, exists): (String, bool) =
            exists.fetch_one(&mut *reading).await.map_err(|error| store_error(&error))?;
        let applied: Vec<(String, String, bool)> = if exists {
            let applied = sqlx::query_as("SELECT name, checksum, made FROM space_profiles_migrations");
            applied.persistent(false).fetch_all(reading).await.map_err(|error| store_error(&error))?
        } else {
            Vec::new()
        };
        let has_made_spaces = applied.iter().any(|(name, _, made)| name == SPACES && *made);
        let applied = applied.into_iter().map(|(name, checksum, _)| (name, checksum)).collect();
        Ok(Self { schema, applied, has_made_spaces })
    }

    /// Those that must be as our migrations make them. Spaces of the other service must only have what is read.
    pub(super) fn compared_tables(&self) -> &'static [&'static str] {
        if self.has_made_spaces { ALL_TABLES } else { PROFILE_TABLES }
    }

    /// In the order in which they are run. What was applied must be known and unchanged.
    pub(super) fn pending(&self) -> Result<Vec<&'static str>, StoreError> {
        let schema = &self.schema;
        let refuse = |message: String| Err(StoreError::new(StoreCode::Schema, message));
        if let Some(name) = self.applied.keys().find(|name| MIGRATIONS.iter().all(|known| known.name != **name)) {
            return refuse(format!(
                "expected only known migrations in schema `{schema}`, found `{name}`, which a newer \
                 space-profiles made; use that one"
            ));
        }
        let mut pending = Vec::new();
        for migration in &MIGRATIONS {
            match self.applied.get(migration.name) {
                None => pending.push(migration.name),
                Some(found) if *found != migration.checksum() => {
                    return refuse(format!(
                        "expected migration `{}` with checksum {}, found that schema `{schema}` was migrated with \
                         another text of it, {found}; use the space-profiles that did, or one as released",
                        migration.name,
                        migration.checksum()
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(pending)
    }
}

pub(super) fn not_migrated(name: &str) -> String {
    format!(
        "expected migration `{name}` to have been applied, found that it has not; run `space-profiles migrate`"
    )
}
