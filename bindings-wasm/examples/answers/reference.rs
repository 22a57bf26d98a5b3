//! Core's answers, in the forms that the package's documentation promises.

use serde_json::{Value, json};
use space_profiles_core::json::{self, JsonError, Limits, Pointer};
use space_profiles_core::snapshot::{VectorSpaceId, capability_digest, validate, validate_either};
use space_profiles_core::{
    Digest, Issue, KeyOrder, Kind, Place, ProfileDiff, Report, listed_errors, place_of_fault, places,
    stored_key_order,
};

pub(crate) fn answers(text: &[u8], previous: &[u8]) -> Value {
    let canonical = json::canonicalize(text, Limits::ANY);
    let digest = json::digest(text, Limits::ANY);
    let claimed = digest.clone().unwrap_or_else(|_| Digest::of(b""));
    json!({
        "canonicalize": canonical.map_or_else(|error| fault(&error, text), |text| json!({ "ok": text })),
        "digest": digest.clone().map_or_else(|error| fault(&error, text), |digest| json!({ "ok": digest })),
        "embedding": report(&validate(Kind::Embedding, text), text),
        "retrieval": report(&validate(Kind::Retrieval, text), text),
        "vectorSpaceId": material(VectorSpaceId::of_material(text).map(|id| id.to_string()), text),
        "capabilityDigest": material(capability_digest(text).map(|digest| format!("sha256:{digest}")), text),
        "diff": diff(previous, text),
        "verify": digest.map_or_else(|error| fault(&error, text), |_| verification(text, claimed)),
        "verifyOther": match json::digest(text, Limits::ANY) {
            Ok(_) => verification(text, Digest::of(b"something else")),
            Err(error) => fault(&error, text),
        },
    })
}

fn verification(text: &[u8], claimed: Digest) -> Value {
    let order = stored_key_order(text, claimed);
    let key_order = order.map(|order| match order {
        KeyOrder::Rfc8785 => "rfc8785",
        KeyOrder::Legacy(locale) => panic!("a collation was built in, which is not in the browser: {locale}"),
    });
    let digest = json::digest(text, Limits::ANY).unwrap();
    json!({ "ok": { "matches": order.is_some(), "keyOrder": key_order, "digest": digest } })
}

fn diff(from: &[u8], to: &[u8]) -> Value {
    let (one, two) = (validate_either(from), validate_either(to));
    for (argument, report, text) in [("from", &one, from), ("to", &two, to)] {
        if !report.is_valid() {
            return json!({ "error": {
                "code": "SNAPSHOT_INVALID",
                "message": format!("the snapshot is not valid: {}", listed_errors(&report.issues)),
                "argument": argument,
                "kind": report.kind,
                "issues": issues(&report.issues, text),
            }});
        }
    }
    let (one, two) = (one.snapshot.unwrap().into_owned(), two.snapshot.unwrap().into_owned());
    let diff = ProfileDiff::between(&one, &two);
    let changes = diff.changes.iter().map(|change| {
        let mut document = json!({ "path": change.pointer.as_str() });
        for (name, value) in [("before", &change.before), ("after", &change.after)] {
            if let Some(value) = value {
                document[name] = serde_json::from_str(value).unwrap();
            }
        }
        document
    });
    json!({ "ok": {
        "from": one.revision(), "to": two.revision(), "needsReembedding": diff.needs_reembedding,
        "changes": changes.collect::<Vec<_>>(),
    }})
}

fn material(derived: Result<String, Vec<Issue>>, text: &[u8]) -> Value {
    match derived {
        Ok(derived) => json!({ "ok": derived }),
        Err(found) => json!({ "error": {
            "code": "ARGUMENT_INVALID",
            "message": format!("the material is not valid: {}", listed_errors(&found)),
            "argument": "material",
            "issues": issues(&found, text),
        }}),
    }
}

/// The form of the command line tool, each issue with its place.
fn report(report: &Report<'_>, text: &[u8]) -> Value {
    let mut document = serde_json::to_value(report).unwrap();
    document["issues"] = issues(&report.issues, text);
    document
}

fn issues(issues: &[Issue], text: &[u8]) -> Value {
    let placed = issues.iter().zip(places(text, issues)).map(|(issue, place)| {
        let mut document = serde_json::to_value(issue).unwrap();
        add_place(&mut document, place);
        document
    });
    placed.collect()
}

fn fault(error: &JsonError, text: &[u8]) -> Value {
    let JsonError { pointer, .. } = error;
    let pointer: &Pointer = pointer;
    let mut document = json!({ "code": error.code(), "message": error.to_string(), "path": pointer.as_str() });
    let place = place_of_fault(text, error);
    add_place(&mut document, place);
    if let Some(place) = place {
        document["offset"] = place.start.into();
    }
    json!({ "error": document })
}

fn add_place(document: &mut Value, place: Option<Place>) {
    if let Some(Place { start, end, line, column }) = place {
        for (name, value) in [("start", start), ("end", end), ("line", line), ("column", column)] {
            document[name] = value.into();
        }
    }
}
