//! Tables that a person likes to read.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use owo_colors::OwoColorize as _;
use space_profiles_core::decide::RevisionEntry;
use space_profiles_core::snapshot::{Profile, Selection, Switch};
use space_profiles_core::{
    ActiveProfile, Issue, ProfileDiff, Report, Revision, RevisionState, Severity, SpaceRow,
};

use super::text::{plain, short, time};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    if !header.is_empty() {
        table.set_header(header);
    }
    table
}

/// A table of names and values.
struct Fields(Table);

impl Fields {
    fn new() -> Self {
        Self(table(&[]))
    }

    fn row(&mut self, name: &str, value: impl ToString) {
        self.0.add_row([name.to_owned(), plain(value.to_string())]);
    }

    fn profile(&mut self, profile: &Profile<'_>) {
        match profile {
            Profile::Embedding(_) => {
                let identity = profile.identity();
                self.row("model", named(identity.selection));
                if let Some(dimension) = identity.dimension {
                    self.row("dimension", dimension);
                }
                if let Some(id) = identity.vector_space_id {
                    self.row("vector space", id);
                }
            }
            Profile::Retrieval(retrieval) => {
                self.row("mode", retrieval.default_mode().as_str());
                self.row("reasoning model", named(retrieval.reasoning_model()));
                self.row("rerank", switch(retrieval.rerank(), named));
                let threshold = retrieval.score_threshold();
                let value = switch(threshold.value(), f64::to_string);
                self.row("score threshold", format!("{value}, {}", threshold.stage().as_str()));
                self.row("top k", retrieval.top_k());
            }
        }
    }
}

fn named(selection: &Selection<'_>) -> String {
    format!("{} ({} of {})", selection.model(), selection.provider(), selection.plugin_id())
}

fn switch<T>(switch: &Switch<T>, text: impl Fn(&T) -> String) -> String {
    match (switch.is_on(), switch.value()) {
        (true, Some(value)) => text(value),
        (false, Some(value)) => format!("off ({})", text(value)),
        (_, None) => "off".to_owned(),
    }
}

/// The active profile, field by field.
pub(crate) fn profile(profile: &ActiveProfile) -> String {
    let mut fields = fields(&profile.revision);
    fields.row("row version", profile.head.row_version);
    titled(&profile.revision, &fields)
}

/// One revision, field by field.
pub(crate) fn revision(revision: &Revision) -> String {
    titled(revision, &fields(revision))
}

fn titled(revision: &Revision, fields: &Fields) -> String {
    format!("{}\n{}", plain(revision.scope.to_string()).bold(), fields.0)
}

fn fields(revision: &Revision) -> Fields {
    let by = |by: &Option<String>| by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    let mut fields = Fields::new();
    fields.row("revision", format!("{} ({})", revision.number(), revision.status()));
    fields.profile(revision.snapshot.profile());
    fields.row("proposed", format!("{} by {}", time(revision.created_at), revision.created_by));
    if let Some(activation) = revision.state.activation() {
        fields.row("activated", format!("{}{}", time(activation.at), by(&activation.by)));
    }
    match &revision.state {
        RevisionState::Superseded { superseded_at, .. } => fields.row("superseded", time(*superseded_at)),
        RevisionState::Failed { failure, failed_at, failed_by } => {
            fields.row("failed", format!("{}{}", time(*failed_at), by(failed_by)));
            fields.row("failure", format!("{}: {}", failure.code, failure.message));
        }
        RevisionState::Candidate | RevisionState::Active(_) => {}
    }
    fields.row("digest", revision.snapshot.digest());
    fields.row("capability", revision.capability.digest());
    fields
}

/// Leaves columns out on a terminal with less than `room` columns of text, where every word would be broken.
fn leave_out(table: &mut Table, room: u16, names: &[&str], header: &[&str]) {
    if table.width().is_none_or(|width| width >= room) {
        return;
    }
    for (index, _) in header.iter().enumerate().filter(|(_, name)| names.contains(name)) {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
}

const HISTORY: &[&str] = &["revision", "state", "model", "dimension", "proposed", "by", "activated", "digest"];

/// A history.
pub(crate) fn history(items: &[RevisionEntry]) -> String {
    if items.is_empty() {
        return "no revisions".to_owned();
    }
    let mut table = table(HISTORY);
    for item in items {
        let cells = match item {
            Ok(revision) => {
                let identity = revision.snapshot.identity();
                let activation = revision.state.activation();
                [
                    revision.number().to_string(),
                    revision.status().to_string(),
                    identity.selection.model().to_owned(),
                    identity.dimension.map_or_else(String::new, |dimension| dimension.to_string()),
                    time(revision.created_at),
                    revision.created_by.clone(),
                    activation.map_or_else(String::new, |activation| time(activation.at)),
                    short(revision.snapshot.digest()),
                ]
            }
            Err(corruption) => {
                let empty = String::new;
                let number = corruption.revision.to_string();
                [number, "CORRUPT".to_owned(), empty(), empty(), empty(), empty(), empty(), empty()]
            }
        };
        table.add_row(cells.map(plain));
    }
    leave_out(&mut table, 130, &["dimension", "proposed", "by"], HISTORY);
    leave_out(&mut table, 90, &["digest"], HISTORY);
    let broken = items.iter().filter_map(|item| item.as_ref().err());
    let notes: Vec<String> = broken
        .map(|corruption| format!("{} {}", "SNAPSHOT_CORRUPT".red(), plain(corruption.to_string())))
        .collect();
    match notes.as_slice() {
        [] => table.to_string(),
        notes => format!("{table}\n{}", notes.join("\n")),
    }
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
        lines.push(format!("{} {}", "needs re-embedding:".yellow().bold(), plain(reasons.join(", "))));
    } else {
        lines.push("needs no re-embedding".to_owned());
    }
    for change in &diff.changes {
        lines.push(change.pointer.bold().to_string());
        if let Some(before) = &change.before {
            lines.push(format!("  {}", format!("- {}", plain(before)).red()));
        }
        if let Some(after) = &change.after {
            lines.push(format!("  {}", format!("+ {}", plain(after)).green()));
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
pub(crate) fn report(report: &Report<'_>) -> String {
    let mut parts = Vec::new();
    match &report.snapshot {
        Some(snapshot) => {
            let mut fields = Fields::new();
            fields.profile(snapshot.profile());
            fields.row("digest", snapshot.digest());
            let valid = "valid".green();
            parts.push(format!("{} {} snapshot, revision {}", valid.bold(), report.kind, snapshot.revision()));
            parts.push(fields.0.to_string());
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
        table.add_row([plain(place), code, plain(&issue.message)]);
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
        let state = if row.deletion_job.is_some() { "being deleted" } else { &row.lifecycle_state };
        table.add_row([plain(row.space.to_string()), plain(&row.name), plain(state), time(row.created_at)]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: u16) -> String {
        let mut table = table(HISTORY);
        table.set_width(width);
        table.add_row([
            "1",
            "superseded",
            "text-embedding-3-small",
            "1536",
            "2026-07-14 12:00:00Z",
            "user:ann",
            "2026-07-14 12:00:00Z",
            "0123456789ab…",
        ]);
        leave_out(&mut table, 130, &["dimension", "proposed", "by"], HISTORY);
        leave_out(&mut table, 90, &["digest"], HISTORY);
        table.to_string()
    }

    #[test]
    fn a_history_leaves_columns_out_before_it_breaks_words() {
        for width in [80, 100, 140] {
            let shown = shown(width);
            assert_eq!(shown.lines().count(), 5, "no word is broken at {width}:\n{shown}");
            assert!(shown.lines().all(|line| line.chars().count() <= usize::from(width)), "{shown}");
            assert!(shown.contains("text-embedding-3-small") && shown.contains("2026-07-14 12:00:00Z"));
        }
        assert!(shown(140).contains("user:ann") && !shown(100).contains("user:ann"));
        assert!(shown(100).contains("0123456789ab…") && !shown(80).contains("0123456789ab…"));
    }
}
