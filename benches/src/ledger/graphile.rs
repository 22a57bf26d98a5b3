//! graphile-worker, in a Node process that is kept for the whole run, so that it is warm.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

/// Where it is installed, with the script that runs it.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/graphile");

/// A command that prints its version.
pub(super) fn version() -> Command {
    let mut command = Command::new("node");
    command.args(["-p", "require('graphile-worker/package.json').version"]).current_dir(FOLDER);
    command
}

pub(super) struct Graphile {
    node: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Graphile {
    /// Begins with an empty database.
    pub(super) fn start(url: &str) -> anyhow::Result<Self> {
        let mut command = Command::new("node");
        command.args(["drain.mjs", url]).current_dir(FOLDER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = command.spawn().context("expected to start `node`")?;
        let input = node.stdin.take().context("node has no input")?;
        let output = BufReader::new(node.stdout.take().context("node has no output")?);
        Ok(Self { node, input, output })
    }

    /// Queues jobs that do nothing, and answers how long it took to do them all.
    pub(super) fn drain(&mut self, jobs: u32) -> anyhow::Result<Duration> {
        writeln!(self.input, "{jobs}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(Duration::from_nanos(line.trim().parse().with_context(|| format!("node answered `{line}`"))?))
    }
}

impl Drop for Graphile {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}
