//! Deadlocks and serialization failures.

use std::sync::Arc;

use space_profiles_conformance::{five_minutes, limit, usual};
use space_profiles_core::{Kind, SpaceFilter, WorkerId};

use crate::clients::{Session, Way, is_space, of_space};
use crate::databases::Database;

/// What may come of a publication beside others. Neither is a raw error of the server.
fn is_an_answer(code: &str) -> bool {
    matches!(code, "HEAD_CONFLICT" | "REVISION_CONFLICT" | "CANDIDATE_EXISTS" | "STORE_BUSY")
}

#[tokio::test]
async fn g6_06_under_serializable_each_call_ends_with_success_or_its_own_conflict() {
    const RACERS: u32 = 6;
    const ROUNDS: u32 = 8;
    for way in Way::BOTH {
        let database = Database::migrated();
        database
            .sql(&format!("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'", database.name));
        let first = Arc::new(way.client(&database, "max_connections=3").await);
        let second = Arc::new(way.client(&database, "max_connections=3").await);
        let scope = first.history(Kind::Embedding, 1).await;
        for round in 1..=ROUNDS {
            let calls: Vec<_> = (0..RACERS)
                .map(|racer| {
                    let client = Arc::clone(if racer % 2 == 0 { &first } else { &second });
                    let scope = scope.clone();
                    tokio::spawn(async move { client.publish(&scope, round + 1, Some(round)).await })
                })
                .collect();
            let mut written = 0;
            for call in calls {
                match call.await.unwrap() {
                    Ok(outcome) => written += u32::from(!outcome.replayed),
                    Err(error) => assert!(is_an_answer(error.code()), "{way:?}: {error}"),
                }
            }
            assert_eq!(written, 1, "{way:?}: round {round}");
        }
        assert_eq!(first.states(&scope).await.len(), ROUNDS as usize + 1);
        first.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_06_a_write_that_is_the_victim_of_a_deadlock_is_made_again() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, "lock_timeout_ms=0").await);
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();

        // Ours locks the space, the candidate, the former revision. The two others stop it at the candidate and
        // wait for the space with the former revision locked: when ours goes on, the circle is closed by its wait,
        // and only ours looks for circles.
        let row = |revision: u32| {
            format!(
                "SELECT FROM knowledge_space_profile_revisions WHERE {} AND revision = {revision} FOR UPDATE",
                of_space(&scope.space)
            )
        };
        let mut stopping = Session::holding(&database, &row(2)).await;
        let mut crossing = Session::holding(&database, &format!("SET deadlock_timeout = '1h'; {}", row(1))).await;
        let (caller, wanted) = (Arc::clone(&client), scope.clone());
        let call = tokio::spawn(async move { caller.activate(&wanted, 2, Some(1)).await });
        database.until_waiting(1).await;
        let space = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
        let crossing = tokio::spawn(async move {
            crossing.run(&space).await;
            crossing
        });
        database.until_waiting(2).await;
        stopping.run("COMMIT").await;

        // It has the space, so ours has let go of it: ours was the victim, and waits for the space again.
        let mut crossing = crossing.await.unwrap();
        database.until_waiting(1).await;
        crossing.run("COMMIT").await;
        assert!(!call.await.unwrap().unwrap().replayed, "{way:?}");
        assert_eq!(client.states(&scope).await, ["superseded", "active"], "{way:?}");
        client.assert_sound().await;
    }
}

/// Lets every change of a table fail, and counts how often: a sequence is not rolled back.
fn failing(table: &str, state: &str) -> String {
    format!(
        "CREATE SEQUENCE attempts;
         CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN PERFORM nextval('attempts'); RAISE EXCEPTION 'not now' USING ERRCODE = '{state}'; END $$;
         CREATE TRIGGER fails BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION fails();"
    )
}

const ATTEMPTS: &str = "SELECT last_value FROM attempts";

#[tokio::test]
async fn g6_06_retries_end_with_busy_and_nothing_is_changed() {
    for way in Way::BOTH {
        for state in ["40001", "40P01"] {
            let database = Database::migrated();
            let client = way.client(&database, "").await;
            let scope = client.history(Kind::Embedding, 1).await;
            client.propose(&scope, 2).await.unwrap();
            let empty = scope.space.scope(Kind::Retrieval);
            database.sql(&failing("knowledge_space_profile_heads", state));

            let error = client.activate(&scope, 2, Some(1)).await.unwrap_err();
            assert_eq!(error.code(), "STORE_BUSY", "{error}");
            assert!(!error.to_string().contains(state), "{error}");
            assert_eq!(database.sql(ATTEMPTS), "9", "the first attempt and eight more");
            // A transaction of two statements is made again as a whole.
            let error = client.publish(&empty, 1, None).await.unwrap_err();
            assert_eq!(error.code(), "STORE_BUSY", "{error}");
            assert_eq!(database.sql(ATTEMPTS), "18", "the first attempt and eight more");
            assert_eq!(client.states(&scope).await, ["active", "candidate"], "{way:?}");
            assert_eq!(client.states(&empty).await, [""; 0], "{way:?}");
        }
    }
}

#[tokio::test]
async fn g6_06_a_claim_that_only_meets_others_ends_with_busy() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "").await;
        client.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
        assert_eq!(client.discover().await, 1);
        database.sql(&failing("knowledge_space_profile_backfills", "40001"));
        let worker = WorkerId::new("worker-a").unwrap();
        let lease = five_minutes();
        let claimed = client.ledger.claim(&worker, limit(1), lease, &SpaceFilter::All).await;
        let error = claimed.unwrap_err();
        assert_eq!(error.code(), "STORE_BUSY", "{error}");
        assert_eq!(database.sql(ATTEMPTS), "9", "{way:?}");
        database.sql("DROP TRIGGER fails ON knowledge_space_profile_backfills");
        assert_eq!(client.claim("worker-a", 1).await.backfills.len(), 1, "{way:?}");
    }
}
