//! A database that the other service made and uses.

use std::time::Instant;

use throwaway_postgres::{PgBouncer, PgBouncerOptions, PoolMode};

use super::*;
use crate::schema::has_foreign_spaces;

#[tokio::test]
async fn its_rows_stay_as_they_were() {
    let database = Database::theirs_in_use();
    let columns = PROFILE_TABLES.iter().map(|table| {
        database.sql(&format!(
            "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ))
    });
    let columns: Vec<_> = columns.collect();
    let rows = || {
        let rows = PROFILE_TABLES.iter().zip(&columns).map(|(table, columns)| {
            database.sql(&format!(
                "SELECT string_agg(r::text, '|') FROM (SELECT {columns} FROM {table} ORDER BY id) r"
            ))
        });
        rows.collect::<Vec<_>>()
    };
    let before = rows();
    assert!(before.iter().all(|rows| !rows.is_empty()));
    database.migrate().await.unwrap();
    assert_eq!(rows(), before);
}

#[tokio::test]
async fn it_ends_as_an_empty_one_does() {
    let (fresh, used, made) = (Database::empty(), Database::theirs_in_use(), Database::theirs());
    for database in [&fresh, &used, &made] {
        assert_eq!(database.migrate().await.unwrap(), names());
        assert_eq!(database.differences().await, Vec::<String>::new());
        assert_eq!(database.catalog(PROFILE_TABLES).await, fresh.catalog(PROFILE_TABLES).await);
    }
    let found = "0001_spaces false, 0002_profiles false, 0003_one_per_scope true, 0004_columns true, \
                 0005_immutable true, 0006_indexes true";
    assert_eq!(used.migrations(), found);
    assert_eq!(used.sql(concat!("SELECT ", has_foreign_spaces!())), "t");
    let theirs = "SELECT count(*) FROM pg_class WHERE relname LIKE 'knowledge_spaces_walk%'";
    assert_eq!(used.sql(theirs), "0", "their table has not been altered");
}

#[tokio::test]
async fn their_space_tables_alone_get_ours_beside_them() {
    let database = Database::empty();
    database.sql(THEIR_SPACES);
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.differences().await, Vec::<String>::new());
    assert!(database.migrations().starts_with("0001_spaces false, 0002_profiles true"));
}

#[tokio::test]
async fn a_schema_that_lost_its_history_is_only_noted_down() {
    let database = Database::theirs_in_use();
    database.migrate().await.unwrap();
    database.sql("DROP TABLE space_profiles_migrations");
    assert_eq!(database.migrate().await.unwrap(), names());
    assert_eq!(database.differences().await, Vec::<String>::new());
    assert!(!database.migrations().contains("true"));
}

#[tokio::test]
async fn a_table_that_stays_locked_is_given_up_and_gone_on_with_later() {
    let database = Database::theirs_in_use();
    let mut reader = database.connect().await;
    let mut reading = reader.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE knowledge_space_profile_backfills IN ACCESS SHARE MODE")
        .execute(&mut *reading)
        .await
        .unwrap();
    // A lock without a snapshot: the builds pass, the new columns do not.
    let message = refused(
        migrate_with(&database.options, &Patience { build: Duration::from_secs(1), ..HASTE }).await,
        StoreCode::Busy,
    );
    assert!(message.contains("pg_stat_activity"), "{message}");
    reading.rollback().await.unwrap();
    database.migrate().await.unwrap();
    assert_eq!(database.differences().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn traffic_never_queues_behind_it_for_long() {
    let database = Database::theirs_in_use();
    let options = database.options.clone();
    database.sql("INSERT INTO knowledge_spaces (id, tenant_id) VALUES (gen_random_uuid(), 'x')");
    let mut reader = database.connect().await;
    let mut reading = reader.begin().await.unwrap();
    let look = "SELECT count(*) FROM knowledge_space_profile_revisions";
    sqlx::raw_sql(look).execute(&mut *reading).await.unwrap();

    let migrating = tokio::spawn(async move { migrate_with(&options, &PATIENCE).await });
    let mut traffic = database.connect().await;
    let started = Instant::now();
    let mut longest = Duration::ZERO;
    while started.elapsed() < Duration::from_secs(3) {
        let before = Instant::now();
        sqlx::raw_sql("UPDATE knowledge_space_profile_revisions SET updated_at = now()")
            .execute(&mut traffic)
            .await
            .unwrap();
        longest = longest.max(before.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!migrating.is_finished(), "the open transaction is in its way");
    reading.rollback().await.unwrap();
    assert_eq!(migrating.await.unwrap().unwrap(), names());
    assert!(longest < PATIENCE.lock + Duration::from_millis(500), "{longest:?}");
}

#[tokio::test]
async fn a_pooler_that_shares_connections_is_refused() {
    let database = Database::empty();
    let settings = |round_robin: &str| vec![("server_round_robin".to_owned(), round_robin.to_owned())];
    for (default_pool_size, round_robin) in [(1, "0"), (2, "0"), (20, "0"), (2, "1"), (3, "1"), (20, "1")] {
        let settings = settings(round_robin);
        let pooler = PgBouncerOptions { default_pool_size, settings, ..PgBouncerOptions::default() };
        let pooler = PgBouncer::start(database.cluster, &pooler);
        let options = PgConnectOptions::from_str(&pooler.url(&database.name)).unwrap();
        // Server connections that are open already.
        let mut clients = Vec::new();
        for _ in 0..default_pool_size.min(3) {
            clients.push(PgConnection::connect_with(&options).await.unwrap());
        }
        if clients.len() > 1 {
            let mut open = Vec::new();
            for client in &mut clients {
                open.push(client.begin().await.unwrap());
            }
            for transaction in open {
                transaction.rollback().await.unwrap();
            }
        }
        let message = refused(crate::schema::migrate(&options).await, StoreCode::Schema);
        assert!(message.contains("direct connection"), "{message}");
    }
    let session = PgBouncerOptions { pool_mode: PoolMode::Session, ..PgBouncerOptions::default() };
    let pooler = PgBouncer::start(database.cluster, &session);
    let options = PgConnectOptions::from_str(&pooler.url(&database.name)).unwrap();
    assert_eq!(crate::schema::migrate(&options).await.unwrap(), names());
}

#[tokio::test]
async fn a_standby_is_read_only_and_can_be_compared() {
    let (migrated, empty) = (Database::empty(), Database::empty());
    migrated.migrate().await.unwrap();
    let standby = shared().standby();
    standby.catch_up_with(shared());
    let at = |database: &Database| PgConnectOptions::from_str(&standby.url(&database.name)).unwrap();
    let message = refused(crate::schema::migrate(&at(&empty)).await, StoreCode::ReadOnly);
    assert!(message.contains("a standby"), "{message}");
    let mut connection = PgConnection::connect_with(&at(&migrated)).await.unwrap();
    assert_eq!(crate::schema::differences(&mut connection).await.unwrap(), Vec::<String>::new());
    assert_eq!(crate::schema::migrate(&at(&migrated)).await.unwrap(), Vec::<&str>::new());

    let options = empty.options.clone().options([("default_transaction_read_only", "on")]);
    let message = refused(crate::schema::migrate(&options).await, StoreCode::ReadOnly);
    assert!(message.contains("read-only"), "{message}");
}
