use super::prelude::*;

async fn propose_typed(fx: &Fixture, scope: &Scope, snapshot: &Value) -> Result<Outcome<Revision>, Error> {
    let dimension = u32::try_from(snapshot["dimension"].as_u64().unwrap()).unwrap();
    let capability = typed_embedding(snapshot, dimension, "2026-07-14T12:00:00Z");
    let snapshot = snapshot.to_string();
    let proposal = Proposal::new(snapshot.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    fx.registry.propose(scope, &proposal).await
}

fn with_version_2(mut snapshot: Value) -> Value {
    let dimension = u32::try_from(snapshot["dimension"].as_u64().unwrap()).unwrap();
    let capability = typed_embedding(&snapshot, dimension, "2026-07-14T12:00:00Z");
    snapshot.as_object_mut().unwrap().remove("vectorSpaceId");
    let text = snapshot.to_string();
    let draft = snapshot::Draft::parse(Kind::Embedding, text.as_bytes()).unwrap();
    let filled = draft.fill(RevisionNumber::FIRST, &capability);
    snapshot["vectorSpaceId"] = json!(filled.identity().vector_space_id.unwrap().to_string());
    snapshot
}

pub async fn a_typed_capability_proves_the_vector_space_of_version_1_or_2(fx: &Fixture) {
    let version_1 = embedding("m", 8, 1);
    let version_2 = with_version_2(version_1.clone());
    assert_ne!(version_1["vectorSpaceId"], version_2["vectorSpaceId"]);
    for snapshot in [version_1.clone(), version_2] {
        let scope = fx.scope(Kind::Embedding).await;
        propose_typed(fx, &scope, &snapshot).await.expect("the id follows from the capability");
    }
    let scope = fx.scope(Kind::Embedding).await;
    let mut unproven = version_1;
    unproven["vectorSpaceId"] = json!(format!("embedding-space-sha256:{}", "b".repeat(64)));
    assert_eq!(code(propose_typed(fx, &scope, &unproven).await), "VECTOR_SPACE_UNPROVEN");
    fx.propose_text(&scope, &unproven).await.expect("a free-form capability proves and disproves nothing");
}

pub async fn a_once_active_revision_proves_a_restored_vector_space(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 2).await;
    let mut restored = embedding("text-embedding-3-small", 1_536, 3);
    restored["vectorSpaceId"] = usual(Kind::Embedding, 1)["vectorSpaceId"].clone();
    propose_typed(fx, &scope, &restored).await.expect("revision 1 was active with this model and id");
    fx.fail(&scope, 3, "CODE").await.unwrap();
    let failed_only = {
        let mut snapshot = embedding("text-embedding-3-small", 1_536, 4);
        snapshot["vectorSpaceId"] = json!(format!("embedding-space-sha256:{}", "c".repeat(64)));
        snapshot
    };
    fx.propose_text(&scope, &failed_only).await.unwrap();
    fx.fail(&scope, 4, "CODE").await.unwrap();
    let mut again = failed_only;
    again["revision"] = json!(5);
    assert_eq!(
        code(propose_typed(fx, &scope, &again).await),
        "VECTOR_SPACE_UNPROVEN",
        "a revision that was never active proves nothing"
    );
}

pub async fn a_vector_space_is_never_shared_by_two_models(fx: &Fixture) {
    let scope = fx.history(Kind::Embedding, 1).await;
    let id = usual(Kind::Embedding, 1)["vectorSpaceId"].clone();
    for (model, dimension) in [("other-model", 1_536), ("text-embedding-3-small", 768)] {
        let mut snapshot = embedding(model, dimension, 2);
        snapshot["vectorSpaceId"] = id.clone();
        assert_eq!(code(fx.propose_text(&scope, &snapshot).await), "VECTOR_SPACE_REUSED", "{model} {dimension}");
        assert_eq!(
            code(propose_typed(fx, &scope, &snapshot).await),
            "VECTOR_SPACE_REUSED",
            "checked before proof"
        );
    }
    let elsewhere = fx.scope(Kind::Embedding).await;
    let mut snapshot = embedding("other-model", 1_536, 1);
    snapshot["vectorSpaceId"] = id;
    fx.propose_text(&elsewhere, &snapshot).await.expect("another scope is another matter");
    fx.assert_sound().await;
}

pub async fn g3_36_a_typed_capability_must_agree_with_its_snapshot(fx: &Fixture) {
    let scope = fx.scope(Kind::Embedding).await;
    let snapshot = embedding("text-embedding-3-small", 1_536, 1);
    let capability = typed_embedding(&snapshot, 1_024, "2026-07-14T12:00:00Z");
    let text = snapshot.to_string();
    let proposal = Proposal::new(text.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    let Refusal::SnapshotInvalid { issues } = refusal(fx.registry.propose(&scope, &proposal).await) else {
        panic!("expected SNAPSHOT_INVALID")
    };
    assert_eq!((issues[0].code.as_str(), issues[0].pointer.as_str()), ("CAPABILITY_MISMATCH", "/dimension"));

    let scope = fx.scope(Kind::Retrieval).await;
    let mut other = retrieval(5, 1);
    let capability = typed_retrieval(&other, "2026-07-14T12:00:00Z");
    other["reasoningModel"]["model"] = json!("gpt-5");
    other["rerank"] = json!({"enabled": false});
    other["scoreThreshold"] = json!({"enabled": false, "stage": "mode-final"});
    let text = other.to_string();
    let proposal = Proposal::new(text.as_bytes(), capability.canonical().as_bytes(), by(ANN));
    let Refusal::SnapshotInvalid { issues } = refusal(fx.registry.propose(&scope, &proposal).await) else {
        panic!("expected SNAPSHOT_INVALID")
    };
    let paths: Vec<&str> = issues.iter().map(|issue| issue.pointer.as_str()).collect();
    assert_eq!(paths, ["/reasoning/selection/model", "/rerank"]);
}
