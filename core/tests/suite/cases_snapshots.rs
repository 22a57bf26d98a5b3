//! Group 3 of the cases (and those of group 2 that need no store): snapshot validation.

use crate::testdata;
use crate::testdata::{case, texts};
use serde_json::{Value, json};
use space_profiles_core::snapshot::{Capability, Snapshot, parse_legacy, validate};
use space_profiles_core::{Kind, Report};

const ID: &str = "embedding-space-sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn embedding(member: &str, value: impl Into<Value>) -> String {
    let mut snapshot = json!({
        "dimension": 1536, "model": "text-embedding-3-small", "pluginId": "langgenius/openai",
        "provider": "openai", "revision": 1, "vectorSpaceId": ID,
    });
    snapshot[member] = value.into();
    snapshot.to_string()
}

fn retrieval(change: impl FnOnce(&mut Value)) -> String {
    let mut snapshot = json!({
        "defaultMode": "deep",
        "reasoningModel": {"model": "gpt-4.1", "pluginId": "langgenius/openai", "provider": "openai"},
        "rerank": {"enabled": true, "model": {"model": "rerank-v3.5", "pluginId": "langgenius/cohere", "provider": "cohere"}},
        "revision": 1,
        "scoreThreshold": {"enabled": true, "stage": "mode-final", "value": 0.42},
        "topK": 15,
    });
    change(&mut snapshot);
    snapshot.to_string()
}

fn report(kind: Kind, text: &str) -> Report<'_> {
    validate(kind, text.as_bytes())
}

#[track_caller]
fn accepted(kind: Kind, text: &str) -> Snapshot {
    let report = report(kind, text);
    report.snapshot.unwrap_or_else(|| panic!("{text}: {:?}", report.issues)).into_owned()
}

#[track_caller]
fn assert_issue(kind: Kind, text: &str, pointer: &str, code: &str) {
    let report = report(kind, text);
    assert!(!report.is_valid(), "{text}");
    let found: Vec<_> = report.issues.iter().map(|issue| (issue.pointer.as_str(), issue.code.as_str())).collect();
    assert!(found.contains(&(pointer, code)), "{text}: expected {code} at {pointer}, found {found:?}");
}

/// A case whose text is accepted with a canonical text and a digest.
#[track_caller]
fn assert_accepted_case(id: &str) {
    let case = case(id);
    let kind: Kind = case["input"]["kind"].as_str().unwrap().parse().unwrap();
    for text in texts(&case) {
        let snapshot = accepted(kind, &text);
        let expected = &case["expected"];
        if let Some(canonical) = expected["canonical"].as_str() {
            assert_eq!(snapshot.canonical(), canonical, "{id}");
        }
        assert_eq!(snapshot.digest().to_string(), expected["sha256"].as_str().unwrap(), "{id}");
    }
}

#[test]
fn g3_01_a_model_name_with_a_slash() {
    assert_accepted_case("G3-01");
}

#[test]
fn g3_02_a_model_name_with_slashes_and_a_colon_tag() {
    assert_accepted_case("G3-02");
}

#[test]
fn g3_04_a_chinese_model_name() {
    assert_accepted_case("G3-04");
}

#[test]
fn g3_05_a_plugin_id_with_version_and_install_mark() {
    assert_accepted_case("G3-05");
}

#[test]
fn g3_06_blanks_around_a_name_are_refused_but_trimmed_in_a_legacy_profile() {
    let case = case("G3-06");
    let names = case["input"]["model"].as_array().unwrap();
    assert_eq!(names.len(), 5);
    for name in names {
        let text = embedding("model", name.clone());
        assert_issue(Kind::Embedding, &text, "/model", "OUTER_WHITE_SPACE");
        let legacy = parse_legacy(Kind::Embedding, text.as_bytes()).unwrap();
        assert_eq!(legacy.identity().selection.model(), "bge-m3", "{name}");
        let of_1024 = text.replace("\"dimension\":1536", "\"dimension\":1024");
        let digest = parse_legacy(Kind::Embedding, of_1024.as_bytes()).unwrap().digest().to_string();
        assert_eq!(digest, case["expected"]["each"]["sha256"].as_str().unwrap(), "{name}");
    }
    // ECMAScript's white space lacks U+0085, which is a control character without effect here.
    accepted(Kind::Embedding, &embedding("model", "bge-m3\u{85}"));
}

#[test]
fn g3_08_control_characters_are_refused_and_invisible_ones_warned_of() {
    let case = case("G3-08");
    let names = case["input"]["model"].as_array().unwrap();
    for (name, verdict) in names.iter().zip(["reject", "reject", "reject", "accept", "accept"]) {
        let text = embedding("model", name.clone());
        let report = report(Kind::Embedding, &text);
        assert_eq!(report.is_valid(), verdict == "accept", "{name}: {:?}", report.issues);
        assert_eq!(report.issues[0].pointer.as_str(), "/model", "{name}");
    }
    for invisible in ['\u{80}', '\u{9F}', '\u{200B}', '\u{200D}', '\u{200E}', '\u{202E}', '\u{2066}', '\u{2060}'] {
        let text = embedding("model", format!("bge{invisible}m3"));
        let report = report(Kind::Embedding, &text);
        assert!(report.is_valid(), "U+{:04X}", u32::from(invisible));
        assert_eq!(report.issues[0].code.as_str(), "INVISIBLE_CHARACTER");
    }
    assert_issue(Kind::Embedding, &embedding("model", "a\u{7F}b"), "/model", "CONTROL_CHARACTER");
    assert_issue(Kind::Embedding, &embedding("model", "a\nb"), "/model", "CONTROL_CHARACTER");
}

#[test]
fn g3_09_empty_and_blank_names_are_refused() {
    assert_issue(Kind::Embedding, &embedding("model", ""), "/model", "EMPTY");
    assert_issue(Kind::Embedding, &embedding("model", "   "), "/model", "OUTER_WHITE_SPACE");
    assert!(parse_legacy(Kind::Embedding, embedding("model", "   ").as_bytes()).is_err());
}

#[test]
fn g2_09_g3_10_names_are_counted_in_utf16_code_units() {
    for (name, fits) in [
        ("m".repeat(256), true),
        ("m".repeat(257), false),
        ("😀".repeat(128), true),
        ("😀".repeat(129), false),
        ("模".repeat(256), true),
        ("模".repeat(257), false),
    ] {
        let text = embedding("model", name.as_str());
        assert_eq!(report(Kind::Embedding, &text).is_valid(), fits, "{} characters", name.chars().count());
        if !fits {
            assert_issue(Kind::Embedding, &text, "/model", "TOO_LONG");
        }
    }
    let blank = embedding("model", format!("{} ", "m".repeat(256)));
    assert_issue(Kind::Embedding, &blank, "/model", "OUTER_WHITE_SPACE");
    parse_legacy(Kind::Embedding, blank.as_bytes()).expect("the length counts after trimming");
}

#[test]
fn g3_11_dimensions_in_real_use() {
    let expected = &case("G3-11")["expected"];
    for dimension in [384, 768, 1024, 1536, 2048, 3072, 3584, 4096] {
        let digest = accepted(Kind::Embedding, &embedding("dimension", dimension)).digest().to_string();
        if let Some(wanted) = expected[format!("digestFor{dimension}")].as_str() {
            assert_eq!(digest, wanted, "{dimension}");
        }
    }
}

#[test]
fn g3_12_g3_14_a_dimension_is_a_positive_integer() {
    for (value, code) in [
        (json!(0), "OUT_OF_RANGE"),
        (json!(-1), "OUT_OF_RANGE"),
        (json!(1536.5), "WRONG_TYPE"),
        (json!("1536"), "WRONG_TYPE"),
        (json!(true), "WRONG_TYPE"),
        (json!(null), "WRONG_TYPE"),
        (json!([1536]), "WRONG_TYPE"),
        (json!({"a": [1, {"b": 2}]}), "WRONG_TYPE"),
    ] {
        assert_issue(Kind::Embedding, &embedding("dimension", value), "/dimension", code);
    }
}

#[test]
fn spellings_of_an_integer_are_one_value() {
    let digest = accepted(Kind::Embedding, &embedding("dimension", 1536)).digest();
    for spelling in ["1536.0", "1.536e3", "15360E-1"] {
        let text = embedding("dimension", 1).replace("\"dimension\":1,", &format!("\"dimension\":{spelling},"));
        assert_eq!(accepted(Kind::Embedding, &text).digest(), digest, "{text}");
    }
}

#[test]
fn g3_15_a_missing_dimension_is_a_warning() {
    assert_accepted_case_with_warning();
}

fn assert_accepted_case_with_warning() {
    let case = case("G3-15");
    let texts = texts(&case);
    let report = report(Kind::Embedding, &texts[0]);
    assert_eq!(report.snapshot.unwrap().digest().to_string(), case["expected"]["sha256"].as_str().unwrap());
    assert_eq!(report.issues.len(), 1);
    assert_eq!(
        (report.issues[0].code.as_str(), report.issues[0].pointer.as_str()),
        ("DIMENSION_UNCHECKED", "/dimension")
    );
}

#[test]
fn large_dimensions_are_warned_of() {
    for (dimension, code) in [
        (2_000, None),
        (2_001, Some("DIMENSION_NOT_INDEXABLE")),
        (16_000, Some("DIMENSION_NOT_INDEXABLE")),
        (16_001, Some("DIMENSION_NOT_STORABLE")),
    ] {
        let text = embedding("dimension", dimension);
        let report = report(Kind::Embedding, &text);
        assert!(report.is_valid());
        assert_eq!(report.issues.first().map(|issue| issue.code.as_str()), code, "{dimension}");
    }
}

#[test]
fn g3_17_a_malformed_vector_space_id_is_refused() {
    let case = case("G3-17");
    let ids = case["input"]["vectorSpaceId"].as_array().unwrap();
    assert_eq!(ids.len(), 7);
    for id in ids {
        assert_issue(Kind::Embedding, &embedding("vectorSpaceId", id.clone()), "/vectorSpaceId", "BAD_FORMAT");
    }
}

#[test]
fn g2_18_g3_19_a_revision_fits_32_bits() {
    for kind in Kind::ALL {
        let text = |revision: i64| match kind {
            Kind::Embedding => embedding("revision", revision),
            Kind::Retrieval => retrieval(|snapshot| snapshot["revision"] = json!(revision)),
        };
        accepted(kind, &text(1));
        accepted(kind, &text(2_147_483_647));
        for revision in [0, -1, 2_147_483_648] {
            assert_issue(kind, &text(revision), "/revision", "OUT_OF_RANGE");
        }
    }
    accepted(Kind::Embedding, &embedding("dimension", 2_147_483_647));
    assert_issue(Kind::Embedding, &embedding("dimension", 2_147_483_648_u32), "/dimension", "OUT_OF_RANGE");
}

#[test]
fn g3_20_unknown_members_are_refused_without_their_value() {
    for (text, pointer) in texts(&case("G3-20")).iter().zip(["/credentials", "/Model", "/__proto__"]) {
        assert_issue(Kind::Embedding, text, pointer, "UNKNOWN_FIELD");
    }
    let text = embedding("apiKey", "sk-secret");
    let report = report(Kind::Embedding, &text);
    assert!(report.issues.iter().all(|issue| !issue.to_string().contains("sk-secret")));
}

#[test]
fn g3_22_top_k_is_from_1_to_100() {
    let expected = &case("G3-22")["expected"];
    let text = |value: Value| retrieval(|snapshot| snapshot["topK"] = value);
    for top_k in [1, 100] {
        let digest = accepted(Kind::Retrieval, &text(json!(top_k))).digest().to_string();
        assert_eq!(digest, expected[format!("digestFor{top_k}")].as_str().unwrap());
    }
    for wrong in [json!(0), json!(101), json!(5.5), json!("5"), json!(null)] {
        let wrong_text = text(wrong.clone());
        let report = report(Kind::Retrieval, &wrong_text);
        assert!(!report.is_valid() && report.issues[0].pointer.as_str() == "/topK", "{wrong}");
    }
}

#[test]
fn g3_24_a_threshold_is_from_0_to_1() {
    let expected = &case("G3-24")["expected"];
    let text = |value: Value| retrieval(|snapshot| snapshot["scoreThreshold"]["value"] = value);
    for value in [0, 1] {
        let digest = accepted(Kind::Retrieval, &text(json!(value))).digest().to_string();
        assert_eq!(digest, expected[format!("digestFor{value}")].as_str().unwrap());
    }
    for wrong in [json!(1.000_000_000_000_000_2), json!(-0.01), json!("0.5"), json!(null)] {
        let wrong_text = text(wrong.clone());
        let report = report(Kind::Retrieval, &wrong_text);
        assert!(!report.is_valid() && report.issues[0].pointer.as_str() == "/scoreThreshold/value", "{wrong}");
    }
}

#[test]
fn g3_26_rerank_on_needs_a_model() {
    let case = case("G3-26");
    assert_issue(Kind::Retrieval, &texts(&case)[0], "/rerank/model", "REQUIRED_WHEN_ENABLED");
}

#[test]
fn g3_27_rerank_off_may_keep_its_model() {
    assert_accepted_case("G3-27");
}

#[test]
fn g3_29_a_threshold_on_needs_a_value() {
    let case = case("G3-29");
    assert_issue(Kind::Retrieval, &texts(&case)[0], "/scoreThreshold/value", "REQUIRED_WHEN_ENABLED");
}

#[test]
fn g3_31_fast_and_deep_need_rerank_for_a_threshold() {
    let case = case("G3-31");
    let texts = texts(&case);
    for text in &texts[..2] {
        let code = "RETRIEVAL_PROFILE_SCORE_THRESHOLD_REQUIRES_RERANK";
        assert_issue(Kind::Retrieval, text, "/scoreThreshold", code);
    }
    let digest = accepted(Kind::Retrieval, &texts[2]).digest().to_string();
    assert_eq!(digest, case["expected"]["digestOfThird"].as_str().unwrap());
}

#[test]
fn g3_33_modes_are_spelled_exactly() {
    for (mode, is_valid) in
        [(json!("Deep"), false), (json!("hybrid"), false), (json!(null), false), (json!("research"), true)]
    {
        let text = retrieval(|snapshot| snapshot["defaultMode"] = mode.clone());
        let report = report(Kind::Retrieval, &text);
        assert_eq!(report.is_valid(), is_valid, "{mode}");
        assert!(is_valid || report.issues[0].pointer.as_str() == "/defaultMode");
    }
}

#[test]
fn g3_34_booleans_are_booleans() {
    for text in texts(&case("G3-34")) {
        assert_issue(Kind::Retrieval, &text, "/rerank/enabled", "WRONG_TYPE");
    }
}

#[test]
fn every_issue_of_a_text_is_told_json_faults_too() {
    let text = r#"{"topK":0,"revision":9007199254740993,"rerank":{"enabled":true,"enabled":true},"extra":{"a":"\ud800"},
        "reasoningModel":{"model":""},"scoreThreshold":[],"defaultMode":"deep"}"#;
    let found: Vec<String> = report(Kind::Retrieval, text)
        .issues
        .iter()
        .map(|issue| format!("{} {}", issue.pointer, issue.code.as_str()))
        .collect();
    for expected in [
        "/revision JSON_UNSAFE_INTEGER",
        "/rerank/enabled JSON_DUPLICATE_KEY",
        "/extra/a JSON_LONE_SURROGATE",
        "/extra UNKNOWN_FIELD",
        "/topK OUT_OF_RANGE",
        "/reasoningModel/model EMPTY",
        "/reasoningModel/pluginId MISSING_FIELD",
        "/scoreThreshold WRONG_TYPE",
    ] {
        assert!(found.iter().any(|issue| issue == expected), "expected {expected} among {found:?}");
    }
}

#[test]
fn a_snapshot_has_a_size() {
    let text = format!("{}{}", embedding("model", "m"), " ".repeat(65_536));
    assert_issue(Kind::Embedding, &text, "", "JSON_TOO_LARGE");
    let fits = embedding("model", "m");
    accepted(Kind::Embedding, &format!("{}{fits}", " ".repeat(65_536 - fits.len())));
}

#[test]
fn typed_capabilities_of_the_vectors_are_valid_and_keep_their_digest() {
    let vectors = testdata::read("vectors/profile_snapshots.json");
    let mut seen = 0;
    for vector in vectors["vectors"].as_array().unwrap() {
        let (id, input) = (vector["id"].as_str().unwrap(), vector["input"].as_str().unwrap());
        let digest = if id.starts_with("embedding") || id.starts_with("retrieval") {
            let kind = if id.starts_with("embedding") { Kind::Embedding } else { Kind::Retrieval };
            accepted(kind, input).digest()
        } else if id == "capability-embedding" || id == "capability-retrieval" {
            Capability::parse(input.as_bytes()).unwrap_or_else(|issues| panic!("{id}: {issues:?}")).digest()
        } else {
            continue;
        };
        assert_eq!(digest.to_string(), vector["sha256"].as_str().unwrap(), "{id}");
        seen += 1;
    }
    assert_eq!(seen, 7);
}
