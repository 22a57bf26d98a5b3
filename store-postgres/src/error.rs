//! What Postgres's errors mean to a store.

use space_profiles_core::{Applied, StoreCode, StoreError};
use sqlx::Error as SqlxError;
use sqlx::postgres::PgDatabaseError;

/// Unique constraints and indexes that the rows of a scope or a space share: whoever hits one learns that somebody
/// else was first.
const SHARED_UNIQUES: [&str; 8] = [
    "knowledge_space_manifests_space_uq",
    "knowledge_space_profile_backfills_source_uq",
    "knowledge_space_profile_heads_scope_uq",
    "knowledge_space_profile_revisions_attempt_fk_uq",
    "knowledge_space_profile_revisions_head_fk_uq",
    "knowledge_space_profile_revisions_one_active_uq",
    "knowledge_space_profile_revisions_one_candidate_uq",
    "knowledge_space_profile_revisions_scope_revision_uq",
];

/// The tables whose foreign keys lead to a space, or from a head to its revision. Postgres names such keys itself, not
/// everywhere alike, so a hit is told by its table: the space is gone, or has got rows since it was looked at.
const DEPENDENT_TABLES: [&str; 4] = [
    "knowledge_space_manifests",
    "knowledge_space_profile_backfills",
    "knowledge_space_profile_heads",
    "knowledge_space_profile_revisions",
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

/// Whether a statement failed because it writes or locks, which a mere look would not: the server takes no writes, the
/// role may not write, or somebody holds a lock for too long.
pub(crate) fn forbids_writing(error: &SqlxError) -> bool {
    matches!(sqlstate(error), Some("25006" | "42501" | "55P03"))
}

/// Whether the connection is gone, with or without a last word of the server.
pub(crate) fn is_lost(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(_) | SqlxError::Protocol(_) | SqlxError::WorkerCrashed => true,
        _ => matches!(
            sqlstate(error),
            Some(
                "25P03"
                    | "25P04"
                    | "57P01"
                    | "57P02"
                    | "57P03"
                    | "57P05"
                    | "08000"
                    | "08001"
                    | "08003"
                    | "08004"
                    | "08006"
                    | "08P01"
            )
        ),
    }
}

/// What a write that the server refused comes to: a constraint tells what somebody else did.
pub(crate) fn refused_write(error: &SqlxError) -> Result<Applied, StoreError> {
    if is_conflict(error) {
        return Ok(Applied::Stale);
    }
    let Some(told) = postgres_error(error) else { return Err(store_error(error)) };
    let constraint = told.constraint().unwrap_or_default();
    match told.code() {
        "23505" if constraint == REVISION_KEY => Ok(Applied::RevisionIdTaken),
        "23505" if SHARED_UNIQUES.contains(&constraint) => Ok(Applied::Stale),
        // From version 18 on, ON DELETE RESTRICT has a code of its own, which our triggers use too.
        "23503" | "23001"
            if told.table().is_some_and(|table| DEPENDENT_TABLES.contains(&table))
                && !constraint.ends_with("_immutable_tr") =>
        {
            Ok(Applied::Stale)
        }
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
            format!(
                "expected a server that takes writes ({why}); connect to the primary, as a role whose transactions may write"
            ),
        ),
        "53100" => (
            StoreCode::Full,
            format!("expected room for the change, found none ({why}); free some space, then repeat the command"),
        ),
        "53400" => (
            StoreCode::Full,
            format!(
                "expected to stay within what the server allows, found a limit of its settings reached ({why}); raise it, then repeat the command"
            ),
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

    use super::*;

    #[test]
    fn the_constraints_that_tell_what_somebody_did_are_all_the_unique_ones_of_the_schema() {
        let catalog = include_str!("schema/expected.tsv");
        let names = catalog.lines().filter_map(|line| line.split('\t').nth(3));
        let uniques: BTreeSet<&str> = names.filter(|name| name.ends_with("_uq")).collect();
        let of_manifests = "knowledge_space_manifests_space_uq";
        assert!(include_str!("schema/migrations/0001_spaces.sql").contains(of_manifests));
        assert_eq!(SHARED_UNIQUES.into_iter().collect::<BTreeSet<_>>(), &uniques | &[of_manifests].into());
        assert!(catalog.contains(REVISION_KEY));
    }

    #[test]
    fn what_the_server_says_has_a_code_of_ours() {
        use StoreCode::{Busy, Full, ReadOnly, Schema, Unavailable};
        for (state, code) in [
            ("40001", Busy),
            ("40P01", Busy),
            ("55P03", Busy),
            ("57014", Busy),
            ("53300", Busy),
            ("25006", ReadOnly),
            ("53100", Full),
            ("53400", Full),
            ("53200", Unavailable),
            ("42P01", Schema),
            ("42703", Schema),
            ("3F000", Schema),
            ("42501", Schema),
            ("23514", Schema),
            ("22P02", Schema),
            ("XX000", Schema),
            ("28P01", Unavailable),
            ("28000", Unavailable),
            ("3D000", Unavailable),
            ("57P01", Unavailable),
            ("57P03", Unavailable),
            ("08006", Unavailable),
            ("58030", Unavailable),
            ("26000", Unavailable),
            ("42P05", Unavailable),
        ] {
            let (found, message) = server_error(state, "why");
            assert_eq!(found, code, "{state}: {message}");
            assert!(message.contains("why"), "{state}: {message}");
        }
    }

    #[test]
    fn what_the_driver_says_has_a_code_of_ours_and_settings_are_not_repeated() {
        let configuration = SqlxError::Configuration("postgres://app:hunter2@db/platform".into());
        for (error, code) in [
            (SqlxError::PoolTimedOut, StoreCode::Busy),
            (SqlxError::PoolClosed, StoreCode::Unavailable),
            (SqlxError::WorkerCrashed, StoreCode::Unavailable),
            (SqlxError::Protocol("unexpected message".to_owned()), StoreCode::Unavailable),
            (SqlxError::Io(std::io::ErrorKind::ConnectionReset.into()), StoreCode::Unavailable),
            (SqlxError::ColumnNotFound("revision".to_owned()), StoreCode::Schema),
            (configuration, StoreCode::Unavailable),
        ] {
            let told = store_error(&error);
            assert_eq!(told.code, code, "{told}");
            assert!(!told.message.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn only_a_lost_connection_leaves_the_outcome_open() {
        for error in [
            SqlxError::Io(std::io::ErrorKind::BrokenPipe.into()),
            SqlxError::Protocol("unexpected end".to_owned()),
            SqlxError::WorkerCrashed,
        ] {
            assert!(is_lost(&error), "{error}");
            assert_eq!(outcome_unknown(&error).code, StoreCode::OutcomeUnknown);
        }
        for error in [SqlxError::PoolTimedOut, SqlxError::PoolClosed, SqlxError::RowNotFound] {
            assert!(!is_lost(&error), "{error}");
        }
    }
}
