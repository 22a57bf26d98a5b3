//! Lists, for what is too long for a table: scopes stay whole, so that they can be copied.

use owo_colors::OwoColorize as _;
use space_profiles_core::{Backfill, BackfillState, BackfillStatus, Finding, Severity};

use super::json::{FailedDocument, SummaryDocument};
use super::tables::counts;
use super::text::{indented, plain, time};

/// What an adoption or a run of backfills did.
pub(crate) fn summary(summary: &SummaryDocument) -> String {
    let mut rows = Vec::new();
    rows.extend(summary.imported.map(|imported| ("manifests imported", imported)));
    rows.extend([
        ("profiles discovered", summary.discovered),
        ("installed", summary.installed),
        ("already installed", summary.already_installed),
        ("failed", summary.failed.len() as u64),
        ("pending", summary.pending),
    ]);
    below(counts(&rows), &summary.failed)
}

/// What to do about what failed or is left.
pub(crate) fn next_steps(summary: &SummaryDocument) -> String {
    let of_models =
        |item: &&FailedDocument| item.code.starts_with("MODEL_") || item.code.starts_with("EMBEDDING_");
    let mut steps = String::new();
    if summary.failed.iter().any(|item| of_models(&item)) {
        steps.push_str(
            "\nMODEL_*: mend the catalog, then `space-profiles backfill retry SCOPE` and this command again",
        );
    }
    if summary.failed.iter().any(|item| item.code.starts_with("LEGACY_")) {
        steps.push_str("\nLEGACY_*: mend the manifest and give it a higher manifestVersion, then adopt it again");
    }
    if summary.pending > 0 {
        steps.push_str(
            "\npending: leased by a worker or due later; `space-profiles backfill list --state running` and \
             `--state queued` say until when",
        );
    }
    steps
}

/// What failed, if anything did, below something else.
pub(crate) fn below(above: String, failed: &[FailedDocument]) -> String {
    if failed.is_empty() {
        return above;
    }
    let items: Vec<String> = failed.iter().map(failure).collect();
    format!("{above}\n{}", items.join("\n"))
}

fn failure(item: &FailedDocument) -> String {
    let place = match (&item.scope, item.line) {
        (Some(scope), _) => plain(scope),
        (None, Some(line)) => format!("line {line}"),
        // The message says where.
        (None, None) => String::new(),
    };
    let why = match item.issues.as_slice() {
        [] => item.message.clone(),
        issues => issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    let code = item.code.red();
    let title = if place.is_empty() { code.to_string() } else { format!("{}  {code}", place.bold()) };
    format!("{title}\n{}", indented(&why))
}

/// Backfills, one a line, and below it what there is to say of it.
pub(crate) fn backfills(rows: &[Backfill]) -> String {
    if rows.is_empty() {
        return "no backfills".to_owned();
    }
    let lines: Vec<String> = rows.iter().map(backfill).collect();
    lines.join("\n")
}

fn backfill(row: &Backfill) -> String {
    // As wide as the longest state.
    let state = format!("{:9}", row.status().as_str());
    let state = match row.status() {
        BackfillStatus::Failed => state.red().to_string(),
        BackfillStatus::Succeeded => state.green().to_string(),
        BackfillStatus::Queued | BackfillStatus::Running => state,
    };
    let attempts = format!("{} of {}", row.attempts, row.max_attempts);
    let line = format!("{state}  {attempts}  {}  {}", time(row.updated_at), plain(row.scope.to_string()));
    let why = match &row.state {
        BackfillState::Failed { failure, .. } => format!("{}: {}", failure.code, failure.message),
        BackfillState::Running { worker, lease_expires_at, .. } => {
            format!("leased to {worker} until {}", time(*lease_expires_at))
        }
        BackfillState::Queued => match &row.retry {
            Some(failure) => format!("due {} after {}: {}", time(row.due_at), failure.code, failure.message),
            None => return line,
        },
        BackfillState::Succeeded { .. } => return line,
    };
    format!("{line}\n{}", indented(&why))
}

/// Broken rules.
pub(crate) fn findings(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(finding).collect();
    lines.join("\n")
}

fn finding(finding: &Finding) -> String {
    let severity = finding.severity.as_str();
    let severity = match finding.severity {
        Severity::Error => severity.red().to_string(),
        Severity::Warning => severity.yellow().to_string(),
    };
    let place = match &finding.scope {
        Some(scope) => plain(scope.to_string()),
        None => "the schema".to_owned(),
    };
    let row = finding.id.map_or_else(String::new, |id| format!("  row {id}"));
    format!("{severity}  {}  {}{row}\n{}", place.bold(), finding.rule, indented(&finding.message))
}
