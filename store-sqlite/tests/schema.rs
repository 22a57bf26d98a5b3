//! The schema refuses what the contract refuses, whoever writes.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use space_profiles_core::{SpaceId, Store};
use space_profiles_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

const SPACES: &str = "knowledge_spaces";
const MANIFESTS: &str = "knowledge_space_manifests";
const REVISIONS: &str = "knowledge_space_profile_revisions";
const HEADS: &str = "knowledge_space_profile_heads";
const BACKFILLS: &str = "knowledge_space_profile_backfills";

type Column = (&'static str, Value);

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn long(length: usize) -> Value {
    Value::Text("x".repeat(length))
}

fn integer(value: i64) -> Value {
    Value::Integer(value)
}

fn id(number: u128) -> Value {
    Value::Text(SpaceId::from(uuid::Uuid::from_u128(number)).to_string())
}

fn sound_row(table: &str) -> Vec<Column> {
    let mut row = vec![("tenant_id", text("acme")), ("created_at", integer(0)), ("updated_at", integer(0))];
    match table {
        SPACES => row.extend([("id", id(1)), ("name", text("")), ("lifecycle_state", text("active"))]),
        MANIFESTS => row.extend([
            ("id", id(2)),
            ("knowledge_space_id", id(1)),
            ("manifest_version", integer(1)),
            ("metadata", text("{}")),
        ]),
        REVISIONS => row.extend([
            ("id", id(3)),
            ("knowledge_space_id", id(1)),
            ("kind", text("embedding")),
            ("revision", integer(1)),
            ("state", text("candidate")),
            ("snapshot", text("{}")),
            ("snapshot_digest", long(64)),
            ("capability_snapshot", text("{}")),
            ("capability_snapshot_digest", long(64)),
            ("plugin_id", text("p")),
            ("provider", text("o")),
            ("model", text("m")),
            ("vector_space_id", text("v")),
            ("dimension", integer(8)),
            ("created_by_subject_id", text("user:ann")),
        ]),
        HEADS => row.extend([
            ("id", id(4)),
            ("knowledge_space_id", id(1)),
            ("kind", text("embedding")),
            ("profile_revision_id", id(3)),
            ("active_revision", integer(1)),
            ("row_version", integer(1)),
        ]),
        _ => row.extend([
            ("id", id(5)),
            ("knowledge_space_id", id(1)),
            ("kind", text("embedding")),
            ("source_manifest_version", integer(1)),
            ("source_snapshot", text("{}")),
            ("source_snapshot_digest", long(64)),
            ("run_state", text("queued")),
            ("execution_attempts", integer(0)),
            ("max_execution_attempts", integer(3)),
            ("row_version", integer(1)),
        ]),
    }
    row
}

fn insert(connection: &Connection, table: &str, changed: &[Column]) -> rusqlite::Result<usize> {
    let mut row = sound_row(table);
    for (name, value) in changed {
        row.retain(|(known, _)| known != name);
        row.push((name, value.clone()));
    }
    let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", names.join(", "));
    connection.execute(&sql, params_from_iter(row.into_iter().map(|(_, value)| value)))
}

/// A fresh file, and another program's connection to it.
fn migrated() -> (TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    drop(SqliteStore::open(&SqliteOptions::file(&path)).unwrap());
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    (folder, connection)
}

/// With one sound row in every table.
fn filled() -> (TempDir, Connection) {
    let (folder, connection) = migrated();
    for table in [SPACES, MANIFESTS, REVISIONS, HEADS, BACKFILLS] {
        insert(&connection, table, &[]).unwrap();
    }
    (folder, connection)
}

#[track_caller]
fn assert_refused(result: rusqlite::Result<usize>, why: &str) {
    let error = result.expect_err(&format!("expected a refusal for {why}")).to_string();
    assert!(error.contains(why), "expected `{why}`, found `{error}`");
}

#[test]
fn every_check_refuses() {
    let (_folder, connection) = migrated();
    insert(&connection, SPACES, &[]).unwrap();
    let revisions = "knowledge_space_profile_revisions";
    let cases: Vec<(&str, Vec<Column>, &str)> = vec![
        (SPACES, vec![("tenant_id", text(""))], "length_ck"),
        (SPACES, vec![("tenant_id", long(256))], "length_ck"),
        (SPACES, vec![("id", text("018F0D60-7A49-7CC2-9C1B-5B36F18F3A40"))], "uuid_ck"),
        (SPACES, vec![("id", text("018f0d607a497cc29c1b5b36f18f3a40"))], "uuid_ck"),
        (SPACES, vec![("id", text("018f0d60-7a49-7cc2-9c1b-5b36f18f3-40"))], "uuid_ck"),
        (SPACES, vec![("deletion_job_id", text("soon"))], "uuid_ck"),
        (MANIFESTS, vec![("manifest_version", integer(0))], "integer_ck"),
        (MANIFESTS, vec![("tenant_id", long(256))], "length_ck"),
        (MANIFESTS, vec![("id", text("m"))], "uuid_ck"),
        (MANIFESTS, vec![("metadata", text("{"))], "json_ck"),
        (REVISIONS, vec![("kind", text("rerank"))], "kind_ck"),
        (REVISIONS, vec![("state", text("draft"))], "state_ck"),
        (REVISIONS, vec![("revision", integer(0))], "positive_ck"),
        (REVISIONS, vec![("dimension", integer(0))], "positive_ck"),
        (REVISIONS, vec![("vector_space_id", Value::Null)], "vector_shape_ck"),
        (REVISIONS, vec![("dimension", Value::Null)], "vector_shape_ck"),
        (REVISIONS, vec![("kind", text("retrieval"))], "vector_shape_ck"),
        (REVISIONS, vec![("state", text("active"))], "lifecycle_ck"),
        (REVISIONS, vec![("activated_at", integer(0))], "lifecycle_ck"),
        (REVISIONS, vec![("state", text("superseded")), ("activated_at", integer(0))], "lifecycle_ck"),
        (REVISIONS, vec![("state", text("failed")), ("failed_at", integer(0))], "lifecycle_ck"),
        (REVISIONS, vec![("id", text("r"))], "uuid_ck"),
        (REVISIONS, vec![("snapshot", text("nothing"))], "json_ck"),
        (REVISIONS, vec![("capability_snapshot", text(""))], "json_ck"),
        (HEADS, vec![("kind", text("rerank"))], "kind_ck"),
        (HEADS, vec![("row_version", integer(0))], "positive_ck"),
        (HEADS, vec![("active_revision", integer(0))], "positive_ck"),
        (HEADS, vec![("tenant_id", long(256))], "length_ck"),
        (HEADS, vec![("profile_revision_id", text("r"))], "uuid_ck"),
        (BACKFILLS, vec![("kind", text("rerank"))], "kind_ck"),
        (BACKFILLS, vec![("run_state", text("waiting"))], "state_ck"),
        (BACKFILLS, vec![("source_manifest_version", integer(0))], "positive_ck"),
        (BACKFILLS, vec![("execution_attempts", integer(4))], "positive_ck"),
        (BACKFILLS, vec![("execution_attempts", integer(-1))], "positive_ck"),
        (BACKFILLS, vec![("max_execution_attempts", integer(0))], "positive_ck"),
        (BACKFILLS, vec![("row_version", integer(0))], "positive_ck"),
        (BACKFILLS, vec![("worker_id", text("w"))], "lease_ck"),
        (BACKFILLS, vec![("run_state", text("running"))], "lease_ck"),
        (BACKFILLS, vec![("run_state", text("succeeded"))], "lifecycle_ck"),
        (BACKFILLS, vec![("run_state", text("failed")), ("completed_at", integer(0))], "lifecycle_ck"),
        (BACKFILLS, vec![("last_error_code", text("C"))], "lifecycle_ck"),
        (BACKFILLS, running(id(0)), "lease_token_ck"),
        (BACKFILLS, running(text("token")), "uuid_ck"),
        (BACKFILLS, vec![("retry_code", long(65))], "length_ck"),
        (BACKFILLS, vec![("source_snapshot", text("{"))], "json_ck"),
    ];
    let mut refusing = BTreeSet::new();
    for (table, changed, rule) in cases {
        let constraint = format!("{table}_{rule}");
        assert_refused(insert(&connection, table, &changed), &constraint);
        refusing.insert(constraint);
    }
    // g2_10 and g2_18 show these.
    refusing.extend([format!("{revisions}_length_ck"), format!("{revisions}_integer_ck")]);
    refusing.extend([format!("{HEADS}_integer_ck"), format!("{BACKFILLS}_integer_ck")]);
    assert_eq!(refusing, checks(&connection), "a CHECK that no case shows");
}

fn running(token: Value) -> Vec<Column> {
    vec![
        ("run_state", text("running")),
        ("worker_id", text("w")),
        ("lease_token", token),
        ("lease_expires_at", integer(1)),
        ("heartbeat_at", integer(0)),
    ]
}

fn checks(connection: &Connection) -> BTreeSet<String> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_master WHERE type = 'table'").unwrap();
    let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let constraints = tables.iter().flat_map(|sql| sql.split("CONSTRAINT \"").skip(1));
    constraints
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| name.ends_with("_ck"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn g2_10_lengths_and_types_are_enforced() {
    let (_folder, connection) = migrated();
    insert(&connection, SPACES, &[]).unwrap();
    let length = "knowledge_space_profile_revisions_length_ck";
    for column in ["plugin_id", "provider", "model"] {
        assert_refused(insert(&connection, REVISIONS, &[(column, long(257))]), length);
    }
    for column in ["snapshot_digest", "capability_snapshot_digest"] {
        for wrong in [text("ab"), long(63), long(65)] {
            assert_refused(insert(&connection, REVISIONS, &[(column, wrong)]), length);
        }
    }
    for column in ["created_by_subject_id", "activated_by_subject_id", "failed_by_subject_id", "tenant_id"] {
        assert_refused(insert(&connection, REVISIONS, &[(column, long(256))]), length);
    }
    assert_refused(insert(&connection, REVISIONS, &[("vector_space_id", long(88))]), length);
    let failed = [
        ("state", text("failed")),
        ("failed_at", integer(0)),
        ("failure_message", text("why")),
        ("failure_code", long(65)),
    ];
    assert_refused(insert(&connection, REVISIONS, &failed), length);
    for (column, wrong) in [("dimension", text("12abc")), ("revision", text("one")), ("created_at", text("now"))] {
        assert_refused(
            insert(&connection, REVISIONS, &[(column, wrong)]),
            "cannot store TEXT value in INTEGER column",
        );
    }
    insert(&connection, REVISIONS, &[("model", Value::Text("\u{1F600}".repeat(256)))]).unwrap();
}

#[test]
fn g2_13_times_are_integers_so_text_order_cannot_decide_a_lease() {
    let (_folder, connection) = migrated();
    insert(&connection, SPACES, &[]).unwrap();
    for column in ["due_at", "created_at", "updated_at"] {
        let result = insert(&connection, BACKFILLS, &[(column, text("2026-07-14T12:00:00.500Z"))]);
        assert_refused(result, "cannot store TEXT value in INTEGER column");
    }
    insert(&connection, BACKFILLS, &[]).unwrap();
    let due: i64 = connection.query_row(&format!("SELECT due_at FROM {BACKFILLS}"), [], |row| row.get(0)).unwrap();
    assert!(due > 1_700_000_000_000_000, "a row of another writer is due now, found {due}");
}

#[tokio::test]
async fn g2_16_foreign_keys_are_on_for_every_connection() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::file(folder.path().join("profiles.db"));
    let stores: Vec<SqliteStore> = (0..3).map(|_| SqliteStore::open(&options).unwrap()).collect();
    stores[0].with_connection(|connection| insert(connection, SPACES, &[])).await.unwrap();
    for store in &stores {
        for table in [REVISIONS, MANIFESTS, BACKFILLS] {
            let result =
                store.with_connection(|connection| insert(connection, table, &[("tenant_id", text("other"))]));
            assert!(result.await.unwrap_err().message.contains("FOREIGN KEY constraint failed"), "{table}");
        }
        let headless = store.with_connection(|connection| insert(connection, HEADS, &[])).await.unwrap_err();
        assert!(headless.message.contains("FOREIGN KEY constraint failed"), "{headless}");
    }
}

#[test]
fn g2_18_integers_end_where_those_of_postgres_do() {
    let (_folder, connection) = migrated();
    insert(&connection, SPACES, &[]).unwrap();
    for (table, column) in [
        (REVISIONS, "dimension"),
        (REVISIONS, "revision"),
        (MANIFESTS, "manifest_version"),
        (HEADS, "active_revision"),
        (HEADS, "row_version"),
        (BACKFILLS, "source_manifest_version"),
        (BACKFILLS, "max_execution_attempts"),
        (BACKFILLS, "row_version"),
    ] {
        assert_refused(
            insert(&connection, table, &[(column, integer(2_147_483_648))]),
            &format!("{table}_integer_ck"),
        );
    }
    let last = integer(2_147_483_647);
    insert(&connection, REVISIONS, &[("dimension", last.clone()), ("revision", last)]).unwrap();
}

#[test]
fn a_scope_has_one_candidate_one_active_revision_one_head_and_each_number_once() {
    let (_folder, connection) = filled();
    let another = |number| ("revision", integer(number));
    let fresh_id = ("id", id(30));
    assert_refused(insert(&connection, REVISIONS, &[fresh_id.clone(), another(2)]), "UNIQUE constraint failed");
    let active = [("state", text("active")), ("activated_at", integer(0))];
    let [state, activated] = active.clone();
    insert(&connection, REVISIONS, &[fresh_id, another(2), state, activated]).unwrap();
    let [state, activated] = active;
    let second = insert(&connection, REVISIONS, &[("id", id(31)), another(3), state, activated]);
    assert_refused(second, "UNIQUE constraint failed");
    let failed = [
        ("id", id(32)),
        ("state", text("failed")),
        ("failed_at", integer(0)),
        ("failure_code", text("C")),
        ("failure_message", text("why")),
    ];
    assert_refused(insert(&connection, REVISIONS, &failed), "knowledge_space_profile_revisions.revision");
    assert_refused(insert(&connection, HEADS, &[("id", id(40))]), "UNIQUE constraint failed");
    assert_refused(insert(&connection, BACKFILLS, &[("id", id(50))]), "UNIQUE constraint failed");
    assert_refused(insert(&connection, MANIFESTS, &[("id", id(20))]), "UNIQUE constraint failed");
}

#[test]
fn immutable_columns_refuse_another_value_and_take_the_same_one() {
    let (_folder, connection) = filled();
    let immutable: [(&str, &[&str]); 3] = [
        (
            REVISIONS,
            &[
                "id",
                "tenant_id",
                "knowledge_space_id",
                "kind",
                "revision",
                "snapshot",
                "snapshot_digest",
                "capability_snapshot",
                "capability_snapshot_digest",
                "plugin_id",
                "provider",
                "model",
                "vector_space_id",
                "dimension",
                "created_by_subject_id",
                "created_at",
            ],
        ),
        (HEADS, &["tenant_id", "knowledge_space_id", "kind"]),
        (
            BACKFILLS,
            &[
                "tenant_id",
                "knowledge_space_id",
                "kind",
                "source_manifest_version",
                "source_snapshot",
                "source_snapshot_digest",
            ],
        ),
    ];
    for (table, columns) in immutable {
        for column in columns {
            let set = |value: &str| connection.execute(&format!("UPDATE {table} SET {column} = {value}"), []);
            let another = format!("iif(typeof({column}) = 'integer', 7, 'another')");
            assert_refused(set(&another), "immutable");
            if !["created_at", "revision", "source_manifest_version"].contains(column) {
                assert_refused(set("NULL"), "immutable");
            }
            assert_eq!(set(column).unwrap(), 1, "{table}.{column}");
        }
    }
}

#[test]
fn what_is_not_immutable_can_be_updated() {
    let (_folder, connection) = filled();
    for sql in [
        format!(
            "UPDATE {REVISIONS} SET state = 'active', activated_at = 1, activated_by_subject_id = 'a', updated_at = 1"
        ),
        format!("UPDATE {HEADS} SET row_version = 2, updated_at = 1"),
        format!("UPDATE {BACKFILLS} SET due_at = 1, retry_code = 'C', retry_message = 'why', row_version = 2"),
    ] {
        assert_eq!(connection.execute(&sql, []).unwrap(), 1, "{sql}");
    }
}

#[tokio::test]
async fn a_fresh_schema_has_no_differences() {
    let store = SqliteStore::open(&SqliteOptions::memory()).unwrap();
    assert_eq!(store.schema_differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn every_difference_is_a_sentence() {
    let store = SqliteStore::open(&SqliteOptions::memory()).unwrap();
    let damage = "
        DROP INDEX knowledge_space_profile_backfills_queued_idx;
        DROP TRIGGER knowledge_space_profile_heads_immutable_tr;
        DROP INDEX knowledge_spaces_walk_idx;
        CREATE INDEX knowledge_spaces_walk_idx ON knowledge_spaces (tenant_id);
        CREATE TRIGGER meddling AFTER DELETE ON knowledge_spaces BEGIN SELECT 1; END;
        CREATE TABLE somebody_elses (id INTEGER);
        PRAGMA foreign_keys = OFF;
        PRAGMA ignore_check_constraints = ON;
        INSERT INTO knowledge_spaces VALUES ('acme', 'no uuid', '', 'active', NULL, 0, 0);
        PRAGMA ignore_check_constraints = OFF;";
    store.with_connection(move |connection| connection.execute_batch(damage)).await.unwrap();
    let differences = store.schema_differences().await.unwrap();
    for expected in [
        "expected index `knowledge_space_profile_backfills_queued_idx`, found none",
        "expected trigger `knowledge_space_profile_heads_immutable_tr`, found none",
        "expected index `knowledge_spaces_walk_idx` as the migrations make it, found it changed",
        "found an unexpected trigger `meddling` on knowledge_spaces",
        "expected foreign keys to be on for this connection, found them off",
        "expected SQLite's quick check to be clean, found: CHECK constraint failed in knowledge_spaces",
    ] {
        assert!(differences.iter().any(|difference| difference == expected), "{expected}: {differences:?}");
    }
    assert_eq!(differences.len(), 6, "{differences:?}");
}
