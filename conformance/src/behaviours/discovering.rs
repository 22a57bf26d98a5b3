use super::prelude::*;

pub async fn legacy_profiles_are_queued_once_with_their_source(fx: &Fixture) {
    let profile = usual(Kind::Embedding, 1);
    let space = fx.legacy_space(Some(profile.clone()), Some(usual(Kind::Retrieval, 1))).await;
    let first = fx.ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    assert_eq!((first.scanned, first.created.len(), first.next), (1, 2, Some(space.clone())));
    let again = fx.ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    assert_eq!((again.scanned, again.created.len()), (1, 0));
    let row = fx.ledger.get(&space.scope(Kind::Embedding)).await.unwrap();
    assert_eq!((row.status(), row.attempts, row.row_version.get()), (BackfillStatus::Queued, 0, 1));
    assert_eq!((row.source.manifest_version.get(), row.due_at), (1, fx.clock.now()));
    let canonical = json::canonicalize(profile.to_string().as_bytes(), json::Limits::ANY).unwrap();
    assert_eq!(row.source.digest, Digest::of(canonical.as_bytes()).to_string());
    fx.assert_sound().await;
}

pub async fn a_changed_source_is_queued_beside_the_old_one(fx: &Fixture) {
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    assert_eq!(fx.discover().await, 1);
    fx.import(&space, 2, Some(embedding("other", 8, 1)), None).await.unwrap();
    assert_eq!(fx.discover().await, 1);
    let newest = fx.ledger.get(&space.scope(Kind::Embedding)).await.unwrap();
    assert_eq!(newest.source.manifest_version.get(), 2);
}

pub async fn what_cannot_be_adopted_is_skipped_with_a_reason(fx: &Fixture) {
    let space = fx.legacy_space(Some(json!([1])), Some(json!(null))).await;
    let page = fx.ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    assert_eq!(page.created, []);
    let reasons: Vec<_> = page.skipped.iter().map(|skipped| (skipped.scope.clone(), skipped.reason)).collect();
    let not_an_object = decide::SkipReason::NotAnObject;
    let [embedding, retrieval] = Kind::ALL.map(|kind| space.scope(kind));
    assert_eq!(reasons, [(embedding, not_an_object), (retrieval, not_an_object)]);
}

pub async fn spaces_with_a_head_or_not_writable_or_without_profile_are_passed_over(fx: &Fixture) {
    let deleting = fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    fx.mark(&deleting, "active", Some(fx.draw.id())).await;
    fx.legacy_space(None, None).await;
    fx.space().await;
    let headed = fx.history(Kind::Embedding, 1).await;
    fx.import(&headed.space, 1, Some(usual(Kind::Embedding, 1)), None).await.unwrap();
    let page = fx.ledger.discover(None, limit(10), &SpaceFilter::All).await.unwrap();
    assert_eq!((page.scanned, page.created.len(), page.skipped.len(), page.installed), (4, 0, 0, 1));
}

pub async fn discovery_walks_in_pages_and_within_its_filter(fx: &Fixture) {
    let mut spaces = Vec::new();
    for _ in 0..5 {
        spaces.push(fx.legacy_space(Some(usual(Kind::Embedding, 1)), None).await);
    }
    let other = space_of("tenant-b", fx.draw.id());
    fx.import(&other, 1, Some(usual(Kind::Embedding, 1)), None).await.unwrap();
    let two = SpaceFilter::Spaces(spaces[..2].to_vec());
    assert_eq!(fx.ledger.discover(None, limit(10), &two).await.unwrap().created.len(), 2);
    let tenant = SpaceFilter::Tenant(TenantId::new("tenant-b").unwrap());
    assert_eq!(fx.ledger.discover(None, limit(10), &tenant).await.unwrap().created.len(), 1);
    let page = fx.ledger.discover(None, limit(4), &SpaceFilter::All).await.unwrap();
    assert_eq!((page.scanned, page.created.len(), page.next.as_ref()), (4, 2, Some(&spaces[3])));
    let page = fx.ledger.discover(page.next.as_ref(), limit(4), &SpaceFilter::All).await.unwrap();
    assert_eq!((page.scanned, page.created.len()), (2, 1));
    let page = fx.ledger.discover(page.next.as_ref(), limit(4), &SpaceFilter::All).await.unwrap();
    assert_eq!((page.scanned, page.next), (0, None));
    let many = SpaceFilter::Spaces(vec![other; 1_001]);
    assert_eq!(code(fx.ledger.discover(None, limit(1), &many).await), "ARGUMENT_INVALID");
}
