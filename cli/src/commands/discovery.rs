use serde_json::json;
use space_profiles_core::{PageLimit, Space, SpaceFilter};

use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::output::json::{FailedDocument, SummaryDocument};
use crate::output::{Output, lists, tables};
use crate::store::Opened;

/// What was found in the manifests.
#[derive(Default)]
struct Found {
    scanned: u64,
    created: u64,
    installed: u64,
    skipped: Vec<FailedDocument>,
}

pub(super) async fn run(store: &Opened, output: Output) -> Result<Ending, Failure> {
    let found = discover(store, &SpaceFilter::All).await?;
    output.either(
        || json!({"scanned": found.scanned, "created": found.created, "skipped": found.skipped}),
        || {
            let counts = tables::counts(&[
                ("spaces searched", found.scanned),
                ("profiles discovered", found.created),
                ("skipped", found.skipped.len() as u64),
            ]);
            lists::below(counts, &found.skipped)
        },
    )?;
    Ok(Ending::Done)
}

/// A run that cannot check any model: it discovers, and is refused if that leaves something to check.
pub(super) async fn run_without_catalog(
    store: &Opened,
    filter: &SpaceFilter,
    output: Output,
) -> Result<Ending, Failure> {
    let found = discover(store, filter).await?;
    let counts = store.ledger.counts(filter).await?;
    let due = counts.due + counts.expired;
    if due > 0 {
        let message = format!(
            "expected --catalog FILE, which says what is known of the models, since {due} profiles are due to be checked"
        );
        return Err(Failure::Usage { message });
    }
    let document = SummaryDocument {
        imported: None,
        discovered: found.created,
        installed: 0,
        already_installed: found.installed,
        failed: found.skipped,
        pending: counts.queued + counts.running,
    };
    output.either(|| &document, || format!("{}{}", lists::summary(&document), lists::next_steps(&document)))?;
    Ok(Ending::unless_any(!document.failed.is_empty()))
}

async fn discover(store: &Opened, filter: &SpaceFilter) -> Result<Found, Failure> {
    let progress = Progress::counting("spaces searched");
    let mut found = Found::default();
    let mut after: Option<Space> = None;
    loop {
        let page = store.ledger.discover(after.as_ref(), PageLimit::LAST, filter).await?;
        found.scanned += page.scanned as u64;
        found.created += page.created.len() as u64;
        found.installed += page.installed as u64;
        found.skipped.extend(page.skipped.into_iter().map(|skipped| FailedDocument {
            scope: Some(skipped.scope.to_string()),
            line: None,
            code: skipped.reason.code().to_owned(),
            message: skipped.reason.message().to_owned(),
            issues: Vec::new(),
        }));
        progress.at(found.scanned);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}
