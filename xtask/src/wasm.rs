//! The npm package: the module for browsers, what generated JavaScript drives it, and the files of
//! `bindings-wasm/js`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use wasm_bindgen_cli_support::Bindgen;
use xshell::{Shell, cmd};

use crate::{install, require_wasm_target, say};

/// Where the package is built.
pub(crate) const PACKAGE: &str = "bindings-wasm/pkg";
/// What the package is built and tested with.
pub(crate) const TOOLS: &str = "bindings-wasm/tests";
/// How large the module may be after Brotli, in bytes.
const BUDGET: u64 = 45_000;
/// How LLVM trades size for time.
const LLVM: [&str; 3] = [
    // Measured: this takes 2 KB off the module after Brotli and costs no time.
    "--inline-threshold=25",
    // Only loops that always run equally often are unrolled in part, SHA-256's rounds above all. Measured: validating
    // takes 4 % less time, and the module is 150 bytes smaller.
    "--unroll-runtime=false",
    "--unroll-partial-threshold=320",
];
/// How wasm-opt does. Measured: it takes 650 bytes off the module not to inline what is called in one place only, and
/// to go on until nothing gets smaller.
const WASM_OPT: [&str; 3] = ["-Oz", "--converge", "--one-caller-inline-max-function-size=20"];
/// What Rust's target takes for granted since 1.82, and Node 20 and browsers of 2023 have. With all features on,
/// wasm-opt makes a module that Node 20 refuses.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Which module to build.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flavour {
    /// The one that is published.
    Published,
    /// One that fails on purpose, for tests.
    Failing,
}

/// Builds the package into a folder, from nothing.
pub(crate) fn package(shell: &Shell, folder: &str, flavour: Flavour) -> anyhow::Result<()> {
    require_wasm_target(shell)?;
    require_node(shell)?;
    require_tools(shell)?;
    let built = build(shell, flavour)?;
    shell.remove_path(folder)?;
    shell.create_dir(folder)?;
    bind(&built, Path::new(folder))?;
    optimise(shell, folder)?;
    for file in shell.read_dir("bindings-wasm/js")? {
        shell.copy_file(file, folder)?;
    }
    for file in ["bindings-wasm/README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        shell.copy_file(file, folder)?;
    }
    set_version(shell, folder)?;
    if flavour == Flavour::Published {
        measure(shell, folder)?;
    }
    Ok(())
}

/// Builds the package, twice, and tests it as its users have it.
pub(crate) fn test(shell: &Shell) -> anyhow::Result<()> {
    const WORK: &str = "bindings-wasm/tests/.work";
    require_node(shell)?;
    require_chromium(shell)?;
    package(shell, PACKAGE, Flavour::Published)?;
    say("the package once more, from nothing: not a byte may differ");
    let again = format!("{WORK}/again");
    {
        let target = format!("{}/again", target_folder());
        shell.remove_path(&target)?;
        let _target = shell.push_env("CARGO_TARGET_DIR", &target);
        package(shell, &again, Flavour::Published)?;
    }
    require_same_files(shell, PACKAGE, &again)?;
    package(shell, &format!("{WORK}/failing"), Flavour::Failing)?;
    say("core's answers to the vectors, the cases and ten thousand generated texts");
    cmd!(shell, "cargo run --quiet -p space-profiles-wasm --example answers -- {WORK}/answers").run()?;
    say("the package in Node and Chromium");
    let _folder = shell.push_dir(TOOLS);
    cmd!(shell, "node --test").run()?;
    Ok(())
}

fn require_same_files(shell: &Shell, one: &str, other: &str) -> anyhow::Result<()> {
    let files = |folder: &str| -> anyhow::Result<Vec<_>> {
        let paths = shell.read_dir(folder)?;
        paths
            .iter()
            .map(|path| Ok((path.file_name().map(ToOwned::to_owned), shell.read_binary_file(path)?)))
            .collect()
    };
    let (one, other) = (files(one)?, files(other)?);
    anyhow::ensure!(one.len() == other.len(), "expected the same files from two builds");
    for ((name, content), (other_name, other_content)) in one.iter().zip(&other) {
        let is_same = name == other_name && content == other_content;
        anyhow::ensure!(is_same, "expected the same bytes from two builds, found that {name:?} differs");
    }
    Ok(())
}

fn target_folder() -> String {
    std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned())
}

fn build(shell: &Shell, flavour: Flavour) -> anyhow::Result<PathBuf> {
    say("the module for browsers");
    let target = shell.var("CARGO_TARGET_DIR").unwrap_or_else(|_| target_folder());
    let features: &[&str] = if flavour == Flavour::Failing { &["--features", "failing"] } else { &[] };
    // Panics name source files: where this machine keeps them must not change the module.
    let home =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    let root = shell.current_dir();
    let flags = format!(
        "--remap-path-prefix={home}=/cargo --remap-path-prefix={}=/space-profiles {}",
        root.display(),
        LLVM.map(|argument| format!("-C llvm-args={argument}")).join(" ")
    );
    let _flags = shell.push_env("RUSTFLAGS", flags);
    cmd!(
        shell,
        "cargo build --quiet --locked -p space-profiles-wasm --profile wasm --target wasm32-unknown-unknown {features...}"
    )
    // It would be taken instead.
    .env_remove("CARGO_ENCODED_RUSTFLAGS")
    .run()?;
    Ok(Path::new(&target).join("wasm32-unknown-unknown/wasm/space_profiles_wasm.wasm"))
}

fn bind(module: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut output = Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .reset_state_function(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()
        .context("wasm-bindgen refused the module")?;
    std::fs::write(folder.join("glue.js"), output.js())?;
    std::fs::write(folder.join("space_profiles.wasm"), output.wasm_mut().emit_wasm())?;
    Ok(())
}

fn optimise(shell: &Shell, folder: &str) -> anyhow::Result<()> {
    let module = format!("{folder}/space_profiles.wasm");
    let wasm_opt = format!("{TOOLS}/node_modules/binaryen/bin/wasm-opt");
    cmd!(shell, "node {wasm_opt} {module} -o {module} {WASM_OPT...} {FEATURES...} --strip-producers --strip-target-features")
        .run()
        .context("wasm-opt refused the module")
}

/// The package has the version of the crate.
fn set_version(shell: &Shell, folder: &str) -> anyhow::Result<()> {
    let file = format!("{folder}/package.json");
    let manifest = shell.read_file(&file)?;
    let id = cmd!(shell, "cargo pkgid -p space-profiles-wasm").quiet().read()?;
    let version = id.rsplit(['@', '#']).next().context("cargo names no version")?;
    let version = format!("\"version\": \"{version}\"");
    anyhow::ensure!(manifest.contains("\"version\": \"0.0.0\""), "{file} has a version of its own");
    shell.write_file(&file, manifest.replace("\"version\": \"0.0.0\"", &version))?;
    Ok(())
}

fn measure(shell: &Shell, folder: &str) -> anyhow::Result<()> {
    let module = format!("{folder}/space_profiles.wasm");
    let script = "const {brotliCompressSync:c,constants:k}=require('zlib'),m=require('fs').readFileSync(process.argv[1]);\
                  console.log(c(m,{params:{[k.BROTLI_PARAM_QUALITY]:11}}).length)";
    let size: u64 = cmd!(shell, "node -e {script} {module}").quiet().read()?.trim().parse()?;
    let plain = std::fs::metadata(shell.current_dir().join(&module))?.len();
    say(&format!("{module}: {plain} bytes, {size} after Brotli; at most {BUDGET}"));
    anyhow::ensure!(size <= BUDGET, "expected a module of at most {BUDGET} bytes after Brotli, found {size}");
    Ok(())
}

/// Node runs wasm-opt, and tests the package.
pub(crate) fn require_node(shell: &Shell) -> anyhow::Result<()> {
    const OLDEST: u32 = 20;
    let version = |shell: &Shell| -> Option<u32> {
        let version = cmd!(shell, "node --version").quiet().ignore_stderr().read().ok()?;
        version.strip_prefix('v')?.split('.').next()?.parse().ok()
    };
    let has_npm = || cmd!(shell, "npm --version").quiet().ignore_stdout().ignore_stderr().run().is_ok();
    if version(shell).is_some_and(|version| version >= OLDEST) && has_npm() {
        return Ok(());
    }
    install(shell, "nodejs")?;
    install(shell, "npm")?;
    let version = version(shell).unwrap_or_default();
    anyhow::ensure!(version >= OLDEST, "expected Node {OLDEST} or newer, found {version}; install a newer one");
    Ok(())
}

pub(crate) fn require_chromium(shell: &Shell) -> anyhow::Result<()> {
    let paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    if std::env::var_os("CHROMIUM").is_some() || paths.iter().any(|path| Path::new(path).exists()) {
        return Ok(());
    }
    install(shell, "chromium")
}

/// wasm-opt and what tests the package.
pub(crate) fn require_tools(shell: &Shell) -> anyhow::Result<()> {
    require_packages(shell, TOOLS, "wasm-opt and the test tools")
}

/// A folder's npm packages, exactly as its lock file has them.
pub(crate) fn require_packages(shell: &Shell, folder: &str, what: &str) -> anyhow::Result<()> {
    let wanted = shell.read_file(format!("{folder}/package-lock.json"))?;
    let stamp = format!("{folder}/node_modules/.installed");
    if shell.path_exists(&stamp) && shell.read_file(&stamp)? == wanted {
        return Ok(());
    }
    say(&format!("installing {what} with `npm ci`"));
    let _folder = shell.push_dir(folder);
    cmd!(shell, "npm ci --no-audit --no-fund --loglevel=error").run()?;
    shell.write_file("node_modules/.installed", wanted)?;
    Ok(())
}
