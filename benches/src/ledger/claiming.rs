//! A claim of ten rows, from queues of several lengths.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use space_profiles_core::{Digest, Lease, Ledger, OsDraw, PageLimit, Registry, SpaceFilter, WorkerId};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection as _, PgConnection};
use throwaway_postgres::Cluster;

use super::knowledge_fs::KnowledgeFs;
use super::{KNOWLEDGE_FS, OURS, Rounds, grouped, profile};
use crate::results::{Quartiles, Row};

/// How many rows a claim is for.
const BATCH: u32 = 10;

/// Claims from every queue in turn, first by the ledger and then by the other service. The rows of both are handed back
/// before the next, to the queue's end, so that it stays as long.
pub(super) async fn run(cluster: &Cluster, lengths: &[u32], budget: Duration) -> anyhow::Result<Vec<Row>> {
    let mut queues = Vec::new();
    for length in lengths {
        queues.push(Queue::filled(cluster, *length).await?);
    }
    for _ in Rounds::within(budget) {
        for queue in &mut queues {
            queue.claim_by_us().await?;
            queue.claim_by_them().await?;
        }
    }
    let shortest = queues.first().map(|queue| (queue.length, queue.ours.clone()));
    let mut rows = Vec::new();
    for queue in &queues {
        let case = format!("claim of {BATCH}, {} queued", grouped(queue.length));
        let mut put = |subject: &str, samples: &[f64]| {
            rows.push(Row::new(case.as_str(), subject, samples.iter().skip(1).copied().collect()));
        };
        put(OURS, &queue.ours);
        if let Some((length, samples)) = shortest.as_ref().filter(|(length, _)| *length < queue.length) {
            put(&format!("{OURS}, {} queued", grouped(*length)), samples);
        }
        put(KNOWLEDGE_FS, &queue.theirs);
    }
    Ok(rows)
}

struct Queue {
    length: u32,
    ledger: Ledger,
    other: KnowledgeFs,
    operator: PgConnection,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Queue {
    async fn filled(cluster: &Cluster, length: u32) -> anyhow::Result<Self> {
        let database = format!("queued_{length}");
        cluster.create_database(&database);
        let url = cluster.url(&database);
        let options = PostgresOptions::from_url(&url)?.max_connections(1);
        PostgresStore::migrate(&options).await?;
        let profile = profile::text()?;
        let digest = Digest::of(profile.as_bytes());
        // Rows are as discovery leaves them, in the order in which it finds them. Without foreign keys' checks, since
        // every row has its space.
        cluster.sql(
            &database,
            &format!(
                "SET session_replication_role = replica;
                 INSERT INTO knowledge_spaces
                 SELECT
                   'tenant-' || n % 100, ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'active',
                   NULL, now(), now()
                 FROM generate_series(1, {length}) AS n;
                 INSERT INTO knowledge_space_profile_backfills (
                   id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot,
                   source_snapshot_digest, run_state, execution_attempts, max_execution_attempts, row_version,
                   created_at, updated_at, due_at
                 )
                 SELECT
                   ('018f0d60-7a49-7cc2-9d00-' || lpad(to_hex(n), 12, '0'))::uuid, 'tenant-' || n % 100,
                   ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, 'embedding', 1, '{profile}',
                   '{digest}', 'queued', 0, 3, 1, at, at, at
                 FROM
                   generate_series(1, {length}) AS n,
                   LATERAL (SELECT now() - interval '1 hour' + n * interval '1 millisecond' AS at) AS discovery;
                 RESET session_replication_role;
                 VACUUM ANALYZE;"
            ),
        );
        let store = PostgresStore::open(&options).await?;
        Ok(Self {
            length,
            ledger: Registry::new(Arc::new(store), Arc::new(OsDraw)).ledger(),
            other: KnowledgeFs::connect(&url).await?,
            operator: PgConnection::connect(&url).await?,
            ours: Vec::new(),
            theirs: Vec::new(),
        })
    }

    /// The middle of several claims, as workers make one after the other: the other's, of a long queue, takes so long
    /// that the first after it finds nothing where it was.
    async fn claim_by_us(&mut self) -> anyhow::Result<()> {
        const CLAIMS: usize = 5;
        let (worker, batch) = (WorkerId::new("worker")?, PageLimit::try_from(i64::from(BATCH))?);
        let mut times = Vec::new();
        for _ in 0..CLAIMS {
            let begin = Instant::now();
            let claimed = self.ledger.claim(&worker, batch, Lease::DEFAULT, &SpaceFilter::All).await?;
            times.push(begin.elapsed().as_nanos() as f64);
            ensure!(claimed.backfills.len() == BATCH as usize, "expected {BATCH} rows, found {claimed:?}");
            self.hand_back().await?;
        }
        self.ours.push(Quartiles::of(&times).median);
        Ok(())
    }

    async fn claim_by_them(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        let claimed = self.other.claim(BATCH).await?;
        self.theirs.push(begin.elapsed().as_nanos() as f64);
        ensure!(claimed == BATCH as usize, "expected {BATCH} rows, found {claimed}");
        self.hand_back().await
    }

    async fn hand_back(&mut self) -> anyhow::Result<()> {
        sqlx::query(
            "UPDATE knowledge_space_profile_backfills
             SET
               run_state = 'queued', execution_attempts = 0, worker_id = NULL, lease_token = NULL,
               lease_expires_at = NULL, heartbeat_at = NULL, row_version = row_version + 1,
               due_at = clock_timestamp(), updated_at = clock_timestamp()
             WHERE run_state = 'running'",
        )
        .execute(&mut self.operator)
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_is_claimed_from_by_both_and_stays_as_long() {
        let cluster = throwaway_postgres::shared();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let rows = runtime.block_on(run(cluster, &[20, 1_000], Duration::ZERO)).unwrap();
        let told: Vec<(&str, &str)> = rows.iter().map(|row| (row.case.as_str(), row.subject.as_str())).collect();
        let expected = [
            ("claim of 10, 20 queued", OURS),
            ("claim of 10, 20 queued", KNOWLEDGE_FS),
            ("claim of 10, 1,000 queued", OURS),
            ("claim of 10, 1,000 queued", "space-profiles, 20 queued"),
            ("claim of 10, 1,000 queued", KNOWLEDGE_FS),
        ];
        assert_eq!(told, expected);
        assert!(rows.iter().all(|row| row.median_ns > 0.0 && row.samples_ns.len() == 3));
        let count = "SELECT run_state, count(*) FROM knowledge_space_profile_backfills GROUP BY 1";
        assert_eq!(cluster.sql("queued_1000", count), "queued|1000");
    }
}
