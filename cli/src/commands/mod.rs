//! What each command does.

mod adopt;
mod audit;
mod backfill;
mod completions;
mod copy;
mod discovery;
mod history;
mod import;
mod inspector;
mod interrupt;
mod profile;
mod progress;
mod schema;
mod space;
mod validate;

use self::profile::Texts;
use crate::args::{Cli, Command};
use crate::exit::{Ending, Failure};
use crate::input::Lines;
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
        Command::Inspector { port } => inspector::serve(port, output).await,
        Command::Migrate { check } => schema::migrate(url, check, output).await,
        Command::Doctor => schema::doctor(url, output).await,
        // Here and below, files are read before the store is opened: what cannot be read leaves nothing behind.
        Command::Adopt { file, catalog } => {
            let catalog = backfill::catalog(&catalog)?;
            let lines = Lines::open(&file)?;
            on_store(url, async |store| adopt::run(store, lines, catalog, output).await).await
        }
        Command::Import { file } => {
            let lines = Lines::open(&file)?;
            on_store(url, async |store| import::run(store, lines, output).await).await
        }
        Command::Propose(proposing) => {
            let texts = Texts::read(proposing)?;
            on_store(url, async |store| profile::propose(store, &texts, output).await).await
        }
        Command::Publish { proposing, expect } => {
            let texts = Texts::read(proposing)?;
            on_store(url, async |store| profile::publish(store, &texts, expect.expected, output).await).await
        }
        Command::Activate { scope, revision, expect, by } => {
            let by = by.subject()?;
            on_store(url, async |store| {
                profile::activate(store, &scope, revision, expect.expected, &by, output).await
            })
            .await
        }
        Command::Restore { scope, revision, expect, by } => {
            let by = by.subject()?;
            on_store(url, async |store| {
                profile::restore(store, &scope, revision, expect.expected, &by, output).await
            })
            .await
        }
        Command::Fail { scope, revision, code, message, by } => {
            let by = by.subject()?;
            on_store(url, async |store| profile::fail(store, &scope, revision, (code, message), &by, output).await)
                .await
        }
        Command::ActivateAll { space, embedding, expect_embedding, retrieval, expect_retrieval, by } => {
            let targets = [(embedding, expect_embedding), (retrieval, expect_retrieval)];
            let by = by.subject()?;
            on_store(url, async |store| profile::activate_all(store, &space, targets, &by, output).await).await
        }
        Command::Space(command) => on_store(url, async |store| space::run(store, command, output).await).await,
        Command::Show { scope } => on_store(url, async |store| history::show(store, &scope, output).await).await,
        Command::Log { scope, after, limit } => {
            on_store(url, async |store| history::log(store, &scope, after, limit, output).await).await
        }
        Command::At { scope, time } => {
            on_store(url, async |store| history::at(store, &scope, time, output).await).await
        }
        Command::Diff { scope, from, to } => {
            on_store(url, async |store| history::diff(store, &scope, from, to, output).await).await
        }
        Command::Backfill(command) => {
            on_store(url, async |store| backfill::run(store, command, output).await).await
        }
        Command::Copy { from, to } => copy::run(&from, &to, output).await,
        Command::Audit => on_store(url, async |store| audit::run(store, output).await).await,
    }
}

/// Opens the store, does some work on it, and closes it whatever came of the work.
async fn on_store(
    url: &str,
    work: impl AsyncFnOnce(&Opened) -> Result<Ending, Failure>,
) -> Result<Ending, Failure> {
    let store = store::open(&store::locate("--store", url)?).await?;
    let ending = work(&store).await;
    store.close().await;
    ending
}
