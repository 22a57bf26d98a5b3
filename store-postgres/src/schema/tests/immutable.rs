//! What cannot be updated, and that nothing else is kept from it.

use super::*;

/// The columns, and for each an expression for another value.
const IMMUTABLE: [(&str, &[(&str, &str)]); 3] = [
    (
        "knowledge_space_profile_revisions",
        &[
            ("id", "gen_random_uuid()"),
            ("tenant_id", "'u'"),
            ("knowledge_space_id", "gen_random_uuid()"),
            ("kind", "'retrieval'"),
            ("revision", "9"),
            ("snapshot", "'{\"other\": 1}'"),
            ("snapshot_digest", "repeat('9', 64)"),
            ("capability_snapshot", "'[]'"),
            ("capability_snapshot_digest", "repeat('9', 64)"),
            ("plugin_id", "''"),
            ("provider", "'PROVIDER'"),
            ("model", "'model '"),
            ("vector_space_id", "NULL"),
            ("dimension", "NULL"),
            ("created_by_subject_id", "'x'"),
            ("created_at", "created_at + interval '1 microsecond'"),
        ],
    ),
    (
        "knowledge_space_profile_heads",
        &[("tenant_id", "'u'"), ("knowledge_space_id", "gen_random_uuid()"), ("kind", "'retrieval'")],
    ),
    (
        "knowledge_space_profile_backfills",
        &[
            ("tenant_id", "'u'"),
            ("knowledge_space_id", "gen_random_uuid()"),
            ("kind", "'embedding'"),
            ("source_manifest_version", "9"),
            ("source_snapshot", "'{\"other\": 1}'"),
            ("source_snapshot_digest", "repeat('9', 64)"),
        ],
    ),
];

#[tokio::test]
async fn each_immutable_column_refuses_another_value_and_takes_its_own() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    for (table, columns) in IMMUTABLE {
        for (column, other) in columns {
            let message = database.refusal(&format!("UPDATE {table} SET {column} = {other}"));
            assert!(message.contains("immutable"), "{table}.{column}: {message}");
            database.sql(&format!("UPDATE {table} SET {column} = {column}"));
        }
        let all: Vec<_> = columns.iter().map(|(column, _)| format!("{column} = {column}")).collect();
        database.sql(&format!("UPDATE {table} SET {}", all.join(", ")));
    }
    // The same JSON, written otherwise.
    database.sql(
        "UPDATE knowledge_space_profile_revisions
         SET snapshot = ('{ \"revision\" :  ' || revision || '}')::jsonb",
    );
}

#[tokio::test]
async fn a_refusal_names_its_trigger() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    let update = sqlx::query("UPDATE knowledge_space_profile_heads SET kind = 'retrieval'");
    let error = update.execute(&mut database.connect().await).await.unwrap_err();
    let error = error.as_database_error().unwrap();
    assert_eq!(error.code().as_deref(), Some("23001"));
    assert_eq!(error.constraint(), Some("knowledge_space_profile_heads_immutable_tr"));
    assert_eq!(error.table(), Some("knowledge_space_profile_heads"));
    assert_eq!(error.message(), "the scope of a head is immutable");
}

#[tokio::test]
async fn the_other_services_writes_keep_working() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    database.sql(
        "UPDATE knowledge_space_profile_revisions SET state = 'superseded', superseded_at = now(), updated_at = now()
         WHERE state = 'active';
         UPDATE knowledge_space_profile_revisions SET state = 'active', activated_at = now(), updated_at = now()
         WHERE revision = 3;
         UPDATE knowledge_space_profile_heads
         SET profile_revision_id = (SELECT id FROM knowledge_space_profile_revisions WHERE revision = 3),
             active_revision = 3, row_version = row_version + 1, updated_at = now()",
    );
    database.sql(&revision(4, "candidate"));
    database.sql(
        "UPDATE knowledge_space_profile_revisions
         SET state = 'failed', failed_at = now(), failure_code = 'X', failure_message = 'x', updated_at = now()
         WHERE revision = 4",
    );
    database.sql(&backfill(2));
    database.sql(
        "UPDATE knowledge_space_profile_backfills
         SET run_state = 'running', execution_attempts = 1, worker_id = 'w', lease_token = gen_random_uuid(),
             lease_expires_at = now(), heartbeat_at = now(), row_version = 2, updated_at = now();
         UPDATE knowledge_space_profile_backfills
         SET lease_expires_at = now() + interval '1 minute', heartbeat_at = now(), updated_at = now();
         UPDATE knowledge_space_profile_backfills
         SET run_state = 'succeeded', worker_id = NULL, lease_token = NULL, lease_expires_at = NULL,
             heartbeat_at = NULL, completed_at = now(), row_version = 3, updated_at = now()",
    );
    assert_eq!(database.sql("SELECT count(*) FROM knowledge_space_profile_backfills WHERE due_at <= now()"), "2");
    database.sql("DELETE FROM knowledge_space_profile_heads; DELETE FROM knowledge_spaces");
}

#[tokio::test]
async fn g4_02_a_scope_has_one_active_revision_and_one_candidate() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    for (state, index) in [("active", "one_active_uq"), ("candidate", "one_candidate_uq")] {
        let message = database.refusal(&revision(9, state));
        assert!(message.contains(index), "{message}");
    }
    let message = database.refusal(
        "UPDATE knowledge_space_profile_revisions SET state = 'active', activated_at = now(), superseded_at = NULL",
    );
    assert!(message.contains("one_active_uq"), "{message}");
}
