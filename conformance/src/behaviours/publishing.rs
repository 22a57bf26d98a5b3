use super::prelude::*;

pub async fn publishing_proposes_and_activates_in_one_write(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let first = fx.publish(&scope, 1, None).await.unwrap();
    assert_eq!((first.value.head.row_version.get(), first.replayed), (1, false));
    fx.clock.advance(Span::from_seconds(1));
    let second = fx.publish(&scope, 2, Some(1)).await.unwrap();
    assert_eq!((second.value.head.active_revision, second.value.head.row_version.get()), (number(2), 2));
    assert_eq!(second.value, fx.registry.head(&scope).await.unwrap());
    assert_eq!(fx.states(&scope).await, ["superseded", "active"]);
    let again = fx.publish(&scope, 2, Some(1)).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.value, second.value);
    fx.assert_sound().await;
}

pub async fn publishing_checks_the_head_before_the_candidate_and_the_number(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let refused = refusal(fx.publish(&scope, 5, None).await);
    assert_eq!(refused, Refusal::HeadConflict { expected: None, actual: Some(number(1)) });
    let conflict = Refusal::RevisionConflict { expected: number(2), actual: number(5) };
    assert_eq!(refusal(fx.publish(&scope, 5, Some(1)).await), conflict);
    fx.propose(&scope, 2).await.unwrap();
    let exists = Refusal::CandidateExists { revision: number(2) };
    assert_eq!(refusal(fx.publish(&scope, 5, Some(1)).await), exists);
}

pub async fn restoring_appends_and_activates_an_earlier_configuration(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let first = fx.registry.revision(&scope, number(1)).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let restored = fx.restore(&scope, 1, Some(2)).await.unwrap();
    assert!(!restored.replayed);
    let revision = &restored.value.revision;
    assert_eq!((revision.number(), restored.value.head.row_version.get()), (number(3), 3));
    assert_eq!(
        revision.snapshot.identity(),
        first.snapshot.identity(),
        "model, dimension and vector space are kept"
    );
    assert_eq!(revision.capability, first.capability);
    assert_ne!(revision.snapshot.digest(), first.snapshot.digest(), "the number is part of the snapshot");
    assert_eq!(restored.value, fx.registry.head(&scope).await.unwrap());
    let again = fx.restore(&scope, 1, Some(2)).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.value, restored.value);
    assert_eq!(fx.states(&scope).await, ["superseded", "superseded", "active"]);
    fx.assert_sound().await;
}

pub async fn somebody_elses_restoration_or_publication_is_no_replay(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    fx.restore(&scope, 1, Some(2)).await.unwrap();
    let by_bob = fx.registry.restore(&scope, number(1), Some(number(2)), &by("user:bob")).await;
    assert_eq!(code(by_bob), "HEAD_CONFLICT");
    let (snapshot, capability) = (usual(Kind::Embedding, 4).to_string(), free_form().to_string());
    fx.publish(&scope, 4, Some(3)).await.unwrap();
    let by_bob = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:bob"));
    assert_eq!(code(fx.registry.publish(&scope, &by_bob, Some(number(3))).await), "HEAD_CONFLICT");
    assert_eq!(code(fx.publish(&scope, 4, Some(2)).await), "HEAD_CONFLICT", "it was published after another one");
}

pub async fn restoring_is_refused_in_the_order_of_its_checks(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    assert_eq!(refusal(fx.restore(&scope, 9, None).await), Refusal::RevisionNotFound(number(9)));
    let conflict = Refusal::HeadConflict { expected: Some(number(1)), actual: Some(number(2)) };
    assert_eq!(refusal(fx.restore(&scope, 1, Some(1)).await), conflict);
    assert_eq!(refusal(fx.restore(&scope, 2, Some(2)).await), Refusal::NoChange(number(2)));
    fx.propose(&scope, 3).await.unwrap();
    let not_restorable = Refusal::NotRestorable { revision: number(3), state: RevisionStatus::Candidate };
    assert_eq!(refusal(fx.restore(&scope, 3, Some(2)).await), not_restorable);
    assert_eq!(refusal(fx.restore(&scope, 1, Some(2)).await), Refusal::CandidateExists { revision: number(3) });
    assert_eq!(
        refusal(fx.restore(&scope, 2, Some(2)).await),
        Refusal::NoChange(number(2)),
        "checked before candidates"
    );
    fx.fail(&scope, 3, "CODE").await.unwrap();
    fx.restore(&scope, 1, Some(2)).await.unwrap();
}

pub async fn a_corrupt_revision_is_not_restored(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let first = fx.registry.revision(&scope, number(1)).await.unwrap().id.as_uuid();
    fx.set(Table::Revisions, first, "plugin_id", Column::Text("changed".to_owned())).await;
    assert_eq!(code(fx.restore(&scope, 1, Some(2)).await), "SNAPSHOT_CORRUPT");
    assert_eq!(fx.registry.head(&scope).await.unwrap().head.active_revision, number(2));
}

pub async fn a_compare_and_swap_is_not_fooled_by_a_value_that_came_back(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    fx.restore(&scope, 1, Some(2)).await.unwrap();
    fx.propose(&scope, 4).await.unwrap();
    let refused = refusal(fx.activate(&scope, 4, Some(1)).await);
    assert_eq!(refused, Refusal::HeadConflict { expected: Some(number(1)), actual: Some(number(3)) });
}

pub async fn g4_11_failing_twice_keeps_the_first_reason(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let first = fx.fail(&scope, 1, "PREFLIGHT_REJECTED").await.unwrap();
    let RevisionState::Failed { failure, failed_at, failed_by } = &first.value.state else { panic!("not failed") };
    assert_eq!((failure.code.as_str(), *failed_at), ("PREFLIGHT_REJECTED", fx.clock.now()));
    assert_eq!(failed_by.as_deref(), Some(ANN));
    fx.clock.advance(Span::from_seconds(1));
    let second = fx.fail(&scope, 1, "DIFFERENT_ERROR").await.unwrap();
    assert!(second.replayed);
    assert_eq!(second.value, first.value);
    assert_eq!(fx.registry.revision(&scope, number(1)).await.unwrap(), first.value);
    fx.assert_sound().await;
}

pub async fn only_a_candidate_can_be_failed(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    for (revision, state) in [(1, RevisionStatus::Superseded), (2, RevisionStatus::Active)] {
        let refused = refusal(fx.fail(&scope, revision, "CODE").await);
        assert_eq!(refused, Refusal::NotCandidate { revision: number(revision), state });
    }
    assert_eq!(refusal(fx.fail(&scope, 3, "CODE").await), Refusal::RevisionNotFound(number(3)));
}

pub async fn a_corrupt_candidate_can_be_failed(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let candidate = fx.propose(&scope, 1).await.unwrap().value;
    fx.set(Table::Revisions, candidate.id.as_uuid(), "model", Column::Text("changed".to_owned())).await;
    let (code, message) = (FailureCode::new("DAMAGED").unwrap(), FailureMessage::new("by hand").unwrap());
    let answer = fx.registry.fail(&scope, number(1), code, message, &by(ANN)).await.unwrap();
    assert!(answer.value.is_err(), "what is wrong with the row is told");
    fx.propose(&scope, 2).await.expect("the scope goes on");
}
