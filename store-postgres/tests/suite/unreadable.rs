//! Rows that the other service may have and nobody here can name stop no other's work.

use std::sync::Arc;

use space_profiles_conformance::*;
use space_profiles_core::{Kind, Span};

use crate::conformance::Postgres;
use crate::databases::Database;

/// Spaces of a tenant that is none, which come before all others.
fn nameless(database: &Database, count: u32) {
    database.sql(&format!(
        "INSERT INTO knowledge_spaces
         SELECT
           '', ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'active', NULL, now(), now()
         FROM generate_series(1, {count}) AS n;
         INSERT INTO knowledge_space_manifests
         SELECT gen_random_uuid(), tenant_id, id, 1, '{{\"__knowledgeFsEmbeddingProfile\": {{}}}}', now(), now()
         FROM knowledge_spaces WHERE tenant_id = ''"
    ));
}

#[tokio::test]
async fn pages_of_nothing_but_nameless_spaces_are_passed_over_and_told_by_the_audit() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    nameless(&database, 1_205);
    let (space, _) = fx.claimed_embedding().await;
    let store = fx.under_test.store();
    let listed = store.space_page(None, None, limit(1_000)).await.unwrap();
    assert_eq!(listed.iter().map(|row| &row.space).collect::<Vec<_>>(), [&space.space]);
    let walked = store.audit_page(None, limit(7)).await.unwrap();
    assert_eq!(walked.iter().map(|content| &content.space).collect::<Vec<_>>(), [&space.space]);
    let told = fx.audit().await;
    assert_eq!(told.len(), 100, "no more than a hundred are told one by one");
    assert_eq!(
        told[0].message,
        "space 00000000-0000-0000-0000-000000000001: expected a tenant of 1 to 255 UTF-16 code units without control \
         characters, found ``"
    );
}

#[tokio::test]
async fn nameless_spaces_after_the_last_one_are_told_with_it_and_once() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    for _ in 0..3 {
        fx.history(Kind::Embedding, 1).await;
    }
    database.sql(
        "INSERT INTO knowledge_spaces
         SELECT E'z\\x07', gen_random_uuid(), '', 'active', NULL, now(), now() FROM generate_series(1, 9)",
    );
    for size in [1, 2, 3, 7, 100] {
        let mut after = None;
        let mut told = 0;
        loop {
            let page = fx.registry.audit_page(after.as_ref(), limit(size)).await.unwrap();
            told += page.findings.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(told, 9, "in pages of {size}");
    }
}

#[tokio::test]
async fn a_database_of_nothing_but_nameless_spaces_is_not_called_clean() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    nameless(&database, 3);
    let error = fx.registry.audit_page(None, limit(2)).await.unwrap_err();
    assert_eq!(error.code(), "STORE_SCHEMA");
    assert!(error.to_string().contains("expected a tenant"), "{error}");
}

#[tokio::test]
async fn an_unreadable_ledger_row_costs_no_other_its_attempts() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    nameless(&database, 1);
    database.sql(
        "INSERT INTO knowledge_space_profile_backfills (
           id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot,
           source_snapshot_digest, run_state, execution_attempts, max_execution_attempts, row_version,
           created_at, updated_at, due_at
         )
         SELECT
           gen_random_uuid(), '', id, 'embedding', n, '{}', repeat('0', 64), 'queued', 0, 3, 1,
           '2020-01-01', '2020-01-01', '2020-01-01'
         FROM knowledge_spaces, generate_series(1, 3) AS n",
    );
    for _ in 0..3 {
        fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    }
    fx.discover().await;
    // The unreadable ones are the first; a batch of nothing else is not the end of the work.
    assert_eq!(fx.claim("worker-a", 2).await.backfills.len(), 1);
    assert_eq!(fx.claim("worker-a", 9).await.backfills.len(), 2);
    for _ in 0..4 {
        fx.clock.advance(Span::from_seconds(600));
        fx.claim("worker-a", 9).await;
    }
    let failed = "SELECT tenant_id = '', count(*) FROM knowledge_space_profile_backfills
                  WHERE run_state = 'failed' GROUP BY 1 ORDER BY 1";
    assert_eq!(database.sql(failed), "f|3\nt|3", "each after its own three attempts");
}

#[tokio::test]
async fn more_failures_than_one_statement_takes_are_all_queued_again_and_pruned() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    let space = fx.space().await;
    database.sql(&format!(
        "INSERT INTO knowledge_spaces
         SELECT 'tenant-a', gen_random_uuid(), '', 'active', NULL, now(), now() FROM generate_series(1, 4500);
         INSERT INTO knowledge_space_profile_backfills (
           id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot,
           source_snapshot_digest, run_state, execution_attempts, max_execution_attempts, row_version,
           last_error_code, last_error_message, created_at, updated_at, completed_at
         )
         SELECT
           gen_random_uuid(), tenant_id, id, 'embedding', 1, '{{}}', repeat('0', 64), 'failed', 3, 3, 1,
           'CODE', 'why', '2020-01-01', '2020-01-01', '2020-01-01'
         FROM knowledge_spaces WHERE id <> '{}'",
        space.id
    ));
    let code = space_profiles_core::FailureCode::new("CODE").unwrap();
    assert_eq!(fx.ledger.retry_all(Some(&code)).await.unwrap(), 4_500);
    assert_eq!(fx.ledger.retry_all(Some(&code)).await.unwrap(), 0);
    database
        .sql("UPDATE knowledge_space_profile_backfills SET run_state = 'succeeded', completed_at = '2020-01-02'");
    assert_eq!(fx.ledger.prune("2021-01-01T00:00:00Z".parse().unwrap()).await.unwrap(), 4_500);
}

#[tokio::test]
async fn what_the_other_service_keeps_in_its_own_way_is_read_for_what_matters() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    let scope = fx.history(Kind::Embedding, 1).await;
    database.sql(
        "ALTER TABLE knowledge_spaces ALTER COLUMN deletion_job_id TYPE text;
         UPDATE knowledge_spaces SET deletion_job_id = 'job_1', created_at = '-infinity', updated_at = 'infinity'",
    );
    let listed = fx.under_test.store().space_page(None, None, limit(10)).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(code(fx.propose(&scope, 2).await), "SPACE_NOT_WRITABLE");
}

#[tokio::test]
async fn tables_that_order_tenants_each_in_its_own_way_are_not_walked() {
    let database = Arc::new(Database::migrated());
    let fx = Postgres::fixture(&database).await;
    fx.history(Kind::Embedding, 1).await;
    database.sql("ALTER TABLE knowledge_spaces ALTER COLUMN tenant_id TYPE varchar(255) COLLATE \"POSIX\"");
    let error = fx.registry.audit_page(None, limit(10)).await.unwrap_err();
    assert_eq!(error.code(), "STORE_SCHEMA");
    assert!(error.to_string().contains("several collations"), "{error}");
}
