//! The ledger under load: claims from a long queue, and whole queues drained by the worker.
//!
//! A server is started for the run, with `fsync` off as for tests: so a commit costs little, which is to the advantage
//! of whoever commits more often.

mod claiming;
mod draining;
mod graphile;
mod knowledge_fs;
mod profile;

use std::process::Command;
use std::time::{Duration, Instant};

use throwaway_postgres::{Cluster, ClusterOptions};

use crate::machine::Machine;
use crate::results::Row;

/// This product.
pub const OURS: &str = "space-profiles";
/// The other service on the same tables: its own claim.
pub const KNOWLEDGE_FS: &str = "knowledge-fs";
/// A job queue on Postgres.
pub const GRAPHILE: &str = "graphile-worker";

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// The lengths of the queues that are claimed from.
    pub queued: Vec<u32>,
    /// How many rows a drain has.
    pub rows: u32,
    /// How long claims are measured, and how long drains.
    pub budget: Duration,
}

/// Measures everything.
///
/// # Errors
///
/// The server, Node or the store fails.
pub fn run(sizes: &Sizes) -> anyhow::Result<Vec<Row>> {
    let cluster = Cluster::start(&ClusterOptions::default());
    let runtime = tokio::runtime::Runtime::new()?;
    let mut rows = runtime.block_on(claiming::run(&cluster, &sizes.queued, sizes.budget))?;
    rows.extend(runtime.block_on(draining::run(&cluster, sizes.rows, sizes.budget))?);
    Ok(rows)
}

/// This machine, with the versions of what takes part.
pub fn machine() -> Machine {
    let postgres = throwaway_postgres::find_postgres().unwrap_or_default().join("postgres");
    Machine::this()
        .with("postgres", Command::new(postgres).arg("--version"))
        .with("node", Command::new("node").arg("--version"))
        .with("graphile-worker", &mut graphile::version())
}

/// Rounds until a time is spent, but some in any case. The first of them is not measured: it fills caches.
struct Rounds {
    begin: Instant,
    budget: Duration,
    done: u32,
}

impl Rounds {
    fn within(budget: Duration) -> Self {
        Self { begin: Instant::now(), budget, done: 0 }
    }
}

impl Iterator for Rounds {
    type Item = u32;

    /// The round's number.
    fn next(&mut self) -> Option<u32> {
        const LEAST: u32 = 1 + 3;
        if self.done >= LEAST && self.begin.elapsed() >= self.budget {
            return None;
        }
        self.done += 1;
        Some(self.done - 1)
    }
}

/// A number with commas between its thousands.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_grouped_by_thousands() {
        assert_eq!([7, 1_000, 123_456, 1_000_000].map(grouped), ["7", "1,000", "123,456", "1,000,000"]);
    }
}
