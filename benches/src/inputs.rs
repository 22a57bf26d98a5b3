//! The texts that are measured: keys unsorted, as people and programs write them.

use std::fmt::Write as _;

/// A free-form capability object of about 12 KB.
pub const SMALL_CAPABILITY: usize = 12_000;
/// A free-form capability object of about 1 MB.
pub const LARGE_CAPABILITY: usize = 1_000_000;

/// An embedding snapshot; its canonical form has 221 bytes.
pub const EMBEDDING: &str = r#"{
  "revision": 1,
  "pluginId": "langgenius/openai",
  "provider": "openai",
  "model": "text-embedding-3-small",
  "dimension": 1536,
  "vectorSpaceId": "embedding-space-sha256:aa2b27d8d2b1a2a2db6f2a4ba3bb6fa7a2ac5b7f7fd2a7ecab0f5f5e3d8d8f01"
}"#;

/// A retrieval snapshot; its canonical form has 314 bytes.
pub const RETRIEVAL: &str = r#"{
  "revision": 1,
  "topK": 15,
  "defaultMode": "research",
  "reasoningModel": {"provider": "openai", "pluginId": "langgenius/openai", "model": "gpt-4.1"},
  "rerank": {
    "model": {"provider": "cohere", "pluginId": "langgenius/cohere", "model": "rerank-v3.5"},
    "enabled": true
  },
  "scoreThreshold": {"value": 0.42, "stage": "mode-final", "enabled": true}
}"#;

/// A free-form capability object of at least so many bytes: what a provider's catalog says of its models, as such
/// catalogs look. Always the same one.
pub fn capability(bytes: usize) -> String {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut out = String::from("{\"source\":\"catalog\",\"models\":[");
    let mut number = 0;
    while out.len() < bytes {
        if number > 0 {
            out.push(',');
        }
        push_model(&mut out, number, &mut dice);
        number += 1;
    }
    let _ = write!(out, "],\"count\":{number},\"checked_by\":\"plugin-daemon\"}}");
    out
}

fn push_model(out: &mut String, number: u32, dice: &mut Dice) {
    let context = 1_024 << dice.below(8);
    let price = f64::from(dice.below(100_000)) / 1e7;
    let members = [
        ("model", format!("\"provider-{}/model-{number:05}\"", dice.below(40))),
        ("label", format!("{{\"zh_Hans\":\"模型 {number}\",\"en_US\":\"Model {number}\"}}")),
        ("model_type", "\"text-embedding\"".to_owned()),
        ("deprecated", (if dice.below(10) == 0 { "true" } else { "false" }).to_owned()),
        ("features", "[\"tool-call\",\"vision\",\"stream-tool-call\"]".to_owned()),
        ("fetch_from", "\"predefined-model\"".to_owned()),
        (
            "model_properties",
            format!("{{\"mode\":\"chat\",\"context_size\":{context},\"max_chunks\":{}}}", dice.below(64)),
        ),
        ("parameter_rules", parameter_rules(dice)),
        (
            "pricing",
            format!("{{\"input\":{price},\"output\":{},\"unit\":1e-06,\"currency\":\"USD\"}}", price * 4.0),
        ),
        ("help", "\"Read the \\\"quota\\\" page first.\\nThen ask for more.\"".to_owned()),
    ];
    push_shuffled(out, members, dice);
}

fn parameter_rules(dice: &mut Dice) -> String {
    let mut out = String::from("[");
    for (at, name) in ["temperature", "top_p", "max_tokens", "response_format"].into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let members = [
            ("name", format!("\"{name}\"")),
            ("use_template", format!("\"{name}\"")),
            ("type", "\"float\"".to_owned()),
            ("default", format!("{}", f64::from(dice.below(100)) / 100.0)),
            ("min", "0".to_owned()),
            ("max", format!("{}", dice.below(4_096))),
            ("required", "false".to_owned()),
        ];
        push_shuffled(&mut out, members, dice);
    }
    out.push(']');
    out
}

/// Appends an object with its members in any order.
fn push_shuffled<const N: usize>(out: &mut String, mut members: [(&str, String); N], dice: &mut Dice) {
    for last in (1..N).rev() {
        members.swap(last, dice.below(last as u32 + 1) as usize);
    }
    out.push('{');
    for (at, (key, value)) in members.iter().enumerate() {
        let _ = write!(out, "{}\"{key}\":{value}", if at > 0 { "," } else { "" });
    }
    out.push('}');
}

/// Numbers without a pattern, the same in every run (Marsaglia, "Xorshift RNGs", 2003).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }
}

#[cfg(test)]
mod tests {
    use space_profiles_core::json::{Limits, canonicalize};
    use space_profiles_core::{Kind, snapshot::validate};

    use super::*;

    #[test]
    fn inputs_are_what_they_are_called_and_unsorted() {
        let embedding = validate(Kind::Embedding, EMBEDDING.as_bytes()).snapshot.unwrap();
        assert_eq!(embedding.canonical().len(), 221);
        let retrieval = validate(Kind::Retrieval, RETRIEVAL.as_bytes()).snapshot.unwrap();
        assert_eq!(retrieval.canonical().len(), 314);
        for bytes in [SMALL_CAPABILITY, LARGE_CAPABILITY] {
            let text = capability(bytes);
            let canonical = canonicalize(text.as_bytes(), Limits::ANY).unwrap();
            assert!(text.len() < bytes + 2_000 && canonical.len() > bytes * 9 / 10 && canonical != text);
        }
    }
}
