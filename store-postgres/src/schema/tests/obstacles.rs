//! What stands in the way is told, all of it, and nothing is changed.

use super::*;
use crate::schema::OWN_TABLE;
use crate::schema::history::OWN_TABLE_SQL;
use crate::schema::migrations::MIGRATIONS;

/// What is refused, and that it changed nothing.
async fn obstacle(database: &Database) -> String {
    let everything = database.everything();
    let message = refused(database.migrate().await, StoreCode::Schema);
    assert_eq!(database.everything(), everything, "{message}");
    assert!(message.contains("nothing has been changed"), "{message}");
    message
}

#[tokio::test]
async fn two_active_revisions_and_two_candidates_are_named() {
    let database = Database::theirs_in_use();
    database.sql(&revision(4, "active"));
    database.sql(&revision(5, "candidate"));
    database.sql(&revision(6, "candidate"));
    let message = obstacle(&database).await;
    for part in [
        format!("at most one active revision of t/{SPACE}/embedding, found revisions 2, 4;"),
        format!("at most one candidate of t/{SPACE}/embedding, found revisions 3, 5, 6;"),
        "superseded".to_owned(),
        "failed".to_owned(),
    ] {
        assert!(message.contains(&part), "{message}");
    }
    database.sql(
        "UPDATE knowledge_space_profile_revisions SET state = 'superseded', superseded_at = now() WHERE revision = 4;
         DELETE FROM knowledge_space_profile_revisions WHERE revision > 4",
    );
    assert_eq!(database.migrate().await.unwrap(), names());
}

#[tokio::test]
async fn of_many_scopes_twenty_are_named_and_the_others_counted() {
    let database = Database::theirs_in_use();
    database.sql(
        "INSERT INTO knowledge_spaces (id, tenant_id) SELECT gen_random_uuid(), 'many' FROM generate_series(1, 23)",
    );
    for number in [7, 8] {
        let copies = format!(
            "INSERT INTO knowledge_space_profile_revisions
             SELECT gen_random_uuid(), 'many', s.id, r.kind, {number}, r.state, snapshot, snapshot_digest,
               capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id, dimension,
               created_by_subject_id, failure_code, failure_message, r.created_at, r.updated_at, activated_at
             FROM knowledge_space_profile_revisions r, knowledge_spaces s
             WHERE r.state = 'active' AND r.tenant_id = 't' AND s.tenant_id = 'many'"
        );
        database.sql(&copies);
    }
    let message = obstacle(&database).await;
    assert_eq!(message.matches("at most one active revision of many/").count(), 20, "{message}");
    assert!(message.contains("and 3 more scopes"), "{message}");
}

/// Case G6-09.
#[tokio::test]
async fn g6_09_a_table_that_lost_a_column_after_the_second_migration_is_told() {
    let database = Database::empty();
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.migrate().await.unwrap(), Vec::<&str>::new());
    database.sql("ALTER TABLE knowledge_space_profile_revisions DROP COLUMN model CASCADE");
    let message = obstacle(&database).await;
    assert!(message.contains("expected column `model` of `knowledge_space_profile_revisions`"), "{message}");
}

/// Case G6-09.
#[tokio::test]
async fn g6_09_a_table_of_the_same_name_without_a_column_is_told() {
    let database = Database::theirs();
    database.sql("ALTER TABLE knowledge_space_profile_revisions DROP COLUMN model");
    let message = obstacle(&database).await;
    assert!(message.contains("expected column `model` of `knowledge_space_profile_revisions`"), "{message}");

    let database = Database::empty();
    database.sql("CREATE TABLE knowledge_space_profile_heads (id uuid)");
    let message = obstacle(&database).await;
    for part in ["expected column `row_version`", "expected constraint `knowledge_space_profile_heads_pkey`"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("revisions_immutable"), "what is to be made is no obstacle: {message}");
}

#[tokio::test]
async fn every_difference_of_their_tables_is_told_at_once() {
    let database = Database::theirs();
    database.sql(
        "ALTER TABLE knowledge_space_profile_backfills DROP CONSTRAINT knowledge_space_profile_backfills_lease_ck;
         ALTER TABLE knowledge_space_profile_heads ADD CONSTRAINT theirs CHECK (row_version < 9);
         DROP INDEX knowledge_space_profile_heads_scope_uq;
         ALTER TABLE knowledge_spaces ALTER lifecycle_state DROP DEFAULT, ALTER lifecycle_state TYPE integer USING 1;
         ALTER TABLE knowledge_space_profile_revisions ADD COLUMN failed_by_subject_id integer;",
    );
    let message = obstacle(&database).await;
    for part in [
        "`knowledge_space_profile_backfills_lease_ck`",
        "unexpected constraint `theirs`",
        "`CREATE UNIQUE INDEX knowledge_space_profile_heads_scope_uq",
        "expected column `lifecycle_state` of `knowledge_spaces`",
        "`failed_by_subject_id` of `knowledge_space_profile_revisions` to be `character varying(255)`, found `integer`",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[tokio::test]
async fn an_encoding_that_cannot_hold_every_text_is_told() {
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let database = Database::created(&format!("ENCODING '{encoding}' LOCALE 'C'"));
        let message = obstacle(&database).await;
        let part = format!("encoding of the database to be `UTF8`, found `{encoding}`");
        assert!(message.contains(&part) && message.contains("template0"), "{message}");
        assert!(database.differences().await[0].contains(&part), "before anything else");

        // A space-profiles that did not look has migrated it.
        for migration in &MIGRATIONS {
            database.sql(&migration.sql());
        }
        database.sql(OWN_TABLE_SQL);
        for migration in &MIGRATIONS {
            let (name, checksum) = (migration.name, migration.checksum());
            database.sql(&format!("INSERT INTO {OWN_TABLE} VALUES ('{name}', '{checksum}', true)"));
        }
        let differences = database.differences().await;
        assert!(differences.len() == 1 && differences[0].contains(&part), "{differences:?}");
        assert!(obstacle(&database).await.contains(&part));
    }
}

#[tokio::test]
async fn tenants_that_are_ordered_otherwise_in_a_table_of_theirs_are_told_with_what_mends_it() {
    let database = Database::theirs_in_use();
    let tables = ["knowledge_spaces", "knowledge_space_manifests"];
    let set_apart =
        tables.map(|table| format!("ALTER TABLE {table} ALTER tenant_id TYPE text COLLATE \"C\"")).join(";");
    let mends = |sentences: &str| -> Vec<String> {
        let told = sentences.lines().filter(|line| line.contains("found `\"C\"`"));
        told.filter_map(|line| Some(line.split_once("run ")?.1.split_once(", which")?.0.to_owned())).collect()
    };

    database.sql(&set_apart);
    let message = obstacle(&database).await;
    let mending = mends(&message);
    assert_eq!(mending.len(), 2, "{message}");
    for table in tables {
        assert!(message.contains(&format!("expected column `tenant_id` of `{table}` to have")), "{message}");
    }
    database.sql(&mending.join(";"));
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.differences().await, Vec::<String>::new());

    database.sql(&set_apart);
    let differences = database.differences().await;
    assert!(differences.len() == 2 && mends(&differences.join("\n")) == mending, "{differences:?}");
    assert!(differences.iter().all(|it| message.contains(it)), "{differences:?}");
    obstacle(&database).await;
    database.sql(&mending.join(";"));
    assert_eq!(database.differences().await, Vec::<String>::new());
}

#[tokio::test]
async fn row_security_on_any_table_is_told() {
    let database = Database::theirs();
    for table in ALL_TABLES {
        database.sql(&format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"));
        let message = obstacle(&database).await;
        let (_, mending) = message.split_once("rows may be hidden; run ").unwrap();
        assert!(mending.contains(table), "{message}");
        database.sql(mending);
    }
    assert_eq!(database.migrate().await.unwrap(), names());
}

#[tokio::test]
async fn spaces_that_were_made_here_are_compared_before_a_later_migration_too() {
    let database = Database::empty();
    database.migrate().await.unwrap();
    database.sql(
        "DELETE FROM space_profiles_migrations WHERE name = '0006_indexes'; DROP INDEX knowledge_spaces_walk_idx",
    );
    assert!(
        obstacle(&database).await.contains("expected index `knowledge_spaces_walk_idx` of `knowledge_spaces`")
    );
}

#[tokio::test]
async fn one_of_the_two_space_tables_is_not_enough() {
    for table in ["knowledge_spaces", "knowledge_space_manifests"] {
        let database = Database::empty();
        database.sql(&format!("CREATE TABLE {table} (id uuid PRIMARY KEY)"));
        let message = obstacle(&database).await;
        assert!(message.contains(&format!("found only `{table}`")), "{message}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_create_is_told_which_right_it_needs() {
    let database = Database::empty();
    let role = format!("{}_reader", database.name);
    database.sql(&format!("CREATE ROLE {role} LOGIN"));
    let options = database.options.clone().username(&role);
    let message = refused(crate::schema::migrate(&options).await, StoreCode::Schema);
    assert!(message.contains(&format!("GRANT CREATE ON SCHEMA public TO {role}")), "{message}");

    database.migrate().await.unwrap();
    database.sql(&format!("GRANT SELECT ON space_profiles_migrations TO {role}"));
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    assert_eq!(crate::schema::differences(&mut connection).await.unwrap(), Vec::<String>::new());
    assert_eq!(crate::schema::migrate(&options).await.unwrap(), Vec::<&str>::new());
    drop(connection);
    database.sql("DELETE FROM space_profiles_migrations WHERE name = '0006_indexes'");
    let message = refused(crate::schema::migrate(&options).await, StoreCode::Schema);
    assert!(
        message.contains("to be the owner of `knowledge_space_profile_heads` (owned by `postgres`)"),
        "{message}"
    );
}

#[tokio::test]
async fn what_is_to_be_granted_is_told_so_that_it_runs() {
    let database = Database::empty();
    let role = format!("{} migrator", database.name);
    let schema = "Blue Room";
    database.sql(&format!(
        r#"CREATE ROLE "{role}" LOGIN; CREATE SCHEMA "{schema}"; GRANT USAGE ON SCHEMA "{schema}" TO "{role}""#
    ));
    database.sql(&format!(r#"SET search_path = "{schema}"; {THEIR_SPACES}"#));
    let options = database.options.clone().username(&role).options([("search_path", format!("\"{schema}\""))]);
    let message = refused(crate::schema::migrate(&options).await, StoreCode::Schema);
    let grants: Vec<_> =
        message.lines().filter_map(|line| line.split_once("run ").map(|(_, grant)| grant)).collect();
    assert_eq!(grants.len(), 2, "{message}");
    database.sql(&format!(r#"SET search_path = "{schema}"; {}"#, grants.join("; ")));
    assert_eq!(crate::schema::migrate(&options).await.unwrap(), names());
}

#[tokio::test]
async fn an_owner_of_the_profiles_needs_no_right_to_the_spaces() {
    let database = Database::empty();
    let role = format!("{}_owner", database.name);
    database.sql(&format!(
        "{THEIR_SPACES} CREATE ROLE {role} LOGIN; GRANT CREATE ON SCHEMA public TO {role};
         GRANT REFERENCES ON knowledge_spaces TO {role}; SET ROLE {role}; {SEED} RESET ROLE;
         REVOKE REFERENCES ON knowledge_spaces FROM {role}"
    ));
    let options = database.options.clone().username(&role);
    assert_eq!(crate::schema::migrate(&options).await.unwrap(), names());
}
