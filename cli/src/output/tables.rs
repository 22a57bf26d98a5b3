//! Tables that a person likes to read.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use owo_colors::OwoColorize as _;
use space_profiles_core::decide::RevisionEntry;
use space_profiles_core::{
    ActiveProfile, Backfill, BackfillState, Finding, Issue, ProfileDiff, Report, Revision, RevisionState,
    Severity, SpaceRow, Timestamp,
};

use super::json::{FailedDocument, SummaryDocument};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    if !header.is_empty() {
        table.set_header(header);
    }
    table
}

/// To the second, which is what people compare.
fn time(moment: Timestamp) -> String {
    let text = moment.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => text,
    }
}

/// Enough of a digest to tell it from others.
fn short(digest: impl ToString) -> String {
    let digest = digest.to_string();
    let (prefix, hex) = digest.rsplit_once(':').map_or(("", digest.as_str()), |(_, hex)| ("", hex));
    let start: String = hex.chars().take(12).collect();
    format!("{prefix}{start}…")
}

/// The active profile, field by field.
pub(crate) fn profile(profile: &ActiveProfile) -> String {
    let mut table = fields(&profile.revision);
    table.add_row(["row version".to_owned(), profile.head.row_version.to_string()]);
    format!("{}\n{table}", profile.revision.scope.bold())
}

/// One revision, field by field.
pub(crate) fn revision(revision: &Revision) -> String {
    format!("{}\n{}", revision.scope.bold(), fields(revision))
}

fn fields(revision: &Revision) -> Table {
    let identity = revision.snapshot.identity();
    let mut table = table(&[]);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("revision", format!("{} ({})", revision.number(), revision.status()));
    row("model", identity.selection.model().to_owned());
    row("provider", format!("{} of {}", identity.selection.provider(), identity.selection.plugin_id()));
    if let Some(dimension) = identity.dimension {
        row("dimension", dimension.to_string());
    }
    if let Some(id) = identity.vector_space_id {
        row("vector space", id.to_string());
    }
    row("proposed", format!("{} by {}", time(revision.created_at), revision.created_by));
    if let Some(activation) = revision.state.activation() {
        let by = activation.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        row("activated", format!("{}{by}", time(activation.at)));
    }
    match &revision.state {
        RevisionState::Superseded { superseded_at, .. } => row("superseded", time(*superseded_at)),
        RevisionState::Failed { failure, failed_at, failed_by } => {
            let by = failed_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            row("failed", format!("{}{by}", time(*failed_at)));
            row("failure", format!("{}: {}", failure.code, failure.message));
        }
        RevisionState::Candidate | RevisionState::Active(_) => {}
    }
    row("snapshot", revision.snapshot.canonical().to_owned());
    row("digest", revision.snapshot.digest().to_string());
    table
}

/// A history.
pub(crate) fn history(items: &[RevisionEntry]) -> String {
    if items.is_empty() {
        return "no revisions".to_owned();
    }
    let mut table = table(&["", "state", "model", "dimension", "proposed", "by", "activated", "digest"]);
    for item in items {
        match item {
            Ok(revision) => {
                let identity = revision.snapshot.identity();
                let activated =
                    revision.state.activation().map_or_else(String::new, |activation| time(activation.at));
                table.add_row([
                    revision.number().to_string(),
                    revision.status().to_string(),
                    identity.selection.model().to_owned(),
                    identity.dimension.map_or_else(String::new, |dimension| dimension.to_string()),
                    time(revision.created_at),
                    revision.created_by.clone(),
                    activated,
                    short(revision.snapshot.digest()),
                ]);
            }
            Err(corruption) => {
                table.add_row([corruption.revision.to_string(), "CORRUPT".to_owned(), corruption.what.clone()]);
            }
        }
    }
    table.to_string()
}

/// What changed between two snapshots.
pub(crate) fn diff(diff: &ProfileDiff) -> String {
    if diff.changes.is_empty() {
        return "nothing changed".to_owned();
    }
    let mut lines = Vec::new();
    if diff.needs_reembedding {
        let reasons: Vec<String> = diff
            .changes
            .iter()
            .filter(|change| change.pointer.as_str() != "/revision")
            .map(|change| {
                let name = change.pointer.as_str().trim_start_matches('/');
                let side = |text: &Option<String>| text.as_deref().map_or_else(|| "none".to_owned(), brief);
                format!("{name} {} to {}", side(&change.before), side(&change.after))
            })
            .collect();
        lines.push(format!("{} {}", "needs re-embedding:".yellow().bold(), reasons.join(", ")));
    } else {
        lines.push("needs no re-embedding".to_owned());
    }
    for change in &diff.changes {
        lines.push(change.pointer.bold().to_string());
        if let Some(before) = &change.before {
            lines.push(format!("  {}", format!("- {before}").red()));
        }
        if let Some(after) = &change.after {
            lines.push(format!("  {}", format!("+ {after}").green()));
        }
    }
    lines.join("\n")
}

/// A value in a sentence: vector space ids by their first digits.
fn brief(json: &str) -> String {
    let text = json.trim_matches('"');
    if text.starts_with("embedding-space-sha256:") { short(text) } else { text.to_owned() }
}

/// What validation says.
pub(crate) fn report(report: &Report) -> String {
    let mut parts = Vec::new();
    match &report.snapshot {
        Some(snapshot) => {
            let identity = snapshot.identity();
            let mut table = table(&[]);
            table.add_row(["model", identity.selection.model()]);
            table.add_row(["provider", identity.selection.provider()]);
            table.add_row(["plugin", identity.selection.plugin_id()]);
            if let Some(dimension) = identity.dimension {
                table.add_row(["dimension".to_owned(), dimension.to_string()]);
            }
            if let Some(id) = identity.vector_space_id {
                table.add_row(["vector space".to_owned(), id.to_string()]);
            }
            table.add_row(["digest".to_owned(), snapshot.digest().to_string()]);
            parts.push(format!(
                "{} {} snapshot, revision {}",
                "valid".green().bold(),
                report.kind,
                snapshot.revision()
            ));
            parts.push(table.to_string());
        }
        None => parts.push(format!("{} {} snapshot", "not a valid".red().bold(), report.kind)),
    }
    if !report.issues.is_empty() {
        parts.push(issues(&report.issues));
    }
    parts.join("\n")
}

fn issues(issues: &[Issue]) -> String {
    let mut table = table(&["place", "code", "what is wrong"]);
    for issue in issues {
        let place = if issue.pointer.is_root() { "(whole text)" } else { issue.pointer.as_str() };
        let code = match issue.severity() {
            Severity::Error => issue.code.as_str().to_owned(),
            Severity::Warning => format!("{} (warning)", issue.code.as_str()),
        };
        table.add_row([place.to_owned(), code, issue.message.clone()]);
    }
    table.to_string()
}

/// Spaces.
pub(crate) fn spaces(rows: &[SpaceRow]) -> String {
    if rows.is_empty() {
        return "no spaces".to_owned();
    }
    let mut table = table(&["space", "name", "state", "added"]);
    for row in rows {
        let state = if row.has_deletion_job { "being deleted".to_owned() } else { row.lifecycle_state.clone() };
        table.add_row([row.space.to_string(), row.name.clone(), state, time(row.created_at)]);
    }
    table.to_string()
}

/// Backfills.
pub(crate) fn backfills(rows: &[Backfill]) -> String {
    if rows.is_empty() {
        return "no backfills".to_owned();
    }
    let mut table = table(&["scope", "state", "attempts", "since", "why"]);
    for row in rows {
        let why = match &row.state {
            BackfillState::Failed { failure, .. } => format!("{}: {}", failure.code, failure.message),
            BackfillState::Running { worker, lease_expires_at, .. } => {
                format!("leased to {worker} until {}", time(*lease_expires_at))
            }
            BackfillState::Queued => match &row.retry {
                Some(failure) => format!("due {} after {}", time(row.due_at), failure.code),
                None => format!("due {}", time(row.due_at)),
            },
            BackfillState::Succeeded { .. } => String::new(),
        };
        table.add_row([
            row.scope.to_string(),
            row.status().to_string(),
            format!("{} of {}", row.attempts, row.max_attempts),
            time(row.updated_at),
            why,
        ]);
    }
    table.to_string()
}

/// Counts with their names.
pub(crate) fn counts(rows: &[(&str, u64)]) -> String {
    let mut table = table(&[]);
    for (name, count) in rows {
        table.add_row([(*name).to_owned(), count.to_string()]);
    }
    table.to_string()
}

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
    let mut text = counts(&rows);
    if !summary.failed.is_empty() {
        text = format!("{text}\n{}", failed(&summary.failed));
    }
    text
}

/// What failed while the rest went on.
pub(crate) fn failed(items: &[FailedDocument]) -> String {
    let mut table = table(&["where", "code", "why"]);
    for item in items {
        let place = match (&item.scope, item.line) {
            (Some(scope), _) => scope.clone(),
            (None, Some(line)) => format!("line {line}"),
            (None, None) => String::new(),
        };
        let mut why = vec![item.message.clone()];
        why.extend(item.issues.iter().skip(1).map(ToString::to_string));
        table.add_row([place, item.code.clone(), why.join("\n")]);
    }
    table.to_string()
}

/// Broken rules.
pub(crate) fn findings(findings: &[Finding]) -> String {
    let mut table = table(&["where", "rule", "severity", "what was found"]);
    for finding in findings {
        let place = finding.scope.as_ref().map_or_else(|| "the schema".to_owned(), ToString::to_string);
        table.add_row([
            place,
            finding.rule.to_owned(),
            finding.severity.as_str().to_owned(),
            finding.message.clone(),
        ]);
    }
    table.to_string()
}
