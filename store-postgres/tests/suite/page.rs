//! What the operator's page shows is what works.

use space_profiles_postgres::PostgresStore;

use crate::databases::Database;

const PAGE: &str = include_str!("../../../docs/postgres.md");

/// The tables of spaces as knowledge-fs has them, and then its profiles.
pub(crate) const THEIR_TABLES: &str = concat!(
    include_str!("../../../testdata/seed/knowledge_fs_spaces.postgres.sql"),
    include_str!("../../../testdata/seed/0018_versioned_space_profiles.postgres.sql")
);

/// The blocks of SQL under a mark, `<!-- MARK -->`.
pub(crate) fn blocks(mark: &str) -> Vec<&'static str> {
    let mark = format!("<!-- {mark} -->\n```sql\n");
    PAGE.split(&mark).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The only block of SQL under a mark.
pub(crate) fn block(mark: &str) -> &'static str {
    let blocks = blocks(mark);
    assert_eq!(blocks.len(), 1, "expected one block `{mark}`");
    blocks[0]
}

#[test]
fn the_sql_of_the_page_runs() {
    let blocks = blocks("run");
    assert!(blocks.len() >= 7, "{blocks:?}");
    let grants = PAGE.matches("<!-- grants: ").count();
    assert_eq!(blocks.len() + grants, PAGE.matches("```sql").count(), "each block has a mark");
    let database = Database::migrated();
    for block in blocks {
        database.sql(block);
    }
}

#[tokio::test]
async fn what_stands_in_the_way_is_mended_as_the_page_says() {
    let database = Database::empty();
    database.sql(THEIR_TABLES);
    database.sql(
        "INSERT INTO knowledge_spaces (id, tenant_id) VALUES ('018f0d60-7a49-7cc2-9c1b-5b36f18f3a40', 't');
         INSERT INTO knowledge_space_profile_revisions
         SELECT
           gen_random_uuid(), 't', '018f0d60-7a49-7cc2-9c1b-5b36f18f3a40', 'embedding', number, state, '{}',
           repeat('a', 64), '{}', repeat('b', 64), 'p', 'p', 'm', 'v', 8, 'user:ann', NULL, NULL, at, at,
           CASE WHEN state = 'active' THEN at END
         FROM
           (VALUES (1, 'active'), (2, 'active'), (3, 'candidate'), (4, 'candidate')) AS row (number, state),
           (SELECT now() + interval '1 hour' AS at) AS stamped;
         INSERT INTO knowledge_space_profile_heads
         SELECT gen_random_uuid(), 't', knowledge_space_id, kind, id, 2, 1, now(), now()
         FROM knowledge_space_profile_revisions WHERE revision = 2",
    );
    let message = PostgresStore::migrate(&database.options()).await.unwrap_err().message;
    assert!(message.contains("found revisions 1, 2") && message.contains("found revisions 3, 4"), "{message}");

    // The same again, where nothing says which one is in use.
    database.sql(
        "INSERT INTO knowledge_spaces (id, tenant_id) VALUES ('018f0d60-7a49-7cc2-9c1b-5b36f18f3a41', 't');
         INSERT INTO knowledge_space_profile_revisions
         SELECT
           gen_random_uuid(), 't', '018f0d60-7a49-7cc2-9c1b-5b36f18f3a41', kind, revision, state, snapshot,
           snapshot_digest, capability_snapshot, capability_snapshot_digest, plugin_id, provider, model,
           vector_space_id, dimension, created_by_subject_id, failure_code, failure_message, created_at, updated_at,
           activated_at
         FROM knowledge_space_profile_revisions",
    );

    let block_with = |part: &str| blocks("run").into_iter().find(|block| block.contains(part)).unwrap();
    database.sql(block_with("DUPLICATE_CANDIDATE"));
    let message = PostgresStore::migrate(&database.options()).await.unwrap_err().message;
    assert!(message.contains("3a41/embedding, found revisions 1, 2"), "{message}");
    assert!(!message.contains("3a40") && !message.contains("candidate of"), "{message}");
    database.sql(block_with("NOT EXISTS"));
    PostgresStore::migrate(&database.options()).await.unwrap();
    let states = "SELECT string_agg(state, ' ' ORDER BY knowledge_space_id, revision)
        FROM knowledge_space_profile_revisions";
    let (with_head, without) = ("superseded active failed candidate", "superseded superseded failed candidate");
    assert_eq!(database.sql(states), format!("{with_head} {without}"));
    let disordered = "SELECT count(*) FROM knowledge_space_profile_revisions
        WHERE activated_at > superseded_at OR created_at > least(failed_at, updated_at)";
    assert_eq!(database.sql(disordered), "0", "by a clock that runs ahead");
}

#[tokio::test]
async fn the_index_that_discovery_lacks_on_their_table_is_made_as_the_page_says() {
    let database = Database::empty();
    database.sql(THEIR_TABLES);
    let page = "SET enable_seqscan = off; EXPLAIN SELECT tenant_id, id FROM knowledge_spaces
        WHERE (id, tenant_id) > ('018f0d60-7a49-7cc2-9c1b-5b36f18f3a40', 't') ORDER BY id, tenant_id LIMIT 9";
    // Their own key on the id alone goes; what is left begins with the tenant.
    database.sql("ALTER TABLE knowledge_spaces DROP CONSTRAINT knowledge_spaces_pkey");
    assert!(database.sql(page).contains("Sort Key"));
    let index = blocks("run").into_iter().find(|block| block.contains("INDEX CONCURRENTLY")).unwrap();
    database.sql(index);
    assert!(!database.sql(page).contains("Sort Key"));
    PostgresStore::migrate(&database.options()).await.unwrap();
}

#[tokio::test]
async fn a_column_that_a_trigger_names_is_changed_as_the_page_says() {
    let database = Database::migrated();
    let change = "ALTER TABLE knowledge_space_profile_revisions ALTER COLUMN plugin_id TYPE varchar(512);";
    let refused = database.try_sql(change).unwrap_err();
    assert!(refused.contains("used in a trigger definition"), "{refused}");
    let shown = blocks("run").into_iter().find(|block| block.contains(change)).unwrap();
    database.sql(shown);
    database.sql(&shown.replace("varchar(512)", "varchar(256)"));
    assert_eq!(PostgresStore::migrate(&database.options()).await.unwrap(), Vec::<&str>::new(), "nothing differs");
}
