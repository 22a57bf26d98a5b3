use super::prelude::*;

pub async fn g5_14_heartbeats_keep_a_lease_and_leave_the_fence(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    for _ in 0..13 {
        fx.clock.advance(Span::from_seconds(90));
        let expiry = fx.ledger.heartbeat(&fence, five_minutes()).await.unwrap();
        assert_eq!(expiry, fx.clock.now().plus(five_minutes().span()));
        assert_eq!(fx.claim("worker-b", 1).await, Claimed::default());
    }
    let row = fx.ledger.get(&scope).await.unwrap();
    assert_eq!((row.fence(), row.updated_at), (Some(fence), claimed.updated_at), "a heartbeat is no change");
    let second = Lease::new(Span::from_seconds(1)).unwrap();
    let expiry = fx.ledger.heartbeat(&fence, second).await.unwrap();
    assert_eq!(expiry, fx.clock.now().plus(five_minutes().span()), "a heartbeat never shortens a lease");
    fx.complete(&fence).await.unwrap();
}

pub async fn completing_installs_revision_and_head(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let answer = fx.complete(&fence).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (decide::Completed::Installed, false));
    let profile = fx.registry.head(&scope).await.unwrap();
    assert_eq!((profile.head.active_revision, profile.head.row_version.get()), (number(1), 1));
    assert_eq!(profile.revision.created_by, BACKFILL_SUBJECT);
    assert_eq!(profile.revision.created_at, fx.clock.now());
    let row = fx.ledger.get(&scope).await.unwrap();
    assert_eq!(row.state, BackfillState::Succeeded { completed_at: fx.clock.now() });
    assert_eq!(row.row_version.get(), 3);
    let again = fx.complete(&fence).await.unwrap();
    assert_eq!((again.value, again.replayed), (decide::Completed::Installed, true));
    fx.publish(&scope, 2, Some(1)).await.unwrap();
    let late = fx.complete(&fence).await.unwrap();
    assert_eq!((late.value, late.replayed), (decide::Completed::Installed, true), "although the head moved on");
    assert_eq!(code(fx.ledger.release(&fence).await), "LEASE_LOST", "another command's work is no replay");
    assert_eq!(code(fx.fail_backfill(&fence, "CODE", true, None).await), "LEASE_LOST");
    fx.assert_sound().await;
}

pub async fn g3_06_adoption_trims_identifiers_and_carries_the_observed_dimension(fx: &Fixture) {
    for blanks in [
        ("bge-m3 ", ""),
        (" bge-m3", ""),
        ("bge-m3\n", ""),
        ("\u{FEFF}bge-m3\u{FEFF}", ""),
        (" bge-m3\u{3000}", ""),
    ] {
        let clean = embedding("bge-m3", 1_024, 7);
        let mut legacy = clean.clone();
        legacy["model"] = json!(blanks.0);
        legacy.as_object_mut().unwrap().remove("dimension");
        let space = fx.legacy_space(Some(legacy), None).await;
        fx.discover().await;
        let fence = fx.claim("worker-a", 1).await.backfills[0].fence().unwrap();
        let capability = typed_embedding(&clean, 1_024, "2026-07-14T12:00:00Z");
        let answer = fx.ledger.complete(&fence, capability.canonical().as_bytes()).await.unwrap();
        assert_eq!(answer.value, decide::Completed::Installed, "{blanks:?}");
        let profile = fx.registry.head(&space.scope(Kind::Embedding)).await.unwrap();
        let canonical = json::canonicalize(clean.to_string().as_bytes(), json::Limits::ANY).unwrap();
        assert_eq!(profile.revision.snapshot.canonical(), canonical);
        assert_eq!(profile.head.active_revision, number(7), "the legacy number is kept");
    }
    fx.assert_sound().await;
}

pub async fn a_retrieval_profile_is_installed(fx: &Fixture) {
    let legacy = retrieval(9, 2);
    let space = fx.legacy_space(None, Some(legacy.clone())).await;
    fx.discover().await;
    let fence = fx.claim("worker-a", 1).await.backfills[0].fence().unwrap();
    let capability = typed_retrieval(&legacy, "2026-07-14T12:00:00Z");
    let answer = fx.ledger.complete(&fence, capability.canonical().as_bytes()).await.unwrap();
    assert_eq!(answer.value, decide::Completed::Installed);
    let profile = fx.registry.head(&space.scope(Kind::Retrieval)).await.unwrap();
    assert_eq!(profile.head.active_revision, number(2));
    fx.assert_sound().await;
}

/// Completes a claimed row after `change` and answers the failure.
async fn failed_after(fx: &Fixture, change: impl AsyncFnOnce(&Fixture, &Scope)) -> Failure {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    change(fx, &scope).await;
    let answer = fx.complete(&fence).await.unwrap();
    let decide::Completed::Failed(failure) = answer.value.clone() else {
        panic!("expected a failure: {answer:?}")
    };
    let row = fx.ledger.get(&scope).await.unwrap();
    assert_eq!(row.state, BackfillState::Failed { completed_at: fx.clock.now(), failure: failure.clone() });
    let again = fx.complete(&fence).await.unwrap();
    assert_eq!((again.value, again.replayed), (answer.value, true));
    failure
}

pub async fn a_space_that_is_not_writable_fails_the_row(fx: &Fixture) {
    let failure = failed_after(fx, async |fx, scope| fx.mark(&scope.space, "deleting", None).await).await;
    assert_eq!(failure.code, "KNOWLEDGE_SPACE_NOT_WRITABLE");
}

pub async fn a_missing_manifest_fails_the_row(fx: &Fixture) {
    let failure = failed_after(fx, async |fx, scope| {
        let manifest = fx.registry.store().load_space(&scope.space).await.unwrap().manifest.unwrap();
        fx.under_test.tamper(&Tamper::Delete { table: Table::Manifests, id: manifest.id.as_uuid() }).await;
    })
    .await;
    assert_eq!(failure.code, "LEGACY_MANIFEST_NOT_FOUND");
}

pub async fn g5_23_a_changed_source_fails_the_row(fx: &Fixture) {
    let failure = failed_after(fx, async |fx, scope| {
        fx.import(&scope.space, 8, Some(usual(Kind::Embedding, 1)), None).await.unwrap();
    })
    .await;
    assert_eq!(failure.code, "LEGACY_PROFILE_SOURCE_CHANGED", "another version, though the same content");
    let failure = failed_after(fx, async |fx, scope| {
        let manifest = fx.registry.store().load_space(&scope.space).await.unwrap().manifest.unwrap();
        let other = json!({Kind::Embedding.legacy_key(): embedding("other", 8, 1)});
        fx.set(Table::Manifests, manifest.id.as_uuid(), "metadata", Column::Text(other.to_string())).await;
    })
    .await;
    assert_eq!(failure.code, "LEGACY_PROFILE_SOURCE_CHANGED", "other content, though the same version");
}

pub async fn an_existing_revision_without_head_fails_the_row(fx: &Fixture) {
    let failure = failed_after(fx, async |fx, scope| {
        let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        fx.registry.propose(scope, &Proposal { ignore_legacy: true, ..proposal }).await.unwrap();
    })
    .await;
    assert_eq!(failure.code, "PROFILE_REVISION_ALREADY_EXISTS");
}

pub async fn another_head_fails_the_row(fx: &Fixture) {
    let failure = failed_after(fx, async |fx, scope| {
        let (snapshot, capability) = (embedding("other", 8, 1).to_string(), free_form().to_string());
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        fx.registry.publish(scope, &Proposal { ignore_legacy: true, ..proposal }, None).await.unwrap();
    })
    .await;
    assert_eq!(failure.code, "PROFILE_HEAD_ALREADY_EXISTS");
}

pub async fn g5_25_a_head_with_the_same_profile_succeeds_without_installing(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    let snapshot = usual(Kind::Embedding, 1);
    let capability = typed_embedding(&snapshot, 1_536, "2026-01-01T00:00:00Z");
    let text = snapshot.to_string();
    let proposal = Proposal::new(text.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    let there =
        fx.registry.publish(&scope, &Proposal { ignore_legacy: true, ..proposal }, None).await.unwrap().value;
    let answer = fx.complete(&fence).await.unwrap();
    assert_eq!(answer.value, decide::Completed::AlreadyInstalled, "the times of the checks differ, nothing else");
    assert_eq!(fx.registry.head(&scope).await.unwrap(), there);
    let again = fx.complete(&fence).await.unwrap();
    assert_eq!((again.value, again.replayed), (decide::Completed::AlreadyInstalled, true));
    fx.assert_sound().await;
}

pub async fn an_invalid_profile_or_capability_fails_the_row_with_its_issues(fx: &Fixture) {
    let mut unproven = usual(Kind::Embedding, 1);
    unproven["vectorSpaceId"] = json!(format!("embedding-space-sha256:{}", "b".repeat(64)));
    let mut text = usual(Kind::Embedding, 1);
    text["dimension"] = json!("1536");
    let good = typed_embedding(&usual(Kind::Embedding, 1), 1_536, "2026-07-14T12:00:00Z").canonical().to_owned();
    let other_dimension = typed_embedding(&usual(Kind::Embedding, 1), 1_024, "2026-07-14T12:00:00Z");
    let without_metric = good.replace("\"distanceMetric\":\"cosine\",", "");
    for (profile, capability, place) in [
        (unproven, good.clone(), "/vectorSpaceId"),
        (text, good, "/dimension"),
        (usual(Kind::Embedding, 1), other_dimension.canonical().to_owned(), "/dimension"),
        (usual(Kind::Embedding, 1), without_metric, "/distanceMetric"),
        (usual(Kind::Embedding, 1), "{\"source\":\"hand\"}".to_owned(), "/kind"),
        (usual(Kind::Embedding, 1), "not JSON".to_owned(), "JSON_INVALID"),
    ] {
        let space = fx.legacy_space(Some(profile), None).await;
        fx.discover().await;
        let fence = fx.claim("worker-a", 1).await.backfills[0].fence().unwrap();
        let answer = fx.ledger.complete(&fence, capability.as_bytes()).await.unwrap().value;
        let decide::Completed::Failed(failure) = answer else { panic!("expected a failure at {place}") };
        assert_eq!(failure.code, "LEGACY_PROFILE_INVALID");
        assert!(failure.message.contains(place), "{}", failure.message);
        assert_eq!(fx.revisions(&space.scope(Kind::Embedding)).await.len(), 0);
    }
    fx.assert_sound().await;
}

pub async fn a_retryable_failure_is_due_again_after_its_delay(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    let delay = Some(Span::from_seconds(7));
    let due_at = fx.clock.now().plus(Span::from_seconds(7));
    let answer = fx.fail_backfill(&fence, "MODEL_PREFLIGHT_TIMEOUT", true, delay).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (decide::Settled::Queued { due_at }, false));
    let again = fx.fail_backfill(&fence, "MODEL_PREFLIGHT_TIMEOUT", true, None).await.unwrap();
    assert_eq!((again.value, again.replayed), (decide::Settled::Queued { due_at }, true));
    assert_eq!(code(fx.fail_backfill(&fence, "OTHER", true, delay).await), "LEASE_LOST");
    let row = fx.ledger.get(&scope).await.unwrap();
    assert_eq!((row.row_version.get(), row.attempts), (3, 1));
    assert_eq!(row.retry.as_ref().map(|failure| failure.code.as_str()), Some("MODEL_PREFLIGHT_TIMEOUT"));
    fx.clock.advance(Span::from_micros(6_999_999));
    assert_eq!(fx.claim("worker-a", 1).await.backfills.len(), 0);
    fx.clock.advance(Span::from_micros(1));
    let claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
    assert_eq!((claimed.attempts, claimed.row_version.get()), (2, 4));
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    assert_eq!(fx.ledger.get(&scope).await.unwrap().retry, None, "success leaves no error behind");
    fx.assert_sound().await;
}

pub async fn delays_double_from_five_seconds_with_half_of_it_jitter(fx: &Fixture) {
    let (_, mut claimed) = fx.claimed_embedding().await;
    for expected in [3_750_000, 7_500_000] {
        let before = fx.clock.now();
        let answer = fx.fail_backfill(&claimed.fence().unwrap(), "CODE", true, None).await.unwrap().value;
        let decide::Settled::Queued { due_at } = answer else { panic!("not queued") };
        assert_eq!(due_at.as_micros() - before.as_micros(), expected, "half, and half of the other half");
        fx.clock.set(due_at);
        claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
    }
    let last = fx.fail_backfill(&claimed.fence().unwrap(), "CODE", true, None).await.unwrap().value;
    assert_eq!(last, decide::Settled::Failed, "no attempt is left");
}

pub async fn a_final_failure_is_failed_and_replayed(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    let answer = fx.fail_backfill(&fence, "MODEL_SELECTION_NOT_FOUND", false, None).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (decide::Settled::Failed, false));
    let again = fx.fail_backfill(&fence, "MODEL_SELECTION_NOT_FOUND", false, None).await.unwrap();
    assert_eq!((again.value, again.replayed), (decide::Settled::Failed, true));
    let row = fx.ledger.get(&scope).await.unwrap();
    let BackfillState::Failed { failure, .. } = &row.state else { panic!("not failed") };
    assert_eq!(failure.code, "MODEL_SELECTION_NOT_FOUND");
    assert_eq!(fx.discover().await, 0, "a failed row is not discovered again");
    assert_eq!(fx.claim("worker-a", 1).await, Claimed::default());
    fx.assert_sound().await;
}

pub async fn g5_16_a_release_hands_the_row_back_and_refunds_the_attempt(fx: &Fixture) {
    let (scope, mut claimed) = fx.claimed_embedding().await;
    for _ in 0..4 {
        let fence = claimed.fence().unwrap();
        let answer = fx.ledger.release(&fence).await.unwrap();
        assert!(!answer.replayed);
        assert!(fx.ledger.release(&fence).await.unwrap().replayed);
        let row = fx.ledger.get(&scope).await.unwrap();
        assert_eq!((row.status(), row.attempts, row.due_at), (BackfillStatus::Queued, 0, fx.clock.now()));
        claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
        assert_eq!(claimed.attempts, 1);
    }
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    fx.assert_sound().await;
}

pub async fn one_commands_work_is_never_taken_for_anothers(fx: &Fixture) {
    let (_, claimed) = fx.claimed_embedding().await;
    let fence = claimed.fence().unwrap();
    fx.fail_backfill(&fence, "CODE", true, Some(Span::ZERO)).await.unwrap();
    assert_eq!(code(fx.ledger.release(&fence).await), "LEASE_LOST", "it failed, it was not released");

    fx.clock.advance(Span::from_seconds(1));
    let second = fx.claim("worker-a", 1).await.backfills.remove(0).fence().unwrap();
    fx.ledger.release(&second).await.unwrap();
    let failed = fx.fail_backfill(&second, "CODE", true, None).await;
    assert_eq!(code(failed), "LEASE_LOST", "it was released, and carries the failure of the attempt before");

    let third = fx.claim("worker-a", 1).await.backfills.remove(0).fence().unwrap();
    fx.fail_backfill(&third, "CODE", false, None).await.unwrap();
    assert_eq!(code(fx.fail_backfill(&third, "CODE", true, None).await), "LEASE_LOST", "it failed for good");
}

pub async fn a_fault_elsewhere_in_the_metadata_does_not_matter(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let manifest = fx.registry.store().load_space(&scope.space).await.unwrap().manifest.unwrap();
    let with_fault = manifest.metadata.replacen('{', r#"{"hits":9007199254740993,"#, 1);
    fx.set(Table::Manifests, manifest.id.as_uuid(), "metadata", Column::Text(with_fault)).await;
    assert_eq!(code(fx.propose(&scope, 1).await), "ADOPTION_PENDING");
    let page = fx.ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    assert_eq!(
        (page.created.len(), page.skipped.len()),
        (0, 0),
        "it is known already, and the other kind has none"
    );
    let answer = fx.complete(&claimed.fence().unwrap()).await.unwrap();
    assert_eq!(answer.value, decide::Completed::Installed);
}

pub async fn g5_22_only_a_failed_backfill_is_retried(fx: &Fixture) {
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    let scope = space.scope(Kind::Embedding);
    assert_eq!(refusal(fx.ledger.retry(&scope).await), Refusal::BackfillNotFound);
    fx.discover().await;
    assert_eq!(refusal(fx.ledger.retry(&scope).await), Refusal::NotFailed(BackfillStatus::Queued));
    let claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
    assert_eq!(refusal(fx.ledger.retry(&scope).await), Refusal::NotFailed(BackfillStatus::Running));
    fx.fail_backfill(&claimed.fence().unwrap(), "CODE", false, None).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let row = fx.ledger.retry(&scope).await.unwrap();
    assert_eq!((row.status(), row.attempts, row.due_at), (BackfillStatus::Queued, 0, fx.clock.now()));
    assert_eq!(row, fx.ledger.get(&scope).await.unwrap());
    let claimed = fx.claim("worker-a", 1).await.backfills.remove(0);
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    assert_eq!(refusal(fx.ledger.retry(&scope).await), Refusal::NotFailed(BackfillStatus::Succeeded));
}

pub async fn failed_backfills_are_retried_together_by_code_and_only_the_newest(fx: &Fixture) {
    let mut scopes = Vec::new();
    for code in ["A", "B", "A"] {
        let (scope, claimed) = fx.claimed_embedding().await;
        fx.fail_backfill(&claimed.fence().unwrap(), code, false, None).await.unwrap();
        scopes.push(scope);
    }
    fx.import(&scopes[2].space, 2, Some(embedding("other", 8, 1)), None).await.unwrap();
    fx.discover().await;
    let a = FailureCode::new("A").unwrap();
    assert_eq!(fx.ledger.retry_all(Some(&a)).await.unwrap(), 1, "the third scope's newest row has not failed");
    assert_eq!(fx.ledger.get(&scopes[0]).await.unwrap().status(), BackfillStatus::Queued);
    assert_eq!(fx.ledger.retry_all(None).await.unwrap(), 1);
    assert_eq!(fx.ledger.get(&scopes[1]).await.unwrap().status(), BackfillStatus::Queued);
    assert_eq!(fx.ledger.retry_all(None).await.unwrap(), 0);
    fx.assert_sound().await;
}

pub async fn backfills_are_counted_listed_and_pruned(fx: &Fixture) {
    let (done, claimed) = fx.claimed_embedding().await;
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    let (failed, claimed) = fx.claimed_embedding().await;
    fx.fail_backfill(&claimed.fence().unwrap(), "CODE", false, None).await.unwrap();
    let (running, _) = fx.claimed_embedding().await;
    let queued = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await.scope(Kind::Embedding);
    fx.discover().await;
    let counts = fx.ledger.counts(&SpaceFilter::All).await.unwrap();
    assert_eq!((counts.queued, counts.due, counts.running, counts.expired), (1, 1, 1, 0));
    assert_eq!((counts.succeeded, counts.failed), (1, 1));
    let listed = async |filter: BackfillFilter| {
        let page = fx.ledger.list(&filter, None, limit(100)).await.unwrap();
        page.items.into_iter().map(|row| row.scope).collect::<Vec<Scope>>()
    };
    let in_state = |status| BackfillFilter { status: Some(status), ..BackfillFilter::default() };
    assert_eq!(listed(in_state(BackfillStatus::Queued)).await, [queued]);
    assert_eq!(listed(in_state(BackfillStatus::Running)).await, [running]);
    let with_code = |code: &str| BackfillFilter { code: Some(code.to_owned()), ..BackfillFilter::default() };
    assert_eq!(listed(with_code("CODE")).await, std::slice::from_ref(&failed));
    assert_eq!(listed(with_code("OTHER")).await, []);
    let page = fx.ledger.list(&BackfillFilter::default(), None, limit(3)).await.unwrap();
    assert_eq!(page.items.len(), 3);
    let rest = fx.ledger.list(&BackfillFilter::default(), page.next, limit(3)).await.unwrap();
    assert_eq!(rest.items.len(), 1);
    let end = fx.ledger.list(&BackfillFilter::default(), rest.next, limit(3)).await.unwrap();
    assert_eq!((end.items.len(), end.next), (0, None));
    assert_eq!(fx.ledger.prune(fx.clock.now()).await.unwrap(), 0, "completed at that moment is not before it");
    fx.clock.advance(Span::from_micros(1));
    assert_eq!(fx.ledger.prune(fx.clock.now()).await.unwrap(), 1);
    assert_eq!(code(fx.ledger.get(&done).await), "BACKFILL_NOT_FOUND");
    fx.ledger.get(&failed).await.expect("failed rows stay");
    assert_eq!(fx.discover().await, 0, "what is installed is not discovered again");
}
