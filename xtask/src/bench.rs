//! The benchmarks' program, and what they need.

use xshell::{Shell, cmd};

use crate::{say, wasm};

/// Runs it in the release profile.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|name| name == "wasm") {
        prepare_wasm(shell)?;
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
