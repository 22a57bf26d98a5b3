//! What all benchmarks found, beside the goals: a page for people and a plot.

mod goals;
mod plot;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::results::{Quartiles, Results, duration, ratio};
use goals::{Bound, Found, GOALS, Goal};

/// Each benchmark, and the subject that its table's ratios are to.
const BENCHES: [(&str, &str); 5] = [
    ("digest", "sha256"),
    ("postgres", "knowledge-fs"),
    ("ledger", "graphile-worker"),
    ("sqlite", "rusqlite by hand"),
    ("wasm", "zod"),
];

/// Writes `REPORT.md` and `REPORT.svg` from the JSON of `results` and the pages of `notes`, all in one folder.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    let mut all = BTreeMap::new();
    for (bench, _) in BENCHES {
        let file = folder.join(format!("results/{bench}.json"));
        if file.exists() {
            all.insert(bench.to_owned(), Results::read(&file)?);
        }
    }
    let put = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("{}", file.display()))
    };
    put("REPORT.md", page(&all, &notes(&folder.join("notes"))?))?;
    put("REPORT.svg", plot::draw(&all))
}

/// The pages of a folder, by name.
fn notes(folder: &Path) -> anyhow::Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files.iter().map(|file| Ok(fs::read_to_string(file)?.trim().to_owned())).collect()
}

fn page(all: &BTreeMap<String, Results>, notes: &[String]) -> String {
    let mut out = String::from(
        "# How fast it is\n\n\
         `cargo xtask bench report` writes this page from what the benchmarks found. Every figure is a ratio to \
         something that was measured in the same run, in turn with it, sample by sample; the quartiles are those of \
         the samples' ratios.\n\n\
         ![Our times beside those of what they are compared with, and the goals](REPORT.svg)\n\n## Goals\n\n",
    );
    out.push_str(
        "| | goal | measured | quartiles | | run again with |\n| --- | --- | ---: | ---: | --- | --- |\n",
    );
    for goal in &GOALS {
        line(&mut out, goal, goal.found(all).as_ref());
    }
    if !all.is_empty() {
        out.push_str("\n## On what it ran\n\n");
    }
    for results in all.values() {
        let machine = &results.machine;
        let _ = write!(
            out,
            "- {}: {}, {} cores; {}; {}",
            results.bench, machine.processor, machine.cores, machine.system, machine.rustc
        );
        for (program, version) in &machine.programs {
            let _ = write!(out, "; {program}: {version}");
        }
        out.push('\n');
    }
    for (bench, reference) in BENCHES {
        if let Some(results) = all.get(bench) {
            table(&mut out, results, reference);
        }
    }
    for note in notes {
        let _ = write!(out, "\n{note}\n");
    }
    out
}

fn line(out: &mut String, goal: &Goal, found: Option<&Found>) {
    let wanted = match goal.bound {
        Bound::Time { at_most, .. } => format!("≤ {at_most} × the time of {}", goal.reference()),
        Bound::Rate { at_least, .. } => format!("≥ {at_least} × the rate of {}", goal.reference()),
        Bound::Size { at_most, .. } => format!("≤ {at_most} bytes"),
    };
    let (measured, spread) = match found {
        None => ("unmeasured".to_owned(), String::new()),
        Some(Found::Ratio { ratio, .. }) => {
            (format!("{:.2}", ratio.median), format!("{:.2} … {:.2}", ratio.lower, ratio.upper))
        }
        Some(Found::Size(bytes)) => (bytes.to_string(), String::new()),
    };
    let verdict = found.map_or("", |found| if goal.is_met(found) { "met" } else { "**not met**" });
    let _ = writeln!(
        out,
        "| {} | {wanted} | {measured} | {spread} | {verdict} | `cargo xtask bench {}` |",
        goal.work, goal.bench
    );
}

fn table(out: &mut String, results: &Results, reference: &str) {
    let _ = write!(
        out,
        "\n## {}\n\n`{}`\n\n| case | subject | median | quartiles | × {reference} | its quartiles |\n\
         | --- | --- | ---: | ---: | ---: | ---: |\n",
        results.bench, results.command
    );
    for row in &results.rows {
        let Quartiles { lower, upper, .. } = Quartiles::of(&row.samples_ns);
        let ratio = results.row(&row.case, reference).and_then(|reference| ratio(row, reference));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} … {} | {} | {} |",
            row.case,
            row.subject,
            duration(row.median_ns),
            duration(lower),
            duration(upper),
            ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
            ratio.map_or_else(String::new, |ratio| format!("{:.2} … {:.2}", ratio.lower, ratio.upper)),
        );
    }
    if !results.bytes.is_empty() {
        out.push_str("\n| size | bytes |\n| --- | ---: |\n");
    }
    for (name, bytes) in &results.bytes {
        let _ = writeln!(out, "| {name} | {bytes} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::results::Row;

    fn found() -> BTreeMap<String, Results> {
        let case = "propose + activate";
        let rows = vec![
            Row::new(case, "space-profiles", vec![80.0, 100.0, 120.0]),
            Row::new(case, "rusqlite by hand", vec![80.0, 80.0, 120.0]),
        ];
        let command = "cargo xtask bench sqlite".to_owned();
        let results = Results {
            bench: "sqlite".to_owned(),
            command,
            machine: Machine::this(),
            rows,
            bytes: BTreeMap::new(),
        };
        BTreeMap::from([("sqlite".to_owned(), results)])
    }

    #[test]
    fn a_goal_is_met_or_not_or_unmeasured() {
        let page = page(&found(), &["## Where the time goes".to_owned()]);
        assert!(page.contains("≥ 0.9 × the rate of rusqlite by hand | 1.00 | 0.90 … 1.00 | met |"), "{page}");
        assert!(
            page.contains("≤ 2.2 × the time of sha256 | unmeasured |  |  | `cargo xtask bench digest` |"),
            "{page}"
        );
        assert!(page.ends_with("\n## Where the time goes\n"), "{page}");
    }

    #[test]
    fn a_plot_shows_what_was_measured() {
        let plot = plot::draw(&found());
        assert!(plot.contains("propose + activate on SQLite") && !plot.contains("on Postgres"), "{plot}");
    }

    #[test]
    fn every_goal_names_a_benchmark() {
        assert!(GOALS.iter().all(|goal| BENCHES.iter().any(|(bench, _)| *bench == goal.bench)));
    }
}
