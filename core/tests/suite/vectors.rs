//! Every vector of `testdata/vectors`: canonical text, digest or refusal.

use crate::testdata;
use serde_json::Value;
use space_profiles_core::Digest;
use space_profiles_core::json::{self, Limits, number_text};

fn vectors(file: &str, list: &str) -> Vec<Value> {
    let vectors = testdata::read(&format!("vectors/{file}"))[list].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{file} has no {list}");
    vectors
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn text<'v>(vector: &'v Value, member: &str) -> &'v str {
    vector[member].as_str().unwrap_or_else(|| panic!("no {member} in {vector}"))
}

#[test]
fn objects_have_their_canonical_text_and_digest() {
    for vector in vectors("objects.json", "vectors") {
        let id = text(&vector, "id");
        let input = match vector["inputHex"].as_str() {
            Some(hex) => unhex(hex),
            None => format!("{{\"s\":\"{}\"}}", "a".repeat(65_536)).into_bytes(),
        };
        let canonical = json::canonicalize(&input, Limits::ANY).unwrap_or_else(|error| panic!("{id}: {error}"));
        if let Some(hex) = vector["canonicalHex"].as_str() {
            assert_eq!(canonical.as_bytes(), unhex(hex), "{id}");
        }
        assert_eq!(Digest::of(canonical.as_bytes()).to_string(), text(&vector, "sha256"), "{id}");
        assert_eq!(
            json::canonicalize(canonical.as_bytes(), Limits::ANY).unwrap(),
            canonical,
            "{id}: not a fixed point"
        );
    }
}

#[test]
fn number_literals_have_their_canonical_text_or_refusal() {
    for vector in vectors("numbers_literals.json", "vectors") {
        let object = text(&vector, "object");
        let answer = json::canonicalize(object.as_bytes(), Limits::ANY);
        let refusal = vector["refusedHere"].as_str().or(vector["error"].as_str());
        match refusal {
            Some(code) => {
                let error = answer.expect_err(object);
                assert!(error.code().ends_with(code.trim_start_matches("JSON_")), "{object}: {}", error.code());
                assert_eq!(error.pointer.as_str(), "/n", "{object}");
            }
            None => {
                let canonical = answer.unwrap_or_else(|error| panic!("{object}: {error}"));
                assert_eq!(canonical, format!("{{\"n\":{}}}", text(&vector, "canonical")), "{object}");
                assert_eq!(
                    Digest::of(canonical.as_bytes()).to_string(),
                    text(&vector, "objectSha256"),
                    "{object}"
                );
            }
        }
    }
}

#[test]
fn g1_03_doubles_of_rfc_8785_appendix_b_have_their_text() {
    for vector in vectors("numbers_rfc8785_appendix_b.json", "vectors") {
        let bits = u64::from_str_radix(text(&vector, "ieee754"), 16).unwrap();
        let expected = vector["expected"].as_str().filter(|_| f64::from_bits(bits).is_finite());
        assert_eq!(number_text(f64::from_bits(bits)).as_deref(), expected, "{vector}");
        if let Some(expected) = expected {
            assert_eq!(Digest::of(expected.as_bytes()).to_string(), text(&vector, "sha256"), "{vector}");
        }
    }
}

#[test]
fn strings_have_their_escapes_or_refusal() {
    for vector in vectors("strings.json", "vectors") {
        let answer = json::canonicalize(text(&vector, "input").as_bytes(), Limits::ANY);
        match vector["refusedHere"].as_str() {
            Some(code) => assert_eq!(answer.expect_err("refused").code(), code, "{vector}"),
            None => {
                let canonical = answer.unwrap_or_else(|error| panic!("{vector}: {error}"));
                assert_eq!(canonical.as_bytes(), unhex(text(&vector, "canonicalHex")), "{vector}");
                assert_eq!(Digest::of(canonical.as_bytes()).to_string(), text(&vector, "sha256"), "{vector}");
            }
        }
    }
}

#[test]
fn what_is_to_be_refused_is_refused_with_its_code() {
    for vector in vectors("rejects.json", "vectors") {
        let id = text(&vector, "id");
        let input = match (vector["inputHex"].as_str(), id) {
            (Some(hex), _) => unhex(hex),
            (None, "depth-100000") => "[".repeat(100_000).into_bytes(),
            (None, "overflow-digits") if vector["input"].is_null() => {
                format!("[1{}]", "0".repeat(400)).into_bytes()
            }
            (None, _) => text(&vector, "input").as_bytes().to_vec(),
        };
        let error = json::canonicalize(&input, Limits::ANY).expect_err(id);
        assert_eq!(error.code(), text(&vector["wanted"], "error"), "{id}: {error}");
    }
}

#[test]
fn ordinary_snapshots_have_the_digest_that_the_original_gave_them() {
    for vector in vectors("profile_snapshots.json", "vectors") {
        let id = text(&vector, "id");
        let canonical = json::canonicalize(text(&vector, "input").as_bytes(), Limits::ANY).unwrap();
        assert_eq!(canonical, text(&vector, "canonical"), "{id}");
        assert_eq!(Digest::of(canonical.as_bytes()).to_string(), text(&vector, "sha256"), "{id}");
    }
}
