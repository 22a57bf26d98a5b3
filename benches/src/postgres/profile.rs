//! Where the server's time goes, by statement (`pg_stat_statements`).

use throwaway_postgres::Cluster;

/// The database that answers for all.
const DATABASE: &str = "postgres";

pub(super) fn settings() -> Vec<(String, String)> {
    [("shared_preload_libraries", "pg_stat_statements"), ("pg_stat_statements.track_planning", "on")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Forgets what filling the databases took.
pub(super) fn begin(cluster: &Cluster) {
    cluster.sql(DATABASE, "CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()");
}

/// A line for each statement: the database, how often, microseconds of execution and of planning each time, pages of
/// the log, and its text. What follows the last row is not in it: the commit of a statement that stands for itself.
pub(super) fn read(cluster: &Cluster) -> String {
    cluster.sql(
        DATABASE,
        "SELECT
           base.datname, stats.calls, round((stats.mean_exec_time * 1000)::numeric, 1) AS execution,
           round((stats.mean_plan_time * stats.plans / stats.calls * 1000)::numeric, 1) AS planning,
           round(stats.wal_bytes / stats.calls / 1000.0, 1) AS log_kilobytes,
           regexp_replace(left(stats.query, 2000), '\\s+', ' ', 'g')
         FROM pg_stat_statements AS stats JOIN pg_database AS base ON base.oid = stats.dbid
         WHERE stats.calls > 50
         ORDER BY stats.total_exec_time DESC",
    )
}
