//! Waiting that has an end.

use std::sync::Arc;

use space_profiles_conformance::{Fixture, code};
use space_profiles_core::{Error, Kind};

use crate::clients::{Session, Way, is_space};
use crate::databases::Database;

/// What a failure says, of which nothing may have been written.
fn busy<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    let error = answer.expect_err("expected a failure");
    assert_eq!(error.code(), "STORE_BUSY", "{error}");
    assert!(error.is_retryable());
    error.to_string()
}

#[tokio::test]
async fn g6_19_a_write_that_waits_too_long_for_a_lock_is_busy_and_changes_nothing() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "lock_timeout_ms=200").await;
        let scope = client.history(Kind::Embedding, 1).await;
        let empty = scope.space.scope(Kind::Retrieval);
        client.propose(&scope, 2).await.unwrap();
        let lock = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
        let mut holder = Session::holding(&database, &lock).await;

        let said = busy(client.activate(&scope, 2, Some(1)).await);
        assert!(said.contains("lock time-out") && said.contains("55P03"), "{said}");
        busy(client.propose(&empty, 1).await);
        busy(client.publish(&empty, 1, None).await);
        busy(client.registry.delete_space(&scope.space).await);
        assert_eq!(client.states(&scope).await, ["active", "candidate"], "{way:?}: a reader waits for nobody");
        assert_eq!(client.states(&empty).await, [""; 0], "{way:?}");

        holder.run("COMMIT").await;
        client.activate(&scope, 2, Some(1)).await.unwrap();
        client.publish(&empty, 1, None).await.unwrap();
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_19_a_statement_that_runs_too_long_is_busy_and_changes_nothing() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let usual = way.client(&database, "").await;
        let hasty = way.client(&database, "statement_timeout_ms=1000").await;
        let scope = usual.history(Kind::Embedding, 1).await;
        usual.propose(&scope, 2).await.unwrap();
        database.sql(
            "CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS
               'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
             CREATE TRIGGER sleeps BEFORE UPDATE ON knowledge_space_profile_heads
               FOR EACH ROW EXECUTE FUNCTION sleeps();",
        );
        let said = busy(hasty.activate(&scope, 2, Some(1)).await);
        assert!(said.contains("statement time-out") && said.contains("57014"), "{said}");
        database.sql("DROP TRIGGER sleeps ON knowledge_space_profile_heads");
        assert_eq!(usual.states(&scope).await, ["active", "candidate"], "{way:?}");
        assert!(!usual.activate(&scope, 2, Some(1)).await.unwrap().replayed, "{way:?}");
        usual.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_03_fifty_activations_share_one_connection() {
    const SCOPES: usize = 50;
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, "max_connections=1").await);
        let mut scopes = Vec::new();
        for _ in 0..SCOPES {
            let scope = client.scope(Kind::Embedding).await;
            client.propose(&scope, 1).await.unwrap();
            scopes.push(scope);
        }
        let calls: Vec<_> = scopes
            .iter()
            .map(|scope| {
                let (client, scope) = (Arc::clone(&client), scope.clone());
                tokio::spawn(async move { client.activate(&scope, 1, None).await })
            })
            .collect();
        let mut done = 0;
        for call in calls {
            match call.await.unwrap() {
                Ok(_) => done += 1,
                failed => assert!(busy(failed).contains("max_connections")),
            }
        }
        let heads = database.sql("SELECT count(*) FROM knowledge_space_profile_heads");
        assert_eq!(heads, done.to_string(), "{way:?}: an answer is not what happened");
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_03_writes_of_two_statements_share_one_connection() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, "max_connections=1&acquire_timeout_ms=60000").await);
        let mut scopes = Vec::new();
        for _ in 0..20 {
            scopes.push(client.scope(Kind::Retrieval).await);
        }
        let calls: Vec<_> = scopes
            .into_iter()
            .map(|scope| {
                let client = Arc::clone(&client);
                tokio::spawn(async move { client.publish(&scope, 1, None).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_03_a_call_that_gets_no_connection_in_time_is_busy_and_the_pool_recovers() {
    let database = Database::migrated();
    let client = Arc::new(
        Way::Directly.client(&database, "max_connections=1&acquire_timeout_ms=3000&lock_timeout_ms=0").await,
    );
    let scope = client.history(Kind::Embedding, 1).await;
    client.propose(&scope, 2).await.unwrap();
    let lock = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
    let mut holder = Session::holding(&database, &lock).await;
    let (caller, wanted): (Arc<Fixture>, _) = (Arc::clone(&client), scope.clone());
    let waiting = tokio::spawn(async move { caller.activate(&wanted, 2, Some(1)).await });
    database.until_waiting(1).await;

    let said = busy(client.registry.head(&scope).await);
    assert!(said.contains("max_connections"), "{said}");
    assert_eq!(code(client.publish(&scope, 3, Some(2)).await), "STORE_BUSY");

    holder.run("COMMIT").await;
    waiting.await.unwrap().unwrap();
    assert_eq!(client.registry.head(&scope).await.unwrap().head.active_revision.get(), 2);
}
