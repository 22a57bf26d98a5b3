use serde_json::json;

use crate::exit::{Ending, Failure};
use crate::output::{Output, plain};
use crate::store::{self, Location};

pub(super) async fn migrate(url: &str, check: bool, output: Output) -> Result<Ending, Failure> {
    let location = store::locate("--store", url)?;
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
        || if is_as_expected { "the schema is up to date".to_owned() } else { told(&pending, &differences) },
    )?;
    Ok(Ending::unless_any(!is_as_expected))
}

pub(super) async fn doctor(url: &str, output: Output) -> Result<Ending, Failure> {
    let location = store::locate("--store", url)?;
    let differences = differences(&location).await?;
    let is_as_expected = differences.is_empty();
    // What another version made is among the differences.
    let pending =
        if is_as_expected { Vec::new() } else { store::pending_migrations(&location).await.unwrap_or_default() };
    output.either(
        || json!({ "differences": differences }),
        || if is_as_expected { "the schema is as expected".to_owned() } else { told(&pending, &differences) },
    )?;
    Ok(Ending::unless_any(!is_as_expected))
}

/// What is wrong with a schema, and what to do.
fn told(pending: &[&str], differences: &[String]) -> String {
    if !pending.is_empty() {
        return format!("missing: {}; run `space-profiles migrate`", pending.join(", "));
    }
    let listed: Vec<String> =
        differences.iter().map(|difference| format!("- {}", brief(&plain(difference)))).collect();
    let listed = listed.join("\n");
    let cut = if listed.contains(CUT) { "\n`space-profiles --json doctor` tells what was cut" } else { "" };
    format!("the schema differs from what the migrations made, which `migrate` does not mend:\n{listed}{cut}")
}

/// What people read of a definition.
const LONGEST: usize = 250;
const CUT: &str = " …`";

/// A sentence whose long definitions are cut.
fn brief(sentence: &str) -> String {
    let cut = |(index, part): (usize, &str)| {
        let is_quoted = index % 2 == 1;
        if is_quoted && part.chars().count() > LONGEST {
            let start: String = part.chars().take(LONGEST / 2).collect();
            format!("{}{}", start.trim_end(), CUT.trim_end_matches('`'))
        } else {
            part.to_owned()
        }
    };
    let parts: Vec<String> = sentence.split('`').enumerate().map(cut).collect();
    parts.join("`")
}

async fn differences(location: &Location) -> Result<Vec<String>, Failure> {
    let opened = store::open_as_it_is(location).await?;
    let differences = opened.registry.store().schema_differences().await;
    opened.close().await;
    Ok(differences?)
}
