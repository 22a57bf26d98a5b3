use serde_json::json;

use crate::exit::{Ending, Failure};
use crate::output::Output;
use crate::store;

pub(super) async fn migrate(url: &str, check: bool, output: Output) -> Result<Ending, Failure> {
    let location = store::locate(url)?;
    let pending = store::pending_migrations(&location).await?;
    if check {
        output.either(
            || json!({ "pending": pending }),
            || match pending.as_slice() {
                [] => "the schema is up to date".to_owned(),
                missing => format!("missing: {}; run `space-profiles migrate`", missing.join(", ")),
            },
        )?;
        return Ok(Ending::unless_any(!pending.is_empty()));
    }
    store::open(&location).await?.close().await;
    output.either(
        || json!({ "applied": pending }),
        || match pending.as_slice() {
            [] => "the schema is up to date; nothing to do".to_owned(),
            applied => format!("brought up to date: {}", applied.join(", ")),
        },
    )?;
    Ok(Ending::Done)
}

pub(super) async fn doctor(url: &str, output: Output) -> Result<Ending, Failure> {
    let opened = store::open_as_it_is(&store::locate(url)?).await?;
    let differences = opened.registry.store().schema_differences().await;
    opened.close().await;
    let differences = differences?;
    output.either(
        || json!({ "differences": differences }),
        || match differences.as_slice() {
            [] => "the schema is as expected".to_owned(),
            differences => differences.join("\n"),
        },
    )?;
    Ok(Ending::unless_any(!differences.is_empty()))
}
