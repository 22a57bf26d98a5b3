//! Ways to a server: encrypted, by a socket, through a pooler, into a schema.

use std::str::FromStr as _;
use std::sync::Arc;

use space_profiles_conformance::{Fixture, number, usual};
use space_profiles_core::{Kind, StoreCode, StoreError};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use throwaway_postgres::{Cluster, ClusterOptions, PgBouncer, PgBouncerOptions, Shutdown, shared};

use crate::clients::{Session, Way, client_at, client_of, is_space};
use crate::databases::Database;

async fn refused(url: &str) -> StoreError {
    match PostgresStore::open(&PostgresOptions::from_url(url).unwrap()).await {
        Ok(_) => panic!("expected that {url} is refused"),
        Err(error) => error,
    }
}

async fn migrate(url: &str) {
    PostgresStore::migrate(&PostgresOptions::from_url(url).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_connection_is_encrypted_and_the_server_known_as_far_as_sslmode_says() {
    let cluster = Cluster::start(&ClusterOptions { ssl: true, ..ClusterOptions::default() });
    let stranger = Cluster::start(&ClusterOptions { ssl: true, ..ClusterOptions::default() });
    cluster.create_database("store");
    cluster.sql("store", "CREATE ROLE keeper SUPERUSER LOGIN PASSWORD 's3cr3tpw'");
    let rules = "local all all trust\nhostssl all keeper 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(cluster.folder().join("data/pg_hba.conf"), rules).unwrap();
    cluster.stop(Shutdown::Fast);
    cluster.start_again();
    let url = |host: &str, parameters: &str| {
        format!("postgres://keeper:s3cr3tpw@{host}:{}/store?application_name=tested&{parameters}", cluster.port())
    };
    let authority = cluster.certificate_authority().display();
    migrate(&url("127.0.0.1", "sslmode=require")).await;

    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE application_name = 'tested'";
    for parameters in [
        "sslmode=require".to_owned(),
        "sslmode=prefer".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={authority}"),
        format!("sslmode=verify-full&sslrootcert={authority}"),
    ] {
        let client = client_at(&url("127.0.0.1", &parameters)).await;
        client.history(Kind::Embedding, 1).await;
        assert_eq!(cluster.sql("store", encrypted), "t", "{parameters}");
    }

    let strange = stranger.certificate_authority().display();
    for url in [
        url("127.0.0.1", "sslmode=disable"),
        url("127.0.0.1", "sslmode=verify-full"),
        url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={strange}")),
        url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={strange}")),
        url("127.0.0.1", "sslmode=verify-full&sslrootcert=/nowhere"),
        // The certificate does not name it.
        url("127.0.0.2", &format!("sslmode=verify-full&sslrootcert={authority}")),
    ] {
        let error = refused(&url).await;
        assert_eq!(error.code, StoreCode::Unavailable, "{url}: {error}");
        assert!(!error.message.contains("s3cr3tpw"), "{error}");
    }
}

#[tokio::test]
async fn a_unix_socket_is_a_way_to_the_server() {
    let database = Database::migrated();
    let client = client_at(&format!("{}&max_connections=2", database.cluster.socket_url(&database.name))).await;
    client.history(Kind::Embedding, 1).await;
    let by_socket = "SELECT count(*) > 0 FROM pg_stat_activity
                     WHERE datname = current_database() AND client_addr IS NULL AND pid <> pg_backend_pid()
                       AND backend_type = 'client backend'";
    assert_eq!(database.sql(by_socket), "t");
}

/// Both stores of a database with a schema for each are written, and each holds its own.
async fn live_side_by_side(database: &Database, one: &Fixture, two: &Fixture) {
    let scope = one.history(Kind::Embedding, 2).await;
    two.registry.add_space(&scope.space, Some("of two")).await.unwrap();
    two.publish(&scope, 1, None).await.unwrap();
    assert_eq!(one.states(&scope).await, ["superseded", "active"]);
    assert_eq!(two.states(&scope).await, ["active"]);
    two.assert_sound().await;
    one.assert_sound().await;
    let count =
        |schema: &str| database.sql(&format!("SELECT count(*) FROM {schema}.knowledge_space_profile_heads"));
    assert_eq!((count("one"), count("\"Two\"")), ("1".to_owned(), "1".to_owned()));
    assert_eq!(database.sql("SELECT to_regclass('public.knowledge_spaces') IS NULL"), "t");
    two.registry.delete_space(&scope.space).await.unwrap();
    one.registry.delete_space(&scope.space).await.unwrap();
}

#[tokio::test]
async fn two_schemas_of_a_database_hold_two_stores() {
    let database = Database::empty();
    database.sql("CREATE SCHEMA one; CREATE SCHEMA \"Two\"");
    let by_ours = ["search_path=one", "search_path=%22Two%22"];
    let by_driver = ["options=-csearch_path%3Done", "options=-csearch_path%3D%22Two%22"];
    for parameters in by_ours {
        migrate(&format!("{}?{parameters}", database.url())).await;
    }
    for [one, two] in [by_ours, by_driver] {
        let one = Way::Directly.client(&database, one).await;
        let two = Way::Directly.client(&database, two).await;
        live_side_by_side(&database, &one, &two).await;
    }
    // One server connection for both, so that what one leaves behind is met by the other.
    let pooler =
        PgBouncer::start(shared(), &PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() });
    let pooled = |parameters: &str| format!("{}?pgbouncer=true&{parameters}", pooler.url(&database.name));
    let one = client_at(&pooled(by_ours[0])).await;
    let two = client_at(&pooled(by_ours[1])).await;
    live_side_by_side(&database, &one, &two).await;
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_told_and_no_other_one_is_used() {
    let database = Database::migrated();
    let options = PostgresOptions::from_url(&format!("{}?search_path=absent,public", database.url())).unwrap();
    let error = PostgresStore::migrate(&options).await.unwrap_err();
    assert_eq!(error.code, StoreCode::Schema);
    assert!(error.message.contains("absent"), "{error}");
}

#[tokio::test]
async fn a_callers_own_pool_carries_a_store() {
    let database = Database::migrated();
    let pool = PgPoolOptions::new().max_connections(2).connect(&database.url()).await.unwrap();
    let client = client_of(PostgresStore::over(pool.clone()));
    let scope = client.history(Kind::Embedding, 2).await;
    client.assert_sound().await;

    let pooler =
        PgBouncer::start(shared(), &PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() });
    let connect = PgConnectOptions::from_str(&pooler.url(&database.name)).unwrap().statement_cache_capacity(0);
    let pooled = PgPoolOptions::new().max_connections(2).connect_with(connect).await.unwrap();
    let options = PostgresOptions::from_url("postgres://unused/unused?pgbouncer=true").unwrap();
    let client = client_of(PostgresStore::over_with(pooled, &options));
    client.publish(&scope, 3, Some(2)).await.unwrap();
    client.assert_sound().await;

    // The caller may use it beside the store, and still has it when the store has gone.
    drop(client);
    let found: i64 = sqlx::query_scalar("SELECT count(*) FROM knowledge_space_profile_revisions")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(found, 3);
}

#[tokio::test]
async fn g6_01_two_programs_share_one_server_connection() {
    const OPERATIONS: u32 = 200;
    let database = Database::migrated();
    let pooler =
        PgBouncer::start(shared(), &PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() });
    let url = format!("{}?pgbouncer=true&max_connections=3&acquire_timeout_ms=60000", pooler.url(&database.name));
    let programs = [Arc::new(client_at(&url).await), Arc::new(client_at(&url).await)];
    let mut calls = Vec::new();
    // Seven operations a turn, each turn on a scope of its own, three turns at once.
    let turns = OPERATIONS.div_ceil(7);
    for turn in 0..turns {
        let program = Arc::clone(&programs[turn as usize % 2]);
        calls.push(tokio::spawn(async move {
            let scope = program.scope(Kind::ALL[turn as usize / 2 % 2]).await;
            program.propose(&scope, 1).await.unwrap();
            program.activate(&scope, 1, None).await.unwrap();
            program.publish(&scope, 2, Some(1)).await.unwrap();
            program.restore(&scope, 1, Some(2)).await.unwrap();
            assert_eq!(program.registry.head(&scope).await.unwrap().head.active_revision, number(3));
            assert_eq!(program.states(&scope).await.len(), 3);
        }));
        if calls.len() == 3 {
            for call in calls.drain(..) {
                call.await.unwrap();
            }
        }
    }
    for call in calls {
        call.await.unwrap();
    }
    for program in &programs {
        program.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    }
    programs[0].discover().await;
    for program in &programs {
        for backfill in program.claim("worker", 1).await.backfills {
            program.complete(&backfill.fence().unwrap()).await.unwrap();
        }
    }
    programs[1].assert_sound().await;
    let found = database.sql("SELECT count(*) FROM knowledge_space_profile_revisions");
    assert_eq!(found, (3 * turns + 2).to_string());
}

#[tokio::test]
async fn a_pooler_that_nobody_told_of_is_recognised() {
    let database = Database::migrated();
    let pooler =
        PgBouncer::start(shared(), &PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() });
    // Time-outs are set when a connection is made, which a pooler refuses to pass on.
    let error = refused(&pooler.url(&database.name)).await;
    assert_eq!(error.code, StoreCode::Unavailable, "{error}");
    assert!(error.message.contains("add `?pgbouncer=true`"), "{error}");
}

#[tokio::test]
async fn time_outs_behind_a_pooler_end_with_the_transaction() {
    let database = Database::migrated();
    let pooler =
        PgBouncer::start(shared(), &PgBouncerOptions { default_pool_size: 1, ..PgBouncerOptions::default() });
    let url = pooler.url(&database.name);
    let client = client_at(&format!("{url}?pgbouncer=true&lock_timeout_ms=200&statement_timeout_ms=50000")).await;
    let scope = client.history(Kind::Embedding, 1).await;
    let lock = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
    let mut holder = Session::holding(&database, &lock).await;
    let error = client.publish(&scope, 2, Some(1)).await.unwrap_err();
    assert_eq!(error.code(), "STORE_BUSY", "{error}");
    holder.run("COMMIT").await;
    client.publish(&scope, 2, Some(1)).await.unwrap();

    // The next client has the same server connection.
    let connect = PgConnectOptions::from_str(&url).unwrap().statement_cache_capacity(0);
    let next = PgPoolOptions::new().max_connections(1).connect_with(connect).await.unwrap();
    for setting in ["lock_timeout", "statement_timeout"] {
        let query = format!("SELECT current_setting('{setting}')");
        let found: String =
            sqlx::query_scalar(sqlx::AssertSqlSafe(query)).persistent(false).fetch_one(&next).await.unwrap();
        assert_eq!(found, "0", "{setting}");
    }
}

#[tokio::test]
async fn a_closed_store_is_unavailable() {
    let database = Database::migrated();
    let store = PostgresStore::open(&database.options()).await.unwrap();
    let client = client_of(store.clone());
    let scope = client.history(Kind::Embedding, 1).await;
    store.close().await;
    let error = client.registry.head(&scope).await.unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE", "{error}");
    let error = client.publish(&scope, 2, Some(1)).await.unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE", "{error}");
}
