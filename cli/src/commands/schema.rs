use serde_json::json;

use crate::exit::{Ending, Failure};
use crate::output::Output;
use crate::store::{self, Location};

pub(super) async fn migrate(url: &str, check: bool, output: Output) -> Result<Ending, Failure> {
    let location = store::locate(url)?;
    if check {
        return self::check(&location, output).await;
    }
    let applied = store::migrate(&location).await?;
    output.either(
        || json!({ "applied": applied }),
        || match applied.as_slice() {
            [] => "the schema is up to date; nothing to do".to_owned(),
            applied => format!("brought up to date: {}", applied.join(", ")),
        },
    )?;
    Ok(Ending::Done)
}

async fn check(location: &Location, output: Output) -> Result<Ending, Failure> {
    let pending = store::pending_migrations(location).await?;
    // What is not there yet differs in every way.
    let differences = if pending.is_empty() { differences(location).await? } else { Vec::new() };
    let is_as_expected = pending.is_empty() && differences.is_empty();
    output.either(
        || json!({ "pending": pending, "differences": differences }),
        || match pending.as_slice() {
            [] if differences.is_empty() => "the schema is up to date".to_owned(),
            [] => differences.join("\n"),
            missing => format!("missing: {}; run `space-profiles migrate`", missing.join(", ")),
        },
    )?;
    Ok(Ending::unless_any(!is_as_expected))
}

pub(super) async fn doctor(url: &str, output: Output) -> Result<Ending, Failure> {
    let differences = differences(&store::locate(url)?).await?;
    output.either(
        || json!({ "differences": differences }),
        || match differences.as_slice() {
            [] => "the schema is as expected".to_owned(),
            differences => differences.join("\n"),
        },
    )?;
    Ok(Ending::unless_any(!differences.is_empty()))
}

async fn differences(location: &Location) -> Result<Vec<String>, Failure> {
    let opened = store::open_as_it_is(location).await?;
    let differences = opened.registry.store().schema_differences().await;
    opened.close().await;
    Ok(differences?)
}
