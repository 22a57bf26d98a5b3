//! Every statement of the store fits the real schema.

use space_profiles_postgres::testing;
use sqlx::{Connection, Executor, PgConnection, SqlSafeStr};

use crate::databases::Database;

#[tokio::test]
async fn every_statement_is_one_that_the_migrated_schema_knows() {
    let database = Database::migrated();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let statements = testing::statements();
    assert!(statements.len() >= 40, "{}", statements.len());
    for (name, sql) in statements {
        let prepared = (&mut connection).prepare(sql.into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {}\n{sql}", prepared.err().unwrap());
    }
}
