//! Every text of the vectors, and of the cases of groups 1, 3 and 7.

use serde_json::{Value, json};

use crate::{Input, Wanted};

const ID: &str = "embedding-space-sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(crate) fn inputs() -> Vec<Input> {
    let mut inputs = vectors();
    inputs.extend(cases());
    assert!(inputs.len() > 400, "only {} inputs", inputs.len());
    inputs
}

fn read(file: &str) -> Value {
    let path = format!("{}/../testdata/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
        .unwrap()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("expected a list, found {value}")).clone()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn input(id: String, text: &str, digest: &Value, refusal: &Value) -> Input {
    let wanted = match (digest.as_str(), refusal.as_str()) {
        (_, Some(code)) => Some(Wanted::Refusal(format!("JSON_{}", code.trim_start_matches("JSON_")))),
        (Some(digest), None) => Some(Wanted::Digest(digest.to_owned())),
        (None, None) => None,
    };
    Input { id, bytes: text.as_bytes().to_vec(), wanted }
}

fn vectors() -> Vec<Input> {
    let mut inputs = Vec::new();
    for (at, vector) in list(&read("vectors/numbers_literals.json")["vectors"]).iter().enumerate() {
        let refusal = if vector["refusedHere"].is_null() { &vector["error"] } else { &vector["refusedHere"] };
        // The vectors' own names of codes are not all ours: those are checked in Rust.
        let refusal = if vector["refusedHere"].is_null() && !refusal.is_null() { &Value::Null } else { refusal };
        let digest = if vector["error"].is_null() { &vector["objectSha256"] } else { &Value::Null };
        inputs.push(input(format!("number {at}"), vector["object"].as_str().unwrap(), digest, refusal));
    }
    for (at, vector) in list(&read("vectors/numbers_rfc8785_appendix_b.json")["vectors"]).iter().enumerate() {
        let bits = u64::from_str_radix(vector["ieee754"].as_str().unwrap(), 16).unwrap();
        let number = f64::from_bits(bits);
        if number.is_finite() {
            // With all its digits, which are more than are needed.
            inputs.push(input(format!("G1-03 {at}"), &format!("{number:.30e}"), &vector["sha256"], &Value::Null));
        }
    }
    for vector in list(&read("vectors/objects.json")["vectors"]) {
        let id = format!("object {}", vector["id"].as_str().unwrap());
        let bytes = match vector["inputHex"].as_str() {
            Some(hex) => unhex(hex),
            None => format!("{{\"s\":\"{}\"}}", "a".repeat(65_536)).into_bytes(),
        };
        inputs.push(Input { bytes, ..input(id, "", &vector["sha256"], &Value::Null) });
    }
    for vector in list(&read("vectors/strings.json")["vectors"]) {
        let id = format!("string {}", vector["codePoint"].as_str().unwrap());
        inputs.push(input(id, vector["input"].as_str().unwrap(), &vector["sha256"], &vector["refusedHere"]));
    }
    for vector in list(&read("vectors/rejects.json")["vectors"]) {
        let id = format!("refusal {}", vector["id"].as_str().unwrap());
        let bytes = match (vector["inputHex"].as_str(), vector["input"].as_str()) {
            (Some(hex), _) => unhex(hex),
            (None, Some(text)) => text.as_bytes().to_vec(),
            (None, None) => "[".repeat(100_000).into_bytes(),
        };
        inputs.push(Input { bytes, ..input(id, "", &Value::Null, &vector["wanted"]["error"]) });
    }
    for vector in list(&read("vectors/profile_snapshots.json")["vectors"]) {
        let id = format!("snapshot {}", vector["id"].as_str().unwrap());
        let text = vector["input"].as_str().unwrap();
        inputs.push(input(id.clone(), text, &vector["sha256"], &Value::Null));
        let mut material: Value = serde_json::from_str(text).unwrap();
        if material.as_object_mut().unwrap().remove("schemaVersion").is_some() {
            inputs.push(input(format!("{id} as material"), &material.to_string(), &Value::Null, &Value::Null));
        }
    }
    for (at, pair) in list(&read("vectors/stablejson_vs_jcs.json")["pairs"]).iter().enumerate() {
        inputs.push(input(
            format!("pair {at}"),
            pair["input"].as_str().unwrap(),
            &pair["jcsSha256"],
            &Value::Null,
        ));
    }
    inputs
}

fn cases() -> Vec<Input> {
    let mut inputs = Vec::new();
    for case in list(&read("cases/cases.json")) {
        let id = case["id"].as_str().unwrap();
        for (at, bytes) in texts(&case).into_iter().enumerate() {
            inputs.push(Input { id: format!("{id} {at}"), bytes, wanted: None });
        }
    }
    inputs
}

/// The texts of a case: given as they are, as values of one member of an ordinary snapshot, or by a recipe.
fn texts(case: &Value) -> Vec<Vec<u8>> {
    let (id, given) = (case["id"].as_str().unwrap(), &case["input"]);
    if !["G1-", "G3-", "G7-"].iter().any(|group| id.starts_with(group)) {
        return Vec::new();
    }
    match &given["json"] {
        Value::String(text) => return vec![text.clone().into_bytes()],
        Value::Array(texts) => return texts.iter().map(|text| text.as_str().unwrap().into()).collect(),
        _ => {}
    }
    if let Some(hex) = given["hex"].as_str() {
        return vec![unhex(hex)];
    }
    if id == "G1-23" {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let texts = [nested(64), nested(127), nested(129), "[".repeat(100_000), "{\"a\":".repeat(400_000)];
        return texts.map(String::into_bytes).to_vec();
    }
    if id == "G3-10" {
        let name = |length: usize, end: &str| embedding("model", &json!("m".repeat(length) + end));
        return vec![name(256, ""), name(256, " "), name(257, "")];
    }
    if id == "G7-09" {
        return vec![embedding("revision", &json!(2_147_483_647))];
    }
    let Some(kind) = given["kind"].as_str() else {
        return Vec::new();
    };
    let (member, values) = given.as_object().unwrap().iter().find(|(member, _)| *member != "kind").unwrap();
    let of_value = |value| if kind == "embedding" { embedding(member, value) } else { retrieval(member, value) };
    list(values).iter().map(of_value).collect()
}

fn embedding(member: &str, value: &Value) -> Vec<u8> {
    let mut snapshot = json!({
        "dimension": 1536, "model": "text-embedding-3-small", "pluginId": "langgenius/openai",
        "provider": "openai", "revision": 1, "vectorSpaceId": ID,
    });
    snapshot[member] = value.clone();
    snapshot.to_string().into_bytes()
}

fn retrieval(member: &str, value: &Value) -> Vec<u8> {
    let mut snapshot = json!({
        "defaultMode": "deep",
        "reasoningModel": {"model": "gpt-4.1", "pluginId": "langgenius/openai", "provider": "openai"},
        "rerank": {"enabled": true, "model": {"model": "rerank-v3.5", "pluginId": "langgenius/cohere", "provider": "cohere"}},
        "revision": 1,
        "scoreThreshold": {"enabled": true, "stage": "mode-final", "value": 0.42},
        "topK": 15,
    });
    match member {
        "value" => snapshot["scoreThreshold"]["value"] = value.clone(),
        _ => snapshot[member] = value.clone(),
    }
    snapshot.to_string().into_bytes()
}
