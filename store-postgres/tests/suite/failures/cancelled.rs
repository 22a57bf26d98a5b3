//! Calls whose caller has gone.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use space_profiles_conformance::{Fixture, limit, number};
use space_profiles_core::{Kind, Scope};

use crate::clients::{Session, Way, is_space, of_space};
use crate::databases::Database;

const ONE_CONNECTION: &str = "max_connections=1&acquire_timeout_ms=60000";

async fn active_revision(client: &Fixture, scope: &Scope) -> Option<u32> {
    client.registry.head(scope).await.ok().map(|profile| profile.head.active_revision.get())
}

#[tokio::test]
async fn g6_05_a_cancelled_activation_that_waits_for_a_lock_is_done_wholly_or_not_at_all() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, ONE_CONNECTION).await);
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();
        let lock = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
        let mut holder = Session::holding(&database, &lock).await;

        let (caller, wanted) = (Arc::clone(&client), scope.clone());
        let call = tokio::spawn(async move { caller.activate(&wanted, 2, Some(1)).await });
        database.until_waiting(1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        holder.run("COMMIT").await;

        // On the same connection, so after whatever the server made of the cancelled statement. A statement that
        // stands for itself was sent and is carried out; a transaction of which the end was not sent is not.
        let found = active_revision(&client, &scope).await;
        assert_eq!(found, Some(if way == Way::Directly { 2 } else { 1 }), "{way:?}");
        let again = client.activate(&scope, 2, Some(1)).await.unwrap();
        assert_eq!(again.replayed, way == Way::Directly, "{way:?}");
        database.until_unlocked().await;
        assert_eq!(client.states(&scope).await, ["superseded", "active"], "{way:?}");
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn g6_05_a_cancelled_activation_whose_lock_wait_times_out_leaves_the_old_state() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, &format!("{ONE_CONNECTION}&lock_timeout_ms=1000")).await);
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();
        let lock = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
        let mut holder = Session::holding(&database, &lock).await;

        let (caller, wanted) = (Arc::clone(&client), scope.clone());
        let call = tokio::spawn(async move { caller.activate(&wanted, 2, Some(1)).await });
        database.until_waiting(1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());

        // The only connection comes back while the other session still holds its lock.
        assert_eq!(active_revision(&client, &scope).await, Some(1), "{way:?}");
        holder.run("ROLLBACK").await;
        assert!(!client.activate(&scope, 2, Some(1)).await.unwrap().replayed, "{way:?}");
        database.until_unlocked().await;
    }
}

#[tokio::test]
async fn g6_05_a_write_that_is_cancelled_between_its_two_statements_leaves_nothing() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, ONE_CONNECTION).await);
        let scope = client.scope(Kind::Embedding).await;
        // Reads pass, and so does the first statement, which locks the space.
        let lock = "LOCK TABLE knowledge_space_profile_revisions IN EXCLUSIVE MODE";
        let mut holder = Session::holding(&database, lock).await;

        let (caller, wanted) = (Arc::clone(&client), scope.clone());
        let call = tokio::spawn(async move { caller.publish(&wanted, 1, None).await });
        database.until_waiting(1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        holder.run("COMMIT").await;

        assert_eq!(active_revision(&client, &scope).await, None, "{way:?}");
        let rows =
            format!("SELECT count(*) FROM knowledge_space_profile_revisions WHERE {}", of_space(&scope.space));
        assert_eq!(database.sql(&rows), "0", "{way:?}");
        database.until_unlocked().await;
        assert!(!client.publish(&scope, 1, None).await.unwrap().replayed, "{way:?}");
        client.assert_sound().await;
    }
}

/// Polls a future so many times and then drops it. `None` if it was not done by then.
async fn polled<T>(future: impl Future<Output = T>, times: u32) -> Option<T> {
    let mut future = pin!(future);
    let mut left = times;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// More polls than any call here takes.
const MOST_POLLS: u32 = 300;

#[tokio::test]
async fn g6_05_wherever_a_write_is_cancelled_the_next_one_on_the_connection_is_committed() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, ONE_CONNECTION).await;
        let mut is_done = false;
        for polls in 1..MOST_POLLS {
            // The first publication of a scope is a transaction of two statements.
            let scope = client.scope(Kind::Embedding).await;
            is_done = polled(client.publish(&scope, 1, None), polls).await.is_some();

            let next = client.scope(Kind::Retrieval).await;
            let written = format!("SELECT count(*) FROM knowledge_spaces WHERE {}", is_space(&next.space));
            assert_eq!(
                database.sql(&written),
                "1",
                "{way:?}: after {polls} polls an answered write was not committed"
            );
            client.publish(&scope, 1, None).await.unwrap();
            if is_done {
                break;
            }
        }
        assert!(is_done, "{way:?}: a publication takes more than {MOST_POLLS} polls");
        client.assert_sound().await;
        database.until_unlocked().await;
    }
}

#[tokio::test]
async fn g6_05_wherever_a_read_is_cancelled_the_next_write_on_the_connection_is_committed() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, ONE_CONNECTION).await;
        client.history(Kind::Embedding, 2).await;
        let mut is_done = false;
        for polls in 1..MOST_POLLS {
            is_done = polled(client.registry.audit_page(None, limit(2)), polls).await.is_some();
            let scope = client.scope(Kind::Retrieval).await;
            let written = format!("SELECT count(*) FROM knowledge_spaces WHERE {}", is_space(&scope.space));
            assert_eq!(
                database.sql(&written),
                "1",
                "{way:?}: after {polls} polls an answered write was not committed"
            );
            if is_done {
                break;
            }
        }
        assert!(is_done, "{way:?}: an audit takes more than {MOST_POLLS} polls");
        database.until_unlocked().await;
    }
}

#[tokio::test]
async fn g6_05_wherever_an_activation_is_cancelled_the_same_call_then_succeeds() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, ONE_CONNECTION).await;
        let scope = client.history(Kind::Retrieval, 1).await;
        let mut is_done = false;
        for (polls, revision) in (1..MOST_POLLS).zip(2..) {
            client.propose(&scope, revision).await.unwrap();
            is_done = polled(client.activate(&scope, revision, Some(revision - 1)), polls).await.is_some();
            let profile = client.activate(&scope, revision, Some(revision - 1)).await.unwrap().value;
            assert_eq!(profile.head.active_revision, number(revision), "{way:?}");
            assert_eq!(profile.head.row_version.get(), revision, "{way:?}");
            if is_done {
                break;
            }
        }
        assert!(is_done, "{way:?}: an activation takes more than {MOST_POLLS} polls");
        client.assert_sound().await;
        database.until_unlocked().await;
    }
}
