//! Writers beside each other: who waits for whom, and what each then learns.

use std::sync::Arc;

use space_profiles_conformance::{Fixture, by, code, free_form, number, usual};
use space_profiles_core::{Error, Kind, Outcome, Proposal, Revision, Scope};

use crate::clients::{Session, Way, is_space, of_space};
use crate::databases::Database;

const ROUNDS: u32 = 10;
const RACERS: usize = 4;

async fn propose_by(client: &Fixture, scope: &Scope, who: &str) -> Result<Outcome<Revision>, Error> {
    let (snapshot, capability) = (usual(scope.kind, 1).to_string(), free_form().to_string());
    client.registry.propose(scope, &Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(who))).await
}

/// Two stores, as of two processes.
async fn two(way: Way, database: &Database) -> [Arc<Fixture>; 2] {
    [
        Arc::new(way.client(database, "max_connections=3").await),
        Arc::new(way.client(database, "max_connections=3").await),
    ]
}

/// Runs the same call of several subjects at once, by turns on two stores, and answers the codes of the refusals;
/// exactly one call must have written.
async fn race<T, F>(clients: &[Arc<Fixture>; 2], call: impl Fn(Arc<Fixture>, String) -> F) -> Vec<&'static str>
where
    T: Send + 'static,
    F: Future<Output = Result<Outcome<T>, Error>> + Send + 'static,
{
    let calls: Vec<_> = (0..RACERS)
        .map(|racer| tokio::spawn(call(Arc::clone(&clients[racer % 2]), format!("user:{racer}"))))
        .collect();
    let mut written = 0;
    let mut codes = Vec::new();
    for call in calls {
        match call.await.unwrap() {
            Ok(outcome) => written += usize::from(!outcome.replayed),
            Err(error) => codes.push(error.code()),
        }
    }
    assert_eq!(written, 1, "{codes:?}");
    codes
}

#[tokio::test]
async fn of_raced_first_proposals_one_is_appended_and_the_others_see_the_candidate() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let clients = two(way, &database).await;
        for round in 0..ROUNDS {
            let scope = clients[0].scope(Kind::ALL[round as usize % 2]).await;
            let codes = race(&clients, |client, who| {
                let scope = scope.clone();
                async move { propose_by(&client, &scope, &who).await }
            });
            assert_eq!(codes.await, ["CANDIDATE_EXISTS"; RACERS - 1], "{way:?}");
            assert_eq!(clients[0].states(&scope).await, ["candidate"], "{way:?}");
        }
    }
}

#[tokio::test]
async fn of_raced_first_publications_one_is_active_and_the_others_see_the_head() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let clients = two(way, &database).await;
        for round in 0..ROUNDS {
            let scope = clients[0].scope(Kind::ALL[round as usize % 2]).await;
            let codes = race(&clients, |client, who| {
                let scope = scope.clone();
                async move {
                    let (snapshot, capability) = (usual(scope.kind, 1).to_string(), free_form().to_string());
                    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(&who));
                    client.registry.publish(&scope, &proposal, None).await
                }
            });
            assert_eq!(codes.await, ["HEAD_CONFLICT"; RACERS - 1], "{way:?}");
            assert_eq!(clients[0].states(&scope).await, ["active"], "{way:?}");
        }
        clients[0].assert_sound().await;
    }
}

#[tokio::test]
async fn g4_01_of_raced_activations_one_moves_the_head_and_the_others_recognise_it() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let clients = two(way, &database).await;
        let scope = clients[0].scope(Kind::Embedding).await;
        for revision in 1..=ROUNDS {
            clients[0].propose(&scope, revision).await.unwrap();
            let expected = (revision > 1).then(|| number(revision - 1));
            let codes = race(&clients, |client, who| {
                let scope = scope.clone();
                async move { client.registry.activate(&scope, number(revision), expected, &by(&who)).await }
            });
            assert_eq!(codes.await, [""; 0], "{way:?}");
            let head = clients[1].registry.head(&scope).await.unwrap().head;
            assert_eq!((head.active_revision.get(), head.row_version.get()), (revision, revision), "{way:?}");
        }
        clients[0].assert_sound().await;
    }
}

#[tokio::test]
async fn of_raced_completions_of_one_claim_one_installs_and_the_others_recognise_it() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let clients = two(way, &database).await;
        for _ in 0..ROUNDS {
            let (scope, backfill) = clients[0].claimed_embedding().await;
            let fence = backfill.fence().unwrap();
            let codes = race(&clients, |client, _| async move { client.complete(&fence).await });
            assert_eq!(codes.await, [""; 0], "{way:?}");
            assert_eq!(clients[0].states(&scope).await, ["active"], "{way:?}");
        }
        clients[0].assert_sound().await;
    }
}

#[tokio::test]
async fn a_completion_and_a_first_publication_that_race_leave_one_active_revision() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let [worker, editor] = two(way, &database).await;
        for _ in 0..ROUNDS {
            let (scope, backfill) = worker.claimed_embedding().await;
            let fence = backfill.fence().unwrap();
            let (client, wanted) = (Arc::clone(&editor), scope.clone());
            let publication = tokio::spawn(async move {
                let (snapshot, capability) = (usual(wanted.kind, 1).to_string(), free_form().to_string());
                let mut proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:bob"));
                proposal.ignore_legacy = true;
                client.registry.publish(&wanted, &proposal, None).await
            });
            // It succeeds or fails the row: either way the answer is one of the ledger's.
            worker.complete(&fence).await.unwrap();
            if let Err(error) = publication.await.unwrap() {
                assert_eq!(error.code(), "HEAD_CONFLICT", "{way:?}: {error}");
            }
            assert_eq!(worker.states(&scope).await, ["active"], "{way:?}");
        }
        worker.assert_sound().await;
    }
}

#[tokio::test]
async fn writers_of_both_kinds_pass_each_other_and_a_deleter_waits_for_either() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "lock_timeout_ms=300").await;
        let scope = client.history(Kind::Embedding, 1).await;
        let other = scope.space.scope(Kind::Retrieval);
        client.publish(&other, 1, None).await.unwrap();
        client.propose(&scope, 2).await.unwrap();
        client.propose(&other, 2).await.unwrap();

        // What an activation of ours holds between its locks and its commit.
        let mut activation = Session::holding(
            &database,
            &format!(
                "SELECT FROM knowledge_spaces WHERE {} FOR SHARE;
                 SELECT FROM knowledge_space_profile_revisions
                 WHERE {} AND kind = 'embedding' ORDER BY revision DESC FOR UPDATE;
                 SELECT FROM knowledge_space_profile_heads WHERE {} AND kind = 'embedding' FOR UPDATE",
                is_space(&scope.space),
                of_space(&scope.space),
                of_space(&scope.space)
            ),
        )
        .await;
        client.activate(&other, 2, Some(1)).await.unwrap();
        client.propose(&other, 3).await.unwrap();
        client.fail(&other, 3, "NOT_WANTED").await.unwrap();
        client.publish(&other, 4, Some(2)).await.unwrap();
        client.restore(&other, 2, Some(4)).await.unwrap();
        assert_eq!(code(client.activate(&scope, 2, Some(1)).await), "STORE_BUSY", "{way:?}");
        assert_eq!(code(client.registry.delete_space(&scope.space).await), "STORE_BUSY", "{way:?}");
        activation.run("COMMIT").await;

        let deleting = format!("SELECT FROM knowledge_spaces WHERE {} FOR UPDATE", is_space(&scope.space));
        let mut deleter = Session::holding(&database, &deleting).await;
        assert_eq!(code(client.activate(&scope, 2, Some(1)).await), "STORE_BUSY", "{way:?}");
        assert_eq!(code(client.publish(&other, 6, Some(5)).await), "STORE_BUSY", "{way:?}");
        deleter.run("ROLLBACK").await;

        client.activate(&scope, 2, Some(1)).await.unwrap();
        client.publish(&other, 6, Some(5)).await.unwrap();
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn a_write_waits_for_an_uncommitted_change_of_the_space_and_then_obeys_it() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, "lock_timeout_ms=0").await);
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();
        let empty = scope.space.scope(Kind::Retrieval);
        let (legacy, backfill) = client.claimed_embedding().await;
        let fence = backfill.fence().unwrap();

        let change = format!(
            "UPDATE knowledge_spaces SET lifecycle_state = 'deleting' WHERE {} OR {}",
            is_space(&scope.space),
            is_space(&legacy.space)
        );
        let mut owner = Session::holding(&database, &change).await;
        let activation = tokio::spawn({
            let (client, scope) = (Arc::clone(&client), scope.clone());
            async move { client.activate(&scope, 2, Some(1)).await }
        });
        let first = tokio::spawn({
            let (client, empty) = (Arc::clone(&client), empty.clone());
            async move { client.publish(&empty, 1, None).await }
        });
        let completion = tokio::spawn({
            let client = Arc::clone(&client);
            async move { client.complete(&fence).await }
        });
        database.until_waiting(3).await;
        owner.run("COMMIT").await;

        assert_eq!(code(activation.await.unwrap()), "SPACE_NOT_WRITABLE", "{way:?}");
        assert_eq!(code(first.await.unwrap()), "SPACE_NOT_WRITABLE", "{way:?}");
        let completed = completion.await.unwrap().unwrap().value;
        assert!(format!("{completed:?}").contains("KNOWLEDGE_SPACE_NOT_WRITABLE"), "{way:?}: {completed:?}");
        assert_eq!(client.states(&scope).await, ["active", "candidate"], "{way:?}");
        assert_eq!(client.states(&empty).await, [""; 0], "{way:?}");
        assert_eq!(client.states(&legacy).await, [""; 0], "{way:?}");
    }
}

#[tokio::test]
async fn g4_15_an_activation_and_a_deletion_that_race_leave_no_head_without_a_space() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let [editor, owner] = two(way, &database).await;
        for _ in 0..ROUNDS {
            let scope = editor.scope(Kind::Embedding).await;
            editor.propose(&scope, 1).await.unwrap();
            let activation = tokio::spawn({
                let (editor, scope) = (Arc::clone(&editor), scope.clone());
                async move { editor.activate(&scope, 1, None).await }
            });
            owner.registry.delete_space(&scope.space).await.unwrap();
            if let Err(error) = activation.await.unwrap() {
                assert!(matches!(error.code(), "REVISION_NOT_FOUND" | "SPACE_NOT_FOUND"), "{way:?}: {error}");
            }
            let left = "SELECT (SELECT count(*) FROM knowledge_space_profile_heads)
                             + (SELECT count(*) FROM knowledge_space_profile_revisions)
                             + (SELECT count(*) FROM knowledge_spaces)";
            assert_eq!(database.sql(left), "0", "{way:?}");
        }
    }
}
