//! The files of `examples/` do what README says of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use space_profiles_core::snapshot::{Capability, CapabilityContent, Snapshot, VectorSpaceId, parse_legacy};
use space_profiles_core::{ImportLine, Issue, Kind, PageLimit, Space, SpaceFilter};
use space_profiles_worker::{Catalog, CheckRequest, ModelCheck, Stop, Summary, Worker};

use crate::support::{World, options};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(example(name)).unwrap()
}

fn catalog() -> Catalog {
    Catalog::read(&example("models.toml")).unwrap()
}

/// Imports a file; answers its spaces, and the issues of each line that is none, by number.
async fn import(world: &World, name: &str) -> (Vec<Space>, Vec<(usize, Vec<Issue>)>) {
    let (mut spaces, mut refused) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text(name).lines()) {
        match ImportLine::parse(line.as_bytes()) {
            Ok(line) => {
                world.registry.import(&line).await.unwrap();
                spaces.push(line.space);
            }
            Err(issues) => refused.push((number, issues)),
        }
    }
    (spaces, refused)
}

async fn adopt(world: &World, spaces: Vec<Space>) -> Summary {
    let worker = Worker::new(world.ledger(), Arc::new(catalog()), options("one"));
    worker.run(&SpaceFilter::Spaces(spaces), &(), &Stop::new()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_profile_of_the_manifests_is_adopted() {
    let world = World::new();
    let (spaces, refused) = import(&world, "manifests.ndjson").await;
    assert_eq!((spaces.len(), refused.len()), (30, 0));
    assert!(spaces.iter().all(|space| space.id.as_uuid().get_version_num() == 7));
    let tenants: BTreeSet<_> = spaces.iter().map(|space| space.tenant.clone()).collect();
    assert!(tenants.len() >= 5);

    let summary = adopt(&world, spaces.clone()).await;
    assert_eq!(summary.failed, []);
    assert_eq!((summary.discovered, summary.installed, summary.pending), (60, 60, 0));
    let findings = world.registry.audit_page(None, PageLimit::LAST).await.unwrap().findings;
    assert!(findings.is_empty(), "{findings:?}");

    let again = adopt(&world, spaces).await;
    assert_eq!((again.discovered, again.installed, again.already_installed), (0, 0, 60));
}

#[tokio::test(start_paused = true)]
async fn the_manifests_show_what_legacy_profiles_come_with() {
    let world = World::new();
    let (spaces, _) = import(&world, "manifests.ndjson").await;
    let mut shown = BTreeSet::new();
    for line in text("manifests.ndjson").lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for kind in Kind::ALL {
            let profile = &line["metadata"][kind.legacy_key()];
            let legacy = parse_legacy(kind, profile.to_string().as_bytes()).unwrap();
            if legacy.revision().get() > 1 {
                shown.insert("a revision above 1");
            }
            if Snapshot::parse(kind, profile.to_string().as_bytes()).is_err() {
                shown.insert("white space at the ends");
            }
            if kind == Kind::Embedding && profile["dimension"].is_null() {
                shown.insert("no dimension");
            }
        }
    }
    adopt(&world, spaces.clone()).await;
    for space in spaces {
        let active = world.registry.head(&space.scope(Kind::Embedding)).await.unwrap().revision;
        let embedding = active.snapshot.embedding().unwrap();
        let version_1 = VectorSpaceId::version_1(embedding.selection(), embedding.revision());
        shown.insert(if embedding.vector_space_id() == version_1 { "version 1" } else { "version 2" });
    }
    let expected = ["a revision above 1", "white space at the ends", "no dimension", "version 1", "version 2"];
    assert_eq!(shown, BTreeSet::from(expected));
}

#[tokio::test(start_paused = true)]
async fn each_broken_space_fails_with_a_code_that_tells_why() {
    let world = World::new();
    let (spaces, refused) = import(&world, "broken.ndjson").await;
    let refused: Vec<(usize, &str)> =
        refused.iter().map(|(number, issues)| (*number, issues[0].code.as_str())).collect();
    assert_eq!(refused, [(5, "JSON_INVALID"), (8, "JSON_DUPLICATE_KEY")]);

    let summary = adopt(&world, spaces.clone()).await;
    let mut failed: Vec<(usize, Kind, &str, &str)> = summary
        .failed
        .iter()
        .map(|item| {
            let place = spaces.iter().position(|space| *space == item.scope.space).unwrap();
            (place, item.scope.kind, item.code.as_str(), item.message.as_str())
        })
        .collect();
    failed.sort_unstable();
    let expected = [
        (0, Kind::Embedding, "MODEL_SELECTION_NOT_FOUND", "`text-embedding-4-small`"),
        (1, Kind::Embedding, "LEGACY_PROFILE_INVALID", "(CAPABILITY_MISMATCH)"),
        (2, Kind::Retrieval, "LEGACY_PROFILE_INVALID", "(RETRIEVAL_PROFILE_SCORE_THRESHOLD_REQUIRES_RERANK)"),
        (3, Kind::Embedding, "LEGACY_PROFILE_INVALID", "/vectorSpaceId"),
        (4, Kind::Embedding, "LEGACY_PROFILE_NOT_AN_OBJECT", "expected the manifest to hold an object"),
        (5, Kind::Embedding, "LEGACY_PROFILE_INVALID", "/dimension"),
        (5, Kind::Retrieval, "LEGACY_PROFILE_INVALID", "(REQUIRED_WHEN_ENABLED)"),
    ];
    assert_eq!(failed.len(), expected.len(), "{failed:#?}");
    for (found, expected) in failed.iter().zip(expected) {
        assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
        assert!(found.3.contains(expected.3), "{found:?}");
    }
    assert_eq!((summary.installed, summary.pending), (3, 0), "what is sound in those spaces is adopted");
}

#[tokio::test]
async fn the_single_files_are_valid_and_belong_together() {
    let embedding = Snapshot::parse(Kind::Embedding, text("embedding.json").as_bytes()).unwrap();
    let retrieval = Snapshot::parse(Kind::Retrieval, text("retrieval.json").as_bytes()).unwrap();
    assert_eq!((embedding.revision().get(), retrieval.revision().get()), (1, 1));
    let capability = Capability::parse(text("capability.json").as_bytes()).unwrap();
    assert_eq!(capability.disagreements(embedding.profile()), []);

    let CapabilityContent::Model(model) = capability.content() else { panic!("not typed") };
    let request =
        CheckRequest { kind: model.kind(), selection: model.selection().clone(), checked_at: model.checked_at() };
    let observed = Capability::of_model(catalog().check(&request).await.unwrap());
    assert!(observed.is_same_but_for_check_times(&capability), "the catalog says otherwise");
}
