//! Digests and verdicts do not depend on the features that another crate switches on in serde_json. Here
//! they are off; `feature-independence` runs the same tests with them on.

use crate::testdata::case;
use space_profiles_core::Kind;
use space_profiles_core::json::{Limits, canonicalize, digest};
use space_profiles_core::snapshot::validate;

#[test]
fn g1_12_numbers_are_read_alike_with_arbitrary_precision() {
    let case = case("G1-12");
    let text = case["input"]["json"].as_str().unwrap().as_bytes();
    let expected = &case["expected"]["sameVerdictAndDigest"];
    assert_eq!(canonicalize(text, Limits::ANY).unwrap(), expected["canonical"].as_str().unwrap());
    assert_eq!(digest(text, Limits::ANY).unwrap().to_string(), expected["sha256"].as_str().unwrap());
    assert_eq!(digest(b"1e400", Limits::ANY).unwrap_err().code(), "JSON_NUMBER_OUT_OF_RANGE");
}

#[test]
fn g1_13_keys_are_ordered_alike_with_preserve_order() {
    let case = case("G1-13");
    let text = case["input"]["json"].as_str().unwrap().as_bytes();
    assert_eq!(canonicalize(text, Limits::ANY).unwrap(), case["expected"]["canonical"].as_str().unwrap());
    assert_eq!(digest(text, Limits::ANY).unwrap().to_string(), case["expected"]["sha256"].as_str().unwrap());
}

#[test]
fn a_threshold_with_a_fraction_is_valid() {
    let text = br#"{"topK":5.0,"scoreThreshold":{"value":0.5,"stage":"rerank","enabled":true},"revision":1,
        "rerank":{"enabled":true,"model":{"pluginId":"p","provider":"o","model":"r"}},
        "reasoningModel":{"pluginId":"p","provider":"o","model":"m"},"defaultMode":"fast"}"#;
    let report = validate(Kind::Retrieval, text);
    assert!(report.is_valid(), "{:?}", report.issues);
}
