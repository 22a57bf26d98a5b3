//! `cargo xtask …`: what a developer and CI do with this project.

mod bench;
mod inspector;
mod instructions;
mod wasm;

use anyhow::Context as _;
use clap::Parser;
use xshell::{Shell, cmd};

/// Tasks of space-profiles.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Run every test, and install what they need.
    Test,
    /// Check format, lints and documentation.
    Lint,
    /// Build the inspector's copy of the npm package, and serve the page.
    Inspector {
        /// Only build.
        #[arg(long)]
        build_only: bool,
        /// The port on 127.0.0.1; by default a free one.
        #[arg(long, value_name = "N", conflicts_with = "build_only")]
        port: Option<u16>,
    },
    /// Build the npm package into `bindings-wasm/pkg`.
    Wasm,
    /// Build the npm package and test it in Node and Chromium.
    WasmTest,
    /// Count the instructions from text to digest.
    Instructions,
    /// Run a benchmark; `cargo xtask bench --help` lists them.
    #[command(disable_help_flag = true)]
    Bench {
        /// What the benchmarks' own program is told.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    let shell = Shell::new()?;
    // `cargo xtask` runs in whatever folder it is called from.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is not in a folder")?;
    shell.change_dir(root);
    match Task::parse() {
        Task::Test => test(&shell),
        Task::Lint => lint(&shell),
        Task::Inspector { build_only, port } => {
            inspector::build(&shell)?;
            if build_only { Ok(()) } else { inspector::serve(&shell, port) }
        }
        Task::WasmTest => wasm::test(&shell),
        Task::Wasm => wasm::package(&shell, wasm::PACKAGE, wasm::Flavour::Published),
        Task::Instructions => instructions::check(&shell),
        Task::Bench { arguments } => bench::run(&shell, &arguments),
    }
}

fn test(shell: &Shell) -> anyhow::Result<()> {
    require_c_compiler(shell)?;
    require_postgres(shell)?;
    say("every test of the workspace");
    cmd!(shell, "cargo test --workspace --all-features --quiet").run()?;
    say("core's tests beside a serde_json with the features that have changed digests elsewhere");
    cmd!(shell, "cargo test --quiet --manifest-path feature-independence/Cargo.toml --target-dir target/feature-independence")
        .run()?;
    say("instructions from text to digest");
    instructions::check(shell)?;
    say("core for the browser");
    require_wasm_target(shell)?;
    cmd!(shell, "cargo build --quiet -p space-profiles-core --target wasm32-unknown-unknown").run()?;
    wasm::test(shell)?;
    say("the inspector's copy of the package, and the page in Chromium");
    inspector::check(shell)?;
    inspector::test(shell)?;
    say("everything passed");
    Ok(())
}

fn lint(shell: &Shell) -> anyhow::Result<()> {
    say("format");
    cmd!(shell, "cargo fmt --all --check").run()?;
    say("lints");
    cmd!(shell, "cargo clippy --quiet --workspace --all-targets --all-features -- -D warnings").run()?;
    say("documentation");
    let _strict = shell.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(shell, "cargo doc --quiet --workspace --all-features --no-deps").run()?;
    Ok(())
}

/// SQLite is built from source.
fn require_c_compiler(shell: &Shell) -> anyhow::Result<()> {
    if cmd!(shell, "cc --version").quiet().ignore_stdout().ignore_stderr().run().is_ok() {
        return Ok(());
    }
    install(shell, "gcc")
}

/// The tests start servers of their own; one that the package starts is not used.
fn require_postgres(shell: &Shell) -> anyhow::Result<()> {
    if throwaway_postgres::find_postgres().is_none() {
        install(shell, "postgresql")?;
    }
    if throwaway_postgres::find_pgbouncer().is_none() {
        install(shell, "pgbouncer")?;
    }
    Ok(())
}

fn require_wasm_target(shell: &Shell) -> anyhow::Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
    if std::path::Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib").exists() {
        return Ok(());
    }
    say(&format!("installing Rust's target {TARGET} with rustup"));
    cmd!(shell, "rustup target add {TARGET}")
        .run()
        .with_context(|| format!("the target {TARGET} is missing and rustup could not add it"))
}

/// Installs a Debian package, saying so.
fn install(shell: &Shell, package: &str) -> anyhow::Result<()> {
    say(&format!("installing {package} with apt-get"));
    let advice = || format!("`{package}` is missing; install it with your system's package manager");
    cmd!(shell, "apt-get update").run().with_context(advice)?;
    cmd!(shell, "apt-get install --yes --no-install-recommends {package}").run().with_context(advice)
}

fn say(what: &str) {
    eprintln!("xtask: {what}");
}
