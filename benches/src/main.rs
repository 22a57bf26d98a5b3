//! `cargo xtask bench …`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use benches::machine::Machine;
use benches::results::Results;
use benches::{digest, ledger, postgres, report, sqlite, wasm};
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
    /// Claims from long queues, beside knowledge-fs's claim; the worker on whole queues, beside graphile-worker.
    Ledger {
        /// How long the queues are that ten rows are claimed from, the shortest first.
        #[arg(long, value_name = "ROWS", value_delimiter = ',', default_value = "1000,100000,1000000")]
        queued: Vec<u32>,
        /// How many rows or jobs a drain has.
        #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
        rows: u32,
        /// How long claims are measured, and how long drains, in seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 75.0)]
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
    /// Moving heads and reading them on Postgres, beside knowledge-fs's own statements and beside the least that the
    /// server must do.
    Postgres {
        /// How many spaces the databases have, each with ten revisions.
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 100_000])]
        spaces: Vec<u32>,
        /// How many clients there are at once.
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
        clients: Vec<usize>,
        /// How many samples each case and subject gets.
        #[arg(long, value_name = "N", default_value_t = 11)]
        samples: usize,
        /// How long a sample is, in milliseconds.
        #[arg(long, value_name = "MILLISECONDS", default_value_t = 200)]
        slice: u64,
        /// Whether commits wait for the disk.
        #[arg(long)]
        fsync: bool,
        /// Also print where the server's time went.
        #[arg(long)]
        profile: bool,
        #[command(flatten)]
        output: Output,
    },
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
        Bench::Postgres { spaces, clients, samples, slice, fsync, profile, output } => {
            let slice = Duration::from_millis(slice);
            let options = postgres::Options { spaces, clients, samples, slice, fsync, profile };
            let results = results("postgres", postgres::machine(&options), postgres::run(&options)?);
            output.put(&results, postgres::PEER)?;
            for verdict in postgres::verdicts(&results, &options) {
                println!("{verdict}");
            }
            Ok(())
        }
        Bench::Ledger { queued, rows, seconds, output } => {
            let budget = Duration::try_from_secs_f64(seconds)?;
            let rows = ledger::run(&ledger::Sizes { queued, rows, budget })?;
            output.put(&results("ledger", ledger::machine(), rows), ledger::OURS)
        }
    }
}

fn results(bench: &str, machine: Machine, rows: Vec<benches::results::Row>) -> Results {
    let command = format!("cargo xtask bench {bench}");
    Results { bench: bench.to_owned(), command, machine, rows, bytes: Default::default() }
}
