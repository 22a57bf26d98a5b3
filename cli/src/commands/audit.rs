use serde_json::json;
use space_profiles_core::{PageLimit, Severity, Space};

use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::output::json::FindingDocument;
use crate::output::{Output, lists};
use crate::store::Opened;

/// Spaces to a page, if they are small: each is read whole, with all its rows.
const PAGE: i64 = 200;

pub(super) async fn run(store: &Opened, output: Output) -> Result<Ending, Failure> {
    let limit = PageLimit::try_from(PAGE)?;
    let progress = Progress::counting("rows checked");
    let mut checked = 0;
    let mut findings = Vec::new();
    let mut after: Option<Space> = None;
    loop {
        let page = store.registry.audit_page(after.as_ref(), limit).await?;
        checked += page.checked;
        findings.extend(page.findings);
        progress.at(checked as u64);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    drop(progress);
    output.either(
        || json!({"checked": checked, "findings": findings.iter().map(FindingDocument::from).collect::<Vec<_>>()}),
        || match findings.is_empty() {
            true => format!("{checked} rows checked, nothing is broken"),
            false => {
                let count = match findings.len() {
                    1 => "1 finding".to_owned(),
                    count => format!("{count} findings"),
                };
                format!("{}\n{checked} rows checked, {count}", lists::findings(&findings))
            }
        },
    )?;
    Ok(Ending::unless_any(findings.iter().any(|finding| finding.severity == Severity::Error)))
}
