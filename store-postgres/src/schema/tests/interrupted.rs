//! Whatever ends a migration early, the next one goes on where it stopped.

use super::*;

/// Ends the session that gives the nth command that changes the schema, before or after the command.
fn end_at(database: &Database, nth: u32, event: &str) {
    database.sql(&format!(
        "CREATE SCHEMA chaos;
         CREATE SEQUENCE chaos.commands;
         CREATE FUNCTION chaos.strike() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF nextval('chaos.commands') = {nth} THEN
             PERFORM pg_terminate_backend(pg_backend_pid());
             PERFORM pg_sleep(1);
           END IF;
         END $$;
         CREATE EVENT TRIGGER chaos ON {event} EXECUTE FUNCTION chaos.strike()"
    ));
}

fn strikes_end(database: &Database) {
    database.sql("DROP EVENT TRIGGER chaos");
}

#[tokio::test]
async fn a_session_that_ends_at_any_command_leaves_an_empty_database_to_begin_anew() {
    interrupt_each_command(&Database::empty(), "ddl_command_end").await;
}

#[tokio::test]
async fn a_session_that_ends_after_any_command_leaves_what_can_be_gone_on_with() {
    interrupt_each_command(&Database::theirs_in_use(), "ddl_command_end").await;
}

#[tokio::test]
async fn a_session_that_ends_before_any_command_leaves_what_can_be_gone_on_with() {
    interrupt_each_command(&Database::theirs_in_use(), "ddl_command_start").await;
}

async fn interrupt_each_command(template: &Database, event: &str) {
    for nth in 1.. {
        let database = template.copy();
        end_at(&database, nth, event);
        match database.migrate().await {
            Ok(_) => {
                assert!(nth > 10, "only {nth} commands");
                return;
            }
            Err(error) => assert_eq!(error.code, StoreCode::Unavailable, "{nth}: {error}"),
        }
        strikes_end(&database);
        let applied = database.migrate().await.unwrap_or_else(|error| panic!("{nth}: {error}"));
        assert!(names().ends_with(&applied), "{nth}: {applied:?}");
        assert_eq!(database.differences().await, Vec::<String>::new(), "{nth}");
    }
}

/// Another session that has written to the revisions and not yet committed, so that a build waits for it.
async fn write(writer: &mut PgConnection, statement: &str) {
    sqlx::raw_sql("BEGIN").execute(&mut *writer).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(writer).await.unwrap();
}

/// Waits until the migration of a database waits for a lock, and answers its process.
async fn waiting(database: &Database) -> String {
    for _ in 0..200 {
        let found = database.sql(
            "SELECT pid FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE%CONCURRENTLY%'",
        );
        if !found.is_empty() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no build waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_whose_build_was_ended_is_built_anew() {
    let database = Database::theirs_in_use();
    let mut writer = database.connect().await;
    write(&mut writer, "UPDATE knowledge_space_profile_revisions SET updated_at = now()").await;
    let options = database.options.clone();
    let migrating = tokio::spawn(async move { migrate_with(&options, &PATIENCE).await });
    let process = waiting(&database).await;
    database.sql(&format!("SELECT pg_terminate_backend({process})"));
    refused(migrating.await.unwrap(), StoreCode::Unavailable);
    let invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
    assert_eq!(database.sql(invalid), "1");
    sqlx::raw_sql("ROLLBACK").execute(&mut writer).await.unwrap();
    let applied = database.migrate().await.unwrap();
    assert_eq!(applied, names()[2..]);
    assert_eq!(database.sql(invalid), "0");
    assert_eq!(database.differences().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_build_that_waits_too_long_is_given_up_and_built_anew_later() {
    let database = Database::theirs_in_use();
    let mut writer = database.connect().await;
    write(&mut writer, "UPDATE knowledge_space_profile_revisions SET updated_at = now()").await;
    for _ in 0..2 {
        let message = refused(database.migrate_hastily().await, StoreCode::Busy);
        assert!(message.contains("builds it anew"), "{message}");
    }
    sqlx::raw_sql("COMMIT").execute(&mut writer).await.unwrap();
    assert_eq!(database.migrate().await.unwrap(), names()[2..]);
    assert_eq!(database.differences().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_active_revision_that_comes_during_the_build_is_told() {
    let database = Database::theirs_in_use();
    let mut writer = database.connect().await;
    write(&mut writer, &revision(8, "active")).await;
    let options = database.options.clone();
    let migrating = tokio::spawn(async move { migrate_with(&options, &PATIENCE).await });
    waiting(&database).await;
    sqlx::raw_sql("COMMIT").execute(&mut writer).await.unwrap();
    let message = refused(migrating.await.unwrap(), StoreCode::Schema);
    assert!(message.contains(&format!("of t/{SPACE}/embedding, found revisions 2, 8")), "{message}");
    assert_eq!(database.sql("SELECT count(*) FROM pg_index WHERE NOT indisvalid"), "0");
    database.sql("DELETE FROM knowledge_space_profile_revisions WHERE revision = 8");
    database.migrate().await.unwrap();
    assert_eq!(database.differences().await, Vec::<String>::new());
}
