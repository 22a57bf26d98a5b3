//! Vector space ids and capability digests against the worked material of the vectors.

use crate::testdata;
use serde_json::Value;
use space_profiles_core::snapshot::{
    Capability, DistanceMetric, InputModalities, ModelKind, Observation, Snapshot, VectorSpaceId,
    capability_digest,
};
use space_profiles_core::{Dimension, Issue, Kind, RevisionNumber};

fn vector(id: &str) -> Value {
    let vectors = testdata::read("vectors/profile_snapshots.json");
    vectors["vectors"].as_array().unwrap().iter().find(|vector| vector["id"] == id).unwrap().clone()
}

fn ordinary() -> Snapshot {
    Snapshot::parse(Kind::Embedding, vector("embedding-ordinary")["input"].as_str().unwrap().as_bytes()).unwrap()
}

#[test]
fn a_vector_space_of_version_1_follows_from_the_selection() {
    let id = VectorSpaceId::version_1(ordinary().identity().selection, RevisionNumber::FIRST);
    let expected = vector("vector-space-material-v1");
    assert_eq!(id.to_string(), format!("embedding-space-sha256:{}", expected["sha256"].as_str().unwrap()));
}

#[test]
fn a_vector_space_of_version_2_follows_from_the_installation_too() {
    let expected = vector("vector-space-material-v2");
    let material: Value = serde_json::from_str(expected["input"].as_str().unwrap()).unwrap();
    let install = &material["installIdentity"];
    let mut capability: Value =
        serde_json::from_str(vector("capability-embedding")["input"].as_str().unwrap()).unwrap();
    for member in
        ["capabilityDigest", "schemaFingerprint", "pluginUniqueIdentifier", "dimension", "distanceMetric"]
    {
        capability[member] = install[member].clone();
    }
    let capability = Capability::parse(capability.to_string().as_bytes()).unwrap();
    let model = capability.embedding_model().unwrap();
    let id = VectorSpaceId::version_2(ordinary().identity().selection, RevisionNumber::FIRST, model).unwrap();
    assert_eq!(id.to_string(), format!("embedding-space-sha256:{}", expected["sha256"].as_str().unwrap()));
}

#[test]
fn a_capability_digest_follows_from_what_was_observed_and_declared() {
    let expected = vector("capability-digest-material");
    let material: Value = serde_json::from_str(expected["input"].as_str().unwrap()).unwrap();
    let snapshot = ordinary();
    let capabilities = material["capabilities"].to_string();
    let observation = Observation {
        kind: ModelKind::Embedding,
        selection: snapshot.identity().selection,
        schema_fingerprint: material["schemaFingerprint"].as_str().unwrap(),
        plugin_unique_identifier: material["pluginUniqueIdentifier"].as_str().unwrap(),
        plugin_version: material["pluginVersion"].as_str(),
        dimension: Some(Dimension::try_from(1_536).unwrap()),
        distance_metric: Some(DistanceMetric::Cosine),
        input_modalities: Some(InputModalities::TextAndImage),
        capabilities: &capabilities,
    };
    let digest = observation.capability_digest().unwrap();
    assert_eq!(digest.to_string(), expected["sha256"].as_str().unwrap());
}

#[test]
fn both_ids_follow_from_their_material_as_text() {
    for version in ["vector-space-material-v1", "vector-space-material-v2"] {
        let expected = vector(version);
        let mut material: Value = serde_json::from_str(expected["input"].as_str().unwrap()).unwrap();
        material.as_object_mut().unwrap().remove("schemaVersion");
        let id = VectorSpaceId::of_material(material.to_string().as_bytes()).unwrap();
        assert_eq!(id.to_string(), format!("embedding-space-sha256:{}", expected["sha256"].as_str().unwrap()));
    }
    let expected = vector("capability-digest-material");
    let digest = capability_digest(expected["input"].as_str().unwrap().as_bytes()).unwrap();
    assert_eq!(digest.to_string(), expected["sha256"].as_str().unwrap());
}

#[test]
fn every_issue_of_material_is_told() {
    let found = |issues: Vec<Issue>| -> Vec<String> {
        issues.iter().map(|issue| format!("{} {}", issue.pointer, issue.code.as_str())).collect()
    };
    let text =
        br#"{"pluginId": "", "provider": "p", "revision": 0, "schemaVersion": 1, "installIdentity": {"kind": 1}}"#;
    let issues = found(VectorSpaceId::of_material(text).unwrap_err());
    for expected in [
        "/pluginId EMPTY",
        "/model MISSING_FIELD",
        "/revision OUT_OF_RANGE",
        "/schemaVersion UNKNOWN_FIELD",
        "/installIdentity/kind UNKNOWN_FIELD",
        "/installIdentity/capabilityDigest MISSING_FIELD",
    ] {
        assert!(issues.contains(&expected.to_owned()), "expected {expected}, found {issues:?}");
    }
    let text =
        br#"{"kind": "rerank", "dimension": 3, "capabilities": [], "capabilityDigest": "", "selection": {}}"#;
    let issues = found(capability_digest(text).unwrap_err());
    for expected in [
        "/dimension UNKNOWN_FIELD",
        "/capabilities WRONG_TYPE",
        "/capabilityDigest UNKNOWN_FIELD",
        "/selection/model MISSING_FIELD",
        "/schemaFingerprint MISSING_FIELD",
    ] {
        assert!(issues.contains(&expected.to_owned()), "expected {expected}, found {issues:?}");
    }
    assert_eq!(found(capability_digest(b"[").unwrap_err()), [" JSON_INVALID"]);
    assert_eq!(found(VectorSpaceId::of_material(b"[]").unwrap_err()), [" WRONG_TYPE"]);
}
