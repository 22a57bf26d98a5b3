//! The forms of answers. Those that the command line tool has too are the same (SPEC section 8); places are told
//! beside them, so that the forms stay core's.

use serde::Serialize;
use space_profiles_core::json::JsonError;
use space_profiles_core::{
    Digest, Issue, KeyOrder, Kind, MemberChange, Place, RevisionNumber, place_of_fault, places,
};

/// JSON text. Nothing that is written here can fail to be.
pub(crate) fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}

/// The answer to an input that was accepted.
pub(crate) fn told(what: &str) -> String {
    format!("={what}")
}

/// The answer to an input that was refused.
pub(crate) fn error(what: &str) -> String {
    format!("!{what}")
}

/// A document with issues, and in a second line their places.
pub(crate) fn placed(document: &impl Serialize, issues: &[Issue], of: &[u8]) -> String {
    let document = text(document);
    if issues.is_empty() {
        return document;
    }
    let places: Vec<Option<[usize; 4]>> = places(of, issues).into_iter().map(|place| place.map(numbers)).collect();
    format!("{document}\n{}", text(&places))
}

fn numbers(place: Place) -> [usize; 4] {
    [place.start, place.end, place.line, place.column]
}

/// The refusal of a text that is not JSON.
pub(crate) fn json_error(fault: &JsonError, of: &[u8]) -> String {
    #[derive(Serialize)]
    struct Refusal<'r> {
        code: &'static str,
        message: String,
        path: &'r str,
    }
    let place = [place_of_fault(of, fault).map(numbers)];
    let refusal = Refusal { code: fault.code(), message: fault.to_string(), path: fault.pointer.as_str() };
    error(&format!("{}\n{}", text(&refusal), text(&place)))
}

/// The refusal of a text with issues.
#[derive(Serialize)]
pub(crate) struct InvalidDocument<'i> {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) argument: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<Kind>,
    pub(crate) issues: &'i [Issue],
}

/// What changed between two snapshots.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffDocument {
    pub(crate) from: RevisionNumber,
    pub(crate) to: RevisionNumber,
    pub(crate) needs_reembedding: bool,
    pub(crate) changes: Vec<ChangeDocument>,
}

/// A member that differs; its values are JSON text.
#[derive(Serialize)]
pub(crate) struct ChangeDocument {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl ChangeDocument {
    pub(crate) fn of(change: &MemberChange) -> Self {
        Self { path: change.pointer.to_string(), before: change.before.clone(), after: change.after.clone() }
    }
}

/// Whether a digest is a text's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verification {
    matches: bool,
    key_order: Option<&'static str>,
    digest: Digest,
}

impl Verification {
    pub(crate) fn new(digest: Digest, order: Option<KeyOrder>) -> Self {
        let key_order = order.map(|order| match order {
            KeyOrder::Rfc8785 => "rfc8785",
            KeyOrder::Legacy(locale) => locale,
        });
        Self { matches: order.is_some(), key_order, digest }
    }
}
