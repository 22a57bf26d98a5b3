//! The files of `testdata`.

use serde_json::Value;

pub(crate) fn read(file: &str) -> Value {
    let path = format!("{}/../testdata/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The case with this id.
pub(crate) fn case(id: &str) -> Value {
    let cases = read("cases/cases.json");
    let found = cases.as_array().unwrap().iter().find(|case| case["id"] == id);
    found.unwrap_or_else(|| panic!("no case {id}")).clone()
}

/// The texts under `input.json` of a case, be they one or several.
pub(crate) fn texts(case: &Value) -> Vec<String> {
    match &case["input"]["json"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
        other => panic!("expected texts, found {other}"),
    }
}
