//! What a connection is to start with must have arrived.

use space_profiles_core::StoreCode;
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use throwaway_postgres::{PgBouncer, PgBouncerOptions, PoolMode, shared};

use crate::databases::Database;

#[tokio::test]
async fn a_pooler_that_drops_start_up_parameters_is_noticed_before_anything_is_done_or_migrated() {
    let database = Database::empty();
    let dropping = ("ignore_startup_parameters".to_owned(), "extra_float_digits,options".to_owned());
    let options =
        PgBouncerOptions { pool_mode: PoolMode::Session, settings: vec![dropping], ..PgBouncerOptions::default() };
    let pooler = PgBouncer::start(shared(), &options);
    let options = PostgresOptions::from_url(&pooler.url(&database.name)).unwrap().search_path("elsewhere");
    let opened = PostgresStore::open(&options).await.err().unwrap();
    let migrated = PostgresStore::migrate(&options).await.err().unwrap();
    for error in [opened, migrated] {
        assert_eq!(error.code, StoreCode::Schema);
        assert!(error.message.contains("statement_timeout `30000`, found `0`"), "{error}");
        assert!(error.message.contains("?pgbouncer=true"), "{error}");
    }
    assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'space_profiles%'"), "0");
}
