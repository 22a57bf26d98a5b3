//! On what a benchmark ran.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine and the programs that take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many of its cores may be used.
    pub cores: usize,
    /// The operating system.
    pub system: String,
    /// The compiler.
    pub rustc: String,
    /// Other programs that take part, and their versions.
    pub programs: BTreeMap<String, String>,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let processor =
            line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let system = line_of("/etc/os-release", "PRETTY_NAME").unwrap_or_else(|| std::env::consts::OS.to_owned());
        Self {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system,
            rustc: first_line(Command::new("rustc").arg("--version")),
            programs: BTreeMap::new(),
        }
    }

    /// The machine, with another program that takes part and what it says of its version.
    #[must_use]
    pub fn with(mut self, program: &str, version: &mut Command) -> Self {
        self.programs.insert(program.to_owned(), first_line(version));
        self
    }
}

/// What follows `name` and `:` or `=` on the first line that begins with it.
fn line_of(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once([':', '='])?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.as_deref().and_then(|text| text.lines().next()).unwrap_or("unknown").to_owned()
}
