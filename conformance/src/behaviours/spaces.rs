use super::prelude::*;

pub async fn adding_a_space_twice_is_a_replay_unless_its_name_differs(fx: &Fixture) {
    let space = space_of("tenant-a", fx.draw.id());
    let first = fx.registry.add_space(&space, Some("Handbook")).await.unwrap();
    assert!(!first.replayed);
    let again = fx.registry.add_space(&space, Some("Handbook")).await.unwrap();
    assert_eq!((again.value, again.replayed), (first.value, true));
    assert!(fx.registry.add_space(&space, None).await.unwrap().replayed);
    let refused = refusal(fx.registry.add_space(&space, Some("Other")).await);
    assert_eq!(refused, Refusal::SpaceExists { name: "Handbook".to_owned() });
}

pub async fn a_name_that_does_not_fit_every_store_is_refused(fx: &Fixture) {
    for name in ["a\0b".to_owned(), "n".repeat(256)] {
        let space = space_of("tenant-a", fx.draw.id());
        assert_eq!(code(fx.registry.add_space(&space, Some(&name)).await), "ARGUMENT_INVALID");
    }
}

pub async fn spaces_are_listed_in_pages_and_by_tenant(fx: &Fixture) {
    let ids = [fx.draw.id(), fx.draw.id()];
    for tenant in ["b", "a", "a/x"] {
        for id in ids {
            fx.registry.add_space(&space_of(tenant, id), None).await.unwrap();
        }
    }
    let all = fx.registry.spaces(None, None, limit(100)).await.unwrap();
    let order: Vec<Space> = all.iter().map(|row| row.space.clone()).collect();
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!((order.len(), &order), (6, &sorted));
    let mut paged = Vec::new();
    while let page = fx.registry.spaces(None, paged.last(), limit(4)).await.unwrap()
        && !page.is_empty()
    {
        paged.extend(page.into_iter().map(|row| row.space));
    }
    assert_eq!(paged, order);
    let of_a = fx.registry.spaces(Some(&TenantId::new("a").unwrap()), None, limit(100)).await.unwrap();
    assert_eq!(of_a.len(), 2);
}

pub async fn deleting_a_space_removes_all_that_belongs_to_it_and_nothing_else(fx: &Fixture) {
    let kept = fx.history(Kind::Embedding, 2).await;
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), Some(usual(Kind::Retrieval, 1))).await;
    fx.discover().await;
    fx.registry.delete_space(&space).await.unwrap();
    assert_eq!(code(fx.registry.delete_space(&space).await), "SPACE_NOT_FOUND");
    for kind in Kind::ALL {
        assert_eq!(code(fx.ledger.get(&space.scope(kind)).await), "BACKFILL_NOT_FOUND");
        assert_eq!(fx.revisions(&space.scope(kind)).await.len(), 0);
    }
    let full = fx.history(Kind::Embedding, 3).await;
    fx.propose(&full, 4).await.unwrap();
    fx.registry.delete_space(&full.space).await.unwrap();
    assert_eq!(fx.revisions(&full).await.len(), 0);
    fx.registry.head(&kept).await.unwrap();
    fx.registry.add_space(&full.space, None).await.unwrap();
    fx.propose(&full, 1).await.expect("a space of the same id begins anew");
    fx.assert_sound().await;
}

pub async fn a_manifest_is_replaced_by_a_higher_version_only(fx: &Fixture) {
    use decide::Imported;
    let space = space_of("tenant-a", fx.draw.id());
    let profile = Some(usual(Kind::Embedding, 1));
    let added = fx.import(&space, 3, profile.clone(), None).await.unwrap();
    assert_eq!((added.value, added.replayed), (Imported::Added, false));
    let again = fx.import(&space, 3, profile.clone(), None).await.unwrap();
    assert_eq!((again.value, again.replayed), (Imported::Unchanged, true));
    let conflict = |stored: i64, found: i64| Refusal::ManifestConflict {
        stored: ManifestVersion::try_from(stored).unwrap(),
        found: ManifestVersion::try_from(found).unwrap(),
    };
    assert_eq!(refusal(fx.import(&space, 3, None, None).await), conflict(3, 3));
    assert_eq!(refusal(fx.import(&space, 2, profile.clone(), None).await), conflict(3, 2));
    let replaced = fx.import(&space, 4, None, None).await.unwrap();
    assert_eq!(replaced.value, Imported::Replaced);
    fx.mark(&space, "deleting", None).await;
    assert_eq!(code(fx.import(&space, 5, None, None).await), "SPACE_NOT_WRITABLE");
}

pub async fn a_manifest_joins_a_space_that_exists(fx: &Fixture) {
    let space = fx.space().await;
    let added = fx.import(&space, 1, Some(usual(Kind::Embedding, 1)), None).await.unwrap();
    assert_eq!(added.value, decide::Imported::Added);
    assert_eq!(fx.discover().await, 1);
}
