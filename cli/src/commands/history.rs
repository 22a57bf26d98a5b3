use space_profiles_core::{PageLimit, RevisionNumber, Scope, Timestamp};

use crate::exit::{Ending, Failure};
use crate::output::json::{DiffDocument, LogDocument, ProfileDocument, RevisionDocument};
use crate::output::{Output, tables};
use crate::store::Opened;

pub(super) async fn show(store: &Opened, scope: &Scope, output: Output) -> Result<Ending, Failure> {
    let profile = store.registry.head(scope).await?;
    output.either(|| ProfileDocument::from(&profile), || tables::profile(&profile))?;
    Ok(Ending::Done)
}

pub(super) async fn log(
    store: &Opened,
    scope: &Scope,
    after: Option<RevisionNumber>,
    limit: PageLimit,
    output: Output,
) -> Result<Ending, Failure> {
    let page = store.registry.revisions(scope, after, limit).await?;
    output.either(
        || LogDocument::from(&page),
        || {
            let more = page.next.map_or_else(String::new, |next| format!("\nthere is more: `--after {next}`"));
            format!("{}{more}", tables::history(&page.items))
        },
    )?;
    Ok(Ending::unless_any(page.items.iter().any(Result::is_err)))
}

pub(super) async fn at(store: &Opened, scope: &Scope, time: Timestamp, output: Output) -> Result<Ending, Failure> {
    let revision = store.registry.active_at(scope, time).await?;
    output.either(|| RevisionDocument::from(&revision), || tables::revision(&revision))?;
    Ok(Ending::Done)
}

pub(super) async fn diff(
    store: &Opened,
    scope: &Scope,
    from: RevisionNumber,
    to: RevisionNumber,
    output: Output,
) -> Result<Ending, Failure> {
    let diff = store.registry.diff(scope, from, to).await?;
    output.either(|| DiffDocument::new(from, to, &diff), || tables::diff(&diff))?;
    Ok(Ending::Done)
}
