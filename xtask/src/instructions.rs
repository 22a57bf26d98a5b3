//! Counts of instructions, which are the same on a busy machine: so that a mistake that costs ten times as much cannot
//! land. They are held against those of SHA-256 alone, which valgrind, knowing no processor's own instructions for it,
//! counts in software.

use anyhow::{Context as _, ensure};
use xshell::{Shell, cmd};

/// What text to digest may cost, in percent of SHA-256 of the canonical bytes. Measured when they were set: 129, 141
/// and 167.
const BOUNDS: [(&str, u64); 3] = [("embedding", 200), ("retrieval", 200), ("capability-12k", 250)];

/// Counts and compares.
pub(crate) fn check(shell: &Shell) -> anyhow::Result<()> {
    if cmd!(shell, "valgrind --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        crate::install(shell, "valgrind")?;
    }
    cmd!(shell, "cargo build --quiet --release --package space-profiles-instructions").run()?;
    for (case, bound) in BOUNDS {
        let floor = count(shell, case, "sha256")?;
        let ours = count(shell, case, "space-profiles")?;
        let percent = ours * 100 / floor;
        crate::say(&format!("{case}: {ours} instructions, {percent} % of SHA-256's {floor}; at most {bound} %"));
        ensure!(
            percent <= bound,
            "expected {case} to take at most {bound} % of SHA-256's instructions, found {percent} %; \
             `cargo xtask bench digest` and callgrind_annotate show where they go"
        );
    }
    Ok(())
}

/// The instructions of one repetition: what more of them cost, without what the program costs at all.
fn count(shell: &Shell, case: &str, subject: &str) -> anyhow::Result<u64> {
    const TIMES: u64 = 50;
    let few = total(shell, case, subject, TIMES)?;
    let many = total(shell, case, subject, 2 * TIMES)?;
    Ok(many.saturating_sub(few) / TIMES)
}

fn total(shell: &Shell, case: &str, subject: &str, times: u64) -> anyhow::Result<u64> {
    const UNDER_VALGRIND: &str =
        "target.'cfg(all())'.runner = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null']";
    let times = times.to_string();
    let output = cmd!(
        shell,
        "cargo run --quiet --release --config {UNDER_VALGRIND} --package space-profiles-instructions -- {case} {subject} {times}"
    )
    .quiet()
    .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.with_context(|| format!("valgrind told no count: {told}"))?;
    count.trim().parse().with_context(|| format!("`{count}` is no count"))
}
