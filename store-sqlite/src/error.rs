//! What SQLite's errors mean to a store.

use rusqlite::{Error as SqliteError, ErrorCode, ffi};
use space_profiles_core::{StoreCode, StoreError};

/// Why a job on the connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// What SQLite answered is not what a store holds.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<JobError> for StoreError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Sqlite(error) => store_error(&error),
            JobError::Store(error) => error,
        }
    }
}

/// Which constraint a write hit, as far as that tells what somebody else did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    /// One that the rows of a scope or a space share, so somebody else was first; or its space is gone.
    Scope,
    /// The primary key of the revisions.
    RevisionId,
}

impl Constraint {
    /// `None`: another one, or no constraint at all.
    pub(crate) fn of(error: &SqliteError) -> Option<Self> {
        let SqliteError::SqliteFailure(failure, Some(message)) = error else { return None };
        // SQLite names the columns of a unique constraint, not the constraint.
        let columns = message.strip_prefix("UNIQUE constraint failed: ");
        match failure.extended_code {
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Some(Self::Scope),
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY if columns == Some("knowledge_space_profile_revisions.id") => {
                Some(Self::RevisionId)
            }
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_UNIQUE
                if columns.is_some_and(|columns| columns.contains(".tenant_id, ")) =>
            {
                Some(Self::Scope)
            }
            _ => None,
        }
    }
}

/// Sorts an error of SQLite into the store's codes.
pub(crate) fn store_error(error: &SqliteError) -> StoreError {
    let (code, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            StoreCode::Busy,
            "expected the database to be free within the busy timeout, found it locked by another connection; \
             try again, or give `?busy_timeout_ms=N` in the store's URL"
                .to_owned(),
        ),
        Some(ErrorCode::ReadOnly) => (
            StoreCode::ReadOnly,
            format!("expected a database that takes writes ({error}); make the file and its folder writable"),
        ),
        Some(ErrorCode::DiskFull) => (
            StoreCode::Full,
            format!(
                "expected room for the change, found none ({error}); free some space, then repeat the command"
            ),
        ),
        Some(ErrorCode::NotADatabase) => (
            StoreCode::Unavailable,
            "expected an SQLite database, found a file that is not one; check the path".to_owned(),
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            StoreCode::Unavailable,
            format!("expected a sound SQLite database, found a damaged one ({error}); restore it from a copy"),
        ),
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport,
        ) => (
            StoreCode::Unavailable,
            format!("the database cannot be reached ({error}); check its path, its permissions and its disk"),
        ),
        _ => (
            StoreCode::Schema,
            format!("the database is not of the expected shape ({error}); run `doctor` for what differs"),
        ),
    };
    StoreError::new(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(extended_code: i32, message: &str) -> SqliteError {
        SqliteError::SqliteFailure(ffi::Error::new(extended_code), Some(message.to_owned()))
    }

    #[test]
    fn every_sort_of_failure_has_its_code() {
        for (extended_code, code) in [
            (ffi::SQLITE_BUSY, StoreCode::Busy),
            (ffi::SQLITE_BUSY_SNAPSHOT, StoreCode::Busy),
            (ffi::SQLITE_LOCKED, StoreCode::Busy),
            (ffi::SQLITE_READONLY, StoreCode::ReadOnly),
            (ffi::SQLITE_READONLY_DBMOVED, StoreCode::ReadOnly),
            (ffi::SQLITE_FULL, StoreCode::Full),
            (ffi::SQLITE_CANTOPEN, StoreCode::Unavailable),
            (ffi::SQLITE_IOERR_WRITE, StoreCode::Unavailable),
            (ffi::SQLITE_NOTADB, StoreCode::Unavailable),
            (ffi::SQLITE_CORRUPT, StoreCode::Unavailable),
            (ffi::SQLITE_CONSTRAINT_CHECK, StoreCode::Schema),
            (ffi::SQLITE_ERROR, StoreCode::Schema),
        ] {
            assert_eq!(store_error(&failure(extended_code, "why")).code, code, "{extended_code}");
        }
    }

    #[test]
    fn only_constraints_of_a_scope_and_ids_of_revisions_tell_what_somebody_did() {
        let unique = |columns: &str| format!("UNIQUE constraint failed: {columns}");
        let heads = "knowledge_space_profile_heads";
        let scope = unique(&format!("{heads}.tenant_id, {heads}.knowledge_space_id, {heads}.kind"));
        for (extended_code, message, constraint) in [
            (ffi::SQLITE_CONSTRAINT_UNIQUE, scope, Some(Constraint::Scope)),
            (
                ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
                "FOREIGN KEY constraint failed".to_owned(),
                Some(Constraint::Scope),
            ),
            (
                ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
                unique("knowledge_space_profile_revisions.id"),
                Some(Constraint::RevisionId),
            ),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, unique("knowledge_space_profile_heads.id"), None),
            (ffi::SQLITE_CONSTRAINT_CHECK, "CHECK constraint failed: a, b".to_owned(), None),
        ] {
            assert_eq!(Constraint::of(&failure(extended_code, &message)), constraint, "{message}");
        }
    }
}
