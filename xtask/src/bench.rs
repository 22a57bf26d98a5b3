//! The benchmarks' program, and what they need.

use xshell::{Shell, cmd};

/// Runs it in the release profile.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|name| name == "postgres") {
        crate::require_postgres(shell)?;
    }
    cmd!(shell, "cargo run --quiet --release --package space-profiles-benches -- {arguments...}").quiet().run()?;
    Ok(())
}
