//! A whole queue, from the first claim to the last answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use space_profiles_core::{OsDraw, Registry, SpaceFilter, WorkerId};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use space_profiles_worker::{Event, Observer, Stop, Worker, WorkerOptions};
use throwaway_postgres::Cluster;

use super::graphile::Graphile;
use super::{GRAPHILE, OURS, Rounds, profile};
use crate::results::Row;

/// Drains a queue of `rows` with the worker, then one with the other, in turn. Node, too, is warm after the first.
pub(super) async fn run(cluster: &Cluster, rows: u32, budget: Duration) -> anyhow::Result<Vec<Row>> {
    let adoption = Adoption::new(cluster).await?;
    cluster.create_database("graphile");
    let mut graphile = Graphile::start(&cluster.url("graphile"))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let per_row = |elapsed: Duration| elapsed.as_nanos() as f64 / f64::from(rows);
    for drain in Rounds::within(budget) {
        ours.push(per_row(adoption.drain(cluster, drain, rows).await?));
        theirs.push(per_row(graphile.drain(rows)?));
    }
    let row = |subject, samples: Vec<f64>| Row::new("drain", subject, samples.into_iter().skip(1).collect());
    Ok(vec![row(OURS, ours), row(GRAPHILE, theirs)])
}

/// Spaces with legacy profiles, and a worker as it is by default.
struct Adoption {
    worker: Worker,
}

impl Adoption {
    const DATABASE: &str = "adoption";

    async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        cluster.create_database(Self::DATABASE);
        let options = PostgresOptions::from_url(&cluster.url(Self::DATABASE))?;
        PostgresStore::migrate(&options).await?;
        let registry = Registry::new(Arc::new(PostgresStore::open(&options).await?), Arc::new(OsDraw));
        let options = WorkerOptions::new(WorkerId::new("worker")?);
        Ok(Self { worker: Worker::new(registry.ledger(), Arc::new(profile::AtOnce), options) })
    }

    async fn drain(&self, cluster: &Cluster, number: u32, rows: u32) -> anyhow::Result<Duration> {
        let (first, last) = (number * rows + 1, (number + 1) * rows);
        let metadata = profile::metadata()?;
        cluster.sql(
            Self::DATABASE,
            &format!(
                "INSERT INTO knowledge_spaces
                 SELECT
                   'tenant-' || n % 100, ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'active',
                   NULL, now(), now()
                 FROM generate_series({first}, {last}) AS n;
                 INSERT INTO knowledge_space_manifests
                 SELECT
                   ('018f0d60-7a49-7cc2-9d00-' || lpad(to_hex(n), 12, '0'))::uuid, 'tenant-' || n % 100,
                   ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, 1, '{metadata}', now(), now()
                 FROM generate_series({first}, {last}) AS n;"
            ),
        );
        let found = self.worker.discover(&SpaceFilter::All, &(), &Stop::new()).await?;
        ensure!(found.created == u64::from(rows), "expected {rows} queued rows, found {found:?}");
        cluster.sql(Self::DATABASE, "VACUUM ANALYZE");
        let watch = Watch::default();
        let summary = self.worker.run(&SpaceFilter::All, &watch, &Stop::new()).await?;
        ensure!(summary.installed == u64::from(rows), "expected {rows} installed profiles, found {summary:?}");
        watch.elapsed().context("expected that something was drained")
    }
}

/// Takes the time from the end of discovery, which the first claim follows, until the last row is finished.
#[derive(Default)]
struct Watch(Mutex<(Option<Instant>, Option<Instant>)>);

impl Watch {
    fn elapsed(&self) -> Option<Duration> {
        let (begin, end) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(end?.duration_since(begin?))
    }
}

impl Observer for Watch {
    fn on_event(&self, event: &Event<'_>) {
        let (begin, end) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Discovered { .. } => *begin = Some(Instant::now()),
            Event::Finished { .. } => *end = Some(Instant::now()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_installs_every_profile() {
        let cluster = throwaway_postgres::shared();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let adoption = Adoption::new(cluster).await.unwrap();
            for drain in 0..2 {
                assert!(adoption.drain(cluster, drain, 50).await.unwrap() > Duration::ZERO);
            }
        });
        let count = "SELECT count(*) FROM knowledge_space_profile_heads";
        assert_eq!(cluster.sql(Adoption::DATABASE, count), "100");
    }
}
