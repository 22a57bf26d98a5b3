//! Reading rows: every column is checked, and a wrong one is told by table, row and name.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, Params, Row};
use space_profiles_core::{
    BackfillRow, Corruption, Head, Kind, ManifestRow, RevisionRow, Scope, Space, SpaceId, SpaceRow, StoreCode,
    StoreError, TenantId, Timestamp,
};

use crate::error::JobError;

/// The names of `knowledge_spaces` in the order in which [`space`] reads them.
macro_rules! space_columns {
    () => {
        "tenant_id, id, name, lifecycle_state, deletion_job_id, created_at, updated_at"
    };
}

/// The names of `knowledge_space_manifests` in the order in which [`manifest`] reads them.
macro_rules! manifest_columns {
    () => {
        "id, manifest_version, metadata, created_at, updated_at"
    };
}

/// The names of `knowledge_space_profile_revisions` in the order in which [`revision`] reads them.
macro_rules! revision_columns {
    () => {
        "id, revision, state, snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
         plugin_id, provider, model, vector_space_id, dimension,
         created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code, failure_message,
         created_at, updated_at, activated_at, superseded_at, failed_at"
    };
}

/// The names of `knowledge_space_profile_heads` in the order in which [`head`] reads them.
macro_rules! head_columns {
    () => {
        "id, profile_revision_id, active_revision, row_version, created_at, updated_at"
    };
}

/// The names of `knowledge_space_profile_backfills` in the order in which [`backfill`] reads them.
macro_rules! backfill_columns {
    () => {
        "id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot,
         source_snapshot_digest, run_state, execution_attempts, max_execution_attempts,
         worker_id, lease_token, lease_expires_at, heartbeat_at, due_at, retry_code, retry_message,
         last_error_code, last_error_message, row_version, created_at, updated_at, completed_at"
    };
}

pub(crate) use {backfill_columns, head_columns, manifest_columns, revision_columns, space_columns};

/// What a row is read into.
pub(crate) type Read<T> = fn(&Row<'_>) -> Result<T, JobError>;

/// The first row that a query finds.
pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: Read<T>,
) -> Result<Option<T>, JobError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// All rows that a query finds.
pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: Read<T>,
) -> Result<Vec<T>, JobError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// A row's value, unless its columns hold what they cannot: then a sentence that says so.
pub(crate) fn readable<T>(read: Result<T, JobError>) -> Result<Result<T, String>, JobError> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(JobError::Store(error)) if error.code == StoreCode::Schema => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// All rows that a query finds and that can be read.
pub(crate) fn all_readable<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: Read<T>,
    unreadable: &mut Vec<String>,
) -> Result<Vec<T>, JobError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match readable(read(row))? {
            Ok(value) => found.push(value),
            Err(what) => unreadable.push(what),
        }
    }
    Ok(found)
}

/// A row's columns, one after the other. The first ones name the row.
pub(crate) struct Columns<'r> {
    table: &'static str,
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) const fn of(table: &'static str, row: &'r Row<'r>) -> Self {
        Self { table, row, next: 0 }
    }

    fn value<T: FromSql>(&mut self, column: &str) -> Result<T, StoreError> {
        let value = self.row.get(self.next).map_err(|error| self.unexpected(column, error));
        self.next += 1;
        value
    }

    fn is_null(&self) -> bool {
        matches!(self.row.get_ref(self.next).map(|value| value.data_type()), Ok(Type::Null))
    }

    pub(crate) fn text(&mut self, column: &str) -> Result<String, StoreError> {
        self.value(column)
    }

    pub(crate) fn optional_text(&mut self, column: &str) -> Result<Option<String>, StoreError> {
        self.value(column)
    }

    pub(crate) fn flag(&mut self, column: &str) -> Result<bool, StoreError> {
        self.value(column)
    }

    pub(crate) fn parsed<T: FromStr<Err: Display>>(&mut self, column: &str) -> Result<T, StoreError> {
        let parsed = match self.row.get_ref(self.next).map(|value| value.as_str()) {
            Ok(Ok(text)) => text.parse().map_err(|error| self.unexpected(column, error)),
            Ok(Err(error)) => Err(self.unexpected(column, error)),
            Err(error) => Err(self.unexpected(column, error)),
        };
        self.next += 1;
        parsed
    }

    pub(crate) fn optional_parsed<T: FromStr<Err: Display>>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        if self.is_null() {
            self.next += 1;
            return Ok(None);
        }
        self.parsed(column).map(Some)
    }

    pub(crate) fn number<T: TryFrom<i64, Error: Display>>(&mut self, column: &str) -> Result<T, StoreError> {
        let value: i64 = self.value(column)?;
        T::try_from(value).map_err(|error| self.unexpected(column, error))
    }

    pub(crate) fn optional_number<T: TryFrom<i64, Error: Display>>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        let value: Option<i64> = self.value(column)?;
        value.map(|value| T::try_from(value).map_err(|error| self.unexpected(column, error))).transpose()
    }

    pub(crate) fn time(&mut self, column: &str) -> Result<Timestamp, StoreError> {
        self.value(column).map(Timestamp::from_micros)
    }

    fn optional_time(&mut self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        self.value::<Option<i64>>(column).map(|micros| micros.map(Timestamp::from_micros))
    }

    pub(crate) fn space(&mut self, tenant_column: &str, id_column: &str) -> Result<Space, StoreError> {
        Ok(Space { tenant: self.parsed::<TenantId>(tenant_column)?, id: self.parsed::<SpaceId>(id_column)? })
    }

    fn unexpected(&self, column: &str, why: impl Display) -> StoreError {
        let id = self.row.get_ref(0).ok().and_then(|value| value.as_str().ok().map(str::to_owned));
        StoreError::new(
            StoreCode::Schema,
            format!(
                "row `{}` of {} has an unexpected `{column}`: {why}; run `doctor`",
                id.unwrap_or_default(),
                self.table
            ),
        )
    }
}

pub(crate) fn space(row: &Row<'_>) -> Result<SpaceRow, JobError> {
    let mut columns = Columns::of("knowledge_spaces", row);
    Ok(SpaceRow {
        space: columns.space("tenant_id", "id")?,
        name: columns.text("name")?,
        lifecycle_state: columns.text("lifecycle_state")?,
        deletion_job: columns.optional_parsed("deletion_job_id")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
    })
}

pub(crate) fn manifest(row: &Row<'_>) -> Result<ManifestRow, JobError> {
    let mut columns = Columns::of("knowledge_space_manifests", row);
    Ok(ManifestRow {
        id: columns.parsed("id")?,
        version: columns.number("manifest_version")?,
        metadata: columns.text("metadata")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
    })
}

/// A revision, or what is wrong with a row of which only id and number can be read.
pub(crate) fn revision_or_corruption(row: &Row<'_>) -> Result<Result<RevisionRow, Corruption>, JobError> {
    Ok(match readable(revision(row))? {
        Ok(revision) => Ok(revision),
        Err(what) => {
            let mut columns = Columns::of("knowledge_space_profile_revisions", row);
            let (id, revision) = (columns.parsed("id")?, columns.number("revision")?);
            Err(Corruption { id, revision, rule: "row", what })
        }
    })
}

pub(crate) fn revision(row: &Row<'_>) -> Result<RevisionRow, JobError> {
    let mut columns = Columns::of("knowledge_space_profile_revisions", row);
    Ok(RevisionRow {
        id: columns.parsed("id")?,
        revision: columns.number("revision")?,
        status: columns.parsed("state")?,
        snapshot: columns.text("snapshot")?,
        snapshot_digest: columns.text("snapshot_digest")?,
        capability_snapshot: columns.text("capability_snapshot")?,
        capability_snapshot_digest: columns.text("capability_snapshot_digest")?,
        plugin_id: columns.text("plugin_id")?,
        provider: columns.text("provider")?,
        model: columns.text("model")?,
        vector_space_id: columns.optional_text("vector_space_id")?,
        dimension: columns.optional_number("dimension")?,
        created_by: columns.text("created_by_subject_id")?,
        activated_by: columns.optional_text("activated_by_subject_id")?,
        failed_by: columns.optional_text("failed_by_subject_id")?,
        failure_code: columns.optional_text("failure_code")?,
        failure_message: columns.optional_text("failure_message")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
        activated_at: columns.optional_time("activated_at")?,
        superseded_at: columns.optional_time("superseded_at")?,
        failed_at: columns.optional_time("failed_at")?,
    })
}

pub(crate) fn head(row: &Row<'_>) -> Result<Head, JobError> {
    let mut columns = Columns::of("knowledge_space_profile_heads", row);
    Ok(Head {
        id: columns.parsed("id")?,
        revision_id: columns.parsed("profile_revision_id")?,
        active_revision: columns.number("active_revision")?,
        row_version: columns.number("row_version")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
    })
}

pub(crate) fn backfill(row: &Row<'_>) -> Result<BackfillRow, JobError> {
    let mut columns = Columns::of("knowledge_space_profile_backfills", row);
    Ok(BackfillRow {
        id: columns.parsed("id")?,
        scope: Scope {
            space: columns.space("tenant_id", "knowledge_space_id")?,
            kind: columns.parsed::<Kind>("kind")?,
        },
        source_manifest_version: columns.number("source_manifest_version")?,
        source_snapshot: columns.text("source_snapshot")?,
        source_snapshot_digest: columns.text("source_snapshot_digest")?,
        status: columns.parsed("run_state")?,
        attempts: columns.number("execution_attempts")?,
        max_attempts: columns.number("max_execution_attempts")?,
        worker: columns.optional_text("worker_id")?,
        lease_token: columns.optional_parsed("lease_token")?,
        lease_expires_at: columns.optional_time("lease_expires_at")?,
        heartbeat_at: columns.optional_time("heartbeat_at")?,
        due_at: columns.time("due_at")?,
        retry_code: columns.optional_text("retry_code")?,
        retry_message: columns.optional_text("retry_message")?,
        last_error_code: columns.optional_text("last_error_code")?,
        last_error_message: columns.optional_text("last_error_message")?,
        row_version: columns.number("row_version")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
        completed_at: columns.optional_time("completed_at")?,
    })
}

/// The values that name a scope's rows.
pub(crate) struct ScopeKey<'s> {
    pub(crate) tenant: &'s str,
    pub(crate) space: String,
    pub(crate) kind: &'static str,
}

impl<'s> From<&'s Scope> for ScopeKey<'s> {
    fn from(scope: &'s Scope) -> Self {
        Self { tenant: scope.space.tenant.as_str(), space: scope.space.id.to_string(), kind: scope.kind.as_str() }
    }
}
