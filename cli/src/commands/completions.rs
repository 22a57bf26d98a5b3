use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Ending, Failure};

pub(super) fn print(shell: Shell) -> Result<Ending, Failure> {
    // `generate` panics when its writer fails, and memory does not.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "space-profiles", &mut script);
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&script)?;
    stdout.flush()?;
    Ok(Ending::Done)
}
