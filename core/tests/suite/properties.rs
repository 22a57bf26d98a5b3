//! Properties of canonical text, digests and validation, on generated input.

use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};
use space_profiles_core::json::{Limits, canonicalize, digest};
use space_profiles_core::snapshot::{Capability, validate};
use space_profiles_core::{Digest, ImportLine, Kind};

fn canonical(text: &str) -> String {
    canonicalize(text.as_bytes(), Limits::ANY).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Texts without U+0000, which is refused: any character, with those that matter to order and escapes often.
fn strings() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop_oneof![Just('a'), Just('B'), Just('"'), Just('\\'), Just('/'), Just('\n'), Just('\u{1F}')],
        2 => prop_oneof![Just('\u{E000}'), Just('\u{FFFF}'), Just('\u{10000}'), Just('é'), Just('\u{7F}')],
        1 => any::<char>().prop_filter("U+0000 is refused", |character| *character != '\0'),
    ];
    proptest::collection::vec(character, 0..8).prop_map(|characters| characters.into_iter().collect())
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (-1e3..1e3).prop_filter_map("finite", Number::from_f64),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers().prop_map(Value::Number),
        strings().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::vec((strings(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

/// The text of a value with the members of every object in reverse order, and white space.
fn shuffled(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shuffled).collect();
            format!("[ {} ]", items.join(" ,\n"))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(key, value)| format!("{} : {}", Value::String(key.clone()), shuffled(value)))
                .collect();
            format!("{{\t{} }}", members.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// Whether two values are the same, numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

/// Texts that are nearly snapshots: a valid one with a piece cut out, doubled or replaced.
fn nearly_snapshots() -> impl Strategy<Value = (Kind, Vec<u8>)> {
    const EMBEDDING: &str = r#"{"dimension":1536,"model":"text-embedding-3-small","pluginId":"langgenius/openai","provider":"openai","revision":1,"vectorSpaceId":"embedding-space-sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
    const RETRIEVAL: &str = r#"{"defaultMode":"deep","reasoningModel":{"model":"gpt-4.1","pluginId":"p","provider":"o"},"rerank":{"enabled":true,"model":{"model":"m","pluginId":"p","provider":"o"}},"revision":1,"scoreThreshold":{"enabled":true,"stage":"mode-final","value":0.42},"topK":15}"#;
    let pieces = prop_oneof![
        Just(""),
        Just("null"),
        Just("{"),
        Just("]"),
        Just("\""),
        Just("1e999"),
        Just("\\ud800"),
        Just("0.5"),
        Just("\"model\":1,"),
        Just("true"),
        Just(" "),
        Just("9007199254740993"),
        Just("{\"a\":1,\"a\":1}"),
    ];
    (any::<bool>(), any::<prop::sample::Index>(), 0..12_usize, pieces).prop_map(
        |(embedding, at, length, piece)| {
            let (kind, text) = if embedding { (Kind::Embedding, EMBEDDING) } else { (Kind::Retrieval, RETRIEVAL) };
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            (kind, [&text[..start], piece, &text[end..]].concat().into_bytes())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_is_a_fixed_point(value in values()) {
        let once = canonical(&value.to_string());
        prop_assert_eq!(canonical(&once), once);
    }

    #[test]
    fn key_order_and_white_space_never_matter(value in values()) {
        prop_assert_eq!(canonical(&value.to_string()), canonical(&shuffled(&value)));
    }

    #[test]
    fn keys_are_ordered_by_their_utf16_units_and_the_digest_is_of_that_text(
        keys in prop::collection::btree_set("[ab\u{7F}]{0,9}[\u{7F}\u{E9}\u{E000}\u{FFFF}\u{10000}]{0,2}[a\"]{0,2}", 0..40),
        seed in any::<u64>(),
    ) {
        let mut sorted: Vec<&String> = keys.iter().collect();
        sorted.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
        let object = |keys: &[&String]| {
            let members: Vec<String> = keys.iter().map(|key| format!("{}:1", json!(key))).collect();
            format!("{{{}}}", members.join(","))
        };
        let expected = object(&sorted);
        let mut shuffled = sorted.clone();
        shuffled.sort_by_key(|key| Digest::of(format!("{seed}{key}").as_bytes()));
        let text = object(&shuffled);
        prop_assert_eq!(&canonical(&text), &expected);
        let hashed = Digest::of(expected.as_bytes());
        prop_assert_eq!(digest(text.as_bytes(), Limits::ANY).unwrap(), hashed);
    }

    #[test]
    fn canonical_text_says_the_same_value(value in values()) {
        let read: Value = serde_json::from_str(&canonical(&value.to_string())).unwrap();
        prop_assert!(same(&read, &value), "{} became {}", value, read);
    }

    #[test]
    fn texts_with_the_same_digest_are_equal_values(left in values(), right in values()) {
        let digest_of = |value: &Value| digest(value.to_string().as_bytes(), Limits::ANY).unwrap();
        prop_assert_eq!(digest_of(&left) == digest_of(&right), same(&left, &right));
    }

    #[test]
    fn a_double_is_written_so_that_it_is_read_back(number in any::<f64>()) {
        if let Some(text) = space_profiles_core::json::number_text(number) {
            prop_assert_eq!(text.parse::<f64>().unwrap(), number);
        }
    }

    #[test]
    fn arbitrary_bytes_make_nothing_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = canonicalize(&bytes, Limits::ANY);
        let _ = Capability::parse(&bytes);
        let _ = ImportLine::parse(&bytes);
        for kind in Kind::ALL {
            prop_assert!(!validate(kind, &bytes).is_valid());
        }
    }

    #[test]
    fn arbitrary_json_makes_nothing_panic_and_says_why(value in values()) {
        let text = value.to_string();
        for kind in Kind::ALL {
            let report = validate(kind, text.as_bytes());
            prop_assert_eq!(report.is_valid(), report.issues.is_empty());
        }
        let _ = ImportLine::parse(value.to_string().as_bytes());
        if let Ok(capability) = Capability::parse(value.to_string().as_bytes()) {
            prop_assert_eq!(capability.canonical(), canonical(&value.to_string()));
        }
    }

    #[test]
    fn validation_agrees_with_itself_on_the_canonical_text_of_what_it_accepts((kind, text) in nearly_snapshots()) {
        let report = validate(kind, &text);
        let has_errors = report.issues.iter().any(|issue| issue.severity() == space_profiles_core::Severity::Error);
        prop_assert_eq!(report.is_valid(), !has_errors);
        if let Some(snapshot) = report.snapshot {
            let canonical = snapshot.canonical();
            let again = validate(kind, canonical.as_bytes());
            prop_assert_eq!(again.snapshot.as_ref(), Some(&snapshot));
            prop_assert_eq!(&again.issues, &report.issues);
            prop_assert_eq!(canonicalize(&text, Limits::SNAPSHOT).unwrap(), canonical);
        }
    }

    #[test]
    fn what_is_refused_as_json_is_refused_as_a_snapshot((kind, text) in nearly_snapshots()) {
        if let Err(error) = canonicalize(&text, Limits::SNAPSHOT) {
            let report = validate(kind, &text);
            let codes: Vec<&str> = report.issues.iter().map(|issue| issue.code.as_str()).collect();
            prop_assert!(codes.contains(&error.code()), "{} is not among {:?}", error.code(), codes);
        }
    }
}
