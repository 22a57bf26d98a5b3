use std::sync::Arc;

use super::prelude::*;
use crate::lost_replies::{Fate, LostReplies};

/// Claimed backfills of the usual legacy embedding profile, each of a space of its own.
async fn claimed(fx: &Fixture, count: usize) -> Vec<(Scope, Fence)> {
    let mut rows = Vec::new();
    for _ in 0..count {
        let (scope, backfill) = fx.claimed_embedding().await;
        rows.push((scope, backfill.fence().unwrap()));
    }
    rows
}

fn capability() -> String {
    typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z").canonical().to_owned()
}

async fn complete_all(ledger: &Ledger, rows: &[(Scope, Fence)]) -> Vec<Together> {
    let capability = capability();
    let completions: Vec<Completion<'_>> =
        rows.iter().map(|(_, fence)| Completion { fence: *fence, capability: capability.as_bytes() }).collect();
    ledger.complete_all(&completions).await
}

fn installed(replayed: bool) -> Together {
    Together::Settled(Outcome { value: decide::Completed::Installed, replayed })
}

/// What the store is asked to install for rows, as decided now.
async fn decided(fx: &Fixture, rows: &[(Scope, Fence)]) -> Vec<Install> {
    let fences: Vec<Fence> = rows.iter().map(|(_, fence)| *fence).collect();
    let states = fx.registry.store().load_backfills(&fences).await.unwrap();
    let capability = capability();
    let install = |(state, fence): (&LedgerState, &Fence)| {
        let command = decide::Complete {
            fence: *fence,
            capability: capability.as_bytes(),
            revision_id: fx.draw.revision_id(),
            head_id: fx.draw.id().into(),
        };
        match decide::complete(state, &command).unwrap() {
            decide::Decision::Change(change, _) => match *change {
                Change::Install(install) => install,
                other => panic!("expected an installation, found {other:?}"),
            },
            decide::Decision::Replayed(_) => panic!("expected something to write"),
        }
    };
    states.iter().zip(&fences).map(install).collect()
}

async fn assert_installed(fx: &Fixture, scope: &Scope) {
    let profile = fx.registry.head(scope).await.unwrap();
    assert_eq!((profile.head.active_revision, profile.head.row_version.get()), (number(1), 1));
    assert_eq!(profile.revision.created_by, BACKFILL_SUBJECT);
    let row = fx.ledger.get(scope).await.unwrap();
    assert_eq!(row.state, BackfillState::Succeeded { completed_at: profile.revision.created_at });
    assert_eq!(row.row_version.get(), 3);
}

pub async fn rows_completed_together_are_installed_each(fx: &Fixture) {
    let rows = claimed(fx, 5).await;
    fx.clock.advance(Span::from_seconds(1));
    assert_eq!(complete_all(&fx.ledger, &rows).await, vec![installed(false); 5]);
    for (scope, _) in &rows {
        assert_installed(fx, scope).await;
    }
    assert_eq!(complete_all(&fx.ledger, &rows).await, vec![installed(true); 5], "a repeat is recognised");
    assert_eq!(fx.ledger.complete_all(&[]).await, []);
    assert_eq!(fx.registry.store().load_backfills(&[]).await.unwrap(), []);
    assert_eq!(fx.registry.store().install_all(&[]).await.unwrap(), []);
    fx.assert_sound().await;
}

pub async fn both_kinds_of_a_space_are_completed_together(fx: &Fixture) {
    let legacy = retrieval(9, 2);
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), Some(legacy.clone())).await;
    fx.discover().await;
    let embedding = capability();
    let retrieval = typed_retrieval(&legacy, "2026-07-14T12:00:00Z");
    let backfills = fx.claim("worker-a", 2).await.backfills;
    let completions: Vec<Completion<'_>> = backfills
        .iter()
        .map(|backfill| Completion {
            fence: backfill.fence().unwrap(),
            capability: match backfill.scope.kind {
                Kind::Embedding => embedding.as_bytes(),
                Kind::Retrieval => retrieval.canonical().as_bytes(),
            },
        })
        .collect();
    assert_eq!(fx.ledger.complete_all(&completions).await, vec![installed(false); 2]);
    for (kind, revision) in [(Kind::Embedding, 1), (Kind::Retrieval, 2)] {
        let head = fx.registry.head(&space.scope(kind)).await.unwrap().head;
        assert_eq!(head.active_revision, number(revision));
    }
    fx.assert_sound().await;
}

pub async fn each_row_of_several_has_an_answer_of_its_own(fx: &Fixture) {
    let rows = claimed(fx, 6).await;
    let [first, lost, done, closed, unknown, last] = rows.as_slice() else { panic!("expected six rows") };
    fx.ledger.release(&lost.1).await.unwrap();
    fx.complete(&done.1).await.unwrap();
    fx.mark(&closed.0.space, "deleting", None).await;
    let nobodys = (unknown.0.clone(), Fence { backfill: fx.draw.id().into(), ..unknown.1 });
    let asked = [first.clone(), lost.clone(), done.clone(), closed.clone(), nobodys, last.clone()];
    let answers = complete_all(&fx.ledger, &asked).await;
    let refused = Together::Refused(Refusal::LeaseLost);
    let expected =
        [installed(false), refused.clone(), installed(true), Together::Undecided, refused, installed(false)];
    assert_eq!(answers, expected);
    assert_installed(fx, &first.0).await;
    assert_installed(fx, &last.0).await;
    assert_eq!(fx.ledger.get(&lost.0).await.unwrap().status(), BackfillStatus::Queued);
    let answer = fx.complete(&closed.1).await.unwrap().value;
    let decide::Completed::Failed(failure) = answer else { panic!("expected a failure: {answer:?}") };
    assert_eq!(failure.code, "KNOWLEDGE_SPACE_NOT_WRITABLE");
    fx.assert_sound().await;
}

pub async fn of_two_rows_of_a_scope_one_is_installed_together_with_others(fx: &Fixture) {
    let (scope, first) = fx.claimed_embedding().await;
    let twice = [(scope.clone(), first.fence().unwrap()), (scope.clone(), first.fence().unwrap())];
    assert_eq!(complete_all(&fx.ledger, &twice).await, [installed(false), Together::Undecided]);
    assert!(fx.complete(&first.fence().unwrap()).await.unwrap().replayed);
    assert_installed(fx, &scope).await;
    fx.assert_sound().await;
}

pub async fn a_row_that_went_stale_leaves_the_others_alone_and_is_decided_again(fx: &Fixture) {
    const CHANGES: [&str; 7] = ["none", "heartbeat", "release", "manifest", "state", "publish", "delete"];
    let rows = claimed(fx, CHANGES.len()).await;
    let installs = decided(fx, &rows).await;
    fx.clock.advance(Span::from_seconds(1));
    for (change, (scope, fence)) in CHANGES.into_iter().zip(&rows) {
        match change {
            "heartbeat" => drop(fx.ledger.heartbeat(fence, five_minutes()).await.unwrap()),
            "release" => drop(fx.ledger.release(fence).await.unwrap()),
            "manifest" => {
                let metadata = (Some(usual(Kind::Embedding, 1)), Some(retrieval(9, 2)));
                fx.import(&scope.space, 2, metadata.0, metadata.1).await.unwrap();
            }
            "state" => fx.mark(&scope.space, "deleting", None).await,
            "publish" => {
                let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
                let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
                let proposal = Proposal { ignore_legacy: true, ..proposal };
                fx.registry.publish(scope, &proposal, None).await.unwrap();
            }
            "delete" => drop(fx.registry.delete_space(&scope.space).await.unwrap()),
            _ => {}
        }
    }
    let applied = fx.registry.store().install_all(&installs).await.unwrap();
    let is_done: Vec<bool> = applied.iter().map(|applied| *applied == Applied::Done).collect();
    assert_eq!(is_done, CHANGES.map(|change| change == "none"));
    fx.assert_sound().await;
    let mut answers = Vec::new();
    for (_, fence) in &rows {
        answers.push(match fx.complete(fence).await {
            Ok(outcome) => match outcome.value {
                decide::Completed::Failed(failure) => failure.code,
                value => format!("{value:?}"),
            },
            Err(error) => error.code().to_owned(),
        });
    }
    let expected = [
        "Installed",
        "Installed",
        "LEASE_LOST",
        "LEGACY_PROFILE_SOURCE_CHANGED",
        "KNOWLEDGE_SPACE_NOT_WRITABLE",
        "PROFILE_HEAD_ALREADY_EXISTS",
        "LEASE_LOST",
    ];
    assert_eq!(answers, expected);
}

pub async fn an_id_that_is_taken_leaves_nothing_of_its_row_behind(fx: &Fixture) {
    let taken = fx.history(Kind::Retrieval, 1).await;
    let taken = fx.registry.head(&taken).await.unwrap().revision.id;
    let rows = claimed(fx, 3).await;
    let mut installs = decided(fx, &rows).await;
    installs[1].revision.id = taken;
    installs[1].head.revision_id = taken;
    let applied = fx.registry.store().install_all(&installs).await.unwrap();
    assert_ne!(applied[1], Applied::Done);
    assert_eq!(fx.ledger.get(&rows[1].0).await.unwrap().fence(), Some(rows[1].1));
    for (scope, fence) in &rows {
        assert_eq!(fx.complete(fence).await.unwrap().value, decide::Completed::Installed);
        assert_installed(fx, scope).await;
    }
    fx.assert_sound().await;
}

pub async fn what_a_lost_reply_was_about_is_recognised_row_by_row(fx: &Fixture) {
    for (fate, replayed) in [(Fate::Happens, true), (Fate::Never, false), (Fate::Late, true)] {
        let rows = claimed(fx, 3).await;
        let store = LostReplies::new(fx.under_test.store(), 1, fate, Box::new(|| Box::pin(async {})));
        let ledger = Registry::new(Arc::new(store), Arc::clone(&fx.draw) as Arc<dyn Draw>).ledger();
        assert_eq!(complete_all(&ledger, &rows).await, vec![Together::Undecided; 3]);
        let capability = capability();
        for (scope, fence) in &rows {
            let outcome = ledger.complete(fence, capability.as_bytes()).await.unwrap();
            assert_eq!((outcome.value, outcome.replayed), (decide::Completed::Installed, replayed), "{fate:?}");
            assert_installed(fx, scope).await;
        }
    }
    fx.assert_sound().await;
}

pub async fn rows_that_many_complete_together_are_installed_once(fx: &Fixture) {
    let rows = claimed(fx, 12).await;
    let callers = (0..4).map(|caller| {
        let (ledger, mut rows) = (fx.ledger.clone(), rows.clone());
        rows.rotate_left(3 * caller);
        tokio::spawn(async move { complete_all(&ledger, &rows).await })
    });
    let mut fresh = 0;
    for answers in futures_util::future::join_all(callers).await {
        fresh += answers.unwrap().iter().filter(|answer| **answer == installed(false)).count();
    }
    for (scope, fence) in &rows {
        let outcome = fx.complete(fence).await.unwrap();
        assert_eq!(outcome.value, decide::Completed::Installed);
        fresh += usize::from(!outcome.replayed);
        assert_installed(fx, scope).await;
    }
    assert_eq!(fresh, rows.len(), "each was installed once");
    fx.assert_sound().await;
}
