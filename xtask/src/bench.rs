//! The benchmarks' program, and what they need.

use xshell::{Shell, cmd};

use crate::require_postgres;
use crate::wasm::{Flavour, PACKAGE, package, require_chromium, require_node, require_packages};

/// The job queue that the ledger is measured beside.
const GRAPHILE: &str = "benches/graphile";
/// The implementation in JavaScript that the package is measured beside.
const ZOD: &str = "benches/wasm";

/// Runs it in the release profile.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first().map(String::as_str) {
        Some("postgres") => require_postgres(shell)?,
        Some("ledger") => {
            require_postgres(shell)?;
            require_node(shell)?;
            require_packages(shell, GRAPHILE, "graphile-worker")?;
        }
        Some("wasm") => {
            package(shell, PACKAGE, Flavour::Published)?;
            require_chromium(shell)?;
            require_packages(shell, ZOD, "zod and what else the package is measured beside")?;
        }
        _ => {}
    }
    cmd!(shell, "cargo run --quiet --release --package space-profiles-benches -- {arguments...}").quiet().run()?;
    Ok(())
}
