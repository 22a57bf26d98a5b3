//! The benchmarks' program, and what they need.

use xshell::{Shell, cmd};

use crate::require_postgres;
use crate::wasm::{require_node, require_packages};

/// The job queue that the ledger is measured beside.
const GRAPHILE: &str = "benches/graphile";

/// Runs it in the release profile.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|name| name == "ledger") {
        require_postgres(shell)?;
        require_node(shell)?;
        require_packages(shell, GRAPHILE, "graphile-worker")?;
    }
    cmd!(shell, "cargo run --quiet --release --package space-profiles-benches -- {arguments...}").quiet().run()?;
    Ok(())
}
