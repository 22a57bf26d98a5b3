use super::prelude::*;

pub async fn the_first_activation_creates_the_head(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let active = fx.activate(&scope, 1, None).await.unwrap();
    assert!(!active.replayed);
    assert_eq!((active.value.head.active_revision, active.value.head.row_version.get()), (number(1), 1));
    let activation = active.value.revision.state.activation().unwrap();
    assert_eq!((activation.at, activation.by.as_deref()), (fx.clock.now(), Some(ANN)));
    assert_eq!(active.value, fx.registry.head(&scope).await.unwrap(), "what is returned is what is read");
    fx.assert_sound().await;
}

pub async fn activating_supersedes_the_former_and_moves_the_head(fx: &Fixture) {
    let scope = fx.history(Kind::Retrieval, 1).await;
    let before = fx.registry.head(&scope).await.unwrap();
    fx.propose(&scope, 2).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let after = fx.activate(&scope, 2, Some(1)).await.unwrap().value;
    assert_eq!((after.head.id, after.head.row_version.get()), (before.head.id, 2));
    assert_eq!((after.head.created_at, after.head.updated_at), (before.head.created_at, fx.clock.now()));
    let revisions = fx.revisions(&scope).await;
    let RevisionState::Superseded { activation, superseded_at } = &revisions[0].state else {
        panic!("expected a superseded revision, found {:?}", revisions[0])
    };
    assert_eq!(Some(activation), before.revision.state.activation(), "when it was activated stays");
    assert_eq!(*superseded_at, fx.clock.now());
    assert_eq!(revisions[1], after.revision);
    fx.assert_sound().await;
}

pub async fn g4_03_a_stale_expectation_is_refused_and_writes_nothing(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 7).await;
    fx.propose(&scope, 8).await.unwrap();
    let before = fx.registry.head(&scope).await.unwrap();
    let refused = refusal(fx.activate(&scope, 8, Some(6)).await);
    assert_eq!(refused, Refusal::HeadConflict { expected: Some(number(6)), actual: Some(number(7)) });
    let refused = refusal(fx.activate(&scope, 8, None).await);
    assert_eq!(refused, Refusal::HeadConflict { expected: None, actual: Some(number(7)) });
    assert_eq!(fx.registry.head(&scope).await.unwrap(), before);
    assert_eq!(fx.registry.revision(&scope, number(8)).await.unwrap().status(), RevisionStatus::Candidate);
    let empty = fx.scope(Kind::Embedding).await;
    fx.propose(&empty, 1).await.unwrap();
    let refused = refusal(fx.activate(&empty, 1, Some(1)).await);
    assert_eq!(refused, Refusal::HeadConflict { expected: Some(number(1)), actual: None });
}

pub async fn g4_05_a_failed_revision_is_not_activated(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    fx.propose(&scope, 2).await.unwrap();
    fx.fail(&scope, 2, "MODEL_UNAVAILABLE").await.unwrap();
    let refused = refusal(fx.activate(&scope, 2, Some(1)).await);
    assert_eq!(refused, Refusal::NotCandidate { revision: number(2), state: RevisionStatus::Failed });
    assert_eq!(fx.registry.head(&scope).await.unwrap().head.row_version.get(), 1);
}

pub async fn g4_06_a_superseded_revision_is_not_activated_again(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let before = fx.registry.revision(&scope, number(1)).await.unwrap();
    let refused = refusal(fx.activate(&scope, 1, Some(2)).await);
    assert_eq!(refused, Refusal::NotCandidate { revision: number(1), state: RevisionStatus::Superseded });
    assert_eq!(fx.registry.revision(&scope, number(1)).await.unwrap(), before);
}

pub async fn what_does_not_exist_is_not_activated(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    assert_eq!(refusal(fx.activate(&scope, 1, None).await), Refusal::RevisionNotFound(number(1)));
    let missing = space_of("tenant-a", fx.draw.id()).scope(Kind::Embedding);
    assert_eq!(code(fx.activate(&missing, 1, None).await), "REVISION_NOT_FOUND", "checked before the space");
}

pub async fn g4_12_an_activation_repeated_after_a_lost_reply_is_answered_as_before(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    let first = fx.activate(&scope, 1, None).await.unwrap();
    fx.clock.advance(Span::from_seconds(5));
    let again = fx.activate(&scope, 1, None).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.value, first.value);
    assert_eq!(code(fx.activate(&scope, 1, Some(1)).await), "NOT_CANDIDATE");
    fx.publish(&scope, 2, Some(1)).await.unwrap();
    assert_eq!(
        code(fx.activate(&scope, 1, None).await),
        "HEAD_CONFLICT",
        "superseded since: no replay without doubt"
    );
}

pub async fn g6_17_a_corrupt_candidate_is_not_activated(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let candidate = fx.propose(&scope, 2).await.unwrap().value;
    let zeros = Column::Text("0".repeat(64));
    fx.set(Table::Revisions, candidate.id.as_uuid(), "snapshot_digest", zeros).await;
    assert_eq!(code(fx.activate(&scope, 2, Some(1)).await), "SNAPSHOT_CORRUPT");
    assert_eq!(fx.registry.head(&scope).await.unwrap().head.active_revision, number(1));
}

pub async fn a_corrupt_active_revision_does_not_stop_its_successor(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let id = fx.registry.head(&scope).await.unwrap().revision.id.as_uuid();
    fx.propose(&scope, 2).await.unwrap();
    fx.set(Table::Revisions, id, "model", Column::Text("changed".to_owned())).await;
    assert_eq!(code(fx.registry.head(&scope).await), "SNAPSHOT_CORRUPT");
    fx.activate(&scope, 2, Some(1)).await.expect("the way out of a corrupt profile is another one");
    fx.registry.head(&scope).await.unwrap();
}

pub async fn a_broken_head_refuses_changes(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    fx.propose(&scope, 3).await.unwrap();
    let head = fx.registry.head(&scope).await.unwrap().head.id.as_uuid();
    let superseded = fx.registry.revision(&scope, number(1)).await.unwrap().id;
    fx.set(Table::Heads, head, "profile_revision_id", Column::Text(superseded.to_string())).await;
    assert_eq!(code(fx.registry.head(&scope).await), "HEAD_INVALID");
    assert_eq!(code(fx.activate(&scope, 3, Some(2)).await), "HEAD_INVALID");
    assert_eq!(code(fx.publish(&scope, 3, Some(2)).await), "HEAD_INVALID");
    assert_eq!(code(fx.restore(&scope, 1, Some(2)).await), "HEAD_INVALID");
    assert!(fx.audit().await.iter().any(|finding| finding.rule == "head"));
}

pub async fn both_kinds_are_activated_together(fx: &Fixture) {
    let space = fx.space().await;
    let [embedding, retrieval] = Kind::ALL.map(|kind| space.scope(kind));
    fx.propose(&embedding, 1).await.unwrap();
    fx.propose(&retrieval, 1).await.unwrap();
    let targets = (target(1, None), target(1, None));
    let answer = fx.registry.activate_all(&space, targets.0, targets.1, &by(ANN)).await.unwrap();
    assert!(!answer.replayed);
    assert_eq!(answer.value[0], fx.registry.head(&embedding).await.unwrap());
    assert_eq!(answer.value[1], fx.registry.head(&retrieval).await.unwrap());
    let again = fx.registry.activate_all(&space, targets.0, targets.1, &by(ANN)).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.value, answer.value);
    fx.assert_sound().await;
}

pub async fn both_kinds_or_none_and_the_first_refusal_names_its_kind(fx: &Fixture) {
    let space = fx.space().await;
    let [embedding, retrieval] = Kind::ALL.map(|kind| space.scope(kind));
    fx.propose(&embedding, 1).await.unwrap();
    let refused = refusal(fx.registry.activate_all(&space, target(1, None), target(1, None), &by(ANN)).await);
    let not_found = Box::new(Refusal::RevisionNotFound(number(1)));
    assert_eq!(refused, Refusal::OfKind { kind: Kind::Retrieval, refusal: not_found });
    assert_eq!(fx.states(&embedding).await, ["candidate"], "nothing of the other kind was written");
    fx.propose(&retrieval, 1).await.unwrap();
    fx.activate(&embedding, 1, None).await.unwrap();
    let refused = refusal(fx.registry.activate_all(&space, target(1, None), target(1, None), &by(ANN)).await);
    let conflict = Box::new(Refusal::HeadConflict { expected: None, actual: Some(number(1)) });
    assert_eq!(refused, Refusal::OfKind { kind: Kind::Embedding, refusal: conflict }, "half a replay is none");
    assert_eq!(fx.states(&retrieval).await, ["candidate"]);
}
