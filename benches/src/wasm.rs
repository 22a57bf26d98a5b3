//! The npm package beside JavaScript that does the same, in Node and in Chromium: `benches/wasm` measures, in the same
//! way as [`crate::measure`].

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use space_profiles_core::{Kind, snapshot};

use crate::inputs;
use crate::results::Row;

/// This product.
pub const OURS: &str = "space-profiles";
/// zod, stable key order, and SHA-256 in JavaScript, that of `@noble/hashes`; in Node a third subject uses OpenSSL's.
pub const PEER: &str = "zod";

/// What was found, and by what.
pub struct Found {
    /// Times.
    pub rows: Vec<Row>,
    /// Sizes.
    pub bytes: BTreeMap<String, u64>,
    /// Node and Chromium, and their versions.
    pub programs: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Task {
    seconds: f64,
    inputs: [Input; 2],
}

#[derive(Serialize)]
struct Input {
    kind: &'static str,
    text: &'static str,
    /// What everybody's digest must be.
    digest: String,
}

#[derive(Deserialize)]
struct Answer {
    programs: BTreeMap<String, String>,
    rows: Vec<Samples>,
    bytes: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Samples {
    case: String,
    subject: String,
    samples: Vec<f64>,
}

/// Measures each validation for as long as `budget`.
///
/// # Errors
///
/// Node is missing, or anything went wrong there.
pub fn run(budget: Duration) -> anyhow::Result<Found> {
    let inputs = [input(Kind::Embedding, inputs::EMBEDDING)?, input(Kind::Retrieval, inputs::RETRIEVAL)?];
    let task = serde_json::to_vec(&Task { seconds: budget.as_secs_f64(), inputs })?;
    let mut node = Command::new("node")
        .arg("benches/wasm/main.js")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("expected to start `node`")?;
    node.stdin.take().context("expected to write to `node`")?.write_all(&task)?;
    let output = node.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "`node benches/wasm/main.js` failed");
    let Answer { programs, rows, bytes } = serde_json::from_slice(&output.stdout)?;
    let rows = rows.into_iter().map(|row| Row::new(row.case, row.subject, row.samples)).collect();
    Ok(Found { rows, bytes, programs })
}

fn input(kind: Kind, text: &'static str) -> anyhow::Result<Input> {
    let snapshot = snapshot::validate(kind, text.as_bytes()).snapshot.context("expected a valid input")?;
    Ok(Input { kind: kind.as_str(), text, digest: snapshot.digest().to_string() })
}
