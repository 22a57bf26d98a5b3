use std::sync::Arc;

use super::prelude::*;
use crate::lost_replies::{Fate, LostReplies, Meanwhile};

/// A registry over the fixture's store that loses the reply of the next commit; `meanwhile` happens then.
fn registry_that_loses(fx: &Fixture, fate: Fate, meanwhile: Meanwhile) -> Registry {
    let store = LostReplies::new(fx.under_test.store(), 1, fate, meanwhile);
    Registry::new(Arc::new(store), Arc::clone(&fx.draw) as Arc<dyn Draw>)
}

fn nothing() -> Meanwhile {
    Box::new(|| Box::pin(async {}))
}

/// Somebody else supersedes what was just activated.
fn superseded_by(fx: &Fixture, scope: &Scope, revision: u32, expected: u32) -> Meanwhile {
    let (registry, scope) = (fx.registry.clone(), scope.clone());
    Box::new(move || {
        let (registry, scope) = (registry.clone(), scope.clone());
        Box::pin(async move {
            let snapshot = usual(scope.kind, revision).to_string();
            let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by("user:other"));
            registry.publish(&scope, &proposal, Some(number(expected))).await.expect("the other one is in time");
        })
    })
}

pub async fn g6_07_a_commit_whose_reply_was_lost_counts_as_done(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let proposed = registry_that_loses(fx, Fate::Happens, nothing()).propose(&scope, &proposal).await.unwrap();
    assert!(proposed.replayed);
    let activated = registry_that_loses(fx, Fate::Happens, nothing())
        .activate(&scope, number(1), None, &by(ANN))
        .await
        .unwrap();
    assert_eq!((activated.replayed, activated.value.head.row_version.get()), (true, 1));
    let deleted = registry_that_loses(fx, Fate::Happens, nothing()).delete_space(&scope.space).await.unwrap();
    assert!(deleted.replayed);
}

pub async fn g6_07_a_commit_that_did_not_happen_happens_now(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    let activated =
        registry_that_loses(fx, Fate::Never, nothing()).activate(&scope, number(1), None, &by(ANN)).await.unwrap();
    assert_eq!((activated.replayed, activated.value.head.row_version.get()), (false, 1));
    let restored = {
        fx.publish(&scope, 2, Some(1)).await.unwrap();
        registry_that_loses(fx, Fate::Never, nothing())
            .restore(&scope, number(1), Some(number(2)), &by(ANN))
            .await
            .unwrap()
    };
    assert_eq!((restored.replayed, restored.value.head.row_version.get()), (false, 3));
    fx.assert_sound().await;
}

pub async fn a_commit_that_is_still_under_way_when_it_is_repeated_counts_as_done(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let late = || registry_that_loses(fx, Fate::Late, nothing());
    let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let proposed = late().propose(&scope, &proposal).await.unwrap();
    assert!(proposed.replayed);
    let activated = late().activate(&scope, number(1), None, &by(ANN)).await.unwrap();
    assert_eq!((activated.replayed, activated.value.head.row_version.get()), (true, 1));
    let snapshot = usual(Kind::Embedding, 2).to_string();
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let published = late().publish(&scope, &proposal, Some(number(1))).await.unwrap();
    assert_eq!((published.replayed, published.value.head.row_version.get()), (true, 2));
    let restored = late().restore(&scope, number(1), Some(number(2)), &by(ANN)).await.unwrap();
    assert_eq!((restored.replayed, restored.value.head.row_version.get()), (true, 3));
    let filled = serde_json::json!({"pluginId": "p", "provider": "o", "model": "m", "dimension": 8}).to_string();
    let proposal = Proposal::new(filled.as_bytes(), capability.as_bytes(), by(ANN));
    let next = late().propose_next(&scope, &proposal, fx.draw.id().into()).await.unwrap();
    assert!(next.replayed);
    fx.assert_sound().await;
}

pub async fn after_a_lost_reply_a_superseded_activation_counts_as_done(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    fx.propose(&scope, 2).await.unwrap();
    let registry = registry_that_loses(fx, Fate::Happens, superseded_by(fx, &scope, 3, 2));
    let answer = registry.activate(&scope, number(2), Some(number(1)), &by(ANN)).await.unwrap();
    assert!(answer.replayed);
    assert_eq!(answer.value.revision.number(), number(2));
    assert_eq!(answer.value.revision.status(), RevisionStatus::Superseded);
    assert_eq!(answer.value.head.active_revision, number(3));
    fx.assert_sound().await;
}

pub async fn after_a_lost_reply_a_superseded_publication_counts_as_done(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let (snapshot, capability) = (usual(Kind::Embedding, 2).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let registry = registry_that_loses(fx, Fate::Happens, superseded_by(fx, &scope, 3, 2));
    let answer = registry.publish(&scope, &proposal, Some(number(1))).await.unwrap();
    assert_eq!((answer.replayed, answer.value.revision.number()), (true, number(2)));
    let registry = registry_that_loses(fx, Fate::Happens, superseded_by(fx, &scope, 5, 4));
    let draft = json!({"pluginId": "p", "provider": "o", "model": "m", "dimension": 8}).to_string();
    let next = Proposal { snapshot: draft.as_bytes(), ..proposal };
    let id = RevisionId::from(fx.draw.id());
    let answer = registry.publish_next(&scope, &next, Some(number(3)), id).await.unwrap();
    assert_eq!((answer.replayed, answer.value.revision.number()), (true, number(4)));
    fx.assert_sound().await;
}

pub async fn after_a_lost_reply_a_superseded_restoration_counts_as_done(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let registry = registry_that_loses(fx, Fate::Happens, superseded_by(fx, &scope, 4, 3));
    let answer = registry.restore(&scope, number(1), Some(number(2)), &by(ANN)).await.unwrap();
    assert_eq!((answer.replayed, answer.value.revision.number()), (true, number(3)));
    assert_eq!(fx.revisions(&scope).await.len(), 4, "it was not restored twice");
    fx.assert_sound().await;
}

pub async fn after_a_lost_reply_somebody_elses_work_is_still_a_conflict(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let (snapshot, capability) = (usual(Kind::Embedding, 2).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    // The commit did not happen, and somebody else publishes the same number.
    let registry = registry_that_loses(fx, Fate::Never, superseded_by(fx, &scope, 2, 1));
    assert_eq!(code(registry.publish(&scope, &proposal, Some(number(1))).await), "HEAD_CONFLICT");
    fx.assert_sound().await;
}

pub async fn the_other_commands_recognise_their_work_after_a_lost_reply_too(fx: &Fixture) {
    let space = space_of("tenant-a", fx.draw.id());
    let added =
        registry_that_loses(fx, Fate::Happens, nothing()).add_space(&space, Some("Handbook")).await.unwrap();
    assert!(added.replayed);
    let [embedding, retrieval] = Kind::ALL.map(|kind| space.scope(kind));
    fx.propose(&embedding, 1).await.unwrap();
    fx.propose(&retrieval, 1).await.unwrap();
    let targets = (target(1, None), target(1, None));
    let registry = registry_that_loses(fx, Fate::Happens, nothing());
    let both = registry.activate_all(&space, targets.0, targets.1, &by(ANN)).await.unwrap();
    assert!(both.replayed);
    fx.propose(&embedding, 2).await.unwrap();
    let (code, message) = (FailureCode::new("CODE").unwrap(), FailureMessage::new("why").unwrap());
    let failed = registry_that_loses(fx, Fate::Happens, nothing())
        .fail(&embedding, number(2), code, message, &by(ANN))
        .await
        .unwrap();
    assert!(failed.replayed);

    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    registry_that_loses(fx, Fate::Happens, nothing()).ledger().release(&fence).await.unwrap();
    let claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
    let capability = typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z");
    let ledger = registry_that_loses(fx, Fate::Happens, nothing()).ledger();
    let done = ledger.complete(&claimed.fence().unwrap(), capability.canonical().as_bytes()).await.unwrap();
    assert_eq!((done.value, done.replayed), (decide::Completed::Installed, true));
    assert_eq!(fx.states(&scope).await, ["active"], "it was installed once");
    fx.assert_sound().await;
}

pub async fn a_retry_whose_reply_was_lost_counts_as_done(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    fx.fail_backfill(&claimed.fence().unwrap(), "CODE", false, None).await.unwrap();
    let retried = registry_that_loses(fx, Fate::Happens, nothing()).ledger().retry(&scope).await.unwrap();
    assert_eq!(retried, fx.ledger.get(&scope).await.unwrap());
    assert_eq!((retried.status(), retried.row_version.get()), (BackfillStatus::Queued, 4));
}

pub async fn a_number_that_was_taken_meanwhile_is_filled_in_anew(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let (registry, taken) = (fx.registry.clone(), scope.clone());
    // Somebody proposes revision 2 and gives it up, while the first attempt is under way.
    let meanwhile: Meanwhile = Box::new(move || {
        let (registry, scope) = (registry.clone(), taken.clone());
        Box::pin(async move {
            let snapshot = usual(scope.kind, 2).to_string();
            let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by("user:other"));
            registry.propose(&scope, &proposal).await.expect("the number is free");
            let (code, message) = (FailureCode::new("CODE").unwrap(), FailureMessage::new("why").unwrap());
            registry.fail(&scope, number(2), code, message, &by("user:other")).await.unwrap().value.unwrap();
        })
    });
    let draft = json!({"pluginId": "p", "provider": "o", "model": "m", "dimension": 8}).to_string();
    let proposal = Proposal::new(draft.as_bytes(), b"{}", by(ANN));
    let id = RevisionId::from(fx.draw.id());
    let answer =
        registry_that_loses(fx, Fate::Never, meanwhile).propose_next(&scope, &proposal, id).await.unwrap();
    assert_eq!((answer.value.number(), answer.replayed), (number(3), false));
    fx.assert_sound().await;
}

pub async fn a_store_that_stays_silent_is_an_unknown_outcome(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    let store = LostReplies::new(fx.under_test.store(), 100, Fate::Never, nothing());
    let registry = Registry::new(Arc::new(store), Arc::clone(&fx.draw) as Arc<dyn Draw>);
    assert_eq!(code(registry.activate(&scope, number(1), None, &by(ANN)).await), "STORE_OUTCOME_UNKNOWN");
}
