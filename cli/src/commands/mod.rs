//! What each command does.

mod adopt;
mod audit;
mod backfill;
mod history;
mod import;
mod interrupt;
mod profile;
mod progress;
mod schema;
mod space;
mod validate;

use clap::CommandFactory as _;

use crate::args::{Cli, Command};
use crate::exit::{Ending, Failure};
use crate::output::Output;
use crate::store;

pub(crate) async fn run(cli: Cli) -> Result<Ending, Failure> {
    let output = Output { is_json: cli.json };
    let url = cli.store.as_str();
    match cli.command {
        Command::Validate { file, kind } => validate::validate(&file, kind, output),
        Command::Digest { file } => validate::digest(&file),
        Command::Canonical { file } => validate::canonical(&file),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "space-profiles", &mut std::io::stdout());
            Ok(Ending::Done)
        }
        Command::Migrate { check } => schema::migrate(url, check, output).await,
        Command::Doctor => schema::doctor(url, output).await,
        Command::Space(command) => space::run(&store::open(url)?, command, output).await,
        Command::Import { file } => import::run(&store::open(url)?, &file, output).await,
        Command::Propose(proposing) => profile::propose(&store::open(url)?, proposing, output).await,
        Command::Publish { proposing, expect } => {
            profile::publish(&store::open(url)?, proposing, expect.expected, output).await
        }
        Command::Activate { scope, revision, expect, by } => {
            profile::activate(&store::open(url)?, &scope, revision, expect.expected, &by.subject()?, output).await
        }
        Command::Restore { scope, revision, expect, by } => {
            profile::restore(&store::open(url)?, &scope, revision, expect.expected, &by.subject()?, output).await
        }
        Command::Fail { scope, revision, code, message, by } => {
            profile::fail(&store::open(url)?, &scope, revision, (code, message), &by.subject()?, output).await
        }
        Command::ActivateAll { space, embedding, expect_embedding, retrieval, expect_retrieval, by } => {
            let targets = [(embedding, expect_embedding), (retrieval, expect_retrieval)];
            profile::activate_all(&store::open(url)?, &space, targets, &by.subject()?, output).await
        }
        Command::Show { scope } => history::show(&store::open(url)?, &scope, output).await,
        Command::Log { scope, after, limit } => {
            history::log(&store::open(url)?, &scope, after, limit, output).await
        }
        Command::At { scope, time } => history::at(&store::open(url)?, &scope, time, output).await,
        Command::Diff { scope, from, to } => history::diff(&store::open(url)?, &scope, from, to, output).await,
        Command::Backfill(command) => backfill::run(&store::open(url)?, command, output).await,
        Command::Adopt { file, catalog } => adopt::run(url, &file, &catalog, output).await,
        Command::Audit => audit::run(&store::open(url)?, output).await,
    }
}
