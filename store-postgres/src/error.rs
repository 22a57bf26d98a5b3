//! What Postgres's errors mean to a store.

use space_profiles_core::{Applied, StoreCode, StoreError};
use sqlx::Error as SqlxError;
use sqlx::postgres::PgDatabaseError;

/// Unique constraints and indexes that the rows of a scope or a space share, and the foreign keys to a space or to
/// a head's revision: whoever hits one learns that somebody else was first. The seed leaves the names of foreign keys
/// to the server.
const SHARED_CONSTRAINTS: [&str; 14] = [
    "knowledge_space_manifests_space_uq",
    "knowledge_space_manifests_tenant_id_knowledge_space_id_fkey",
    "knowledge_space_profile_backf_tenant_id_knowledge_space_id_fkey",
    "knowledge_space_profile_backfills_source_uq",
    "knowledge_space_profile_head_tenant_id_knowledge_space_id_fkey1",
    "knowledge_space_profile_heads_scope_uq",
    "knowledge_space_profile_heads_tenant_id_knowledge_space_id_fkey",
    "knowledge_space_profile_revis_tenant_id_knowledge_space_id_fkey",
    "knowledge_space_profile_revisions_attempt_fk_uq",
    "knowledge_space_profile_revisions_head_fk_uq",
    "knowledge_space_profile_revisions_one_active_uq",
    "knowledge_space_profile_revisions_one_candidate_uq",
    "knowledge_space_profile_revisions_scope_revision_uq",
    "knowledge_spaces_pkey",
];

/// The primary key of the revisions.
const REVISION_KEY: &str = "knowledge_space_profile_revisions_pkey";

/// The SQLSTATE of an error that the server told.
fn sqlstate(error: &SqlxError) -> Option<&str> {
    postgres_error(error).map(PgDatabaseError::code)
}

fn postgres_error(error: &SqlxError) -> Option<&PgDatabaseError> {
    error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()
}

/// Whether a statement failed only because of what ran beside it: the whole of it may be tried again.
pub(crate) fn is_conflict(error: &SqlxError) -> bool {
    matches!(sqlstate(error), Some("40001" | "40P01"))
}

/// Whether the connection is gone, with or without a last word of the server.
pub(crate) fn is_lost(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(_) | SqlxError::Protocol(_) | SqlxError::WorkerCrashed => true,
        _ => matches!(
            sqlstate(error),
            Some(
                "57P01" | "57P02" | "57P03" | "57P05" | "08000" | "08001" | "08003" | "08004" | "08006" | "08P01"
            )
        ),
    }
}

/// What a write that the server refused comes to: a constraint tells what somebody else did.
pub(crate) fn refused_write(error: &SqlxError) -> Result<Applied, StoreError> {
    if is_conflict(error) {
        return Ok(Applied::Stale);
    }
    match (sqlstate(error), postgres_error(error).and_then(PgDatabaseError::constraint)) {
        (Some("23505"), Some(REVISION_KEY)) => Ok(Applied::RevisionIdTaken),
        (Some("23505" | "23503"), Some(name)) if SHARED_CONSTRAINTS.contains(&name) => Ok(Applied::Stale),
        _ => Err(store_error(error)),
    }
}

/// A write whose fate is unknown, because the connection was lost before its reply came.
pub(crate) fn outcome_unknown(error: &SqlxError) -> StoreError {
    let message = format!(
        "the connection was lost before the reply to a write came ({}); repeat the same command, which recognises \
         its own work",
        reason(error)
    );
    StoreError::new(StoreCode::OutcomeUnknown, message)
}

/// Sorts an error of the driver or the server into the store's codes.
pub(crate) fn store_error(error: &SqlxError) -> StoreError {
    let why = reason(error);
    let (code, message) = match error {
        SqlxError::PoolTimedOut => (
            StoreCode::Busy,
            "expected a free connection within the acquire time-out, found all of the pool in use; try again, or \
             allow more with `max_connections`"
                .to_owned(),
        ),
        SqlxError::PoolClosed => {
            (StoreCode::Unavailable, "expected an open store, found one that is closed; open it again".to_owned())
        }
        SqlxError::Configuration(_)
        | SqlxError::Tls(_)
        | SqlxError::Io(_)
        | SqlxError::Protocol(_)
        | SqlxError::WorkerCrashed => (StoreCode::Unavailable, unreachable(&why)),
        _ => match sqlstate(error) {
            Some(state) => server_error(state, &why),
            None => (StoreCode::Schema, unexpected(&why)),
        },
    };
    StoreError::new(code, message)
}

fn server_error(state: &str, why: &str) -> (StoreCode, String) {
    match state {
        "40001" | "40P01" => (
            StoreCode::Busy,
            format!(
                "expected to be alone with the rows at last, found other writers each time ({why}); try again"
            ),
        ),
        "55P03" => (
            StoreCode::Busy,
            format!("expected the rows to be free within the lock time-out, found them locked ({why}); try again"),
        ),
        "57014" => (
            StoreCode::Busy,
            format!("expected an answer within the statement time-out, found none ({why}); try again"),
        ),
        "53300" => (
            StoreCode::Busy,
            format!("expected a free connection, found that the server has none left ({why}); try again"),
        ),
        "25006" => (
            StoreCode::ReadOnly,
            format!("expected a server that takes writes ({why}); connect to the primary, not to a standby"),
        ),
        "53100" => (
            StoreCode::Full,
            format!("expected room for the change, found none ({why}); free some space, then repeat the command"),
        ),
        "42P01" | "42703" | "42883" | "3F000" => (
            StoreCode::Schema,
            format!(
                "expected the schema of space-profiles, found that it is missing or old ({why}); run `space-profiles migrate`"
            ),
        ),
        "42501" => (
            StoreCode::Schema,
            format!(
                "expected the grants that space-profiles needs, found one missing ({why}); GRANT SELECT, INSERT, UPDATE, DELETE \
                 on the table to this role (a lock on a row takes UPDATE), and USAGE on its schema"
            ),
        ),
        "42P05" | "26000" => (
            StoreCode::Unavailable,
            format!(
                "expected a server connection of one's own, found a shared one ({why}); behind a pooler add `?pgbouncer=true` to the URL"
            ),
        ),
        _ if state.starts_with("28") || state == "3D000" => (
            StoreCode::Unavailable,
            format!("the server refuses the connection ({why}); check user, password, database and pg_hba.conf"),
        ),
        _ if state.starts_with("08")
            || state.starts_with("57P")
            || state.starts_with("53")
            || state.starts_with("58") =>
        {
            (StoreCode::Unavailable, unreachable(why))
        }
        _ => (StoreCode::Schema, unexpected(why)),
    }
}

fn unreachable(why: &str) -> String {
    let advice = if why.contains("unsupported startup parameter") {
        "behind PgBouncer add `?pgbouncer=true` to the URL"
    } else {
        "check that it runs, and host, port and sslmode of the URL"
    };
    format!("expected to reach the Postgres server, failed ({why}); {advice}")
}

fn unexpected(why: &str) -> String {
    format!("the database is not of the expected shape ({why}); run `doctor` for what differs")
}

/// The error in words. Neither the server nor the driver repeats a password in those that are let through here;
/// what an error of the configuration quotes may be the URL itself.
fn reason(error: &SqlxError) -> String {
    match (error, postgres_error(error)) {
        (SqlxError::Configuration(_), _) => "the connection settings are not valid".to_owned(),
        (_, Some(told)) => format!("{}, SQLSTATE {}", told.message(), told.code()),
        (error, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::str::FromStr as _;

    use sqlx::Connection as _;
    use sqlx::postgres::{PgConnectOptions, PgConnection};
    use throwaway_postgres::shared;

    use super::*;

    #[tokio::test]
    async fn every_constraint_that_others_may_have_hit_first_is_known_by_its_name() {
        shared().create_database("constraints");
        let options = PgConnectOptions::from_str(&shared().url("constraints")).unwrap();
        crate::schema::migrate(&options).await.unwrap();
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        // All but the primary keys of ids that callers make.
        const SQL: &str = "
            SELECT conname::text FROM pg_constraint
            WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
            UNION
            SELECT relname::text
            FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE
              indisunique AND relnamespace = current_schema()::regnamespace
              AND relname LIKE 'knowledge%' AND NOT (relname LIKE '%\\_pkey' AND relname <> 'knowledge_spaces_pkey')";
        let found: Vec<String> = sqlx::query_scalar(SQL).fetch_all(&mut connection).await.unwrap();
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, BTreeSet::from(SHARED_CONSTRAINTS));
    }
}
