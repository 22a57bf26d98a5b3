//! Errors: for people with what to do next, for scripts as JSON.

use std::io::Write as _;

use owo_colors::OwoColorize as _;
use serde_json::{Map, Value, json};
use space_profiles_core::{ArgumentError, Error, Issue, Refusal};

use super::text::{indented, plain};
use crate::exit::Failure;

/// Prints why a command failed, to standard error.
pub(crate) fn print(failure: &Failure, is_json: bool) {
    if matches!(failure, Failure::ClosedOutput) {
        return;
    }
    let text = if is_json { document(failure).to_string() } else { sentence(failure) };
    // Nobody is left to be told of an error here.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints what clap has to say, and tells the exit code: help that was asked for, or wrong usage.
pub(crate) fn print_usage(error: &clap::Error) -> u8 {
    if !error.use_stderr() || !std::env::args_os().any(|argument| argument == "--json") {
        // Nobody is left to be told of an error here.
        let _ = error.print();
        return u8::try_from(error.exit_code()).unwrap_or(2);
    }
    let text = error.render().to_string();
    let sentence = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let message: Vec<&str> = sentence.split_whitespace().collect();
    let argument = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ArgumentError>());
    let document = match argument {
        Some(argument) => {
            json!({"code": "ARGUMENT_INVALID", "message": argument.to_string(), "field": argument.field})
        }
        None => json!({"code": "USAGE", "message": message.join(" ")}),
    };
    let _ = writeln!(std::io::stderr().lock(), "{}", json!({ "error": document }));
    2
}

fn document(failure: &Failure) -> Value {
    json!({ "error": members(failure) })
}

fn members(failure: &Failure) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("code".to_owned(), json!(failure.code()));
    error.insert("message".to_owned(), json!(failure.to_string()));
    match failure {
        Failure::Operation(Error::Refused(refusal)) => error.extend(details(refusal)),
        Failure::Json { error: fault, .. } => {
            error.insert("path".to_owned(), json!(fault.pointer.as_str()));
        }
        Failure::Midway { failure, document, .. } => {
            error = members(failure);
            error.insert("done".to_owned(), document.clone());
        }
        _ => {}
    }
    error
}

/// What belongs to a code. Null stands for none.
fn details(refusal: &Refusal) -> Map<String, Value> {
    let details = match refusal {
        Refusal::HeadConflict { expected, actual } => json!({"expected": expected, "actual": actual}),
        Refusal::RevisionConflict { expected, actual } => json!({"expected": expected, "actual": actual}),
        Refusal::CandidateExists { revision } => json!({"revision": revision}),
        Refusal::NotCandidate { state, .. } | Refusal::NotRestorable { state, .. } => json!({"state": state}),
        Refusal::NotFailed(state) => json!({"state": state}),
        Refusal::SnapshotInvalid { issues } => json!({"issues": issues}),
        Refusal::ArgumentInvalid(error) => json!({"field": error.field}),
        Refusal::OfKind { kind, refusal } => {
            let mut inner = details(refusal);
            inner.insert("kind".to_owned(), json!(kind));
            return inner;
        }
        _ => return Map::new(),
    };
    match details {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn sentence(failure: &Failure) -> String {
    let error = "error:".red();
    let error = error.bold();
    let code = format!("({})", failure.code());
    let code = code.dimmed();
    let why = plain(failure.to_string());
    match failure {
        Failure::Operation(Error::Refused(Refusal::SnapshotInvalid { issues })) => {
            format!("{error} the snapshot is not valid {code}\n{}", listed(issues))
        }
        Failure::Midway { failure, text, .. } => format!("{}\n{text}", sentence(failure)),
        _ => {
            // A list stands below its sentence and the code.
            let (why, list) = match why.split_once(":\n") {
                Some((why, list)) => (why, format!("\n{list}")),
                None => (why.as_str(), String::new()),
            };
            let step = next_step(failure).map_or_else(String::new, |step| format!("\n  {step}"));
            format!("{error} {why} {code}{list}{step}")
        }
    }
}

fn listed(issues: &[Issue]) -> String {
    let lines: Vec<String> = issues.iter().map(|issue| indented(&issue.to_string())).collect();
    lines.join("\n")
}

/// What to do about an error, where its sentence does not say it.
fn next_step(failure: &Failure) -> Option<&'static str> {
    Some(match failure.code() {
        "HEAD_CONFLICT" => "`space-profiles show SCOPE` shows what is active now",
        "CANDIDATE_EXISTS" => "`space-profiles activate SCOPE N --expect M` or `space-profiles fail SCOPE N …`",
        "REVISION_CONFLICT" => {
            "set the snapshot's `revision` to the expected number; `space-profiles log SCOPE` lists the scope's"
        }
        "ADOPTION_PENDING" => {
            "`space-profiles backfill run --catalog FILE` adopts it; `--ignore-legacy` leaves it"
        }
        "NO_CHANGE" => "`propose` and `publish` make a revision all the same with `--allow-unchanged`",
        "NOT_CANDIDATE" => {
            "`space-profiles restore SCOPE N --expect M` rolls back to a revision that was active once"
        }
        "SNAPSHOT_CORRUPT" | "HEAD_INVALID" => "`space-profiles audit` lists what is broken",
        "BACKFILL_NOT_FOUND" => "`space-profiles backfill list` lists what there is",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind of store has other time-outs, and says so itself.
    #[test]
    fn a_busy_store_is_given_no_advice_that_may_be_for_another_kind_of_store() {
        let busy = space_profiles_core::StoreError::new(space_profiles_core::StoreCode::Busy, "busy");
        assert_eq!(next_step(&busy.into()), None);
    }
}
