use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use space_profiles_core::{
    BackfillCounts, BackfillFilter, BackfillStatus, FailureCode, PageLimit, Scope, SpaceFilter, TenantId, WorkerId,
};
use space_profiles_worker::{Catalog, Summary, Worker, WorkerOptions};

use super::discovery;
use super::interrupt::stop_on_signal;
use super::progress::Progress;
use crate::args::BackfillCommand;
use crate::exit::{Ending, Failure};
use crate::input;
use crate::output::json::{BackfillDocument, FailedDocument, SummaryDocument};
use crate::output::{Output, lists, tables};
use crate::store::Opened;

pub(super) async fn run(store: &Opened, command: BackfillCommand, output: Output) -> Result<Ending, Failure> {
    match command {
        BackfillCommand::Discover => discovery::run(store, output).await,
        BackfillCommand::Run { catalog, tenant } => work(store, catalog, tenant, output).await,
        BackfillCommand::Status => status(store, output).await,
        BackfillCommand::List { state, code } => list(store, state, code, output).await,
        BackfillCommand::Retry { scope: Some(scope), .. } => retry(store, &scope, output).await,
        BackfillCommand::Retry { code, .. } => retry_all(store, code.as_ref(), output).await,
    }
}

/// Far more than all models that there are.
const LARGEST_CATALOG: usize = 64 << 20;

/// Reads a catalog.
pub(super) fn catalog(file: &Path) -> Result<Catalog, Failure> {
    let catalog = if file.as_os_str() == "-" {
        // What is no UTF-8 is no TOML either, and is told as such.
        Catalog::parse(&String::from_utf8_lossy(&input::read(file, LARGEST_CATALOG)?))
    } else {
        Catalog::read(file)
    };
    catalog.map_err(|error| Failure::Other { code: error.code(), message: error.to_string() })
}

/// A worker that checks against a catalog, named after this process.
pub(super) fn worker(store: &Opened, catalog: Catalog) -> Result<Worker, Failure> {
    let host = whoami::hostname().unwrap_or_else(|_| "localhost".to_owned());
    let host: String = host.chars().filter(|character| !character.is_control()).take(100).collect();
    let name = WorkerId::new(format!("{host}:{}", std::process::id()))?;
    Ok(Worker::new(store.ledger.clone(), Arc::new(catalog), WorkerOptions::new(name)))
}

/// What a run did, for people and scripts.
pub(super) fn summary(mut summary: Summary, imported: Option<u64>) -> SummaryDocument {
    // The order in which rows are finished is chance.
    summary.failed.sort_by(|one, other| one.scope.cmp(&other.scope));
    let failed = summary.failed.into_iter().map(|item| FailedDocument {
        scope: Some(item.scope.to_string()),
        line: None,
        code: item.code,
        message: item.message,
        issues: Vec::new(),
    });
    SummaryDocument {
        imported,
        discovered: summary.discovered,
        installed: summary.installed,
        already_installed: summary.already_installed,
        failed: failed.collect(),
        pending: summary.pending,
    }
}

async fn work(
    store: &Opened,
    catalog_file: Option<PathBuf>,
    tenant: Option<TenantId>,
    output: Output,
) -> Result<Ending, Failure> {
    let filter = tenant.map_or(SpaceFilter::All, SpaceFilter::Tenant);
    let Some(file) = catalog_file else {
        return discovery::run_without_catalog(store, &filter, output).await;
    };
    let worker = worker(store, catalog(&file)?)?;
    let stop = stop_on_signal(output);
    let waiting = store.ledger.counts(&filter).await?;
    let progress = Progress::growing_from(waiting.queued + waiting.running, "backfills finished");
    let done = worker.run(&filter, &progress, &stop).await;
    drop(progress);
    let done = done?;
    let was_interrupted = done.was_interrupted;
    let document = summary(done, None);
    output.either(|| &document, || format!("{}{}", lists::summary(&document), lists::next_steps(&document)))?;
    Ok(if was_interrupted { Ending::Interrupted } else { Ending::unless_any(!document.failed.is_empty()) })
}

async fn status(store: &Opened, output: Output) -> Result<Ending, Failure> {
    let counts: BackfillCounts = store.ledger.counts(&SpaceFilter::All).await?;
    output.either(
        || counts,
        || {
            tables::counts(&[
                ("queued", counts.queued),
                ("  of these due", counts.due),
                ("running", counts.running),
                ("  of these expired", counts.expired),
                ("succeeded", counts.succeeded),
                ("failed", counts.failed),
            ])
        },
    )?;
    Ok(Ending::Done)
}

async fn list(
    store: &Opened,
    status: Option<BackfillStatus>,
    code: Option<FailureCode>,
    output: Output,
) -> Result<Ending, Failure> {
    let filter = BackfillFilter { status, code: code.map(|code| code.to_string()), ..BackfillFilter::default() };
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let page = store.ledger.list(&filter, after, PageLimit::LAST).await?;
        if output.is_json {
            for row in &page.items {
                output.document(&BackfillDocument::from(row))?;
            }
        } else {
            rows.extend(page.items);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if !output.is_json {
        output.text(lists::backfills(&rows))?;
    }
    Ok(Ending::Done)
}

async fn retry(store: &Opened, scope: &Scope, output: Output) -> Result<Ending, Failure> {
    let backfill = store.ledger.retry(scope).await?;
    output.either(
        || BackfillDocument::from(&backfill),
        || {
            format!(
                "the backfill of {scope} is queued again; `space-profiles backfill run --catalog FILE` works on it"
            )
        },
    )?;
    Ok(Ending::Done)
}

async fn retry_all(store: &Opened, code: Option<&FailureCode>, output: Output) -> Result<Ending, Failure> {
    let retried = store.ledger.retry_all(code).await?;
    output.either(|| json!({ "retried": retried }), || format!("{retried} backfills are queued again"))?;
    Ok(Ending::Done)
}
