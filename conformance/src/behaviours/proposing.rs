use super::prelude::*;

pub async fn a_proposal_becomes_a_candidate_with_its_digests_and_columns(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let answer = fx.propose(&scope, 1).await.unwrap();
    assert!(!answer.replayed);
    let revision = &answer.value;
    assert_eq!(revision.status(), RevisionStatus::Candidate);
    assert_eq!(revision.created_by, ANN);
    assert_eq!(revision.created_at, fx.clock.now());
    assert_eq!(
        *revision,
        fx.registry.revision(&scope, number(1)).await.unwrap(),
        "what is returned is what is read"
    );
    let identity = revision.snapshot.identity();
    assert_eq!(identity.selection.model(), "text-embedding-3-small");
    assert_eq!(identity.dimension.map(Dimension::get), Some(1_536));
    fx.assert_sound().await;
}

pub async fn an_invalid_snapshot_is_refused_with_every_issue_before_anything_else(fx: &Fixture) {
    let missing = space_of("tenant-a", fx.draw.id()).scope(Kind::Retrieval);
    let mut snapshot = retrieval(101, 1);
    snapshot["extra"] = json!("secret");
    let Refusal::SnapshotInvalid { issues } = refusal(fx.propose_text(&missing, &snapshot).await) else {
        panic!("expected SNAPSHOT_INVALID")
    };
    let paths: Vec<&str> = issues.iter().map(|issue| issue.pointer.as_str()).collect();
    assert_eq!(paths, ["/extra", "/topK"]);
    assert!(
        issues.iter().all(|issue| !issue.message.contains("secret")),
        "an unknown field's value is not echoed"
    );
}

pub async fn g3_15_a_proposal_without_dimension_is_refused(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let mut snapshot = usual(Kind::Embedding, 1);
    snapshot.as_object_mut().unwrap().remove("dimension");
    let Refusal::SnapshotInvalid { issues } = refusal(fx.propose_text(&scope, &snapshot).await) else {
        panic!("expected SNAPSHOT_INVALID")
    };
    assert_eq!(issues[0].pointer.as_str(), "/dimension");
    assert_eq!(fx.revisions(&scope).await.len(), 0);
}

pub async fn g2_01_g2_02_g2_05_g2_08_capabilities_that_a_store_could_not_keep_are_refused(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let snapshot = usual(Kind::Embedding, 1).to_string();
    for (capability, expected) in [
        (r#"{"note":"a\u0000b"}"#, "JSON_NUL_CHARACTER"),
        (r#"{"note":"\ud800"}"#, "JSON_LONE_SURROGATE"),
        (r#"{"n":1E+400}"#, "JSON_NUMBER_OUT_OF_RANGE"),
        (r#"{"id":9007199254740993}"#, "JSON_UNSAFE_INTEGER"),
        (r#"{"a":1,"a":1}"#, "JSON_DUPLICATE_KEY"),
    ] {
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        let Refusal::SnapshotInvalid { issues } = refusal(fx.registry.propose(&scope, &proposal).await) else {
            panic!("expected SNAPSHOT_INVALID for {capability}")
        };
        assert_eq!(issues[0].code.as_str(), expected, "{capability}");
        assert_eq!(issues[0].document, DocumentKind::Capability);
    }
    assert_eq!(fx.revisions(&scope).await.len(), 0);
}

pub async fn g2_03_g2_06_numbers_and_key_order_survive_the_store(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let snapshot = usual(Kind::Embedding, 1).to_string();
    let capability = r#"{"a":1.0,"b":1.50,"c":1e3,"d":-0.0,"zz":5.989e+26,"e":0.9215686321258545}"#;
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    fx.registry.propose(&scope, &proposal).await.unwrap();
    let stored = fx.registry.revision(&scope, number(1)).await.unwrap();
    let canonical = r#"{"a":1,"b":1.5,"c":1000,"d":0,"e":0.9215686321258545,"zz":5.989e+26}"#;
    assert_eq!(stored.capability.canonical(), canonical);
    assert_eq!(stored.capability.digest(), Digest::of(canonical.as_bytes()));
}

pub async fn a_proposal_repeated_after_a_lost_reply_is_answered_as_before(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let first = fx.propose(&scope, 1).await.unwrap();
    fx.clock.advance(Span::from_seconds(9));
    let again = fx.propose(&scope, 1).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.value, first.value);
    fx.activate(&scope, 1, None).await.unwrap();
    fx.publish(&scope, 2, Some(1)).await.unwrap();
    let late = fx.propose(&scope, 1).await.unwrap();
    assert!(late.replayed, "whatever its state is by now");
    assert_eq!(late.value.status(), RevisionStatus::Superseded);
}

pub async fn another_subject_or_content_is_no_repeat(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
    let by_bob = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:bob"));
    assert_eq!(code(fx.registry.propose(&scope, &by_bob).await), "CANDIDATE_EXISTS");
    let other = Proposal::new(snapshot.as_bytes(), b"{}", by(ANN));
    assert_eq!(code(fx.registry.propose(&scope, &other).await), "CANDIDATE_EXISTS");
}

pub async fn a_space_must_exist_and_be_writable(fx: &Fixture) {
    let missing = space_of("tenant-a", fx.draw.id()).scope(Kind::Embedding);
    assert_eq!(code(fx.propose(&missing, 1).await), "SPACE_NOT_FOUND");
    assert_eq!(code(fx.publish(&missing, 1, None).await), "SPACE_NOT_FOUND");
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    for (state, job) in [("deleting", None), ("active", Some(fx.draw.id())), ("archived", None)] {
        fx.mark(&scope.space, state, job).await;
        assert_eq!(code(fx.propose(&scope, 2).await), "SPACE_NOT_WRITABLE", "{state} {job:?}");
        assert_eq!(code(fx.publish(&scope, 2, None).await), "SPACE_NOT_WRITABLE");
        assert_eq!(code(fx.activate(&scope, 1, None).await), "SPACE_NOT_WRITABLE");
    }
    fx.mark(&scope.space, "active", None).await;
    fx.activate(&scope, 1, None).await.unwrap();
}

pub async fn g4_08_a_second_candidate_is_refused(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    fx.propose(&scope, 1).await.unwrap();
    let refused = refusal(fx.propose(&scope, 2).await);
    assert_eq!(refused, Refusal::CandidateExists { revision: number(1) });
    assert_eq!(fx.states(&scope).await, ["candidate"]);
}

pub async fn g4_10_numbers_have_no_gap_and_are_never_reused(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let conflict =
        |expected, actual| Refusal::RevisionConflict { expected: number(expected), actual: number(actual) };
    assert_eq!(refusal(fx.propose(&scope, 2).await), conflict(1, 2));
    fx.propose(&scope, 1).await.unwrap();
    fx.fail(&scope, 1, "PREFLIGHT_REJECTED").await.unwrap();
    assert_eq!(refusal(fx.propose(&scope, 3).await), conflict(2, 3));
    assert_eq!(refusal(fx.propose_text(&scope, &embedding("other", 8, 1)).await), conflict(2, 1));
    fx.propose(&scope, 2).await.unwrap();
}

pub async fn the_numbers_end_with_a_refusal(fx: &Fixture) {
    let last = i64::from(RevisionNumber::LAST) as u32;
    let space = fx.legacy_space(Some(embedding("text-embedding-3-small", 1_536, last)), None).await;
    let scope = space.scope(Kind::Embedding);
    fx.discover().await;
    let fence = fx.claim("worker-a", 1).await.backfills[0].fence().unwrap();
    let capability =
        typed_embedding(&embedding("text-embedding-3-small", 1_536, last), 1_536, "2026-07-14T12:00:00Z");
    fx.ledger.complete(&fence, capability.canonical().as_bytes()).await.unwrap();
    let snapshot = embedding("other", 8, last);
    assert_eq!(code(fx.propose_text(&scope, &snapshot).await), "NUMBER_EXHAUSTED");
    let id = fx.registry.head(&scope).await.unwrap().head.id;
    let other = fx.history(Kind::Embedding, 1).await;
    let head = fx.registry.head(&other).await.unwrap().head.id;
    assert_ne!(id, head);
    fx.set(Table::Heads, head.as_uuid(), "row_version", Column::Integer(i64::from(last))).await;
    assert_eq!(code(fx.publish(&other, 2, Some(1)).await), "NUMBER_EXHAUSTED");
}

pub async fn the_same_configuration_is_no_change_unless_that_is_wanted(fx: &Fixture) {
    for kind in Kind::ALL {
        let scope = fx.history(kind, 1).await;
        let mut same = usual(kind, 1);
        same["revision"] = json!(2);
        if kind == Kind::Embedding {
            same = embedding("text-embedding-3-small", 1_536, 2);
        }
        let (snapshot, capability) = (same.to_string(), free_form().to_string());
        let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
        assert_eq!(refusal(fx.registry.propose(&scope, &proposal).await), Refusal::NoChange(number(1)));
        assert_eq!(code(fx.registry.publish(&scope, &proposal, Some(number(1))).await), "NO_CHANGE");
        let other_capability = Proposal { capability: b"{}", ..proposal.clone() };
        fx.registry.propose(&scope, &other_capability).await.expect("another capability is a change");
        fx.fail(&scope, 2, "CODE").await.unwrap();
        let snapshot = if kind == Kind::Embedding {
            embedding("text-embedding-3-small", 1_536, 3).to_string()
        } else {
            snapshot.replace("\"revision\":2", "\"revision\":3")
        };
        let wanted = Proposal { snapshot: snapshot.as_bytes(), allow_unchanged: true, ..proposal };
        fx.registry.propose(&scope, &wanted).await.expect("the override is respected");
    }
    fx.assert_sound().await;
}

pub async fn a_corrupt_active_revision_counts_as_a_different_configuration(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let same = embedding("text-embedding-3-small", 1_536, 2);
    assert_eq!(code(fx.propose_text(&scope, &same).await), "NO_CHANGE");
    let id = fx.registry.head(&scope).await.unwrap().revision.id.as_uuid();
    fx.set(Table::Revisions, id, "snapshot_digest", Column::Text("0".repeat(64))).await;
    fx.propose_text(&scope, &same).await.expect("nobody knows what the damaged one said");
}

pub async fn a_later_check_of_the_same_model_is_no_change(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let checked = |revision, at: &str| {
        let snapshot = embedding("text-embedding-3-small", 1_536, revision);
        (snapshot.to_string(), typed_embedding(&snapshot, 1_536, at))
    };
    let (snapshot, capability) = checked(1, "2026-07-14T12:00:00Z");
    let proposal = Proposal::new(snapshot.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    fx.registry.publish(&scope, &proposal, None).await.unwrap();
    let (snapshot, capability) = checked(2, "2026-07-15T12:00:00Z");
    let proposal = Proposal::new(snapshot.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    assert_eq!(code(fx.registry.propose(&scope, &proposal).await), "NO_CHANGE");
}

pub async fn a_legacy_profile_is_adopted_first_unless_that_is_overridden(fx: &Fixture) {
    let space = fx.legacy_space(Some(usual(Kind::Embedding, 1)), Some(json!("not an object"))).await;
    let scope = space.scope(Kind::Embedding);
    assert_eq!(refusal(fx.propose(&scope, 1).await), Refusal::AdoptionPending(Kind::Embedding));
    assert_eq!(code(fx.publish(&scope, 1, None).await), "ADOPTION_PENDING");
    fx.propose(&space.scope(Kind::Retrieval), 1).await.expect("what is no object is no profile");
    let (snapshot, capability) = (usual(Kind::Embedding, 1).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by(ANN));
    let overriding = Proposal { ignore_legacy: true, ..proposal };
    fx.registry.propose(&scope, &overriding).await.unwrap();
    fx.fail(&scope, 1, "CODE").await.unwrap();
    fx.propose(&scope, 2).await.expect("a scope with a revision has been adopted or taken over");
}

pub async fn a_number_is_filled_in_and_a_repeat_recognised_by_its_id(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let draft = json!({"pluginId": "p", "provider": "o", "model": "m", "dimension": 8}).to_string();
    let proposal = Proposal::new(draft.as_bytes(), b"{}", by(ANN));
    let id = RevisionId::from(fx.draw.id());
    let first = fx.registry.propose_next(&scope, &proposal, id).await.unwrap();
    assert_eq!((first.value.number(), first.value.id, first.replayed), (number(3), id, false));
    let derived = embedding_id("p", "o", "m", 3);
    assert_eq!(first.value.snapshot.identity().vector_space_id.unwrap().to_string(), derived);
    let again = fx.registry.propose_next(&scope, &proposal, id).await.unwrap();
    assert_eq!((again.value, again.replayed), (first.value, true));
    let other = Proposal { capability: br#"{"a":1}"#, ..proposal.clone() };
    assert_eq!(refusal(fx.registry.propose_next(&scope, &other, id).await), Refusal::RevisionIdTaken(id));
    let elsewhere = fx.scope(Kind::Embedding).await;
    assert_eq!(code(fx.registry.propose_next(&elsewhere, &proposal, id).await), "REVISION_ID_TAKEN");
    assert_eq!(fx.revisions(&elsewhere).await.len(), 0);
    fx.activate(&scope, 3, Some(2)).await.unwrap();
    let id = RevisionId::from(fx.draw.id());
    let other_draft = draft.replace("\"m\"", "\"n\"");
    let next = Proposal { snapshot: other_draft.as_bytes(), ..proposal };
    let published = fx.registry.publish_next(&scope, &next, Some(number(3)), id).await.unwrap();
    assert_eq!(published.value.head.active_revision, number(4));
    let again = fx.registry.publish_next(&scope, &next, Some(number(3)), id).await.unwrap();
    assert_eq!((again.value, again.replayed), (published.value, true));
    fx.assert_sound().await;
}

fn embedding_id(plugin: &str, provider: &str, model: &str, revision: u32) -> String {
    let material = format!(
        r#"{{"model":"{model}","pluginId":"{plugin}","provider":"{provider}","revision":{revision},"schemaVersion":1}}"#
    );
    format!("embedding-space-sha256:{}", Digest::of(material.as_bytes()))
}

pub async fn g4_19_what_was_stored_does_not_change_with_the_callers_values(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let mut snapshot = usual(Kind::Embedding, 1);
    let mut answer = fx.propose_text(&scope, &snapshot).await.unwrap().value;
    let digest = answer.snapshot.digest();
    snapshot["model"] = json!("changed");
    answer.created_by = "changed".to_owned();
    let stored = fx.registry.revision(&scope, number(1)).await.unwrap();
    assert_eq!(stored.snapshot.digest(), digest);
    assert_eq!(stored.created_by, ANN);
}
