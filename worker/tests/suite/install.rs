//! What becomes of legacy profiles.

use std::sync::Mutex;

use serde_json::json;
use space_profiles_core::snapshot::{Capability, CapabilityContent, ModelKind};
use space_profiles_core::{
    BackfillState, BackfillStatus, Kind, Lease, PageLimit, Proposal, SpaceFilter, SubjectId, TenantId, WorkerId,
};
use space_profiles_worker::{CheckCode, CheckError, CheckRequest, Event, Observer, RowOutcome, Stop, Summary};

use crate::support::{Scripted, World, counts, embedding, observed, retrieval, seconds, selection};

/// Runs to the end, with nobody watching.
async fn run(worker: &space_profiles_worker::Worker) -> Summary {
    worker.run(&SpaceFilter::All, &(), &Stop::new()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_legacy_profile_is_installed_with_what_its_check_observed() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", Some(1536))), Some(retrieval(true))).await;
    let check = Scripted::at_once(1536);
    let summary = run(&world.worker(&check)).await;
    assert_eq!((summary.scanned, summary.discovered, summary.installed, summary.pending), (1, 2, 2, 0));
    assert_eq!(summary.failed, []);
    assert!(!summary.was_interrupted);

    let embedding = world.registry.head(&space.scope(Kind::Embedding)).await.unwrap().revision;
    let CapabilityContent::Model(model) = embedding.capability.content() else { panic!("not typed") };
    assert_eq!(model.dimension().unwrap().get(), 1536);
    assert_eq!(embedding.created_by, "system:legacy-profile-backfill");

    let again = run(&world.worker(&check)).await;
    assert_eq!((again.discovered, again.installed, again.already_installed, again.pending), (0, 0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_check_is_the_stores_time_of_the_claim() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", None)), None).await;
    tokio::time::advance(seconds(90)).await;
    run(&world.worker(&Scripted::after(seconds(5), 8))).await;
    let profile = world.registry.head(&space.scope(Kind::Embedding)).await.unwrap().revision;
    let CapabilityContent::Model(model) = profile.capability.content() else { panic!("not typed") };
    assert_eq!(model.checked_at().to_string(), "2026-07-12T12:01:30.000000Z");
}

#[tokio::test(start_paused = true)]
async fn ot_74_the_reasoning_model_is_checked_before_the_rerank_model() {
    let world = World::new();
    let space = world.add(1, None, Some(retrieval(true))).await;
    let check = Scripted::at_once(1);
    assert_eq!(run(&world.worker(&check)).await.installed, 1);
    let asked: Vec<_> =
        check.requests.lock().unwrap().iter().map(|request| (request.kind, request.selection.clone())).collect();
    assert_eq!(asked, [(ModelKind::Reasoning, selection("gpt-4.1")), (ModelKind::Rerank, selection("rerank-1"))]);
    let profile = world.registry.head(&space.scope(Kind::Retrieval)).await.unwrap().revision;
    assert!(profile.capability.canonical().ends_with("\"verification\":\"verified\"}"));
}

#[tokio::test(start_paused = true)]
async fn a_rerank_model_that_is_switched_off_is_not_checked() {
    let world = World::new();
    world.add(1, None, Some(retrieval(false))).await;
    let check = Scripted::at_once(1);
    assert_eq!(run(&world.worker(&check)).await.installed, 1);
    assert_eq!(check.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn ot_75_a_missing_dimension_is_filled_in_with_the_observed_one() {
    for dimension in [384, 1536, 3072] {
        let world = World::new();
        let space = world.add(1, Some(embedding("small", None)), None).await;
        assert_eq!(run(&world.worker(&Scripted::at_once(dimension))).await.installed, 1);
        let profile = world.registry.head(&space.scope(Kind::Embedding)).await.unwrap().revision;
        assert_eq!(profile.snapshot.identity().dimension.unwrap().get(), dimension);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dimension_other_than_the_observed_one_fails_the_profile() {
    let world = World::new();
    world.add(1, Some(embedding("small", Some(1536))), None).await;
    let summary = run(&world.worker(&Scripted::at_once(3072))).await;
    assert_eq!(summary.failed[0].code, "LEGACY_PROFILE_INVALID");
    assert!(summary.failed[0].message.contains("1536"), "{}", summary.failed[0].message);
    assert!(summary.failed[0].message.contains("3072"), "{}", summary.failed[0].message);
    assert_eq!(world.revisions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_no_valid_profile_fails_before_any_model_is_checked() {
    let world = World::new();
    let space = world.add(1, Some(json!({"model": "", "dimension": "1536"})), None).await;
    let check = Scripted::at_once(1536);
    let summary = run(&world.worker(&check)).await;
    assert_eq!(check.calls(), 0);
    assert_eq!(summary.failed[0].code, "LEGACY_PROFILE_INVALID");
    for path in ["/model", "/dimension", "/pluginId", "/vectorSpaceId", "/revision"] {
        assert!(summary.failed[0].message.contains(path), "{path}: {}", summary.failed[0].message);
    }
    assert_eq!(world.row(&space.scope(Kind::Embedding)).await.status(), BackfillStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_profile_that_is_no_object_is_told_though_it_never_becomes_a_row() {
    let world = World::new();
    world.add(1, Some(json!("text-embedding-3-small")), None).await;
    let summary = run(&world.worker(&Scripted::at_once(8))).await;
    assert_eq!(summary.failed[0].code, "LEGACY_PROFILE_NOT_AN_OBJECT");
    assert_eq!(counts(&world.store).await, (0, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_by_a_later_run() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", None)), None).await;
    let check = Scripted::new(|_, before| match before {
        0 => (seconds(0), Err(CheckError::new(CheckCode::Unavailable, "the endpoint answered 503"))),
        _ => (seconds(0), Ok(8)),
    });
    let worker = world.worker(&check);
    let first = run(&worker).await;
    assert_eq!((first.installed, first.pending, first.failed.len()), (0, 1, 0));
    let row = world.row(&space.scope(Kind::Embedding)).await;
    assert_eq!(row.retry.as_ref().unwrap().code, "MODEL_PREFLIGHT_UNAVAILABLE");
    assert_eq!(row.retry.unwrap().message, "the endpoint answered 503");

    assert_eq!(run(&worker).await.pending, 1, "it is not due yet");
    tokio::time::advance(seconds(6)).await;
    assert_eq!(run(&worker).await.installed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_fails_the_row_once_its_attempts_are_spent() {
    let world = World::new();
    world.add(1, Some(embedding("small", None)), None).await;
    let check = Scripted::failing(CheckCode::Unavailable, "the endpoint answered 503");
    let worker = world.worker(&check);
    let mut failed = Vec::new();
    for _ in 0..3 {
        failed.extend(run(&worker).await.failed);
        tokio::time::advance(seconds(600)).await;
    }
    assert_eq!(check.calls(), 3);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].code, "MODEL_PREFLIGHT_UNAVAILABLE");
}

#[tokio::test(start_paused = true)]
async fn a_final_failure_is_not_tried_again() {
    for code in [
        CheckCode::SelectionNotFound,
        CheckCode::IdentityMismatch,
        CheckCode::CapabilityMismatch,
        CheckCode::CredentialInvalid,
        CheckCode::DimensionInvalid,
    ] {
        let world = World::new();
        world.add(1, Some(embedding("small", None)), None).await;
        let check = Scripted::failing(code, "as the test wants it");
        let summary = run(&world.worker(&check)).await;
        assert_eq!((summary.failed[0].code.as_str(), summary.pending), (code.as_str(), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn g5_10_rows_whose_attempts_are_spent_are_told() {
    let world = World::new();
    world.add(1, Some(embedding("small", None)), None).await;
    let ledger = world.ledger();
    ledger.discover(None, PageLimit::LAST, &SpaceFilter::All).await.unwrap();
    for _ in 0..3 {
        let worker = WorkerId::new("killed").unwrap();
        let claimed = ledger.claim(&worker, PageLimit::LAST, Lease::DEFAULT, &SpaceFilter::All).await.unwrap();
        assert_eq!(claimed.backfills.len(), 1);
        tokio::time::advance(seconds(31)).await;
    }
    let check = Scripted::at_once(8);
    let summary = run(&world.worker(&check)).await;
    assert_eq!(summary.failed[0].code, "PROFILE_BACKFILL_ATTEMPTS_EXHAUSTED");
    assert_eq!((check.calls(), summary.pending), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn g5_13_the_row_of_a_worker_that_was_killed_is_claimed_once_its_lease_has_run_out() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", None)), None).await;
    let ledger = world.ledger();
    ledger.discover(None, PageLimit::LAST, &SpaceFilter::All).await.unwrap();
    let killed = WorkerId::new("killed").unwrap();
    ledger.claim(&killed, PageLimit::LAST, Lease::DEFAULT, &SpaceFilter::All).await.unwrap();
    let worker = world.worker(&Scripted::at_once(8));
    assert_eq!(run(&worker).await.pending, 1);
    tokio::time::advance(seconds(31)).await;
    assert_eq!(run(&worker).await.installed, 1);
    assert_eq!(world.row(&space.scope(Kind::Embedding)).await.attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn g5_23_a_source_that_changed_after_discovery_is_not_installed() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", Some(8))), None).await;
    let ledger = world.ledger();
    ledger.discover(None, PageLimit::LAST, &SpaceFilter::All).await.unwrap();
    world.put(1, 2, Some(embedding("large", Some(8))), None).await;
    let summary = run(&world.worker(&Scripted::at_once(8))).await;
    assert_eq!(summary.failed[0].code, "LEGACY_PROFILE_SOURCE_CHANGED");
    // The new source is discovered and installed by the same run.
    let head = world.registry.head(&space.scope(Kind::Embedding)).await.unwrap().revision;
    assert_eq!(head.snapshot.identity().selection.model(), "large");
}

#[tokio::test(start_paused = true)]
async fn g5_25_a_head_that_says_the_same_already_is_no_failure() {
    let world = World::new();
    let space = world.add(1, Some(embedding("small", Some(8))), None).await;
    let scope = space.scope(Kind::Embedding);
    world.ledger().discover(None, PageLimit::LAST, &SpaceFilter::All).await.unwrap();
    let request = CheckRequest {
        kind: ModelKind::Embedding,
        selection: selection("small"),
        checked_at: "2020-01-01T00:00:00Z".parse().unwrap(),
    };
    let capability = Capability::of_model(observed(&request, 8));
    let snapshot = embedding("small", Some(8)).to_string();
    let by = SubjectId::new("ann").unwrap();
    let proposal = Proposal {
        ignore_legacy: true,
        ..Proposal::new(snapshot.as_bytes(), capability.canonical().as_bytes(), by)
    };
    world.registry.publish(&scope, &proposal, None).await.unwrap();

    struct Seen(Mutex<Vec<RowOutcome>>);
    impl Observer for Seen {
        fn on_event(&self, event: &Event<'_>) {
            if let Event::Finished { outcome, .. } = event {
                self.0.lock().unwrap().push((*outcome).clone());
            }
        }
    }
    let seen = Seen(Mutex::default());
    let worker = world.worker(&Scripted::at_once(8));
    worker.run(&SpaceFilter::All, &seen, &Stop::new()).await.unwrap();
    assert_eq!(*seen.0.lock().unwrap(), [RowOutcome::AlreadyInstalled]);
    assert_eq!(world.revisions(), 1);
    assert_eq!(world.row(&scope).await.status(), BackfillStatus::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_run_touches_only_the_spaces_of_its_filter() {
    let world = World::new();
    let ours = world.add(1, Some(embedding("small", None)), None).await;
    world.add(2, Some(embedding("small", None)), None).await;
    let worker = world.worker(&Scripted::at_once(8));
    let stranger = SpaceFilter::Tenant(TenantId::new("globex").unwrap());
    assert_eq!(worker.run(&stranger, &(), &Stop::new()).await.unwrap(), Summary::default());
    let summary = worker.run(&SpaceFilter::Spaces(vec![ours]), &(), &Stop::new()).await.unwrap();
    assert_eq!((summary.scanned, summary.installed, summary.pending), (1, 1, 0));
    assert_eq!(world.revisions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_filter_of_too_many_spaces_is_refused() {
    let world = World::new();
    let space = world.add(1, None, None).await;
    let filter = SpaceFilter::Spaces(vec![space; 1_001]);
    let refused = world.worker(&Scripted::at_once(8)).run(&filter, &(), &Stop::new()).await.unwrap_err();
    assert_eq!(refused.code(), "ARGUMENT_INVALID");
}

#[tokio::test(start_paused = true)]
async fn discovery_goes_through_every_page() {
    let world = World::new();
    for number in 0..1_001 {
        world.add(number, None, None).await;
    }
    let last = world.add(1_001, Some(embedding("small", None)), None).await;
    let worker = world.worker(&Scripted::at_once(8));
    let found = worker.discover(&SpaceFilter::All, &(), &Stop::new()).await.unwrap();
    assert_eq!((found.scanned, found.created), (1_002, 1));
    assert!(!found.was_interrupted);
    let row = world.row(&last.scope(Kind::Embedding)).await;
    assert!(matches!(row.state, BackfillState::Queued));
}
