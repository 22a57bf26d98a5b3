use serde_json::json;
use space_profiles_core::decide::Copied;
use space_profiles_core::{CopyPart, CopyStep, StoreCopy};
use space_profiles_worker::Stop;

use super::interrupt::stop_on_signal;
use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::output::json::FailedDocument;
use crate::output::{Output, lists, tables};
use crate::store::{self, Location, Opened};

/// What became of a store's content.
#[derive(Default)]
struct Summary {
    /// Spaces that were looked at.
    spaces: u64,
    /// Scopes that were written.
    copied: u64,
    /// Scopes that the target held already.
    skipped: u64,
    failed: Vec<FailedDocument>,
    was_interrupted: bool,
}

pub(super) async fn run(from: &str, to: &str, output: Output) -> Result<Ending, Failure> {
    if from == to {
        return Err(Failure::Usage { message: "expected --from and --to to be two stores, found one".to_owned() });
    }
    let [of_source, of_target] = ["--from", "--to"].map(|option| move |failure: Failure| failure.of(option));
    let (from, to) = (store::locate("--from", from)?, store::locate("--to", to)?);
    // The source first: if there is none, no target is made.
    let source = open_source(&from).await.map_err(of_source)?;
    let target = match open_target(&to).await {
        Ok(target) => target,
        Err(failure) => {
            source.close().await;
            return Err(of_target(failure));
        }
    };
    let summary = copy(&source, &target, &stop_on_signal(output)).await;
    target.close().await;
    source.close().await;
    told(&summary?, output)
}

async fn open_source(location: &Location) -> Result<Opened, Failure> {
    store::expect_migrated(location).await?;
    store::open_as_it_is(location).await
}

async fn open_target(location: &Location) -> Result<Opened, Failure> {
    store::expect_migrated(location).await?;
    store::open(location).await
}

async fn copy(source: &Opened, target: &Opened, stop: &Stop) -> Result<Summary, Failure> {
    let stores = [source, target].map(|opened| opened.registry.store().clone());
    let [from, to] = stores;
    let mut copy = StoreCopy::new(from, to);
    let progress = Progress::counting("scopes copied");
    let mut summary = Summary::default();
    loop {
        if stop.is_requested() {
            summary.was_interrupted = true;
            break;
        }
        let Some(step) = copy.step().await? else { break };
        summary.add(step);
        progress.at(summary.copied + summary.skipped);
    }
    Ok(summary)
}

impl Summary {
    fn add(&mut self, step: CopyStep) {
        self.spaces += u64::from(matches!(step.part, CopyPart::Space(_)));
        match (step.part, step.outcome) {
            (CopyPart::Space(_), Ok(_)) => {}
            (CopyPart::Scope(_), Ok(Copied::Written)) => self.copied += 1,
            (CopyPart::Scope(_), Ok(Copied::Skipped)) => self.skipped += 1,
            (part, Err(error)) => {
                let (scope, message) = match part {
                    CopyPart::Scope(scope) => (Some(scope.to_string()), error.to_string()),
                    CopyPart::Space(space) => (None, format!("space {space}: {error}")),
                };
                let code = error.code().to_owned();
                self.failed.push(FailedDocument { scope, line: None, code, message, issues: Vec::new() });
            }
        }
    }
}

fn told(summary: &Summary, output: Output) -> Result<Ending, Failure> {
    let Summary { spaces, copied, skipped, failed, was_interrupted } = summary;
    output.either(
        || json!({"spaces": spaces, "copied": copied, "skipped": skipped, "failed": failed}),
        || {
            let counts = [
                ("spaces", *spaces),
                ("scopes copied", *copied),
                ("equal already", *skipped),
                ("failed", failed.len() as u64),
            ];
            let interrupted = if *was_interrupted { "\ninterrupted; `copy` again goes on from here" } else { "" };
            format!("{}{interrupted}", lists::below(tables::counts(&counts), failed))
        },
    )?;
    Ok(if *was_interrupted { Ending::Interrupted } else { Ending::unless_any(!failed.is_empty()) })
}
