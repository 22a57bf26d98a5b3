//! Who does the work: all through sqlx, each over a pool of its own with as many connections as there are clients.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use space_profiles_core::{OsDraw, Proposal, Registry, RevisionNumber, Scope, SubjectId, Timestamp};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::material::Material;

/// What a caller wants done. All answers are awaited to their end, and one that is a refusal is a failure.
#[async_trait::async_trait]
pub trait Subject: Send + Sync {
    /// Appends `next` as a candidate and makes it the active revision in the place of `active`.
    async fn propose_and_activate(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()>;

    /// As [`propose_and_activate`](Self::propose_and_activate), in one go where the subject knows one.
    async fn publish(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()>;

    /// Reads the head and its revision, which must be `active`.
    async fn head(&self, scope: &Scope, active: u32) -> anyhow::Result<()>;
}

/// The library, as an application uses it.
pub struct SpaceProfiles {
    registry: Registry,
    activating: Registry,
    by: SubjectId,
}

impl SpaceProfiles {
    /// Opens the store.
    ///
    /// # Errors
    ///
    /// It cannot be reached.
    pub async fn open(url: &str, connections: u32) -> anyhow::Result<Self> {
        let registry = registry(url, connections).await?;
        Ok(Self { activating: registry.clone(), registry, by: SubjectId::new("user:ann")? })
    }

    /// Opens two stores, so that one proposes and another activates, as two processes would.
    ///
    /// # Errors
    ///
    /// One cannot be reached.
    pub async fn open_two(url: &str, connections: u32) -> anyhow::Result<Self> {
        let activating = registry(url, connections).await?;
        Ok(Self { activating, ..Self::open(url, connections).await? })
    }

    fn proposal<'m>(&self, material: &'m Material) -> Proposal<'m> {
        let (snapshot, capability) = (material.snapshot.canonical(), material.capability.canonical());
        Proposal::new(snapshot.as_bytes(), capability.as_bytes(), self.by.clone())
    }
}

#[async_trait::async_trait]
impl Subject for SpaceProfiles {
    async fn propose_and_activate(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        let proposed = self.registry.propose(scope, &self.proposal(next)).await?;
        anyhow::ensure!(!proposed.replayed, "expected to propose something new");
        let expected = Some(number(active)?);
        let activated = self.activating.activate(scope, next.snapshot.revision(), expected, &self.by).await?;
        anyhow::ensure!(!activated.replayed, "expected to activate something new");
        Ok(())
    }

    async fn publish(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        let published = self.registry.publish(scope, &self.proposal(next), Some(number(active)?)).await?;
        anyhow::ensure!(!published.replayed, "expected to publish something new");
        Ok(())
    }

    async fn head(&self, scope: &Scope, active: u32) -> anyhow::Result<()> {
        let profile = self.registry.head(scope).await?;
        anyhow::ensure!(
            profile.head.active_revision == number(active)?,
            "expected revision {active} to be active"
        );
        Ok(())
    }
}

async fn registry(url: &str, connections: u32) -> anyhow::Result<Registry> {
    let options = PostgresOptions::from_url(url)?.max_connections(connections);
    let store = PostgresStore::open(&options).await?;
    Ok(Registry::new(Arc::new(store), Arc::new(OsDraw)))
}

fn number(revision: u32) -> anyhow::Result<RevisionNumber> {
    Ok(RevisionNumber::try_from(i64::from(revision))?)
}

/// A pool for statements by hand. As the library's, it does not ask a connection whether it is there before each use.
pub async fn pool(url: &str, connections: u32) -> anyhow::Result<PgPool> {
    let options = PgPoolOptions::new().max_connections(connections).test_before_acquire(false);
    options.connect(url).await.context("expected to reach the database")
}

/// Now by the host's clock, as text.
pub fn now() -> anyhow::Result<String> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(Timestamp::from_micros(i64::try_from(micros)?).to_string())
}

/// A number as a column takes it.
pub fn integer(number: u32) -> anyhow::Result<i32> {
    Ok(i32::try_from(number)?)
}

/// That a statement wrote the one row that it was to write.
pub fn one(rows: u64) -> anyhow::Result<()> {
    anyhow::ensure!(rows == 1, "expected one row to be written, found {rows}");
    Ok(())
}
