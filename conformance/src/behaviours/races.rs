use futures_util::future::join_all;

use super::prelude::*;

const CALLERS: usize = 8;

/// Runs one call per caller at the same time, on as many tasks.
async fn together<T, F>(calls: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    join_all(tasks).await.into_iter().map(|answer| answer.expect("no caller panics")).collect()
}

pub async fn g4_01_of_many_that_activate_exactly_one_does_it(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    for revision in 1..=5_u32 {
        fx.propose(&scope, revision).await.unwrap();
        let expected = revision.checked_sub(1).filter(|before| *before > 0).map(number);
        let answers = together((0..CALLERS).map(|_| {
            let (registry, scope) = (fx.registry.clone(), scope.clone());
            async move { registry.activate(&scope, number(revision), expected, &by(ANN)).await }
        }))
        .await;
        let fresh = answers.iter().filter(|answer| answer.as_ref().is_ok_and(|outcome| !outcome.replayed)).count();
        assert_eq!(fresh, 1, "{answers:?}");
        for answer in answers {
            let profile = answer.expect("the others find the same state and replay").value;
            assert_eq!(
                (profile.head.active_revision, profile.head.row_version.get()),
                (number(revision), revision)
            );
        }
    }
    fx.assert_sound().await;
}

pub async fn of_many_that_publish_different_snapshots_exactly_one_wins(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    for revision in 1..=4_u32 {
        let expected = revision.checked_sub(1).filter(|before| *before > 0).map(number);
        let answers = together((0..CALLERS).map(|caller| {
            let (registry, scope) = (fx.registry.clone(), scope.clone());
            async move {
                let snapshot = embedding(&format!("model-{revision}-{caller}"), 8, revision).to_string();
                let proposal = Proposal::new(snapshot.as_bytes(), b"{}", by(&format!("user:{caller}")));
                registry.publish(&scope, &proposal, expected).await
            }
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for answer in lost {
            assert_eq!(code(answer), "HEAD_CONFLICT");
        }
        let head = fx.registry.head(&scope).await.unwrap().head;
        assert_eq!((head.active_revision, head.row_version.get()), (number(revision), revision));
    }
    fx.assert_sound().await;
}

pub async fn of_many_that_propose_exactly_one_gets_the_number(fx: &Fixture) {
    let scope = fx.scope(Kind::Retrieval).await;
    let answers = together((0..CALLERS).map(|caller| {
        let (registry, scope) = (fx.registry.clone(), scope.clone());
        async move {
            let snapshot = retrieval(1 + u32::try_from(caller).unwrap(), 1).to_string();
            registry.propose(&scope, &Proposal::new(snapshot.as_bytes(), b"{}", by(ANN))).await
        }
    }))
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for answer in lost {
        assert_eq!(refusal(answer), Refusal::CandidateExists { revision: number(1) });
    }
    fx.assert_sound().await;
}

pub async fn numbers_filled_in_at_the_same_time_are_all_different(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let mut published = 0_u32;
    for round in 0..CALLERS {
        let answers = together((0..4_u32).map(|caller| {
            let (registry, scope, id) = (fx.registry.clone(), scope.clone(), RevisionId::from(fx.draw.id()));
            let expected = Some(published).filter(|before| *before > 0).map(number);
            async move {
                let draft = json!({"pluginId": "p", "provider": "o", "model": format!("m-{round}-{caller}"), "dimension": 8});
                let draft = draft.to_string();
                let proposal = Proposal::new(draft.as_bytes(), b"{}", by(ANN));
                registry.publish_next(&scope, &proposal, expected, id).await
            }
        }))
        .await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
        published += 1;
    }
    let head = fx.registry.head(&scope).await.unwrap().head;
    assert_eq!((head.active_revision.get(), head.row_version.get()), (published, published));
    fx.assert_sound().await;
}

pub async fn g4_15_activation_and_deletion_leave_no_head_without_a_space(fx: &Fixture) {
    for _ in 0..CALLERS {
        let scope = fx.scope(Kind::Embedding).await;
        fx.propose(&scope, 1).await.unwrap();
        let deletion = tokio::spawn({
            let (registry, space) = (fx.registry.clone(), scope.space.clone());
            async move { registry.delete_space(&space).await }
        });
        let activation = fx.activate(&scope, 1, None).await;
        deletion.await.unwrap().expect("the space is deleted, before or after");
        if let Err(error) = activation {
            assert!(["REVISION_NOT_FOUND", "SPACE_NOT_FOUND"].contains(&error.code()), "{error}");
        }
        assert_eq!(fx.revisions(&scope).await.len(), 0);
        assert_eq!(code(fx.registry.head(&scope).await), "PROFILE_NOT_FOUND");
    }
    fx.assert_sound().await;
}

pub async fn g5_07_two_workers_never_get_the_same_row(fx: &Fixture) {
    const ROWS: usize = 40;
    for _ in 0..ROWS {
        fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    }
    assert_eq!(fx.discover().await, ROWS);
    for round in 1..=2_u32 {
        let claimed = together((0..CALLERS).map(|caller| {
            let ledger = fx.ledger.clone();
            async move {
                let worker = WorkerId::new(format!("worker-{caller}")).unwrap();
                let mut rows = Vec::new();
                loop {
                    let batch = ledger.claim(&worker, limit(3), five_minutes(), &SpaceFilter::All).await.unwrap();
                    if batch.backfills.is_empty() {
                        return rows;
                    }
                    rows.extend(batch.backfills);
                }
            }
        }))
        .await;
        let rows: Vec<Backfill> = claimed.into_iter().flatten().collect();
        let distinct: std::collections::BTreeSet<BackfillId> = rows.iter().map(|row| row.id).collect();
        assert_eq!((rows.len(), distinct.len()), (ROWS, ROWS));
        assert!(rows.iter().all(|row| row.attempts == round), "each row was claimed once");
        fx.clock.advance(Span::from_seconds(301));
    }
}

pub async fn a_completion_that_many_try_installs_once(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    let answers = together((0..CALLERS).map(|_| {
        let ledger = fx.ledger.clone();
        async move {
            let capability = typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z");
            ledger.complete(&fence, capability.canonical().as_bytes()).await
        }
    }))
    .await;
    let fresh = answers.iter().filter(|answer| answer.as_ref().is_ok_and(|outcome| !outcome.replayed)).count();
    assert_eq!(fresh, 1);
    assert!(answers.into_iter().all(|answer| answer.unwrap().value == decide::Completed::Installed));
    assert_eq!(fx.states(&scope).await, ["active"]);
    fx.assert_sound().await;
}
