//! The inspector: the page's copy of the npm package, and its tests in a browser.

use anyhow::Context as _;
use xshell::{Shell, cmd};

use crate::{install, say, wasm};

const INSPECTOR: &str = "bindings-wasm/inspector";
/// What the page takes of the package.
const FILES: [&str; 7] =
    ["slim.js", "functions.js", "failure.js", "start.js", "text.js", "glue.js", "space_profiles.wasm"];

/// Builds the package and copies it to the page.
pub(crate) fn build(shell: &Shell) -> anyhow::Result<()> {
    wasm::package(shell, wasm::PACKAGE, wasm::Flavour::Published)?;
    shell.remove_path(copy_of(""))?;
    shell.create_dir(copy_of(""))?;
    for file in FILES {
        shell.copy_file(format!("{}/{file}", wasm::PACKAGE), copy_of(file))?;
    }
    shell.write_file(compiler_record(), compiler(shell)?)?;
    Ok(())
}

/// Serves the page as the command line tool does, until it is interrupted.
pub(crate) fn serve(shell: &Shell, port: Option<u16>) -> anyhow::Result<()> {
    let port = port.map(|port| format!("--port={port}"));
    let served = cmd!(shell, "cargo run --quiet -p space-profiles-cli -- inspector {port...}").quiet();
    let status = std::process::Command::from(served).status().context("cargo did not start")?;
    // Interrupted is how a server ends.
    anyhow::ensure!(matches!(status.code(), Some(0 | 130) | None), "the inspector was not served");
    Ok(())
}

/// Requires that the page's copy is what `build` would make of the package that was built just now.
pub(crate) fn check(shell: &Shell) -> anyhow::Result<()> {
    let is_same_compiler = shell.read_file(compiler_record())? == compiler(shell)?;
    for file in FILES {
        // Another compiler makes another module of the same sources; that it answers alike is tested in the browser.
        if file.ends_with(".wasm") && !is_same_compiler {
            say("the page's module was built by another compiler; its answers are compared, its bytes are not");
            continue;
        }
        let fresh = shell.read_binary_file(format!("{}/{file}", wasm::PACKAGE))?;
        let is_current = shell.read_binary_file(copy_of(file)).is_ok_and(|copy| copy == fresh);
        anyhow::ensure!(
            is_current,
            "`{}` is not what is built now; run `cargo xtask inspector --build-only` and commit it",
            copy_of(file)
        );
    }
    Ok(())
}

/// Runs the page in Chromium.
pub(crate) fn test(shell: &Shell) -> anyhow::Result<()> {
    let chromium = require_chromium(shell)?;
    cmd!(shell, "cargo build --quiet -p space-profiles-cli").run()?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let binary = shell.current_dir().join(target).join("debug/space-profiles");
    let _folder = shell.push_dir(format!("{INSPECTOR}/e2e"));
    cmd!(shell, "npm ci --no-audit --no-fund --loglevel=error").run()?;
    cmd!(shell, "node --test").env("SPACE_PROFILES", binary).env("CHROMIUM", chromium).run()?;
    Ok(())
}

fn copy_of(file: &str) -> String {
    format!("{INSPECTOR}/site/package/{file}")
}

/// Which compiler made the page's module: beside the page, not in it.
fn compiler_record() -> String {
    format!("{INSPECTOR}/compiler.txt")
}

fn compiler(shell: &Shell) -> anyhow::Result<String> {
    Ok(format!("{}\n", cmd!(shell, "rustc --version").quiet().read()?))
}

fn require_chromium(shell: &Shell) -> anyhow::Result<String> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let found = |shell: &Shell| {
        NAMES.iter().find_map(|name| cmd!(shell, "which {name}").quiet().ignore_stderr().read().ok())
    };
    if let Some(chromium) = found(shell) {
        return Ok(chromium);
    }
    install(shell, "chromium")?;
    found(shell).context("chromium was installed and is not in PATH")
}
