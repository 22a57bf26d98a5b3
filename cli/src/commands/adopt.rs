use std::collections::BTreeSet;
use std::path::Path;

use space_profiles_core::{BackfillFilter, BackfillState, BackfillStatus, PageLimit, Space, SpaceFilter};
use space_profiles_worker::Summary;

use super::backfill::{catalog, summary, worker};
use super::import::import;
use super::interrupt::stop_on_signal;
use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::output::json::FailedDocument;
use crate::output::{Output, tables};
use crate::store::{self, Opened};

/// How many spaces one filter may name.
const CHUNK: usize = 1_000;

pub(super) async fn run(url: &str, file: &Path, catalog_file: &Path, output: Output) -> Result<Ending, Failure> {
    // Before anything is written: what cannot be read should not leave half the work behind.
    let catalog = catalog(catalog_file)?;
    let store = store::open(url)?;
    let stop = stop_on_signal();
    let imported = import(&store, file, &stop).await?;

    let worker = worker(&store, catalog)?;
    let spaces: Vec<Space> = imported.spaces.keys().cloned().collect();
    let profiles: usize = imported.spaces.values().map(Vec::len).sum();
    let progress = Progress::towards(profiles as u64, "profiles adopted");
    let mut whole = Summary { was_interrupted: imported.was_interrupted, ..Summary::default() };
    for chunk in spaces.chunks(CHUNK) {
        if whole.was_interrupted {
            break;
        }
        let part = worker.run(&SpaceFilter::Spaces(chunk.to_vec()), &progress, &stop).await?;
        whole.discovered += part.discovered;
        whole.installed += part.installed;
        whole.already_installed += part.already_installed;
        whole.failed.extend(part.failed);
        whole.pending += part.pending;
        whole.was_interrupted |= part.was_interrupted;
    }
    drop(progress);

    let was_interrupted = whole.was_interrupted;
    let mut document = summary(whole, Some(imported.imported));
    let listed: BTreeSet<String> = document.failed.iter().filter_map(|item| item.scope.clone()).collect();
    document.failed.extend(failed_before(&store, &spaces, &listed).await?);
    document.failed.splice(0..0, imported.failed);
    output.either(
        || &document,
        || {
            let has_failed_rows = document.failed.iter().any(|item| item.line.is_none());
            let advice = "\nmend the cause, then `space-profiles backfill retry --all` and `adopt` again";
            format!("{}{}", tables::summary(&document), if has_failed_rows { advice } else { "" })
        },
    )?;
    Ok(if was_interrupted { Ending::Interrupted } else { Ending::unless_any(!document.failed.is_empty()) })
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
                let scope = row.scope.to_string();
                let newest = store.ledger.get(&row.scope).await?;
                let BackfillState::Failed { failure, .. } = &row.state else { continue };
                if newest.id == row.id && !listed.contains(&scope) {
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
    Ok(failed)
}
