use serde_json::{Value, json};
use space_profiles_core::decide::Copied;
use space_profiles_core::{CopyPart, CopyStep, Error, StoreCopy};
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
    let (summary, ended) = copy(&source, &target, &stop_on_signal(output)).await;
    target.close().await;
    source.close().await;
    match ended {
        Ok(()) => told(&summary, output),
        Err(error) => Err(Failure::Midway {
            failure: Box::new(error.into()),
            document: summary.document(),
            text: summary.text(Some("`copy` again goes on from here")),
        }),
    }
}

async fn open_source(location: &Location) -> Result<Opened, Failure> {
    store::expect_migrated(location).await?;
    store::open_as_it_is(location).await
}

async fn open_target(location: &Location) -> Result<Opened, Failure> {
    store::expect_migrated(location).await?;
    store::open(location).await
}

/// What was done, whether or not it came to its end.
async fn copy(source: &Opened, target: &Opened, stop: &Stop) -> (Summary, Result<(), Error>) {
    let stores = [source, target].map(|opened| opened.registry.store().clone());
    let [from, to] = stores;
    let mut copy = StoreCopy::new(from, to);
    let progress = Progress::counting("scopes copied");
    let mut summary = Summary::default();
    loop {
        if stop.is_requested() {
            summary.was_interrupted = true;
            return (summary, Ok(()));
        }
        match copy.step().await {
            Ok(Some(step)) => summary.add(step),
            Ok(None) => return (summary, Ok(())),
            Err(error) => return (summary, Err(error)),
        }
        progress.at(summary.copied + summary.skipped);
    }
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

    fn document(&self) -> Value {
        let Self { spaces, copied, skipped, failed, .. } = self;
        json!({"spaces": spaces, "copied": copied, "skipped": skipped, "failed": failed})
    }

    fn text(&self, hint: Option<&str>) -> String {
        let counts = [
            ("spaces", self.spaces),
            ("scopes copied", self.copied),
            ("equal already", self.skipped),
            ("failed", self.failed.len() as u64),
        ];
        let hint = hint.map_or_else(String::new, |hint| format!("\n{hint}"));
        format!("{}{hint}", lists::below(tables::counts(&counts), &self.failed))
    }
}

fn told(summary: &Summary, output: Output) -> Result<Ending, Failure> {
    let hint = summary.was_interrupted.then_some("interrupted; `copy` again goes on from here");
    output.either(|| summary.document(), || summary.text(hint))?;
    Ok(match summary.was_interrupted {
        true => Ending::Interrupted,
        false => Ending::unless_any(!summary.failed.is_empty()),
    })
}
