//! The benchmarks' program, and what they need.

use xshell::{Shell, cmd};

use crate::{require_postgres, say, wasm};

/// Runs it in the release profile.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first().map(String::as_str) {
        Some("postgres") => require_postgres(shell)?,
        Some("wasm") => prepare_wasm(shell)?,
        _ => {}
    }
    cmd!(shell, "cargo run --quiet --release --package space-profiles-benches -- {arguments...}").quiet().run()?;
    Ok(())
}

/// The package, what it is measured beside, and Chromium.
fn prepare_wasm(shell: &Shell) -> anyhow::Result<()> {
    wasm::package(shell, wasm::PACKAGE, wasm::Flavour::Published)?;
    wasm::require_chromium(shell)?;
    say("what the package is measured beside, with `npm ci`");
    let _folder = shell.push_dir("benches/wasm");
    cmd!(shell, "npm ci --no-audit --no-fund --loglevel=error").run()?;
    Ok(())
}
