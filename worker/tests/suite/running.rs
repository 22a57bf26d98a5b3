//! How a run treats time, other workers, broken checks, broken stores and the wish to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use space_profiles_core::{
    BackfillStatus, Change, Lease, LeaseToken, PageLimit, SpaceFilter, Span, StoreCode, WorkerId,
};
use space_profiles_worker::{CheckCode, CheckError, ModelCheck, Stop, Summary, Worker};
use tokio::time::Instant;

use crate::faulty::{Call, FaultyStore};
use crate::support::{Scripted, World, counts, embedding, options, seconds};

async fn run(worker: &Worker) -> Summary {
    worker.run(&SpaceFilter::All, &(), &Stop::new()).await.unwrap()
}

async fn with_spaces(count: u32) -> World {
    let world = World::new();
    for number in 0..count {
        world.add(number, Some(embedding("small", None)), None).await;
    }
    world
}

/// Asks to stop after a while.
async fn stop_after(time: u64, stop: &Stop) {
    tokio::time::sleep(seconds(time)).await;
    stop.request();
}

fn lease(seconds: u32) -> Lease {
    Lease::new(Span::from_seconds(seconds)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn g5_14_a_check_longer_than_the_lease_keeps_its_row() {
    let world = with_spaces(1).await;
    let worker = world.worker_with(&Scripted::after(seconds(25), 8), |options| options.lease = lease(3));
    let ledger = world.ledger();
    let rival = async {
        for _ in 0..24 {
            tokio::time::sleep(seconds(1)).await;
            let name = WorkerId::new("rival").unwrap();
            let claimed = ledger.claim(&name, PageLimit::LAST, lease(3), &SpaceFilter::All).await.unwrap();
            assert_eq!(claimed.backfills, []);
        }
    };
    let (summary, ()) = tokio::join!(run(&worker), rival);
    assert_eq!(summary.installed, 1);
    assert_eq!(world.rows(BackfillStatus::Succeeded).await[0].attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_waits_for_its_turn_keeps_its_lease() {
    let world = with_spaces(10).await;
    let check = Scripted::after(seconds(2), 8);
    let worker = world.worker_with(&check, |options| {
        options.concurrency = 1;
        options.lease = lease(3);
    });
    assert_eq!(run(&worker).await.installed, 10);
    assert_eq!(check.calls(), 10);
}

#[tokio::test(start_paused = true)]
async fn g5_01_work_on_a_row_that_another_worker_owns_is_dropped() {
    let world = with_spaces(1).await;
    let check = Scripted::after(seconds(25), 8);
    let worker = world.worker_with(&check, |options| options.lease = lease(30));
    let thief = async {
        tokio::time::sleep(seconds(5)).await;
        let token: LeaseToken = "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40".parse().unwrap();
        for row in world.store.content().backfills.values_mut() {
            row.lease_token = Some(token);
        }
        token
    };
    let (summary, token) = tokio::join!(run(&worker), thief);
    assert_eq!((summary.installed, summary.failed.len(), summary.pending), (0, 0, 1));
    assert_eq!(check.answered.load(Ordering::SeqCst), 0, "the check was cut short");
    let rows = world.rows(BackfillStatus::Running).await;
    assert_eq!(rows[0].fence().unwrap().lease_token, token);
}

#[tokio::test(start_paused = true)]
async fn g5_17_asked_to_stop_a_run_ends_within_its_grace_and_hands_back_its_rows() {
    let world = with_spaces(8).await;
    let worker = world.worker_with(&Scripted::after(seconds(60), 8), |options| {
        options.check_timeout = seconds(120);
    });
    let stop = Stop::new();
    let began = Instant::now();
    let run_all = worker.run(&SpaceFilter::All, &(), &stop);
    let (summary, ()) = tokio::join!(run_all, stop_after(5, &stop));
    let summary = summary.unwrap();
    assert_eq!(began.elapsed(), seconds(15));
    assert!(summary.was_interrupted);
    assert_eq!((summary.installed, summary.failed.len(), summary.pending), (0, 0, 8));
    let rows = world.rows(BackfillStatus::Queued).await;
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| row.attempts == 0), "the attempts are refunded");

    assert_eq!(run(&world.worker(&Scripted::at_once(8))).await.installed, 8);
}

#[tokio::test(start_paused = true)]
async fn g5_16_being_stopped_time_and_again_spends_no_attempt() {
    let world = with_spaces(1).await;
    let worker = world.worker_with(&Scripted::after(seconds(25), 8), |options| options.grace = seconds(1));
    for _ in 0..5 {
        let stop = Stop::new();
        let (summary, ()) = tokio::join!(worker.run(&SpaceFilter::All, &(), &stop), stop_after(1, &stop));
        assert_eq!(summary.unwrap().pending, 1);
    }
    assert_eq!(run(&world.worker(&Scripted::at_once(8))).await.installed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_ends_within_the_grace_is_installed_and_none_is_begun() {
    let world = with_spaces(8).await;
    let check = Scripted::after(seconds(7), 8);
    let worker = world.worker_with(&check, |options| options.concurrency = 2);
    let stop = Stop::new();
    let (summary, ()) = tokio::join!(worker.run(&SpaceFilter::All, &(), &stop), stop_after(1, &stop));
    let summary = summary.unwrap();
    assert_eq!((summary.installed, summary.pending, check.calls()), (2, 6, 2));
    assert_eq!(counts(&world.store).await, (6, 0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_start_leaves_everything_as_it_was() {
    let world = with_spaces(2).await;
    let (check, stop) = (Scripted::at_once(8), Stop::new());
    stop.request();
    let summary = world.worker(&check).run(&SpaceFilter::All, &(), &stop).await.unwrap();
    assert_eq!(summary, Summary { was_interrupted: true, ..Summary::default() });
}

#[tokio::test(start_paused = true)]
async fn ot_83_a_check_that_does_not_answer_is_tried_again_later() {
    let world = with_spaces(1).await;
    let check = Scripted::after(seconds(3_600), 8);
    let began = Instant::now();
    let summary = run(&world.worker(&check)).await;
    assert_eq!(began.elapsed(), seconds(30));
    assert_eq!(summary.pending, 1);
    let rows = world.rows(BackfillStatus::Queued).await;
    let retry = rows[0].retry.as_ref().unwrap();
    assert_eq!(retry.code, "MODEL_PREFLIGHT_TIMEOUT");
    assert!(retry.message.contains("`small`") && retry.message.contains("30s"), "{}", retry.message);
}

#[tokio::test(start_paused = true)]
async fn ot_73_a_check_that_panics_harms_neither_its_row_nor_the_others() {
    let world = with_spaces(3).await;
    let check = Scripted::new(|_, before| {
        assert_ne!(before, 1, "sk-secret");
        (seconds(0), Ok(8))
    });
    let summary = run(&world.worker(&check)).await;
    assert_eq!((summary.installed, summary.pending), (2, 1));
    let rows = world.rows(BackfillStatus::Queued).await;
    let retry = rows[0].retry.as_ref().unwrap();
    assert_eq!(retry.code, "MODEL_PREFLIGHT_FAILED");
    assert!(!retry.message.contains("secret"), "{}", retry.message);
}

#[tokio::test(start_paused = true)]
async fn ot_86_what_a_provider_says_in_an_unknown_failure_is_not_stored() {
    let world = with_spaces(1).await;
    run(&world.worker(&Scripted::failing(CheckCode::Failed, "bad key sk-secret"))).await;
    let rows = world.rows(BackfillStatus::Queued).await;
    let retry = rows[0].retry.as_ref().unwrap();
    assert_eq!(retry.code, "MODEL_PREFLIGHT_FAILED");
    assert!(!retry.message.contains("secret"), "{}", retry.message);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_becomes_due_while_others_are_checked_belongs_to_the_same_run() {
    let world = with_spaces(2).await;
    let check = Scripted::new(|_, before| match before {
        0 => (seconds(0), Err(CheckError::new(CheckCode::Unavailable, "the endpoint answered 503"))),
        _ => (seconds(20), Ok(8)),
    });
    let summary = run(&world.worker(&check)).await;
    assert_eq!((summary.installed, summary.pending, check.calls()), (2, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn no_more_checks_run_at_a_time_than_allowed() {
    for concurrency in [1, 3] {
        let world = with_spaces(20).await;
        let check = Scripted::after(seconds(1), 8);
        let began = Instant::now();
        let worker = world.worker_with(&check, |options| options.concurrency = concurrency);
        assert_eq!(run(&worker).await.installed, 20);
        assert_eq!(check.most_running.load(Ordering::SeqCst), concurrency);
        assert_eq!(began.elapsed().as_secs(), 20_u64.div_ceil(concurrency as u64), "no slot was idle");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g5_07_workers_at_once_install_each_profile_once() {
    let world = with_spaces(60).await;
    let check = Scripted::new(|_, before| (std::time::Duration::from_micros(before as u64 % 7 * 100), Ok(8)));
    let mut workers = tokio::task::JoinSet::new();
    for name in ["one", "two", "three", "four"] {
        let check: Arc<dyn ModelCheck> = Arc::clone(&check) as _;
        let mut options = options(name);
        options.batch = PageLimit::try_from(3).unwrap();
        let worker = Worker::new(world.ledger(), check, options);
        workers.spawn(async move { run(&worker).await });
    }
    let summaries = workers.join_all().await;
    assert_eq!(summaries.iter().map(|summary| summary.installed).sum::<u64>(), 60);
    assert_eq!(summaries.iter().map(|summary| summary.discovered).sum::<u64>(), 60);
    assert_eq!((world.revisions(), check.calls()), (60, 60));
    assert_eq!(counts(&world.store).await, (0, 0, 60, 0));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_busy_for_a_moment_is_asked_again() {
    let world = with_spaces(3).await;
    let (mut claims, mut installs) = (0, 0);
    let registry = FaultyStore::registry(&world.store, move |call| {
        let calls = match call {
            Call::Claim => &mut claims,
            Call::Apply(_) => &mut installs,
        };
        *calls += 1;
        (*calls <= 2).then_some(StoreCode::Busy)
    });
    let worker = Worker::new(registry.ledger(), Scripted::at_once(8), options("one"));
    assert_eq!(run(&worker).await.installed, 3);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_a_busy_store_does_not_take_is_told_and_loses_no_other() {
    let world = with_spaces(3).await;
    let space = World::space(0);
    let registry = FaultyStore::registry(&world.store, move |call| match call {
        Call::Apply(Change::Install(install)) if install.revision.scope.space == space => Some(StoreCode::Busy),
        _ => None,
    });
    let worker = Worker::new(registry.ledger(), Scripted::at_once(8), options("one"));
    let summary = run(&worker).await;
    assert_eq!((summary.installed, summary.pending), (2, 1));
    assert_eq!(summary.failed[0].code, "STORE_BUSY");

    tokio::time::advance(seconds(31)).await;
    assert_eq!(run(&world.worker(&Scripted::at_once(8))).await.installed, 1, "its lease has run out");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_over_one_row_loses_no_other() {
    let world = with_spaces(3).await;
    let space = World::space(0);
    let registry = FaultyStore::registry(&world.store, move |call| {
        if let Call::Apply(Change::Install(install)) = call {
            assert_ne!(install.revision.scope.space, space);
        }
        None
    });
    let worker = Worker::new(registry.ledger(), Scripted::at_once(8), options("one"));
    let summary = run(&worker).await;
    assert_eq!((summary.installed, summary.pending), (2, 1));
    assert_eq!((summary.failed.len(), summary.failed[0].code.as_str()), (1, "STORE_OUTCOME_UNKNOWN"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_goes_down_ends_the_run_after_the_rest_is_handed_back() {
    let world = with_spaces(8).await;
    let installs = AtomicUsize::new(0);
    let registry = FaultyStore::registry(&world.store, move |call| match call {
        Call::Apply(Change::Install(_)) => {
            (installs.fetch_add(1, Ordering::SeqCst) >= 2).then_some(StoreCode::ReadOnly)
        }
        _ => None,
    });
    let check = Scripted::new(|_, before| (seconds(1 + before as u64), Ok(8)));
    let worker = Worker::new(registry.ledger(), check, options("one"));
    let error = worker.run(&SpaceFilter::All, &(), &Stop::new()).await.unwrap_err();
    assert_eq!(error.code(), "STORE_READ_ONLY");
    assert_eq!(counts(&world.store).await, (6, 0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_claimed_from_is_the_answer() {
    let world = with_spaces(1).await;
    let registry = FaultyStore::registry(&world.store, |call| match call {
        Call::Claim => Some(StoreCode::Unavailable),
        Call::Apply(_) => None,
    });
    let worker = Worker::new(registry.ledger(), Scripted::at_once(8), options("one"));
    let error = worker.run(&SpaceFilter::All, &(), &Stop::new()).await.unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_no_check_behind() {
    let world = with_spaces(2).await;
    let check = Scripted::after(seconds(20), 8);
    let worker = world.worker(&check);
    let cut = tokio::time::timeout(seconds(1), run(&worker)).await;
    assert!(cut.is_err());
    tokio::time::sleep(seconds(25)).await;
    assert_eq!((check.calls(), check.answered.load(Ordering::SeqCst)), (2, 0));
}
