//! Servers stopped, connections terminated and lost, callers that leave: every answer agrees with what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use space_profiles_conformance::{ANN, by, embedding, five_minutes, free_form, limit, number, space_of, usual};
use space_profiles_core::{
    Draw, Error, Head, Kind, OsDraw, Proposal, Registry, RevisionNumber, RevisionStatus, Scope, SpaceFilter,
    StoreCode, WorkerId,
};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection, PgConnection};
use throwaway_postgres::{Cluster, ClusterOptions, Cut, Proxy, Shutdown};
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::history::{History, audit_errors};

mod cut;
mod in_commit;
mod terminated;
mod writer;

use writer::{Answers, Command, Pace, Writer};

const DATABASE: &str = "kills";

/// How often a command is repeated at most: a server takes its time to recover.
const REPETITIONS: u32 = 1_000;

/// A cluster of one's own, with our schema.
async fn cluster() -> Arc<Cluster> {
    cluster_with(&[]).await
}

async fn cluster_with(settings: &'static [(&'static str, &'static str)]) -> Arc<Cluster> {
    let cluster = tokio::task::spawn_blocking(|| {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // A commit that waits for the disk is more often met.
        let cluster = Cluster::start(&ClusterOptions { fsync: true, settings, ..ClusterOptions::default() });
        cluster.create_database(DATABASE);
        cluster
    });
    let cluster = Arc::new(cluster.await.unwrap());
    PostgresStore::migrate(&PostgresOptions::from_url(&cluster.url(DATABASE)).unwrap()).await.unwrap();
    cluster
}

/// A registry that soon tells when it cannot reach the server.
async fn registry(url: &str, acquire_timeout: u64) -> Registry {
    let options = PostgresOptions::from_url(url).unwrap().max_connections(6);
    let options = options.acquire_timeout(Duration::from_millis(acquire_timeout));
    Registry::new(Arc::new(PostgresStore::open(&options).await.unwrap()), Arc::new(OsDraw))
}

async fn scope(registry: &Registry) -> Scope {
    let space = space_of("tenant-a", OsDraw.id());
    registry.add_space(&space, None).await.unwrap();
    space.scope(Kind::Embedding)
}

/// What is never to be seen, at no moment: a scope with two active revisions, or with a head that is not at its
/// active one.
const TORN_SCOPES: &str = "
    SELECT count(*)
    FROM
      (
        SELECT tenant_id, knowledge_space_id, kind, count(*) AS active, (array_agg(id))[1] AS id
        FROM knowledge_space_profile_revisions
        WHERE state = 'active'
        GROUP BY tenant_id, knowledge_space_id, kind
      ) AS scope
      FULL JOIN knowledge_space_profile_heads AS head USING (tenant_id, knowledge_space_id, kind)
    WHERE scope.active IS DISTINCT FROM 1 OR head.profile_revision_id IS DISTINCT FROM scope.id";
