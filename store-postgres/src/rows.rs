//! Reading rows: every column is checked, and a wrong one is told by table, row and name.

use std::fmt::Display;
use std::str::FromStr;

use space_profiles_core::{
    BackfillRow, Corruption, Head, Kind, LeaseToken, ManifestRow, RevisionRow, Scope, Space, SpaceRow, StoreCode,
    StoreError, TenantId, Timestamp,
};
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row, Type, ValueRef};
use uuid::Uuid;

use crate::json::JsonText;
use crate::pages::Position;
use crate::time::{Moment, NearestMoment};

/// A list of columns of the row that `$row` names, each with a cast or without. Those that hold JSON have none.
macro_rules! columns {
    ($row:literal: $first:literal $(, $column:literal)*) => {
        concat!($row, ".", $first $(, ", ", $row, ".", $column)*)
    };
}

/// The columns of `knowledge_spaces` in the order in which [`Columns::space_row`] reads them.
macro_rules! space_columns {
    ($row:literal) => {
        $crate::rows::columns!(
            $row: "tenant_id::text", "id", "name::text", "lifecycle_state::text", "deletion_job_id::text",
            "created_at", "updated_at"
        )
    };
}

/// The columns of `knowledge_space_manifests` in the order in which [`Columns::manifest_row`] reads them.
macro_rules! manifest_columns {
    ($row:literal) => {
        $crate::rows::columns!($row: "id::text", "manifest_version", "metadata", "created_at", "updated_at")
    };
}

/// The columns of `knowledge_space_profile_revisions` in the order in which [`Columns::revision_row`] reads them.
macro_rules! revision_columns {
    ($row:literal) => {
        $crate::rows::columns!(
            $row: "id", "revision", "state::text", "snapshot", "snapshot_digest::text",
            "capability_snapshot", "capability_snapshot_digest::text", "plugin_id::text", "provider::text",
            "model::text", "vector_space_id::text", "dimension", "created_by_subject_id::text",
            "activated_by_subject_id::text", "failed_by_subject_id::text", "failure_code::text", "failure_message",
            "created_at", "updated_at", "activated_at", "superseded_at", "failed_at"
        )
    };
}

/// The columns of `knowledge_space_profile_heads` in the order in which [`Columns::head`] reads them.
macro_rules! head_columns {
    ($row:literal) => {
        $crate::rows::columns!($row: "id", "profile_revision_id", "active_revision", "row_version", "created_at", "updated_at")
    };
}

/// The columns of `knowledge_space_profile_backfills` in the order in which [`Columns::backfill_row`] reads them.
macro_rules! backfill_columns {
    ($row:literal) => {
        $crate::rows::columns!(
            $row: "id", "tenant_id::text", "knowledge_space_id", "kind::text", "source_manifest_version",
            "source_snapshot", "source_snapshot_digest::text", "run_state::text", "execution_attempts",
            "max_execution_attempts", "worker_id::text", "lease_token", "lease_expires_at", "heartbeat_at", "due_at",
            "retry_code::text", "retry_message", "last_error_code::text", "last_error_message", "row_version",
            "created_at", "updated_at", "completed_at"
        )
    };
}

pub(crate) use {backfill_columns, columns, head_columns, manifest_columns, revision_columns, space_columns};

/// A row's value, unless its columns hold what they cannot: then a sentence that says so.
pub(crate) fn readable<T>(read: Result<T, StoreError>) -> Result<Result<T, String>, StoreError> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.code == StoreCode::Schema => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// Rows in the order of their first column. The server does not sort rows that may be large: what does not fit its
/// `work_mem` goes into temporary files, for which a full disk has no room.
pub(crate) fn sorted<K>(rows: Vec<PgRow>) -> Result<Vec<PgRow>, StoreError>
where
    K: for<'r> Decode<'r, Postgres> + Type<Postgres> + Ord,
{
    let mut placed = Vec::new();
    for row in rows {
        placed.push((Columns::of(&row).value::<K>("place")?, row));
    }
    placed.sort_by(|(place, _), (other, _)| place.cmp(other));
    Ok(placed.into_iter().map(|(_, row)| row).collect())
}

/// The rows that can be read; a sentence for each that cannot goes to `unreadable`.
pub(crate) fn all_readable<T>(
    rows: &[PgRow],
    read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    unreadable: &mut Vec<String>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    for row in rows {
        match readable(read(&mut Columns::of(row)))? {
            Ok(value) => found.push(value),
            Err(what) => unreadable.push(what),
        }
    }
    Ok(found)
}

/// A row's columns, one after the other.
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
    table: &'static str,
    id: Option<Uuid>,
}

impl<'r> Columns<'r> {
    pub(crate) const fn of(row: &'r PgRow) -> Self {
        Self { row, next: 0, table: "the answer", id: None }
    }

    pub(crate) fn value<T: Decode<'r, Postgres> + Type<Postgres>>(
        &mut self,
        column: &str,
    ) -> Result<T, StoreError> {
        let value = self.row.try_get(self.next).map_err(|error| self.unexpected(column, error));
        self.next += 1;
        value
    }

    /// Whether the next column is null; for a row that an outer join did not find, all of its are.
    fn is_null(&self) -> bool {
        self.row.try_get_raw(self.next).is_ok_and(|value| value.is_null())
    }

    /// What the next `width` columns say, if they are of a row at all.
    pub(crate) fn if_found<T>(
        &mut self,
        width: usize,
        read: impl Fn(&mut Self) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let start = self.next;
        let found = if self.is_null() { Ok(None) } else { read(self).map(Some) };
        self.next = start + width;
        found
    }

    pub(crate) fn parsed<T: FromStr<Err: Display>>(&mut self, column: &str) -> Result<T, StoreError> {
        let text: &str = self.value(column)?;
        text.parse().map_err(|error| self.unexpected(column, error))
    }

    pub(crate) fn number<T: TryFrom<i64, Error: Display>>(&mut self, column: &str) -> Result<T, StoreError> {
        let value: i32 = self.value(column)?;
        T::try_from(i64::from(value)).map_err(|error| self.unexpected(column, error))
    }

    pub(crate) fn optional_number<T: TryFrom<i64, Error: Display>>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        let value: Option<i32> = self.value(column)?;
        value
            .map(|value| T::try_from(i64::from(value)).map_err(|error| self.unexpected(column, error)))
            .transpose()
    }

    fn json(&mut self, column: &str) -> Result<String, StoreError> {
        self.value::<JsonText>(column).map(|json| json.0)
    }

    pub(crate) fn time(&mut self, column: &str) -> Result<Timestamp, StoreError> {
        self.value::<Moment>(column).map(|moment| moment.0)
    }

    fn optional_time(&mut self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        self.value::<Option<Moment>>(column).map(|moment| moment.map(|moment| moment.0))
    }

    fn row_of(&mut self, table: &'static str) -> Result<Uuid, StoreError> {
        self.table = table;
        self.id = None;
        let id = self.value("id")?;
        self.id = Some(id);
        Ok(id)
    }

    /// An id that the other service may keep as any text. That there is one is all that matters of it: where it is no
    /// UUID, the nil one stands for it.
    fn foreign_id(&mut self, column: &str) -> Result<Option<Uuid>, StoreError> {
        let text: Option<&str> = self.value(column)?;
        Ok(text.map(|text| text.parse().unwrap_or(Uuid::nil())))
    }

    /// A time of the other service's, of which only the order matters: one outside of the calendar, or infinity, is
    /// the nearest inside.
    fn foreign_time(&mut self, column: &str) -> Result<Timestamp, StoreError> {
        self.value::<NearestMoment>(column).map(|moment| moment.0)
    }

    /// Where a page goes on after a row, whether it can be read or not: a space's two columns.
    pub(crate) fn position(&mut self) -> Result<Position, StoreError> {
        Ok(Position { tenant: self.value("tenant_id")?, id: self.value("id")? })
    }

    /// A space's two columns.
    pub(crate) fn space(&mut self) -> Result<Space, StoreError> {
        let tenant = self.parsed::<TenantId>("tenant_id")?;
        Ok(Space { tenant, id: self.value::<Uuid>("id")?.into() })
    }

    pub(crate) fn space_row(&mut self) -> Result<SpaceRow, StoreError> {
        self.table = "knowledge_spaces";
        self.id = None;
        let space = self.space()?;
        self.id = Some(space.id.as_uuid());
        Ok(SpaceRow {
            space,
            name: self.value("name")?,
            lifecycle_state: self.value("lifecycle_state")?,
            deletion_job: self.foreign_id("deletion_job_id")?,
            created_at: self.foreign_time("created_at")?,
            updated_at: self.foreign_time("updated_at")?,
        })
    }

    pub(crate) fn manifest_row(&mut self) -> Result<ManifestRow, StoreError> {
        self.table = "knowledge_space_manifests";
        self.id = None;
        let id = self.foreign_id("id")?.unwrap_or(Uuid::nil());
        self.id = Some(id);
        Ok(ManifestRow {
            id: id.into(),
            version: self.number("manifest_version")?,
            metadata: self.json("metadata")?,
            created_at: self.foreign_time("created_at")?,
            updated_at: self.foreign_time("updated_at")?,
        })
    }

    pub(crate) fn revision_row(&mut self) -> Result<RevisionRow, StoreError> {
        let id = self.row_of("knowledge_space_profile_revisions")?;
        Ok(RevisionRow {
            id: id.into(),
            revision: self.number("revision")?,
            status: self.parsed("state")?,
            snapshot: self.json("snapshot")?,
            snapshot_digest: self.value("snapshot_digest")?,
            capability_snapshot: self.json("capability_snapshot")?,
            capability_snapshot_digest: self.value("capability_snapshot_digest")?,
            plugin_id: self.value("plugin_id")?,
            provider: self.value("provider")?,
            model: self.value("model")?,
            vector_space_id: self.value("vector_space_id")?,
            dimension: self.optional_number("dimension")?,
            created_by: self.value("created_by_subject_id")?,
            activated_by: self.value("activated_by_subject_id")?,
            failed_by: self.value("failed_by_subject_id")?,
            failure_code: self.value("failure_code")?,
            failure_message: self.value("failure_message")?,
            created_at: self.time("created_at")?,
            updated_at: self.time("updated_at")?,
            activated_at: self.optional_time("activated_at")?,
            superseded_at: self.optional_time("superseded_at")?,
            failed_at: self.optional_time("failed_at")?,
        })
    }

    /// A revision, or what is wrong with a row of which only id and number can be read.
    pub(crate) fn revision_or_corruption(&mut self) -> Result<Result<RevisionRow, Corruption>, StoreError> {
        let start = self.next;
        Ok(match readable(self.revision_row())? {
            Ok(revision) => Ok(revision),
            Err(what) => {
                self.next = start;
                let id = self.row_of("knowledge_space_profile_revisions")?.into();
                Err(Corruption { id, revision: self.number("revision")?, rule: "row", what })
            }
        })
    }

    pub(crate) fn head(&mut self) -> Result<Head, StoreError> {
        let id = self.row_of("knowledge_space_profile_heads")?;
        Ok(Head {
            id: id.into(),
            revision_id: self.value::<Uuid>("profile_revision_id")?.into(),
            active_revision: self.number("active_revision")?,
            row_version: self.number("row_version")?,
            created_at: self.time("created_at")?,
            updated_at: self.time("updated_at")?,
        })
    }

    pub(crate) fn backfill_row(&mut self) -> Result<BackfillRow, StoreError> {
        let id = self.row_of("knowledge_space_profile_backfills")?;
        Ok(BackfillRow {
            id: id.into(),
            scope: Scope { space: self.space()?, kind: self.parsed::<Kind>("kind")? },
            source_manifest_version: self.number("source_manifest_version")?,
            source_snapshot: self.json("source_snapshot")?,
            source_snapshot_digest: self.value("source_snapshot_digest")?,
            status: self.parsed("run_state")?,
            attempts: self.count("execution_attempts")?,
            max_attempts: self.count("max_execution_attempts")?,
            worker: self.value("worker_id")?,
            lease_token: self.lease_token()?,
            lease_expires_at: self.optional_time("lease_expires_at")?,
            heartbeat_at: self.optional_time("heartbeat_at")?,
            due_at: self.time("due_at")?,
            retry_code: self.value("retry_code")?,
            retry_message: self.value("retry_message")?,
            last_error_code: self.value("last_error_code")?,
            last_error_message: self.value("last_error_message")?,
            row_version: self.number("row_version")?,
            created_at: self.time("created_at")?,
            updated_at: self.time("updated_at")?,
            completed_at: self.optional_time("completed_at")?,
        })
    }

    fn count(&mut self, column: &str) -> Result<u32, StoreError> {
        self.number(column)
    }

    fn lease_token(&mut self) -> Result<Option<LeaseToken>, StoreError> {
        let token: Option<Uuid> = self.value("lease_token")?;
        token.map(|token| token.try_into().map_err(|error| self.unexpected("lease_token", error))).transpose()
    }

    pub(crate) fn space_row_if_found(&mut self) -> Result<Option<SpaceRow>, StoreError> {
        self.if_found(7, Self::space_row)
    }

    pub(crate) fn manifest_row_if_found(&mut self) -> Result<Option<ManifestRow>, StoreError> {
        self.if_found(5, Self::manifest_row)
    }

    pub(crate) fn revision_row_if_found(&mut self) -> Result<Option<RevisionRow>, StoreError> {
        self.if_found(22, Self::revision_row)
    }

    pub(crate) fn revision_or_corruption_if_found(
        &mut self,
    ) -> Result<Option<Result<RevisionRow, Corruption>>, StoreError> {
        self.if_found(22, Self::revision_or_corruption)
    }

    pub(crate) fn head_if_found(&mut self) -> Result<Option<Head>, StoreError> {
        self.if_found(6, Self::head)
    }

    pub(crate) fn backfill_row_if_found(&mut self) -> Result<Option<BackfillRow>, StoreError> {
        self.if_found(23, Self::backfill_row)
    }

    fn unexpected(&self, column: &str, why: impl Display) -> StoreError {
        let id = self.id.map(|id| id.to_string()).unwrap_or_default();
        StoreError::new(
            StoreCode::Schema,
            format!("row `{id}` of {} has an unexpected `{column}`: {why}; run `doctor`", self.table),
        )
    }
}
