use super::prelude::*;

pub async fn a_history_is_read_in_pages(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 3).await;
    let page = fx.registry.revisions(&scope, None, limit(2)).await.unwrap();
    assert_eq!(numbers(&page), [1, 2]);
    assert_eq!((page.next, page.active_revision), (Some(number(2)), Some(number(3))));
    let page = fx.registry.revisions(&scope, page.next, limit(2)).await.unwrap();
    assert_eq!(numbers(&page), [3]);
    assert_eq!(page.next, None);
    let exact = fx.registry.revisions(&scope, None, limit(3)).await.unwrap();
    assert_eq!(exact.next, None, "a page that ends with the last revision is the last page");
    let empty = fx.registry.revisions(&fx.scope(Kind::Embedding).await, None, limit(1)).await.unwrap();
    assert_eq!((empty.items.len(), empty.active_revision, empty.next), (0, None, None));
}

fn numbers(page: &Revisions) -> Vec<u32> {
    page.items.iter().map(|entry| entry.as_ref().unwrap().number().get()).collect()
}

pub async fn what_is_not_there_is_not_found(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    assert_eq!(refusal(fx.registry.head(&scope).await), Refusal::ProfileNotFound);
    assert_eq!(refusal(fx.registry.revision(&scope, number(1)).await), Refusal::RevisionNotFound(number(1)));
    fx.propose(&scope, 1).await.unwrap();
    assert_eq!(refusal(fx.registry.head(&scope).await), Refusal::ProfileNotFound, "a candidate is no profile");
}

pub async fn g6_17_a_corrupt_row_is_an_entry_of_its_own(fx: &Fixture) {
    for (column, value) in [
        ("snapshot", Column::Text(embedding("changed", 8, 2).to_string())),
        ("snapshot_digest", Column::Text("0".repeat(64))),
        ("plugin_id", Column::Text("changed".to_owned())),
        ("capability_snapshot", Column::Text("{\"source\":\"changed\"}".to_owned())),
    ] {
        let scope = fx.history(Kind::Embedding, 3).await;
        let id = fx.registry.revision(&scope, number(2)).await.unwrap().id;
        fx.set(Table::Revisions, id.as_uuid(), column, value).await;
        let Refusal::SnapshotCorrupt(corruption) = refusal(fx.registry.revision(&scope, number(2)).await) else {
            panic!("expected SNAPSHOT_CORRUPT for {column}")
        };
        assert_eq!((corruption.id, corruption.revision), (id, number(2)), "{column}");
        let page = fx.registry.revisions(&scope, None, limit(10)).await.unwrap();
        let sound: Vec<bool> = page.items.iter().map(Result::is_ok).collect();
        assert_eq!(sound, [true, false, true], "{column}");
        fx.registry.head(&scope).await.expect("the head is another row");
    }
}

pub async fn g2_05_g2_19_rows_that_hold_no_readable_object_are_corrupt(fx: &Fixture) {
    for text in ["[1]", "\"x\"", "null", "{\"n\":1E+400}"] {
        let scope = fx.history(Kind::Embedding, 1).await;
        let id = fx.registry.head(&scope).await.unwrap().revision.id.as_uuid();
        let digest =
            json::digest(text.as_bytes(), json::Limits::ANY).map_or("0".repeat(64), |digest| digest.to_string());
        fx.set(Table::Revisions, id, "capability_snapshot", Column::Text(text.to_owned())).await;
        fx.set(Table::Revisions, id, "capability_snapshot_digest", Column::Text(digest)).await;
        assert_eq!(code(fx.registry.head(&scope).await), "SNAPSHOT_CORRUPT", "{text}");
    }
}

pub async fn a_row_digested_in_the_legacy_key_order_is_read(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let id = fx.registry.head(&scope).await.unwrap().revision.id.as_uuid();
    let legacy = r#"{"a":2,"B":1,"max_tokens":3,"maxTokens":4}"#;
    let digest = Digest::of(legacy.as_bytes()).to_string();
    fx.set(Table::Revisions, id, "capability_snapshot", Column::Text(legacy.to_owned())).await;
    fx.set(Table::Revisions, id, "capability_snapshot_digest", Column::Text(digest)).await;
    let profile = fx.registry.head(&scope).await.expect("the legacy order matches");
    assert_eq!(profile.revision.capability.canonical(), r#"{"B":1,"a":2,"maxTokens":4,"max_tokens":3}"#);
    let restored = {
        fx.publish(&scope, 2, Some(1)).await.unwrap();
        fx.restore(&scope, 1, Some(2)).await.unwrap().value.revision
    };
    assert_eq!(restored.capability.digest(), Digest::of(restored.capability.canonical().as_bytes()));
    assert_eq!(restored, fx.registry.revision(&scope, number(3)).await.unwrap(), "new rows are RFC 8785");
    fx.assert_sound().await;
}

pub async fn the_profile_of_a_moment_is_found(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let start = fx.clock.now();
    for revision in 1..=3_u32 {
        fx.clock.advance(Span::from_seconds(10));
        fx.publish(&scope, revision, revision.checked_sub(1).filter(|before| *before > 0)).await.unwrap();
    }
    let at = async |seconds: u32| {
        let moment = start.plus(Span::from_seconds(seconds));
        fx.registry.active_at(&scope, moment).await.map(|revision| revision.number().get())
    };
    assert_eq!(code(at(9).await), "PROFILE_NOT_FOUND");
    assert_eq!(at(10).await.unwrap(), 1);
    assert_eq!(at(19).await.unwrap(), 1);
    assert_eq!(at(20).await.unwrap(), 2, "at the moment of the change the new one is active");
    assert_eq!(at(500).await.unwrap(), 3);
}

pub async fn two_revisions_are_compared(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let diff = fx.registry.diff(&scope, number(1), number(2)).await.unwrap();
    assert!(diff.needs_reembedding);
    let paths: Vec<&str> = diff.changes.iter().map(|change| change.pointer.as_str()).collect();
    assert_eq!(paths, ["/dimension", "/model", "/revision", "/vectorSpaceId"]);
    assert_eq!(code(fx.registry.diff(&scope, number(1), number(9)).await), "REVISION_NOT_FOUND");
    let scope = fx.history(Kind::Retrieval, 2).await;
    let diff = fx.registry.diff(&scope, number(1), number(2)).await.unwrap();
    assert!(!diff.needs_reembedding);
}

pub async fn g4_18_scopes_and_tenants_do_not_see_each_other(fx: &Fixture) {
    let (one, two) = (fx.draw.id(), fx.draw.id());
    let spaces = [space_of("tenant-a", one), space_of("tenant-b", one), space_of("tenant-a", two)];
    for space in &spaces {
        fx.registry.add_space(space, None).await.unwrap();
    }
    let scopes = [
        spaces[0].scope(Kind::Embedding),
        spaces[1].scope(Kind::Embedding),
        spaces[2].scope(Kind::Embedding),
        spaces[0].scope(Kind::Retrieval),
    ];
    for scope in &scopes {
        fx.propose(scope, 1).await.unwrap();
    }
    fx.activate(&scopes[0], 1, None).await.unwrap();
    for scope in &scopes[1..] {
        assert_eq!(code(fx.registry.head(scope).await), "PROFILE_NOT_FOUND", "{scope}");
        assert_eq!(fx.states(scope).await, ["candidate"], "{scope}");
        fx.activate(scope, 1, None).await.unwrap();
    }
    let evil = space_of("tenant-c", one).scope(Kind::Embedding);
    assert_eq!(code(fx.registry.head(&evil).await), "PROFILE_NOT_FOUND");
    assert_eq!(code(fx.activate(&evil, 1, None).await), "REVISION_NOT_FOUND");
    assert_eq!(code(fx.registry.delete_space(&evil.space).await), "SPACE_NOT_FOUND");
    assert_eq!(code(fx.ledger.get(&evil).await), "BACKFILL_NOT_FOUND");
    fx.registry.delete_space(&spaces[1]).await.unwrap();
    fx.registry.head(&scopes[0]).await.expect("the other tenant's space of this id is untouched");
    fx.assert_sound().await;
}

pub async fn times_of_a_scope_never_run_backwards(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let activated = fx.clock.now();
    fx.clock.set(Timestamp::from_micros(activated.as_micros() - 3_600_000_000));
    let candidate = fx.propose(&scope, 2).await.unwrap().value;
    assert_eq!(candidate.created_at, activated);
    let profile = fx.activate(&scope, 2, Some(1)).await.unwrap().value;
    assert_eq!(profile.head.updated_at, activated);
    fx.assert_sound().await;
}

pub async fn g2_12_times_are_kept_to_the_microsecond(fx: &Fixture) {
    fx.clock.set("2026-07-14T12:00:00.9999996Z".parse().unwrap());
    let scope = fx.history(Kind::Embedding, 1).await;
    let stored = fx.registry.head(&scope).await.unwrap();
    assert_eq!(stored.head.created_at.to_string(), "2026-07-14T12:00:00.999999Z");
}
