//! How answers are told to the package's JavaScript, which makes the documents of them that the command line tool
//! prints too; a test holds those against core's. Written by hand: a library for it is a tenth of what the module may
//! weigh, and what is not JSON need not be parsed.

use space_profiles_core::json::{JsonError, write_integer, write_string};
use space_profiles_core::snapshot::{Identity, Snapshot};
use space_profiles_core::{
    Digest, DocumentKind, Issue, KeyOrder, Kind, Place, ProfileDiff, Report, listed_errors, place_of_fault, places,
};

/// The answer to an input that was accepted.
pub(crate) fn told(out: &mut String, what: &str) {
    out.push('=');
    out.push_str(what);
}

/// The report on a text. Of a valid one its digest, identity columns and canonical text, each in a line of its own:
/// none of them can hold a line's end, and nothing has to be parsed. Then, or of an invalid one only, the issues and
/// in the next line their places, if there are any.
pub(crate) fn report(out: &mut String, report: &Report<'_>, of: &[u8]) {
    out.push(if report.is_valid() { '=' } else { '!' });
    if let Some(snapshot) = &report.snapshot {
        let Identity { selection, dimension, vector_space_id } = snapshot.identity();
        snapshot.digest().push_to(out);
        for column in [selection.plugin_id(), selection.provider(), selection.model()] {
            out.push('\n');
            out.push_str(column);
        }
        out.push('\n');
        if let Some(dimension) = dimension {
            write_integer(out, dimension.get().into());
        }
        out.push('\n');
        if let Some(id) = vector_space_id {
            id.push_to(out);
        }
        out.push('\n');
        snapshot.push_canonical_to(out);
    }
    if !report.issues.is_empty() {
        if report.is_valid() {
            out.push('\n');
        }
        issues(out, &report.issues);
        write_places(out, places(of, &report.issues));
    }
}

/// The refusal of a text that is not JSON, and in a second line its place.
pub(crate) fn fault(out: &mut String, fault: &JsonError, of: &[u8]) {
    out.push('!');
    let mut object = Object::begin(out);
    object.string("code", fault.code());
    object.string("message", &fault.to_string());
    object.string("path", fault.pointer.as_str());
    object.end();
    write_places(out, vec![place_of_fault(of, fault)]);
}

/// The refusal of a snapshot that was to be compared, and in a second line the places of its issues.
pub(crate) fn invalid_snapshot(out: &mut String, argument: &str, kind: Kind, found: &[Issue], of: &[u8]) {
    invalid(
        out,
        "SNAPSHOT_INVALID",
        "the snapshot is not valid: ",
        &[("argument", argument), ("kind", kind.as_str())],
        found,
        of,
    );
}

/// The refusal of material, and in a second line the places of its issues.
pub(crate) fn invalid_material(out: &mut String, found: &[Issue], of: &[u8]) {
    invalid(out, "ARGUMENT_INVALID", "the material is not valid: ", &[("argument", "material")], found, of);
}

fn invalid(out: &mut String, code: &str, what: &str, members: &[(&str, &str)], found: &[Issue], of: &[u8]) {
    out.push('!');
    let mut object = Object::begin(out);
    object.string("code", code);
    let mut message = String::from(what);
    message.push_str(&listed_errors(found));
    object.string("message", &message);
    for (name, value) in members {
        object.string(name, value);
    }
    issues(object.member("issues"), found);
    object.end();
    write_places(out, places(of, found));
}

/// What changed between two snapshots.
pub(crate) fn diff(out: &mut String, from: &Snapshot, to: &Snapshot, diff: &ProfileDiff) {
    out.push('=');
    let mut object = Object::begin(out);
    write_integer(object.member("from"), from.revision().get().into());
    write_integer(object.member("to"), to.revision().get().into());
    object.member("needsReembedding").push_str(if diff.needs_reembedding { "true" } else { "false" });
    list(object.member("changes"), &diff.changes, |out, change| {
        let mut object = Object::begin(out);
        object.string("path", change.pointer.as_str());
        // Canonical text is JSON.
        for (name, value) in [("before", &change.before), ("after", &change.after)] {
            if let Some(value) = value {
                object.member(name).push_str(value);
            }
        }
        object.end();
    });
    object.end();
}

/// Whether a digest is a text's.
pub(crate) fn verification(out: &mut String, digest: Digest, order: Option<KeyOrder>) {
    out.push('=');
    let mut object = Object::begin(out);
    object.member("matches").push_str(if order.is_some() { "true" } else { "false" });
    match order {
        None => object.member("keyOrder").push_str("null"),
        Some(KeyOrder::Rfc8785) => object.string("keyOrder", "rfc8785"),
        Some(KeyOrder::Legacy(locale)) => object.string("keyOrder", locale),
    }
    let digest = digest.to_hex();
    // Hex digits are ASCII.
    object.string("digest", std::str::from_utf8(&digest).unwrap_or_default());
    object.end();
}

fn issues(out: &mut String, issues: &[Issue]) {
    list(out, issues, |out, issue| {
        let mut object = Object::begin(out);
        if issue.document == DocumentKind::Capability {
            object.string("document", "capability");
        }
        object.string("path", issue.pointer.as_str());
        object.string("code", issue.code.as_str());
        object.string("message", &issue.message);
        object.string("severity", issue.severity().as_str());
        object.end();
    });
}

fn write_places(out: &mut String, places: Vec<Option<Place>>) {
    out.push('\n');
    list(out, &places, |out, place| match place {
        None => out.push_str("null"),
        Some(Place { start, end, line, column }) => {
            list(out, &[*start, *end, *line, *column], |out, number| write_integer(out, *number as u64));
        }
    });
}

fn list<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// A JSON object that is being written.
struct Object<'o> {
    out: &'o mut String,
    is_empty: bool,
}

impl<'o> Object<'o> {
    fn begin(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, is_empty: true }
    }

    /// A member whose value, JSON text, is to be written next.
    fn member(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        write_string(self.out, name);
        self.out.push(':');
        self.out
    }

    fn string(&mut self, name: &str, value: &str) {
        write_string(self.member(name), value);
    }

    fn end(self) {
        self.out.push('}');
    }
}
