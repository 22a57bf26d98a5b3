//! `cargo xtask bench …`.

use std::path::PathBuf;
use std::time::Duration;

use benches::digest;
use benches::ledger;
use benches::machine::Machine;
use benches::results::Results;
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
