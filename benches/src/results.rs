//! What a benchmark found: as a table for people, as JSON for the report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// What one run of one benchmark found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The benchmark's name.
    pub bench: String,
    /// The command that runs it again.
    pub command: String,
    /// On what it ran.
    pub machine: Machine,
    /// Times, by case and subject.
    pub rows: Vec<Row>,
    /// Sizes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bytes: BTreeMap<String, u64>,
}

/// How long one subject took at one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was done.
    pub case: String,
    /// Who did it.
    pub subject: String,
    /// The median of the samples.
    pub median_ns: f64,
    /// Nanoseconds for each operation, one value a sample, in the order in which they were taken. The samples of the
    /// subjects of a case were taken in turn: the tenth of one was taken beside the tenth of another. Of a subject
    /// with several clients it is the time from one completion to the next, whichever client's.
    pub samples_ns: Vec<f64>,
}

impl Row {
    /// A row of these samples.
    pub fn new(case: impl Into<String>, subject: impl Into<String>, samples_ns: Vec<f64>) -> Self {
        let samples_ns: Vec<f64> = samples_ns.into_iter().map(|sample| (sample * 10.0).round() / 10.0).collect();
        Self {
            case: case.into(),
            subject: subject.into(),
            median_ns: Quartiles::of(&samples_ns).median,
            samples_ns,
        }
    }
}

/// The middle of some values, and the middles of their halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// A quarter of the values is below.
    pub lower: f64,
    /// Half of the values is below.
    pub median: f64,
    /// Three quarters of the values are below.
    pub upper: f64,
}

impl Quartiles {
    /// The quartiles of some values, interpolated between neighbours; NaN of none.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * sorted.len().saturating_sub(1) as f64;
            let value = |place: f64| sorted.get(place as usize).copied().unwrap_or(f64::NAN);
            value(place.floor()) + (value(place.ceil()) - value(place.floor())) * place.fract()
        };
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

impl Results {
    /// The row of a case and a subject.
    pub fn row(&self, case: &str, subject: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.case == case && row.subject == subject)
    }

    /// How many times the time of `of` the subject took, sample by sample.
    pub fn ratio(&self, case: &str, subject: &str, of: &str) -> Option<Quartiles> {
        ratio(self.row(case, subject)?, self.row(case, of)?)
    }

    /// Writes the JSON.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        }
        fs::write(file, text).with_context(|| format!("{}", file.display()))
    }

    /// Reads the JSON.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is none of these.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{}", file.display()))
    }

    /// A table with a row for each case and subject; ratios are to the subject `reference` of the same case.
    pub fn table(&self, reference: &str) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["case", "subject", "median", "quartiles", &format!("× {reference}"), "its quartiles"]);
        for at in [2, 3, 4, 5] {
            if let Some(column) = table.column_mut(at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in &self.rows {
            let quartiles = Quartiles::of(&row.samples_ns);
            let ratio = self.row(&row.case, reference).and_then(|reference| ratio(row, reference));
            table.add_row([
                row.case.clone(),
                row.subject.clone(),
                duration(row.median_ns),
                format!("{} … {}", duration(quartiles.lower), duration(quartiles.upper)),
                ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
                ratio.map_or_else(String::new, |ratio| format!("{:.2} … {:.2}", ratio.lower, ratio.upper)),
            ]);
        }
        table
    }
}

/// How many times the time of `of` a row took, sample by sample.
pub(crate) fn ratio(row: &Row, of: &Row) -> Option<Quartiles> {
    let ratios: Vec<f64> = row.samples_ns.iter().zip(&of.samples_ns).map(|(one, other)| one / other).collect();
    (!ratios.is_empty()).then(|| Quartiles::of(&ratios))
}

/// A time with three significant digits and the unit that fits it.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "µs"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let found = Quartiles::of(&[4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!(found, Quartiles { lower: 2.0, median: 3.0, upper: 4.0 });
        assert_eq!(Quartiles::of(&[1.0, 2.0]).median, 1.5);
        assert!(Quartiles::of(&[]).median.is_nan());
    }

    #[test]
    fn a_ratio_is_taken_sample_by_sample() {
        let row = |subject: &str, samples: &[f64]| Row::new("case", subject, samples.to_vec());
        // The machine was three times slower during the second sample of both.
        let rows = vec![row("ours", &[20.0, 60.0, 22.0]), row("theirs", &[10.0, 30.0, 10.0])];
        let machine = Machine::this();
        let results = Results { bench: "b".into(), command: "c".into(), machine, rows, bytes: BTreeMap::new() };
        assert_eq!(results.ratio("case", "ours", "theirs").unwrap().median, 2.0);
        assert_eq!(results.ratio("case", "ours", "nobody"), None);
        let shown = results.table("theirs").to_string();
        assert!(shown.contains("22.0 ns") && shown.contains("2.00 … 2.10"), "{shown}");
    }

    #[test]
    fn a_time_has_three_digits() {
        let shown = [0.5, 12.34, 999.0, 1_234.0, 56_700_000.0, 2e9].map(duration);
        assert_eq!(shown, ["0.50 ns", "12.3 ns", "999 ns", "1.23 µs", "56.7 ms", "2.00 s"]);
    }
}
