//! What core answers to the vectors, the cases and ten thousand generated texts, for Node and a browser to be held
//! against: `answers FOLDER` writes `table.ndjson`, `generated.ndjson` and `codes.json`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

mod generated;
mod reference;
mod table;

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use space_profiles_core::IssueCode;
use space_profiles_core::json::JsonCode;

/// A text to be asked about.
pub(crate) struct Input {
    pub(crate) id: String,
    pub(crate) bytes: Vec<u8>,
    /// What the vector or the case says: a digest, or a code.
    pub(crate) wanted: Option<Wanted>,
}

pub(crate) enum Wanted {
    Digest(String),
    Refusal(String),
}

fn main() {
    let folder = std::env::args().nth(1).expect("expected a folder");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    write(&folder.join("table.ndjson"), table::inputs());
    write(&folder.join("generated.ndjson"), generated::inputs());
    let codes = json!({
        "json": JsonCode::ALL.map(JsonCode::as_str),
        "issues": IssueCode::all().map(IssueCode::as_str).collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("codes.json"), codes.to_string()).unwrap();
}

/// Every line has an input, the text that it is compared with, and core's answers. Each is compared with the valid
/// snapshot before it, or with the text before it, if that is no snapshot.
fn write(file: &Path, inputs: Vec<Input>) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
    let (mut last, mut snapshot) = (Vec::new(), Vec::new());
    for (count, Input { id, bytes, wanted }) in inputs.into_iter().enumerate() {
        let other = if count % 5 == 0 { &last } else { &snapshot };
        let answers = reference::answers(&bytes, other);
        check(&id, &answers, wanted.as_ref());
        let is_snapshot = answers["embedding"]["valid"] == true || answers["retrieval"]["valid"] == true;
        let line = json!({ "id": id, "input": given(&bytes), "other": given(other), "answers": answers });
        writeln!(file, "{line}").unwrap();
        last.clone_from(&bytes);
        if is_snapshot {
            snapshot = bytes;
        }
    }
    file.flush().unwrap();
}

/// Text as it is, other bytes in hex.
fn given(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
    }
}

fn check(id: &str, answers: &Value, wanted: Option<&Wanted>) {
    match wanted {
        None => {}
        Some(Wanted::Digest(digest)) => assert_eq!(answers["digest"]["ok"], **digest, "{id}"),
        Some(Wanted::Refusal(code)) => assert_eq!(answers["digest"]["error"]["code"], **code, "{id}"),
    }
}
