use super::prelude::*;

async fn rules_found(fx: &Fixture) -> Vec<&'static str> {
    let mut rules: Vec<&'static str> = fx.audit().await.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules.retain(|rule| *rule != "schema");
    rules
}

pub async fn sound_rows_have_no_finding(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 3).await;
    fx.propose(&scope, 4).await.unwrap();
    fx.fail(&scope, 4, "CODE").await.unwrap();
    fx.restore(&scope, 1, Some(3)).await.unwrap();
    fx.propose(&scope, 6).await.unwrap();
    fx.history(Kind::Retrieval, 2).await;
    let (_, claimed) = fx.claimed_embedding().await;
    fx.complete(&claimed.fence().unwrap()).await.unwrap();
    fx.claimed_embedding().await;
    fx.assert_sound().await;
}

pub async fn the_audit_walks_every_space_once(fx: &Fixture) {
    for _ in 0..5 {
        fx.history(Kind::Embedding, 2).await;
    }
    let mut checked = 0;
    let mut after = None;
    while let page = fx.registry.audit_page(after.as_ref(), limit(2)).await.unwrap()
        && page.next.is_some()
    {
        checked += page.checked;
        after = page.next;
    }
    assert_eq!(checked, 5 * (2 + 1), "two revisions and a head each");
}

pub async fn a_page_of_the_audit_ends_before_it_is_large(fx: &Fixture) {
    const ROWS: u32 = SpaceContent::ROWS_OF_A_PAGE as u32;
    let mut expected = Vec::new();
    for revisions in [2, ROWS / 2, ROWS / 2, ROWS + 6] {
        expected.push(fx.history(Kind::Embedding, revisions).await.space);
    }
    expected.sort();
    let (mut found, mut pages, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let page = fx.under_test.store().audit_page(after.as_ref(), limit(10)).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.space.clone());
        let rows: usize = page.iter().map(SpaceContent::rows).sum();
        assert!(page.len() == 1 || rows <= SpaceContent::ROWS_OF_A_PAGE, "{rows}");
        pages.push(page.len());
        found.extend(page.into_iter().map(|content| content.space));
    }
    assert_eq!(found, expected, "every space, once: {pages:?}");
    fx.assert_sound().await;
}

pub async fn damage_within_a_row_is_found(fx: &Fixture) {
    for (column, value, rule) in [
        ("snapshot", Column::Text(embedding("changed", 8, 2).to_string()), "digest"),
        ("snapshot_digest", Column::Text("0".repeat(64)), "digest"),
        ("capability_snapshot", Column::Text("{}".to_owned()), "digest"),
        ("plugin_id", Column::Text("changed".to_owned()), "identity"),
        ("model", Column::Text("changed".to_owned()), "identity"),
        ("superseded_at", Column::Null, "lifecycle"),
        ("failure_code", Column::Text("CODE".to_owned()), "lifecycle"),
        ("activated_at", Column::Time(Timestamp::EARLIEST), "times"),
    ] {
        let scope = fx.history(Kind::Embedding, 3).await;
        let id = fx.registry.revision(&scope, number(2)).await.unwrap().id.as_uuid();
        fx.set(Table::Revisions, id, column, value).await;
        let findings = fx.audit().await;
        let found = findings.iter().find(|finding| finding.rule == rule && finding.id == Some(id));
        let finding = found.unwrap_or_else(|| panic!("expected {rule} for {column}, found {findings:?}"));
        assert_eq!((finding.scope.as_ref(), finding.severity), (Some(&scope), Severity::Error), "{column}");
        fx.registry.delete_space(&scope.space).await.unwrap();
    }
}

pub async fn g4_02_damage_between_rows_is_found(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 3).await;
    let first = fx.registry.revision(&scope, number(1)).await.unwrap().id.as_uuid();
    fx.set(Table::Revisions, first, "state", Column::Text("active".to_owned())).await;
    fx.set(Table::Revisions, first, "superseded_at", Column::Null).await;
    assert_eq!(rules_found(fx).await, ["one_active"]);
    fx.registry.delete_space(&scope.space).await.unwrap();

    let scope = fx.history(Kind::Embedding, 3).await;
    let second = fx.registry.revision(&scope, number(2)).await.unwrap().id.as_uuid();
    fx.under_test.tamper(&Tamper::Delete { table: Table::Revisions, id: second }).await;
    assert_eq!(rules_found(fx).await, ["numbers"]);
    fx.registry.delete_space(&scope.space).await.unwrap();

    let scope = fx.history(Kind::Embedding, 1).await;
    let head = fx.registry.head(&scope).await.unwrap().head.id.as_uuid();
    fx.under_test.tamper(&Tamper::Delete { table: Table::Heads, id: head }).await;
    assert_eq!(rules_found(fx).await, ["head"], "an active revision without a head");
    fx.registry.delete_space(&scope.space).await.unwrap();

    let scope = fx.history(Kind::Embedding, 2).await;
    let head = fx.registry.head(&scope).await.unwrap().head.id.as_uuid();
    fx.set(Table::Heads, head, "active_revision", Column::Integer(1)).await;
    assert_eq!(rules_found(fx).await, ["head"], "a head that says another number than its row");
    fx.registry.delete_space(&scope.space).await.unwrap();

    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    fx.fail(&scope, 1, "CODE").await.unwrap();
    fx.propose(&scope, 2).await.unwrap();
    let first = fx.registry.revision(&scope, number(1)).await.unwrap().id.as_uuid();
    fx.set(Table::Revisions, first, "state", Column::Text("candidate".to_owned())).await;
    assert_eq!(rules_found(fx).await, ["lifecycle", "one_candidate"]);
}

pub async fn every_contradiction_of_a_row_is_found(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let id = fx.registry.revision(&scope, number(1)).await.unwrap().id.as_uuid();
    fx.set(Table::Revisions, id, "capability_snapshot_digest", Column::Text("0".repeat(64))).await;
    fx.set(Table::Revisions, id, "model", Column::Text("changed".to_owned())).await;
    fx.set(Table::Revisions, id, "superseded_at", Column::Null).await;
    assert_eq!(rules_found(fx).await, ["digest", "identity", "lifecycle"]);
}

pub async fn a_history_without_a_head_is_found(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let profile = fx.registry.head(&scope).await.unwrap();
    fx.under_test.tamper(&Tamper::Delete { table: Table::Heads, id: profile.head.id.as_uuid() }).await;
    let id = profile.revision.id.as_uuid();
    fx.set(Table::Revisions, id, "state", Column::Text("superseded".to_owned())).await;
    fx.set(Table::Revisions, id, "superseded_at", Column::Time(profile.head.updated_at)).await;
    assert_eq!(rules_found(fx).await, ["head"]);
}

pub async fn damage_in_the_ledger_is_found(fx: &Fixture) {
    let (scope, claimed) = fx.claimed_embedding().await;
    let changed = Column::Text(embedding("changed", 8, 1).to_string());
    fx.set(Table::Backfills, claimed.id.as_uuid(), "source_snapshot", changed).await;
    assert_eq!(rules_found(fx).await, ["ledger"]);
    assert_eq!(code(fx.ledger.get(&scope).await), "SNAPSHOT_CORRUPT");
    let answer = fx.complete(&claimed.fence().unwrap()).await.unwrap().value;
    let decide::Completed::Failed(failure) = answer else { panic!("a damaged source is not installed") };
    assert_eq!(failure.code, "LEGACY_PROFILE_SOURCE_CHANGED");
}

pub async fn times_out_of_order_between_rows_are_only_warnings(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let second = fx.registry.revision(&scope, number(2)).await.unwrap();
    let earlier = Timestamp::from_micros(second.created_at.as_micros() - 1);
    fx.set(Table::Revisions, second.id.as_uuid(), "created_at", Column::Time(earlier)).await;
    let findings: Vec<Finding> = fx.audit().await.into_iter().filter(|finding| finding.rule != "schema").collect();
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].rule, findings[0].severity), ("order_of_times", Severity::Warning));
}
