use std::io::{BufRead as _, IsTerminal as _, Write as _};

use serde_json::json;
use space_profiles_core::{PageLimit, Space, TenantId};

use crate::args::SpaceCommand;
use crate::exit::{Ending, Failure};
use crate::output::json::{Answer, SpaceDocument};
use crate::output::{Output, tables};
use crate::store::Opened;

pub(super) async fn run(store: &Opened, command: SpaceCommand, output: Output) -> Result<Ending, Failure> {
    match command {
        SpaceCommand::Add { space, name } => add(store, &space, name.as_deref(), output).await,
        SpaceCommand::List { tenant } => list(store, tenant.as_ref(), output).await,
        SpaceCommand::Delete { space, yes } => delete(store, &space, yes, output).await,
    }
}

async fn add(store: &Opened, space: &Space, name: Option<&str>, output: Output) -> Result<Ending, Failure> {
    let outcome = store.registry.add_space(space, name).await?;
    let had = if outcome.replayed { "exists already" } else { "is added" };
    output.either(|| Answer::new(&outcome, |row| SpaceDocument::from(row)), || format!("space {space} {had}"))?;
    Ok(Ending::Done)
}

async fn list(store: &Opened, tenant: Option<&TenantId>, output: Output) -> Result<Ending, Failure> {
    let mut rows = Vec::new();
    let mut after: Option<Space> = None;
    loop {
        let page = store.registry.spaces(tenant, after.as_ref(), PageLimit::LAST).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.space.clone());
        if output.is_json {
            for row in &page {
                output.document(&SpaceDocument::from(row))?;
            }
        } else {
            rows.extend(page);
        }
    }
    if !output.is_json {
        output.text(tables::spaces(&rows))?;
    }
    Ok(Ending::Done)
}

async fn delete(store: &Opened, space: &Space, yes: bool, output: Output) -> Result<Ending, Failure> {
    if !yes && !confirmed(space)? {
        return Err(Failure::Other { code: "NOT_CONFIRMED", message: format!("space {space} was not deleted") });
    }
    let outcome = store.registry.delete_space(space).await?;
    output.either(
        || json!({"tenantId": space.tenant, "knowledgeSpaceId": space.id, "deleted": true, "replayed": outcome.replayed}),
        || format!("space {space} is deleted with all that belonged to it"),
    )?;
    Ok(Ending::Done)
}

fn confirmed(space: &Space) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage {
            message: format!("expected --yes to delete space {space}, since nobody can be asked here"),
        });
    }
    eprint!("Delete space {space} with all its profiles, backfills and its manifest? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
