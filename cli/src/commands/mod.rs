//! What each command does.

mod adopt;
mod audit;
mod backfill;
mod completions;
mod discovery;
mod history;
mod import;
mod interrupt;
mod profile;
mod progress;
mod schema;
mod space;
mod validate;

use crate::args::{Cli, Command};
use crate::exit::{Ending, Failure};
use crate::output::Output;
use crate::store::{self, Opened};

pub(crate) async fn run(cli: Cli) -> Result<Ending, Failure> {
    let output = Output { is_json: cli.json };
    let url = cli.store.as_str();
    match cli.command {
        Command::Validate { file, kind } => validate::validate(&file, kind, output),
        Command::Digest { file } => validate::digest(&file, output),
        Command::Canonical { file } => validate::canonical(&file),
        Command::Completions { shell } => completions::print(shell),
        Command::Migrate { check } => schema::migrate(url, check, output).await,
        Command::Doctor => schema::doctor(url, output).await,
        Command::Adopt { file, catalog } => {
            // Before the store is opened: what cannot be read should leave nothing behind.
            let catalog = backfill::catalog(&catalog)?;
            let store = store::open(url)?;
            let ending = adopt::run(&store, &file, catalog, output).await;
            store.close().await;
            ending
        }
        command => {
            let store = store::open(url)?;
            let ending = run_on(&store, command, output).await;
            store.close().await;
            ending
        }
    }
}

async fn run_on(store: &Opened, command: Command, output: Output) -> Result<Ending, Failure> {
    match command {
        Command::Space(command) => space::run(store, command, output).await,
        Command::Import { file } => import::run(store, &file, output).await,
        Command::Propose(proposing) => profile::propose(store, proposing, output).await,
        Command::Publish { proposing, expect } => {
            profile::publish(store, proposing, expect.expected, output).await
        }
        Command::Activate { scope, revision, expect, by } => {
            profile::activate(store, &scope, revision, expect.expected, &by.subject()?, output).await
        }
        Command::Restore { scope, revision, expect, by } => {
            profile::restore(store, &scope, revision, expect.expected, &by.subject()?, output).await
        }
        Command::Fail { scope, revision, code, message, by } => {
            profile::fail(store, &scope, revision, (code, message), &by.subject()?, output).await
        }
        Command::ActivateAll { space, embedding, expect_embedding, retrieval, expect_retrieval, by } => {
            let targets = [(embedding, expect_embedding), (retrieval, expect_retrieval)];
            profile::activate_all(store, &space, targets, &by.subject()?, output).await
        }
        Command::Show { scope } => history::show(store, &scope, output).await,
        Command::Log { scope, after, limit } => history::log(store, &scope, after, limit, output).await,
        Command::At { scope, time } => history::at(store, &scope, time, output).await,
        Command::Diff { scope, from, to } => history::diff(store, &scope, from, to, output).await,
        Command::Backfill(command) => backfill::run(store, command, output).await,
        Command::Audit => audit::run(store, output).await,
        Command::Validate { .. }
        | Command::Digest { .. }
        | Command::Canonical { .. }
        | Command::Completions { .. }
        | Command::Migrate { .. }
        | Command::Doctor
        | Command::Adopt { .. } => Ok(Ending::Done),
    }
}
