use std::collections::BTreeSet;

use space_profiles_core::{
    BackfillFilter, BackfillId, BackfillState, BackfillStatus, Error, PageLimit, Scope, Space, SpaceFilter,
};
use space_profiles_worker::{Catalog, FailedItem, Stop, Summary, Worker};

use super::backfill::{summary, worker};
use super::import::{ImportedFile, import};
use super::interrupt::stop_on_signal;
use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::input::Lines;
use crate::output::json::FailedDocument;
use crate::output::{Output, lists};
use crate::store::Opened;

/// How many spaces one filter may name.
const CHUNK: usize = 1_000;

pub(super) async fn run(
    store: &Opened,
    lines: Lines<'_>,
    catalog: Catalog,
    output: Output,
) -> Result<Ending, Failure> {
    let stop = stop_on_signal(output);
    let imported = import(store, lines, &stop).await?;
    let mut done = install(store, &worker(store, catalog)?, &imported, &stop).await?;
    done.failed = still_failed(store, done.failed).await?;

    let was_interrupted = done.was_interrupted;
    let mut document = summary(done, Some(imported.imported));
    let listed: BTreeSet<String> = document.failed.iter().filter_map(|item| item.scope.clone()).collect();
    let spaces: Vec<Space> = imported.spaces.into_keys().collect();
    document.failed.extend(failed_before(store, &spaces, &listed).await?);
    document.failed.splice(0..0, imported.failed);
    output.either(
        || &document,
        || {
            let interrupted = if was_interrupted { "\ninterrupted; `adopt` again goes on from here" } else { "" };
            format!("{}{}{interrupted}", lists::summary(&document), lists::next_steps(&document))
        },
    )?;
    Ok(if was_interrupted { Ending::Interrupted } else { Ending::unless_any(!document.failed.is_empty()) })
}

/// Discovers, checks and installs the profiles of a file's spaces, and of no others.
async fn install(
    store: &Opened,
    worker: &Worker,
    imported: &ImportedFile,
    stop: &Stop,
) -> Result<Summary, Failure> {
    let spaces: Vec<(&Space, usize)> =
        imported.spaces.iter().map(|(space, profiles)| (space, profiles.len())).collect();
    let total: usize = spaces.iter().map(|(_, profiles)| profiles).sum();
    let progress = Progress::towards(total as u64, "profiles adopted");
    let mut position = 0;
    let mut whole = Summary { was_interrupted: imported.was_interrupted, ..Summary::default() };
    for chunk in spaces.chunks(CHUNK) {
        if whole.was_interrupted {
            break;
        }
        let part = worker.run(&filter_of(chunk), &progress, stop).await?;
        whole.discovered += part.discovered;
        whole.already_installed += part.already_installed;
        add_work(&mut whole, part);
        position += chunk.iter().map(|(_, profiles)| *profiles as u64).sum::<u64>();
        progress.at(position);
    }
    // What became due meanwhile, for instance since another worker's lease ran out, is done too.
    loop {
        whole.pending = 0;
        let mut worked = 0;
        for chunk in spaces.chunks(CHUNK) {
            let filter = filter_of(chunk);
            let counts = store.ledger.counts(&filter).await?;
            if whole.was_interrupted || counts.due + counts.expired == 0 {
                whole.pending += counts.queued + counts.running;
                continue;
            }
            let part = worker.run(&filter, &progress, stop).await?;
            worked += part.installed + part.failed.len() as u64;
            whole.pending += part.pending;
            add_work(&mut whole, part);
        }
        if worked == 0 {
            break;
        }
    }
    Ok(whole)
}

fn filter_of(chunk: &[(&Space, usize)]) -> SpaceFilter {
    SpaceFilter::Spaces(chunk.iter().map(|(space, _)| (*space).clone()).collect())
}

fn add_work(whole: &mut Summary, part: Summary) {
    whole.installed += part.installed;
    whole.failed.extend(part.failed);
    whole.was_interrupted |= part.was_interrupted;
}

/// Failures that a newer row of the same scope has not made good: an older source may fail beside it.
async fn still_failed(store: &Opened, failed: Vec<FailedItem>) -> Result<Vec<FailedItem>, Failure> {
    let mut still = Vec::new();
    for item in failed {
        let was_made_good = match store.ledger.get(&item.scope).await {
            Ok(newest) => newest.status() == BackfillStatus::Succeeded,
            Err(Error::Refused(_)) => false,
            Err(error) => return Err(error.into()),
        };
        if !was_made_good {
            still.push(item);
        }
    }
    Ok(still)
}

/// Profiles of the file whose newest ledger row failed in an earlier run.
async fn failed_before(
    store: &Opened,
    spaces: &[Space],
    listed: &BTreeSet<String>,
) -> Result<Vec<FailedDocument>, Failure> {
    let mut failed = Vec::new();
    for chunk in spaces.chunks(CHUNK) {
        let filter = BackfillFilter {
            spaces: SpaceFilter::Spaces(chunk.to_vec()),
            status: Some(BackfillStatus::Failed),
            code: None,
        };
        let mut after = None;
        loop {
            let page = store.ledger.list(&filter, after, PageLimit::LAST).await?;
            for row in page.items {
                let BackfillState::Failed { failure, .. } = &row.state else { continue };
                let scope = row.scope.to_string();
                if !listed.contains(&scope) && is_newest(store, &row.scope, row.id).await? {
                    failed.push(FailedDocument {
                        scope: Some(scope),
                        line: None,
                        code: failure.code.clone(),
                        message: format!("{} (in an earlier run; next: `backfill retry`)", failure.message),
                        issues: Vec::new(),
                    });
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    failed.sort_by(|one, other| one.scope.cmp(&other.scope));
    Ok(failed)
}

/// Whether a row is what `backfill retry` would queue again. A newest row that contradicts itself is the audit's.
async fn is_newest(store: &Opened, scope: &Scope, id: BackfillId) -> Result<bool, Failure> {
    match store.ledger.get(scope).await {
        Ok(newest) => Ok(newest.id == id),
        Err(Error::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
