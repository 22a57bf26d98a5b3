use super::prelude::*;

async fn queued(fx: &Fixture, count: usize) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for _ in 0..count {
        let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
        scopes.push(space.scope(Kind::Embedding));
    }
    assert_eq!(fx.discover().await, count);
    scopes
}

pub async fn a_claim_leases_due_rows_to_a_worker(fx: &Fixture) {
    let scopes = queued(fx, 3).await;
    let claimed = fx.claim("worker-a", 2).await;
    assert_eq!((claimed.backfills.len(), claimed.exhausted.len()), (2, 0));
    let row = &claimed.backfills[0];
    assert_eq!((row.attempts, row.row_version.get(), &row.scope), (1, 2, &scopes[0]));
    let BackfillState::Running { worker, lease_expires_at, heartbeat_at, .. } = &row.state else {
        panic!("expected a running row, found {row:?}")
    };
    assert_eq!(worker, "worker-a");
    assert_eq!(*heartbeat_at, fx.clock.now());
    assert_eq!(*lease_expires_at, fx.clock.now().plus(five_minutes().span()));
    assert_eq!(*row, fx.ledger.get(&scopes[0]).await.unwrap(), "what is returned is what is read");
    let tokens: Vec<_> = claimed.backfills.iter().map(|row| row.fence().unwrap().lease_token).collect();
    assert_ne!(tokens[0], tokens[1], "each row has a token of its own");
    assert_eq!(fx.claim("worker-b", 10).await.backfills.len(), 1, "a leased row is not given again");
    assert_eq!(fx.claim("worker-b", 10).await, Claimed::default());
    fx.assert_sound().await;
}

pub async fn g5_03_g5_13_an_expired_lease_is_claimed_from_its_very_end_on(fx: &Fixture) {
    let (scope, first) = fx.claimed_embedding().await;
    let fence = first.fence().unwrap();
    fx.clock.advance(Span::from_micros(299_999_999));
    assert_eq!(fx.claim("worker-b", 1).await.backfills.len(), 0);
    fx.ledger.heartbeat(&fence, five_minutes()).await.expect("a microsecond before its end the lease holds");
    fx.clock.advance(Span::from_seconds(300));
    assert_eq!(code(fx.ledger.heartbeat(&fence, five_minutes()).await), "LEASE_LOST");
    let claimed = fx.claim("worker-b", 1).await.backfills;
    assert_eq!((claimed[0].attempts, &claimed[0].scope), (2, &scope));
}

pub async fn g5_01_g5_05_a_worker_that_lost_its_lease_changes_nothing(fx: &Fixture) {
    let (scope, first) = fx.claimed_embedding().await;
    let stale = first.fence().unwrap();
    fx.clock.advance(Span::from_seconds(360));
    let second = fx.claim("worker-b", 1).await.backfills.remove(0);
    fx.clock.advance(Span::from_seconds(60));
    assert_eq!(code(fx.complete(&stale).await), "LEASE_LOST");
    assert_eq!(code(fx.fail_backfill(&stale, "CODE", true, None).await), "LEASE_LOST");
    assert_eq!(code(fx.fail_backfill(&stale, "CODE", false, None).await), "LEASE_LOST");
    assert_eq!(code(fx.ledger.heartbeat(&stale, five_minutes()).await), "LEASE_LOST");
    assert_eq!(code(fx.ledger.release(&stale).await), "LEASE_LOST");
    assert_eq!(fx.ledger.get(&scope).await.unwrap(), second, "nothing was written");
    fx.complete(&second.fence().unwrap()).await.expect("the new owner completes");
    assert_eq!(fx.ledger.get(&scope).await.unwrap().attempts, 2);
}

pub async fn g5_04_an_expired_lease_is_not_revived(fx: &Fixture) {
    let (scope, first) = fx.claimed_embedding().await;
    let fence = first.fence().unwrap();
    fx.clock.advance(Span::from_seconds(301));
    for answer in [
        fx.ledger.heartbeat(&fence, five_minutes()).await.map(drop),
        fx.complete(&fence).await.map(drop),
        fx.ledger.release(&fence).await.map(drop),
    ] {
        assert_eq!(code(answer), "LEASE_LOST", "although nobody else has claimed it");
    }
    assert_eq!(fx.ledger.get(&scope).await.unwrap(), first);
    assert_eq!(fx.claim("worker-b", 1).await.backfills.len(), 1);
}

pub async fn g5_08_only_the_stores_clock_decides_about_leases(fx: &Fixture) {
    fx.claimed_embedding().await;
    fx.clock.advance(Span::from_seconds(60));
    assert_eq!(fx.claim("worker-with-a-fast-clock", 1).await.backfills.len(), 0, "a claim carries no time");
}

pub async fn g5_10_a_row_whose_attempts_are_spent_is_failed_by_the_next_claim(fx: &Fixture) {
    let (scope, _) = fx.claimed_embedding().await;
    for attempts in 2..=3 {
        fx.clock.advance(Span::from_seconds(301));
        assert_eq!(fx.claim("worker-a", 1).await.backfills[0].attempts, attempts);
    }
    fx.clock.advance(Span::from_seconds(301));
    let claimed = fx.claim("worker-a", 1).await;
    assert_eq!((claimed.backfills.len(), claimed.exhausted.len()), (0, 1));
    let row = fx.ledger.get(&scope).await.unwrap();
    assert_eq!(row, claimed.exhausted[0]);
    let BackfillState::Failed { failure, completed_at } = &row.state else { panic!("not failed: {row:?}") };
    assert_eq!((failure.code.as_str(), *completed_at), ("PROFILE_BACKFILL_ATTEMPTS_EXHAUSTED", fx.clock.now()));
    assert_eq!(row.row_version.get(), 5);
    fx.assert_sound().await;
}

pub async fn g5_12_spent_rows_do_not_use_up_the_batch(fx: &Fixture) {
    queued(fx, 10).await;
    for _ in 0..3 {
        assert_eq!(fx.claim("worker-a", 10).await.backfills.len(), 10);
        fx.clock.advance(Span::from_seconds(301));
    }
    queued(fx, 10).await;
    let claimed = fx.claim("worker-a", 10).await;
    assert_eq!((claimed.exhausted.len(), claimed.backfills.len()), (10, 10));
}

pub async fn a_claim_fails_spent_rows_within_a_bound_of_their_own(fx: &Fixture) {
    let many = EXHAUSTED_PER_CLAIM as usize + 20;
    queued(fx, many).await;
    for _ in 0..3 {
        assert_eq!(fx.claim("worker-a", 1_000).await.backfills.len(), many);
        fx.clock.advance(Span::from_seconds(301));
    }
    queued(fx, 1).await;
    let first = fx.claim("worker-a", 10).await;
    assert_eq!((first.exhausted.len(), first.backfills.len()), (EXHAUSTED_PER_CLAIM as usize, 1));
    assert_eq!(fx.claim("worker-a", 10).await.exhausted.len(), 20, "the next claim fails the rest");
}

pub async fn expired_rows_come_before_queued_ones_each_in_order(fx: &Fixture) {
    let scopes = queued(fx, 4).await;
    let claimed = fx.claim("worker-a", 2).await.backfills;
    fx.clock.advance(Span::from_seconds(1));
    fx.ledger.heartbeat(&claimed[0].fence().unwrap(), five_minutes()).await.unwrap();
    fx.clock.advance(Span::from_seconds(400));
    let order: Vec<Scope> = fx.claim("worker-b", 3).await.backfills.into_iter().map(|row| row.scope).collect();
    assert_eq!(order, [scopes[1].clone(), scopes[0].clone(), scopes[2].clone()]);
}

pub async fn g5_20_a_retried_row_takes_its_place_by_due_time(fx: &Fixture) {
    let (scope, first) = fx.claimed_embedding().await;
    fx.fail_backfill(&first.fence().unwrap(), "CODE", false, None).await.unwrap();
    fx.clock.advance(Span::from_seconds(1));
    let older = queued(fx, 2).await;
    fx.clock.advance(Span::from_seconds(1));
    fx.ledger.retry(&scope).await.unwrap();
    let order: Vec<Scope> = fx.claim("worker-a", 10).await.backfills.into_iter().map(|row| row.scope).collect();
    assert_eq!(order, [older[0].clone(), older[1].clone(), scope]);
}

pub async fn a_claim_keeps_to_its_filter(fx: &Fixture) {
    let scopes = queued(fx, 3).await;
    let other = space_of("tenant-b", fx.draw.id());
    fx.import(&other, 1, Some(usual(Kind::Embedding, 1)), None).await.unwrap();
    fx.discover().await;
    let claim = async |filter: SpaceFilter| {
        let worker = WorkerId::new("worker-a").unwrap();
        let claimed = fx.ledger.claim(&worker, limit(10), five_minutes(), &filter).await.unwrap();
        claimed.backfills.into_iter().map(|row| row.scope).collect::<Vec<Scope>>()
    };
    let of_b = SpaceFilter::Tenant(TenantId::new("tenant-b").unwrap());
    assert_eq!(claim(of_b).await, [other.scope(Kind::Embedding)]);
    assert_eq!(claim(SpaceFilter::Spaces(vec![scopes[1].space.clone()])).await, [scopes[1].clone()]);
    assert_eq!(claim(SpaceFilter::Spaces(Vec::new())).await, []);
    let wrong_tenant = space_of("tenant-b", scopes[0].space.id.as_uuid());
    assert_eq!(claim(SpaceFilter::Spaces(vec![wrong_tenant])).await, []);
    assert_eq!(claim(SpaceFilter::All).await.len(), 2);
}

pub async fn g2_13_leases_are_compared_as_times_and_not_as_texts(fx: &Fixture) {
    fx.clock.set("2026-07-14T11:55:00.500Z".parse().unwrap());
    fx.claimed_embedding().await;
    fx.clock.set("2026-07-14T12:00:00Z".parse().unwrap());
    assert_eq!(fx.claim("worker-b", 1).await.backfills.len(), 0);
}
