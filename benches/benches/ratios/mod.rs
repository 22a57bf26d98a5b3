//! What criterion measured, as ratios: it compares a run with the last one, not what is in one.

use std::fs;
use std::path::{Path, PathBuf};

use benches::machine::Machine;
use benches::results::{Results, Row};
use criterion::Criterion;
use serde::Deserialize;

/// Runs benchmarks of one group, whose ids are a subject and a case, and prints the medians and the ratios to one of
/// the subjects.
pub(crate) fn run(group: &str, reference: &str, bench: impl FnOnce(&mut Criterion)) {
    let folder = folder();
    let mut criterion = Criterion::default().output_directory(&folder).configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
    let rows = rows(&folder.join(group));
    // `cargo test` runs benchmarks without measuring.
    if !rows.is_empty() && std::env::args().any(|argument| argument == "--bench") {
        let command = format!("cargo bench --package space-profiles-benches --bench {group}");
        let results = Results {
            bench: group.to_owned(),
            command,
            machine: Machine::this(),
            rows,
            bytes: Default::default(),
        };
        println!("{}", results.table(reference));
    }
}

/// Beside what Cargo builds, wherever that is.
fn folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(3).unwrap_or(Path::new("target")).join("criterion")
}

/// What criterion keeps of each benchmark.
#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    times: Vec<f64>,
}

fn rows(group: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for subject in folders(group) {
        for case in folders(&subject) {
            let text = fs::read_to_string(case.join("new/sample.json"));
            let Some(Samples { iters, times }) = text.ok().and_then(|text| serde_json::from_str(&text).ok())
            else {
                continue;
            };
            let samples = times.iter().zip(&iters).map(|(time, repeats)| time / repeats).collect();
            rows.push(Row::new(name(&case), name(&subject), samples));
        }
    }
    rows.sort_by(|one, other| one.case.cmp(&other.case));
    rows
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
