//! `cargo xtask bench …`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use benches::machine::Machine;
use benches::results::Results;
use benches::{digest, report, sqlite, wasm};
use clap::{Args, Parser};

/// Benchmarks of space-profiles. Each prints a table of medians and of ratios to something measured in the same run.
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// From text to checked digest, beside SHA-256 alone and another implementation of RFC 8785.
    Digest {
        /// How long each of the four cases is measured, in seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
        seconds: f64,
        #[command(flatten)]
        output: Output,
    },
    /// Propose and activate in a file of SQLite, beside the same statements by hand.
    Sqlite {
        /// How long each of the two cases is measured, in seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
        seconds: f64,
        #[command(flatten)]
        output: Output,
    },
    /// Validate in WASM beside zod, in Node and in Chromium; the package's size and its time to a first answer.
    Wasm {
        /// How long each of the four validations is measured, in seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
        seconds: f64,
        #[command(flatten)]
        output: Output,
    },
    /// Write `benches/REPORT.md` and `benches/REPORT.svg` from what the others found.
    Report,
}

#[derive(Args)]
struct Output {
    /// Where the results go as JSON [default: benches/results/NAME.json].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Output {
    /// Prints the results and writes them.
    fn put(self, results: &Results, reference: &str) -> anyhow::Result<()> {
        let Machine { processor, cores, system, rustc, programs } = &results.machine;
        println!("{processor}, {cores} cores; {system}; {rustc}");
        for (program, version) in programs {
            println!("{program}: {version}");
        }
        println!("{}", results.table(reference));
        for (name, bytes) in &results.bytes {
            println!("{name}: {bytes} bytes");
        }
        let file = self.json.unwrap_or_else(|| PathBuf::from(format!("benches/results/{}.json", results.bench)));
        results.write(&file)?;
        println!("written to {}", file.display());
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    match Bench::parse() {
        Bench::Digest { seconds, output } => {
            let rows = digest::run(Duration::try_from_secs_f64(seconds)?);
            output.put(&results("digest", Machine::this(), rows), digest::FLOOR)
        }
        Bench::Sqlite { seconds, output } => {
            let rows = sqlite::run(Duration::try_from_secs_f64(seconds)?)?;
            output.put(&results("sqlite", Machine::this(), rows), sqlite::PEER)
        }
        Bench::Wasm { seconds, output } => {
            let wasm::Found { rows, bytes, programs } = wasm::run(Duration::try_from_secs_f64(seconds)?)?;
            let machine = Machine { programs, ..Machine::this() };
            output.put(&Results { bytes, ..results("wasm", machine, rows) }, wasm::PEER)
        }
        Bench::Report => report::write(Path::new("benches")),
    }
}

fn results(bench: &str, machine: Machine, rows: Vec<benches::results::Row>) -> Results {
    let command = format!("cargo xtask bench {bench}");
    Results { bench: bench.to_owned(), command, machine, rows, bytes: Default::default() }
}
