//! The command line tool `space-profiles`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a command line tool prints")]

mod args;
mod commands;
mod exit;
mod input;
mod output;
mod store;

use std::process::ExitCode;

use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(output::errors::print_usage(&error)),
    };
    let is_json = cli.json;
    match commands::run(cli).await {
        Ok(ending) => ExitCode::from(ending.code()),
        Err(failure) => {
            output::errors::print(&failure, is_json);
            ExitCode::from(failure.exit_code())
        }
    }
}
