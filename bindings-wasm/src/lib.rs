//! What JavaScript sees of space-profiles.
//!
//! Everything is decided in core; here texts are taken in and answers are given as JSON text, which the package's
//! JavaScript makes plain objects of (`js/functions.js`): no instance crosses the border that somebody would have
//! to free. An answer begins with `=`, or with `!` where the input was refused.
//!
//! Texts are given with their length in bytes, since of one that is far too large only the beginning is copied
//! into the module.

mod answer;

use space_profiles_core::json::{self, JsonError, Limits};
use space_profiles_core::snapshot::{self, Snapshot, VectorSpaceId};
use space_profiles_core::{
    Digest, DocumentKind, Issue, Kind, ProfileDiff, Report, listed_errors, stored_key_order,
};
use wasm_bindgen::prelude::wasm_bindgen;

use answer::{ChangeDocument, DiffDocument, InvalidDocument, Verification, error, json_error, placed, told};

/// The kinds, as JavaScript numbers them.
const KINDS: [Kind; 2] = [Kind::Embedding, Kind::Retrieval];

/// The report on a snapshot's text, and in a second line the places of its issues, if it has any.
#[wasm_bindgen]
pub fn validate(kind: usize, text: &[u8], length: usize) -> String {
    let report = report(KINDS.get(kind).copied().unwrap_or(Kind::Embedding), text, length);
    told(&placed(&report, &report.issues, text))
}

/// The RFC 8785 canonical text.
#[wasm_bindgen]
pub fn canonicalize(text: &[u8], length: usize) -> String {
    match whole(text, length).and_then(|text| json::canonicalize(text, Limits::ANY)) {
        Ok(canonical) => told(&canonical),
        Err(error) => json_error(&error, text),
    }
}

/// The digest of the canonical text.
#[wasm_bindgen]
pub fn digest(text: &[u8], length: usize) -> String {
    #[cfg(feature = "failing")]
    fail(text);
    match whole(text, length).and_then(|text| json::digest(text, Limits::ANY)) {
        Ok(digest) => told(&digest.to_string()),
        Err(error) => json_error(&error, text),
    }
}

/// The vector space id that follows from its material.
#[wasm_bindgen(js_name = vectorSpaceId)]
pub fn vector_space_id(material: &[u8], length: usize) -> String {
    derived(material, length, DocumentKind::Snapshot, |text| {
        VectorSpaceId::of_material(text).map(|id| id.to_string())
    })
}

/// The capability digest that follows from its material.
#[wasm_bindgen(js_name = capabilityDigest)]
pub fn capability_digest(material: &[u8], length: usize) -> String {
    derived(material, length, DocumentKind::Capability, |text| {
        snapshot::capability_digest(text).map(|digest| format!("sha256:{digest}"))
    })
}

/// What changed between two snapshots. A kind that is none is found out.
#[wasm_bindgen]
pub fn diff(kind: usize, from: &[u8], from_length: usize, to: &[u8], to_length: usize) -> String {
    let kind = KINDS.get(kind).copied();
    let from = match valid(kind, from, from_length, "from") {
        Ok(snapshot) => snapshot,
        Err(refusal) => return refusal,
    };
    let to = match valid(kind, to, to_length, "to") {
        Ok(snapshot) => snapshot,
        Err(refusal) => return refusal,
    };
    let diff = ProfileDiff::between(&from, &to);
    let changes = diff.changes.iter().map(ChangeDocument::of).collect();
    let (from, to) = (from.revision(), to.revision());
    told(&answer::text(&DiffDocument { from, to, needs_reembedding: diff.needs_reembedding, changes }))
}

/// Whether a digest is a text's, as far as this build can tell: it knows no collation.
#[wasm_bindgen]
pub fn verify(text: &[u8], length: usize, claimed: &[u8]) -> String {
    let digest = match whole(text, length).and_then(|text| json::digest(text, Limits::ANY)) {
        Ok(digest) => digest,
        Err(error) => return json_error(&error, text),
    };
    let claimed = std::str::from_utf8(claimed).ok().and_then(|hex| hex.parse::<Digest>().ok());
    let order = claimed.and_then(|claimed| stored_key_order(text, claimed));
    told(&answer::text(&Verification::new(digest, order)))
}

/// The text, if all of it is here.
fn whole(text: &[u8], length: usize) -> Result<&[u8], JsonError> {
    if length > text.len() { Err(JsonError::too_large(length, Limits::ANY.bytes)) } else { Ok(text) }
}

fn report(kind: Kind, text: &[u8], length: usize) -> Report {
    if length <= text.len() {
        return snapshot::validate(kind, text);
    }
    let error = JsonError::too_large(length, Limits::SNAPSHOT.bytes);
    Report { kind, issues: vec![Issue::of_json(DocumentKind::Snapshot, error)], snapshot: None }
}

/// A valid snapshot of a kind, or of whichever kind it is.
fn valid(kind: Option<Kind>, text: &[u8], length: usize, argument: &'static str) -> Result<Snapshot, String> {
    let reports = kind.into_iter().chain(if kind.is_none() { KINDS.as_slice() } else { &[] }.iter().copied());
    let reports = reports.map(|kind| report(kind, text, length));
    // Of a text that is of neither kind, the issues of the kind that it is closest to.
    let Some(report) = reports.min_by_key(|report| (!report.is_valid(), report.issues.len())) else {
        return Err(String::new());
    };
    let refusal = InvalidDocument {
        code: "SNAPSHOT_INVALID",
        message: format!("the snapshot is not valid: {}", listed_errors(&report.issues)),
        argument: Some(argument),
        kind: Some(report.kind),
        issues: &report.issues,
    };
    report.snapshot.ok_or_else(|| error(&placed(&refusal, &report.issues, text)))
}

fn derived(
    material: &[u8],
    length: usize,
    document: DocumentKind,
    derive: impl Fn(&[u8]) -> Result<String, Vec<Issue>>,
) -> String {
    let whole = whole(material, length).map_err(|error| vec![Issue::of_json(document, error)]);
    match whole.and_then(derive) {
        Ok(derived) => told(&derived),
        Err(issues) => {
            let message = format!("the material is not valid: {}", listed_errors(&issues));
            let code = "ARGUMENT_INVALID";
            let refusal = InvalidDocument { code, message, argument: None, kind: None, issues: &issues };
            error(&placed(&refusal, &issues, material))
        }
    }
}

/// Fails as no input should be able to.
#[cfg(feature = "failing")]
#[allow(clippy::panic, reason = "this is what the feature is for")]
fn fail(text: &[u8]) {
    use std::hint::black_box;

    #[allow(unconditional_recursion, reason = "the stack is to overflow")]
    fn recurse(depth: usize) -> usize {
        black_box(recurse(black_box(depth + 1)) + 1)
    }
    match text {
        b"\"panic\"" => panic!("on purpose"),
        b"\"exhaust\"" => loop {
            std::mem::forget(black_box(vec![1_u8; 64 << 20]));
        },
        b"\"overflow\"" => drop(recurse(0)),
        _ => {}
    }
}
