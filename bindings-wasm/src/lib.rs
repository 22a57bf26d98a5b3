//! What JavaScript sees of space-profiles.
//!
//! Everything is decided in core; here texts are taken in and answers are given as text, which the package's
//! JavaScript makes plain objects of (`js/functions.js`): no instance crosses the border that somebody would have
//! to free. An answer begins with `=`, or with `!` where the input was refused.
//!
//! JavaScript puts the texts into memory, says how many bytes of each it put there and how long the text is, since
//! of one that is far too large only the beginning is copied, and is told how long the answer is (`exchange`).

mod answer;
pub mod exchange;

use exchange::answered;
use space_profiles_core::json::{self, JsonError, Limits};
use space_profiles_core::snapshot::{self, Snapshot, ValidSnapshot, VectorSpaceId};
use space_profiles_core::{Digest, DocumentKind, Issue, Kind, ProfileDiff, Report, stored_key_order};
use wasm_bindgen::prelude::wasm_bindgen;

/// A third of the size of the standard library's allocator, and as fast.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// The kinds, as JavaScript numbers them.
const KINDS: [Kind; 2] = [Kind::Embedding, Kind::Retrieval];

/// The report on a snapshot's text.
#[wasm_bindgen]
pub fn validate(kind: usize, stored: usize, length: usize) -> usize {
    let kind = KINDS.get(kind).copied().unwrap_or(Kind::Embedding);
    answered(stored, |text, out| answer::report(out, &report(kind, text, length), text))
}

/// The RFC 8785 canonical text.
#[wasm_bindgen]
pub fn canonicalize(stored: usize, length: usize) -> usize {
    answered(stored, |text, out| {
        match whole(text, length).and_then(|text| json::canonicalize(text, Limits::ANY)) {
            Ok(canonical) => answer::told(out, &canonical),
            Err(error) => answer::fault(out, &error, text),
        }
    })
}

/// The digest of the canonical text.
#[wasm_bindgen]
pub fn digest(stored: usize, length: usize) -> usize {
    answered(stored, |text, out| {
        #[cfg(feature = "failing")]
        fail(text);
        match whole(text, length).and_then(|text| json::digest(text, Limits::ANY)) {
            Ok(digest) => {
                out.push('=');
                digest.push_to(out);
            }
            Err(error) => answer::fault(out, &error, text),
        }
    })
}

/// The vector space id that follows from its material.
#[wasm_bindgen(js_name = vectorSpaceId)]
pub fn vector_space_id(stored: usize, length: usize) -> usize {
    answered(stored, |material, out| {
        match whole_material(material, length, DocumentKind::Snapshot).and_then(VectorSpaceId::of_material) {
            Ok(id) => {
                out.push('=');
                id.push_to(out);
            }
            Err(issues) => answer::invalid_material(out, &issues, material),
        }
    })
}

/// The capability digest that follows from its material.
#[wasm_bindgen(js_name = capabilityDigest)]
pub fn capability_digest(stored: usize, length: usize) -> usize {
    answered(stored, |material, out| {
        match whole_material(material, length, DocumentKind::Capability).and_then(snapshot::capability_digest) {
            Ok(digest) => {
                out.push_str("=sha256:");
                digest.push_to(out);
            }
            Err(issues) => answer::invalid_material(out, &issues, material),
        }
    })
}

/// What changed between two snapshots. A kind that is none is found out.
#[wasm_bindgen]
pub fn diff(kind: usize, from_stored: usize, from_length: usize, to_stored: usize, to_length: usize) -> usize {
    let kind = KINDS.get(kind).copied();
    answered(from_stored + to_stored, |texts, out| {
        let (from, to) = texts.split_at_checked(from_stored).unwrap_or_default();
        let Some(from) = valid(kind, from, from_length, "from", out) else { return };
        let Some(to) = valid(kind, to, to_length, "to", out) else { return };
        answer::diff(out, &from, &to, &ProfileDiff::between(&from, &to));
    })
}

/// Whether the digest that comes second is a text's, as far as this build can tell: it knows no collation.
#[wasm_bindgen]
pub fn verify(stored: usize, length: usize, claimed_stored: usize) -> usize {
    answered(stored + claimed_stored, |texts, out| {
        let (text, claimed) = texts.split_at_checked(stored).unwrap_or_default();
        let digest = match whole(text, length).and_then(|text| json::digest(text, Limits::ANY)) {
            Ok(digest) => digest,
            Err(error) => return answer::fault(out, &error, text),
        };
        let claimed = std::str::from_utf8(claimed).ok().and_then(|hex| hex.parse::<Digest>().ok());
        let order = claimed.and_then(|claimed| stored_key_order(text, claimed));
        answer::verification(out, digest, order);
    })
}

/// The text, if all of it is here.
fn whole(text: &[u8], length: usize) -> Result<&[u8], JsonError> {
    if length > text.len() { Err(JsonError::too_large(length, Limits::ANY.bytes)) } else { Ok(text) }
}

fn report(kind: Kind, text: &[u8], length: usize) -> Report<'_> {
    if length <= text.len() {
        return snapshot::validate(kind, text);
    }
    let error = JsonError::too_large(length, Limits::SNAPSHOT.bytes);
    Report { kind, issues: vec![Issue::of_json(DocumentKind::Snapshot, error)], snapshot: None }
}

/// A valid snapshot of a kind, or of whichever kind it is; where there is none, its refusal is the answer.
fn valid(
    kind: Option<Kind>,
    text: &[u8],
    length: usize,
    argument: &'static str,
    out: &mut String,
) -> Option<Snapshot> {
    let report = match kind {
        Some(kind) => report(kind, text, length),
        None if length > text.len() => report(Kind::Embedding, text, length),
        None => snapshot::validate_either(text),
    };
    let Report { kind, issues, snapshot } = report;
    if snapshot.is_none() {
        answer::invalid_snapshot(out, argument, kind, &issues, text);
    }
    snapshot.map(ValidSnapshot::into_owned)
}

fn whole_material(material: &[u8], length: usize, document: DocumentKind) -> Result<&[u8], Vec<Issue>> {
    whole(material, length).map_err(|error| vec![Issue::of_json(document, error)])
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
            std::mem::forget(black_box(Vec::<u8>::with_capacity(64 << 20)));
        },
        b"\"overflow\"" => drop(recurse(0)),
        _ => {}
    }
}
