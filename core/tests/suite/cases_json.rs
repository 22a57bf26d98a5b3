//! Group 1 of the cases: canonical JSON and digest.

use crate::testdata::{case, texts};
use serde_json::Value;
use space_profiles_core::json::{Limits, canonicalize, digest};

fn canonical(text: &str) -> String {
    canonicalize(text.as_bytes(), Limits::ANY).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn assert_refused(text: &str, code: &str) {
    let error = canonicalize(text.as_bytes(), Limits::ANY).expect_err(text);
    assert_eq!(error.code(), code, "{text}: {error}");
}

#[track_caller]
fn assert_is(text: &str, expected: &Value) {
    assert_eq!(canonical(text), expected["canonical"].as_str().unwrap(), "{text}");
    let computed = digest(text.as_bytes(), Limits::ANY).unwrap().to_string();
    assert_eq!(computed, expected["sha256"].as_str().unwrap(), "{text}");
}

/// One answer for each text, or one for all.
fn assert_case(id: &str) {
    let case = case(id);
    for (at, text) in texts(&case).iter().enumerate() {
        let expected = &case["expected"];
        let expected = match (&expected["all"], &expected["each"], &expected["rfc8785"]) {
            (Value::Object(_), _, _) => &expected["all"],
            (_, Value::Array(each), _) | (_, _, Value::Array(each)) => &each[at],
            _ => expected,
        };
        assert_is(text, expected);
    }
}

#[test]
fn g1_01_the_rfc_sample_object() {
    assert_case("G1-01");
}

#[test]
fn g1_02_the_rfc_sorting_sample() {
    assert_case("G1-02");
}

#[test]
fn g1_04_minus_zero_is_zero() {
    assert_case("G1-04");
}

#[test]
fn g1_05_spellings_of_a_number_are_one_value() {
    assert_case("G1-05");
}

#[test]
fn g1_08_a_number_beyond_a_double_is_refused() {
    for text in texts(&case("G1-08")) {
        assert_refused(&text, "JSON_NUMBER_OUT_OF_RANGE");
    }
    let accepted = &case("G1-08")["expected"]["butAccept"];
    assert_is(accepted["json"].as_str().unwrap(), accepted);
}

#[test]
fn g1_09_integers_that_would_change_are_refused() {
    let case = case("G1-09");
    let texts = texts(&case);
    for (at, text) in texts.iter().enumerate() {
        if at < 2 {
            assert_is(text, &case["expected"]["rfc8785"][at]);
        } else {
            assert_refused(text, "JSON_UNSAFE_INTEGER");
        }
    }
    assert_eq!(canonical("[100000000000000000000]"), "[100000000000000000000]");
    assert_eq!(canonical("[1000000000000000000000]"), "[1e+21]");
    assert_refused("[-9007199254740993]", "JSON_UNSAFE_INTEGER");
}

#[test]
fn g1_10_decimals_are_read_to_the_last_bit() {
    assert_case("G1-10");
}

#[test]
fn g1_14_keys_are_ordered_by_utf16_code_units() {
    assert_case("G1-14");
}

#[test]
fn g1_16_duplicate_keys_are_refused_where_they_are() {
    for (text, pointer) in texts(&case("G1-16")).iter().zip(["/model", "/r/0/q/x"]) {
        let error = canonicalize(text.as_bytes(), Limits::ANY).unwrap_err();
        assert_eq!((error.code(), error.pointer.as_str()), ("JSON_DUPLICATE_KEY", pointer));
    }
}

#[test]
fn g1_18_lone_surrogates_are_refused() {
    for text in texts(&case("G1-18")) {
        assert_refused(&text, "JSON_LONE_SURROGATE");
    }
}

#[test]
fn g1_20_a_byte_order_mark_is_refused() {
    assert_eq!(canonicalize(b"\xEF\xBB\xBF{\"a\":1}", Limits::ANY).unwrap_err().code(), "JSON_BOM");
}

#[test]
fn g1_23_nesting_up_to_64_is_accepted() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let expected = &case("G1-23")["expected"]["64"]["sha256"];
    assert_eq!(digest(nested(64).as_bytes(), Limits::ANY).unwrap().to_string(), expected.as_str().unwrap());
    for text in [nested(65), nested(127), nested(129), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        assert_refused(&text, "JSON_TOO_DEEP");
    }
    assert_refused(&"{\"a\":".repeat(400_000), "JSON_TOO_LARGE");
}

#[test]
fn rows_are_read_however_deep_they_are() {
    let deep = format!("{}{}", "[".repeat(2_000_000), "]".repeat(2_000_000));
    assert_eq!(canonicalize(deep.as_bytes(), Limits::ROW).unwrap(), deep);
    let deep = format!("{}1{}", "{\"a\":".repeat(1_000_000), "}".repeat(1_000_000));
    assert_eq!(canonicalize(deep.as_bytes(), Limits::ROW).unwrap(), deep);
}

#[test]
fn g1_24_only_the_rfcs_escapes_are_written() {
    let case = case("G1-24");
    let texts = texts(&case);
    assert_is(&texts[0], &case["expected"]["each"][0]);
    assert_refused(&texts[1], "JSON_NUL_CHARACTER");
    assert_is(&texts[2], &case["expected"]["each"][2]);
    assert_eq!(canonical(r#""\b\t\n\f\r\u000b\u001f\u001F""#), r#""\b\t\n\f\r\u000b\u001f\u001f""#);
}

#[test]
fn g1_25_a_null_member_is_not_a_missing_member() {
    assert_case("G1-25");
}

#[test]
fn g1_27_keys_that_look_like_integers_are_texts() {
    assert_case("G1-27");
}

#[test]
fn g1_29_a_digest_is_over_the_utf8_of_the_canonical_text() {
    assert_case("G1-29");
}

#[test]
fn a_refusal_names_the_place_in_the_text() {
    for (text, code, pointer) in [
        (r#"{"a":[1,{"b":"\ud800"}]}"#, "JSON_LONE_SURROGATE", "/a/1/b"),
        (r#"{"a/b":{"~":1e999}}"#, "JSON_NUMBER_OUT_OF_RANGE", "/a~1b/~0"),
        (r#"[[],[{},9007199254740993]]"#, "JSON_UNSAFE_INTEGER", "/1/1"),
        (r#"[{"a":1,"a":2}]"#, "JSON_DUPLICATE_KEY", "/0/a"),
        (r#"{"a":{"b":tru}}"#, "JSON_INVALID", "/a"),
        (r#"[1] x"#, "JSON_TRAILING_DATA", ""),
    ] {
        let error = canonicalize(text.as_bytes(), Limits::ANY).expect_err(text);
        assert_eq!((error.code(), error.pointer.as_str()), (code, pointer), "{text}");
    }
    let error = canonicalize(b"{\n  \"a\": 1,\n  b: 2\n}", Limits::ANY).unwrap_err();
    assert_eq!(error.message, "expected a key in double quotes, found `b` in line 3, column 3");
}

#[test]
fn the_first_fault_ends_the_reading_of_a_row_however_many_there_are() {
    let long_key = "k".repeat(1 << 20);
    let text = format!("{{\"{long_key}\":[{}1]}}", "1e999,".repeat(1_000_000));
    let error = canonicalize(text.as_bytes(), Limits::ROW).unwrap_err();
    assert_eq!(error.code(), "JSON_NUMBER_OUT_OF_RANGE");
    assert!(!error.message.contains("999"), "what is refused is not repeated");
}
