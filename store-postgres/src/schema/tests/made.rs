//! What the migrations make.

use super::*;
use crate::schema::migrations::{MIGRATIONS, checksum};
use crate::schema::{OWN_TABLE, has_foreign_spaces};

/// To write the file anew after a migration was added: `EXPECTED_TSV=write cargo test expected_catalog`.
#[tokio::test]
async fn the_expected_catalog_is_what_the_migrations_make() {
    let database = Database::empty();
    let mut expected = String::new();
    let mut before = Vec::new();
    for migration in &MIGRATIONS {
        database.sql(&migration.sql());
        let after = database.catalog(ALL_TABLES).await;
        for part in after.iter().filter(|part| !before.contains(*part)) {
            let Part { table, sort, name, definition, state } = part;
            assert_eq!(state, "", "{part:?}");
            expected.push_str(&format!("{}\t{table}\t{sort}\t{name}\t{definition}\n", migration.name));
        }
        assert!(before.iter().all(|part| after.contains(part)), "{} changed a part", migration.name);
        before = after;
    }
    if std::env::var_os("EXPECTED_TSV").is_some_and(|it| it == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/schema/expected.tsv"), &expected).unwrap();
    }
    assert_eq!(include_str!("../expected.tsv"), expected);
}

#[tokio::test]
async fn an_empty_database_gets_everything_and_then_nothing() {
    let database = Database::empty();
    assert_eq!(database.pending().await.unwrap(), names());
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.pending().await.unwrap(), Vec::<&str>::new());
    assert_eq!(database.differences().await, Vec::<String>::new());

    let everything = database.everything();
    assert_eq!(database.migrate().await.unwrap(), Vec::<&str>::new());
    assert_eq!(database.everything(), everything);
    assert_eq!(database.sql(&format!("SELECT count(*) FROM {OWN_TABLE} WHERE made")), "6");
    assert_eq!(database.sql(concat!("SELECT ", has_foreign_spaces!())), "f");
}

#[test]
fn the_tables_are_made_by_the_seeds_own_text() {
    let seed = include_str!("../../../../testdata/seed/0018_versioned_space_profiles.postgres.sql");
    assert_eq!(MIGRATIONS[1].sql(), seed);
}

#[tokio::test]
async fn the_schema_is_the_seeds_and_nothing_but_the_additions() {
    let (ours, theirs) = (Database::empty(), Database::theirs());
    ours.migrate().await.unwrap();
    let (ours, theirs) = (ours.catalog(PROFILE_TABLES).await, theirs.catalog(PROFILE_TABLES).await);
    for part in &theirs {
        assert!(ours.contains(part), "missing: {part:?}");
    }
    let additions: Vec<_> = ours.iter().filter(|part| !theirs.contains(part)).collect();
    let additions: Vec<_> = additions.iter().map(|part| format!("{} {}", part.sort, part.name)).collect();
    let expected = [
        "function space_profiles_immutable",
        "column due_at",
        "column retry_code",
        "column retry_message",
        "index knowledge_space_profile_backfills_queued_idx",
        "index knowledge_space_profile_backfills_running_idx",
        "index knowledge_space_profile_backfills_spent_idx",
        "index knowledge_space_profile_backfills_tenant_idx",
        "trigger knowledge_space_profile_backfills_immutable_tr",
        "trigger knowledge_space_profile_heads_immutable_tr",
        "column activated_by_subject_id",
        "column failed_by_subject_id",
        "index knowledge_space_profile_revisions_one_active_uq",
        "index knowledge_space_profile_revisions_one_candidate_uq",
        "trigger knowledge_space_profile_revisions_immutable_tr",
    ];
    assert_eq!(additions, expected);
}

#[tokio::test]
async fn two_schemas_of_one_database_live_side_by_side() {
    let database = Database::empty();
    database.sql(r#"CREATE SCHEMA "Blue ""Room"; CREATE SCHEMA green"#);
    let blue = database.options.clone().options([("search_path", r#""Blue ""Room",public"#)]);
    let green = database.options.clone().options([("search_path", "green,public")]);
    for options in [&blue, &green] {
        assert_eq!(crate::schema::migrate(options).await.unwrap(), names());
        let mut connection = PgConnection::connect_with(options).await.unwrap();
        assert_eq!(crate::schema::differences(&mut connection).await.unwrap(), Vec::<String>::new());
    }
    assert_eq!(database.pending().await.unwrap(), names(), "`public` has been left alone");
    let counts = "SELECT string_agg(schemaname || ' ' || n, ', ' ORDER BY schemaname) FROM (
        SELECT schemaname, count(*) AS n FROM pg_tables WHERE schemaname <> 'pg_catalog' AND tablename LIKE '%space%' GROUP BY 1) t";
    assert_eq!(database.sql(counts), r#"Blue "Room 6, green 6"#);
}

#[tokio::test]
async fn a_first_schema_that_is_not_there_is_not_replaced_by_the_next() {
    let database = Database::empty();
    for path in ["blue,public", "\"$user\",blue,public", ""] {
        let options = database.options.clone().options([("search_path", path)]);
        let message = refused(crate::schema::migrate(&options).await, StoreCode::Schema);
        assert!(message.contains(path) && message.contains("CREATE SCHEMA"), "{message}");
    }
    database.sql("CREATE SCHEMA postgres");
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'postgres'"), "6");
}

/// Case G6-12.
#[test]
fn g6_12_line_ends_do_not_change_a_checksum() {
    for migration in &MIGRATIONS {
        let sql = migration.sql();
        assert_eq!(checksum(&sql.replace('\n', "\r\n")), migration.checksum());
        assert_ne!(checksum(&sql.replacen('e', "f", 1)), migration.checksum());
    }
}

/// Case G6-12.
#[tokio::test]
async fn g6_12_an_edited_migration_is_refused_before_any_change() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    database.sql(
        "UPDATE space_profiles_migrations SET checksum = repeat('0', 64) WHERE name = '0004_columns';
         DELETE FROM space_profiles_migrations WHERE name = '0006_indexes'",
    );
    let everything = database.everything();
    let message = refused(database.migrate().await, StoreCode::Schema);
    assert!(message.contains("`0004_columns`") && message.contains("another text"), "{message}");
    assert_eq!(database.everything(), everything);
    assert_eq!(database.pending().await.unwrap_err().message, message);
    assert_eq!(database.differences().await, [message]);
}

#[tokio::test]
async fn a_migration_of_a_newer_version_is_refused() {
    let database = Database::empty();
    database.migrate().await.unwrap();
    database.sql("INSERT INTO space_profiles_migrations VALUES ('0099_future', 'x', true)");
    let message = refused(database.migrate().await, StoreCode::Schema);
    assert!(message.contains("`0099_future`") && message.contains("newer space-profiles"), "{message}");
}

/// A backslash in a text of ours would then escape what follows it.
#[tokio::test]
async fn a_database_that_reads_texts_as_of_old_is_migrated_and_compared_all_the_same() {
    for database in [Database::empty(), Database::theirs_in_use()] {
        database.sql(&format!("ALTER DATABASE {} SET standard_conforming_strings = off", database.name));
        assert_eq!(database.pending().await.unwrap(), names());
        assert_eq!(database.migrate().await.unwrap(), names());
        assert_eq!(database.differences().await, Vec::<String>::new());
        assert_eq!(database.migrate().await.unwrap(), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn an_unmigrated_database_says_to_migrate() {
    for database in [Database::empty(), Database::theirs()] {
        let differences = database.differences().await;
        assert_eq!(differences.len(), 6);
        assert!(differences.iter().all(|it| it.contains("run `space-profiles migrate`")), "{differences:?}");
    }
}

#[test]
fn a_search_path_is_read_as_the_server_reads_it() {
    use crate::schema::session::names;
    for (path, expected) in [
        ("\"$user\", public", &["$user", "public"] as &[_]),
        ("public", &["public"]),
        ("Blue , green", &["blue", "green"]),
        ("\"Blue \"\"Room\", green", &["Blue \"Room", "green"]),
        ("\"a,b\",c", &["a,b", "c"]),
        ("", &[""]),
    ] {
        assert_eq!(names(path), expected, "{path}");
    }
}

/// The server prints a restored `IN` with its casts elsewhere.
#[tokio::test]
async fn a_restored_dump_is_as_expected() {
    let (dumped, restored) = (Database::theirs(), Database::empty());
    dumped.migrate().await.unwrap();
    let program = throwaway_postgres::find_postgres().unwrap().join("pg_dump");
    let dump = std::process::Command::new(program).arg(dumped.cluster.url(&dumped.name)).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    restored.sql(&String::from_utf8(dump.stdout).unwrap());
    assert_eq!(restored.differences().await, Vec::<String>::new());
    assert_eq!(restored.migrate().await.unwrap(), Vec::<&str>::new());
}
