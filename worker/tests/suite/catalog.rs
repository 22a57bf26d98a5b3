//! What a catalog may say, and what it answers.

use space_profiles_core::snapshot::{
    Capability, DistanceMetric, InputModalities, ModelKind, Observation, Selection,
};
use space_profiles_core::{Dimension, Timestamp};
use space_profiles_worker::{Catalog, CatalogError, CheckError, CheckRequest, ModelCheck};

use crate::support::FINGERPRINT;

/// The fields of an entry as the text of a catalog, with some of them replaced or left out.
fn entry(changes: &[(&str, Option<&str>)]) -> String {
    let mut fields = vec![
        ("pluginId", "\"langgenius/openai\"".to_owned()),
        ("provider", "\"openai\"".to_owned()),
        ("model", "\"text-embedding-3-small\"".to_owned()),
        ("kinds", "[\"embedding\"]".to_owned()),
        ("dimension", "1536".to_owned()),
        ("distanceMetric", "\"cosine\"".to_owned()),
        ("pluginUniqueIdentifier", "\"langgenius/openai:0.2.7\"".to_owned()),
        ("schemaFingerprint", format!("\"{FINGERPRINT}\"")),
    ];
    for (name, value) in changes {
        fields.retain(|(field, _)| field != name);
        fields.extend(value.map(|value| (*name, value.to_owned())));
    }
    fields.iter().fold("[[model]]\n".to_owned(), |text, (name, value)| format!("{text}{name} = {value}\n"))
}

const REASONING: [(&str, Option<&str>); 4] = [
    ("model", Some("\"gpt-4.1\"")),
    ("kinds", Some("[\"reasoning\"]")),
    ("dimension", None),
    ("distanceMetric", None),
];

fn problems(text: &str) -> Vec<(Option<usize>, String, String)> {
    match Catalog::parse(text) {
        Err(CatalogError::Invalid(problems)) => problems
            .into_iter()
            .map(|problem| (problem.entry, problem.field.unwrap_or_default(), problem.message))
            .collect(),
        other => panic!("expected problems, found {other:?}\n{text}"),
    }
}

async fn check(
    catalog: &Catalog,
    kind: ModelKind,
    [plugin_id, provider, model]: [&str; 3],
) -> Result<Capability, CheckError> {
    let selection = Selection::new(plugin_id, provider, model).unwrap();
    let request = CheckRequest { kind, selection, checked_at: Timestamp::from_micros(0) };
    catalog.check(&request).await.map(Capability::of_model)
}

const SMALL: [&str; 3] = ["langgenius/openai", "openai", "text-embedding-3-small"];

#[tokio::test]
async fn a_check_answers_what_the_catalog_says() {
    let catalog = Catalog::parse(&entry(&[
        ("pluginVersion", Some("\"0.2.7\"")),
        ("inputModalities", Some("[\"text\", \"image\"]")),
        ("capabilities", Some("{ tokens = 8191, price = 0.02, tags = [\"a\", 1e21], deep = { on = true } }")),
    ]))
    .unwrap();
    let capability = check(&catalog, ModelKind::Embedding, SMALL).await.unwrap();
    let selection = Selection::new(SMALL[0], SMALL[1], SMALL[2]).unwrap();
    let digest = Observation {
        kind: ModelKind::Embedding,
        selection: &selection,
        schema_fingerprint: FINGERPRINT,
        plugin_unique_identifier: "langgenius/openai:0.2.7",
        plugin_version: Some("0.2.7"),
        dimension: Some(Dimension::try_from(1536).unwrap()),
        distance_metric: Some(DistanceMetric::Cosine),
        input_modalities: Some(InputModalities::TextAndImage),
        capabilities: r#"{"tokens": 8191, "price": 0.02, "tags": ["a", 1e21], "deep": {"on": true}}"#,
    }
    .capability_digest()
    .unwrap();
    let model = capability.embedding_model().unwrap();
    assert_eq!(model.capability_digest(), digest);
    assert_eq!(model.checked_at(), Timestamp::from_micros(0));
    assert!(capability.canonical().contains(r#""inputModalities":["text","image"]"#));
}

#[tokio::test]
async fn numbers_of_a_declaration_survive_to_the_last_digit() {
    let declared = "{ a = 5.989e26, b = 0.1234567890123456, c = 9007199254740992, d = -0.0, e = 1.0 }";
    let catalog = Catalog::parse(&entry(&[("capabilities", Some(declared))])).unwrap();
    let capability = check(&catalog, ModelKind::Embedding, SMALL).await.unwrap();
    let same = Observation {
        kind: ModelKind::Embedding,
        selection: capability.embedding_model().unwrap().selection(),
        schema_fingerprint: FINGERPRINT,
        plugin_unique_identifier: "langgenius/openai:0.2.7",
        plugin_version: None,
        dimension: Some(Dimension::try_from(1536).unwrap()),
        distance_metric: Some(DistanceMetric::Cosine),
        input_modalities: None,
        capabilities: r#"{"a": 5.989e26, "b": 0.1234567890123456, "c": 9007199254740992, "d": 0, "e": 1}"#,
    };
    assert_eq!(capability.embedding_model().unwrap().capability_digest(), same.capability_digest().unwrap());
}

#[tokio::test]
async fn a_model_for_several_kinds_has_a_dimension_only_as_an_embedding() {
    let catalog = Catalog::parse(&entry(&[("kinds", Some("[\"embedding\", \"rerank\"]"))])).unwrap();
    for (kind, has_dimension) in [(ModelKind::Embedding, true), (ModelKind::Rerank, false)] {
        let capability = check(&catalog, kind, SMALL).await.unwrap();
        assert_eq!(capability.canonical().contains("\"dimension\""), has_dimension);
        assert_eq!(capability.canonical().contains("\"distanceMetric\""), has_dimension);
    }
}

#[tokio::test]
async fn ot_78_a_model_that_is_not_listed_is_not_found_and_the_near_miss_is_named() {
    let catalog = Catalog::parse(&entry(&[])).unwrap();
    let error = check(&catalog, ModelKind::Embedding, ["p", "q", "no-such-model"]).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("MODEL_SELECTION_NOT_FOUND", false));
    assert_eq!(
        error.message,
        "expected the catalog to list model `no-such-model` of plugin `p`, provider `q`, found no such entry; add a \
         `[[model]]` with these names and with `embedding` among its kinds"
    );
    let near = check(&catalog, ModelKind::Embedding, [SMALL[0], "azure", SMALL[2]]).await.unwrap_err();
    assert_eq!(near.code(), "MODEL_SELECTION_NOT_FOUND");
    assert!(near.message.ends_with("plugin `langgenius/openai`, provider `openai` is meant"), "{}", near.message);
}

#[tokio::test]
async fn ot_79_a_model_that_is_listed_for_another_kind_is_a_mismatch() {
    let catalog = Catalog::parse(&entry(&[])).unwrap();
    let error = check(&catalog, ModelKind::Rerank, SMALL).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("MODEL_CAPABILITY_MISMATCH", false));
    assert!(error.message.contains("`rerank`") && error.message.contains("`embedding`"), "{}", error.message);
}

#[test]
fn each_wrong_field_is_told_by_entry_and_name() {
    for (name, value, expected) in [
        ("pluginId", None, "expected this field"),
        ("pluginId", Some("7"), "a text in quotes, found integer"),
        ("provider", Some("\"\""), "an empty text"),
        ("model", Some("\" bge-m3\""), "white space"),
        ("model", Some("\"a\\u0007b\""), "U+0007"),
        ("kinds", None, "expected this field"),
        ("kinds", Some("\"embedding\""), "a list of `embedding`"),
        ("kinds", Some("[]"), "a list of `embedding`"),
        ("kinds", Some("[\"embeddings\"]"), "found `embeddings`"),
        ("kinds", Some("[\"embedding\", \"embedding\"]"), "each at most once"),
        ("dimension", None, "expected this field"),
        ("dimension", Some("0"), "from 1 to 2147483647, found 0"),
        ("dimension", Some("\"1536\""), "a whole number, found string"),
        ("dimension", Some("1536.0"), "a whole number, found float"),
        ("distanceMetric", None, "expected this field"),
        ("distanceMetric", Some("\"euclid\""), "`cosine`, `dot` or `l2`, found `euclid`"),
        ("pluginUniqueIdentifier", None, "expected this field"),
        ("pluginUniqueIdentifier", Some("\"\""), "an empty text"),
        ("schemaFingerprint", None, "expected this field"),
        ("schemaFingerprint", Some("\"sha256:ABC\""), "64 lower-case hex digits"),
        ("pluginVersion", Some("0.2"), "a text in quotes, found float"),
        ("pluginVersion", Some("\"\""), "an empty text"),
        ("inputModalities", Some("[\"image\"]"), "`[\"text\"]`"),
        ("capabilities", Some("[]"), "a table, found array"),
        ("capabilities", Some("{ at = 2026-07-14 }"), "the date or time 2026-07-14"),
        ("capabilities", Some("{ list = [ { n = nan } ] }"), "the number NaN"),
        ("dimensions", Some("1536"), "remove this field"),
    ] {
        let text = entry(&REASONING) + &entry(&[(name, value)]);
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{name} = {value:?}: {found:?}");
        assert_eq!((found[0].0, found[0].1.as_str()), (Some(2), name), "{value:?}");
        assert!(found[0].2.contains(expected), "{name} = {value:?}: {}", found[0].2);
    }
}

#[test]
fn a_declaration_that_json_would_change_is_refused_at_its_place() {
    for (value, place) in
        [("{ n = 9007199254740993 }", "capabilities/n"), ("{ a = [\"x\", \"a\\u0000b\"] }", "capabilities/a/1")]
    {
        let found = problems(&entry(&[("capabilities", Some(value))]));
        assert_eq!((found.len(), found[0].1.as_str()), (1, place), "{found:?}");
    }
}

#[test]
fn what_only_an_embedding_model_has_is_refused_of_others() {
    let found = problems(&entry(&[("kinds", Some("[\"reasoning\", \"rerank\"]"))]));
    let fields: Vec<&str> = found.iter().map(|(_, field, _)| field.as_str()).collect();
    assert_eq!(fields, ["dimension", "distanceMetric"]);
}

#[test]
fn every_problem_of_every_entry_is_told_at_once() {
    let first = entry(&[("provider", None), ("dimension", Some("0")), ("schemaFingerprint", Some("\"x\""))]);
    let second = entry(&[("model", Some("\"\"")), ("colour", Some("1")), ("pluginVersion", Some("1"))]);
    let found = problems(&(first + &second));
    let places: Vec<(usize, &str)> =
        found.iter().map(|(entry, field, _)| (entry.unwrap(), field.as_str())).collect();
    assert_eq!(
        places,
        [
            (1, "provider"),
            (1, "dimension"),
            (1, "schemaFingerprint"),
            (2, "model"),
            (2, "pluginVersion"),
            (2, "colour")
        ]
    );
    let error = Catalog::parse(&entry(&[("dimension", Some("0"))])).unwrap_err();
    assert_eq!(error.code(), "CATALOG_INVALID");
    assert_eq!(
        error.to_string(),
        "the catalog is not valid: [[model]] 1, `dimension`: expected a whole number from 1 to 2147483647, found 0"
    );
}

#[test]
fn a_model_that_is_listed_twice_is_refused() {
    let found = problems(&(entry(&[]) + &entry(&REASONING) + &entry(&[("dimension", Some("512"))])));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1.as_str()), (Some(3), "model"));
    assert!(found[0].2.contains("entry 1"), "{}", found[0].2);
}

#[test]
fn a_file_with_anything_but_entries_is_refused() {
    for (text, expected) in [
        ("", "at least one `[[model]]`"),
        ("model = []", "at least one `[[model]]`"),
        ("[model]\npluginId = \"a\"", "in double brackets, found `model` as table"),
        ("model = [1]", "expected a table, found integer"),
        ("[[models]]\npluginId = \"a\"", "found `models`"),
    ] {
        let found = problems(text);
        assert!(found.iter().any(|problem| problem.2.contains(expected)), "{text}: {found:?}");
    }
}

#[test]
fn text_that_is_no_toml_is_told_by_line_and_column() {
    let error = Catalog::parse("[[model]]\nmodel = \"é\" x").unwrap_err();
    let CatalogError::Syntax { line, column, .. } = error else { panic!("{error}") };
    assert_eq!((line, column), (2, 13));
    let twice = Catalog::parse("[[model]]\nmodel = \"a\"\nmodel = \"b\"\n").unwrap_err();
    assert!(matches!(twice, CatalogError::Syntax { line: 3, column: 1, .. }), "{twice}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Catalog::read(std::path::Path::new("no/such/models.toml")).unwrap_err();
    assert_eq!(error.code(), "CATALOG_UNREADABLE");
    assert!(error.to_string().contains("`no/such/models.toml`"), "{error}");
}
