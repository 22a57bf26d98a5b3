//! Databases of a size, whose rows the library reads as valid.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use space_profiles_core::{Kind, Scope, Space, TenantId};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use throwaway_postgres::Cluster;
use uuid::Uuid;

use super::material::Materials;

/// How many revisions each scope has, and about how many it keeps; the last one is active.
pub const REVISIONS: u32 = 10;

/// How many revisions a scope may have had added, on average, before the oldest ones go.
const MOST_ADDED: u64 = 2;

/// A database, and what its clients know of it.
pub struct Database {
    /// Where it is.
    pub url: String,
    name: String,
    scopes: Vec<(Scope, AtomicU32)>,
    /// The sum of all active numbers when the scopes had [`REVISIONS`] revisions each.
    shortened_at: AtomicU64,
    turn: AtomicU64,
}

impl Database {
    /// Makes one with so many spaces.
    ///
    /// # Errors
    ///
    /// It cannot be migrated.
    pub async fn fill(cluster: &Cluster, spaces: u32, materials: &Materials) -> anyhow::Result<Self> {
        let name = format!("spaces_{spaces}");
        cluster.create_database(&name);
        let url = cluster.url(&name);
        PostgresStore::migrate(&PostgresOptions::from_url(&url)?).await?;
        cluster.sql(&name, &filling(spaces, materials)?);
        let scopes = (1..=spaces).map(|number| Ok((scope(number)?, AtomicU32::new(REVISIONS))));
        Ok(Self {
            url,
            name,
            scopes: scopes.collect::<anyhow::Result<_>>()?,
            shortened_at: AtomicU64::new(u64::from(spaces) * u64::from(REVISIONS)),
            turn: AtomicU64::new(0),
        })
    }

    /// Takes away the oldest revisions once scopes have become long, so that the last sample finds what the first one
    /// found.
    pub fn shorten(&self, cluster: &Cluster) {
        let newest: u64 = self.scopes.iter().map(|(_, active)| u64::from(active.load(Ordering::Relaxed))).sum();
        let most = self.shortened_at.load(Ordering::Relaxed) + MOST_ADDED * self.scopes.len() as u64;
        if newest > most {
            self.shortened_at.store(newest, Ordering::Relaxed);
            cluster.sql(
                &self.name,
                &format!(
                    "DELETE FROM knowledge_space_profile_revisions AS revision
                     USING knowledge_space_profile_heads AS head
                     WHERE
                       revision.tenant_id = head.tenant_id AND revision.knowledge_space_id = head.knowledge_space_id
                       AND revision.kind = head.kind AND revision.revision <= head.active_revision - {REVISIONS};
                     VACUUM knowledge_space_profile_revisions;
                     VACUUM knowledge_space_profile_heads"
                ),
            );
        }
    }

    /// The scope that a client uses next, with the number of its active revision. No other client of the same
    /// slice uses it, so that nobody waits for somebody else's lock on a row.
    pub fn next(&self, client: usize, clients: usize) -> (&Scope, &AtomicU32) {
        let own = (self.scopes.len() / clients).max(1);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Far from the one before, as callers come (the multiplier is Knuth's).
        let at = (turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % own;
        let (scope, active) = &self.scopes[(client * own + at) % self.scopes.len()];
        (scope, active)
    }
}

/// Spaces' ids follow from their numbers, here and in [`filling`].
fn scope(number: u32) -> anyhow::Result<Scope> {
    let id = Uuid::from_u128(0x018f_0d60_7a49_7cc2_9c00_0000_0000_0000 + u128::from(number));
    let tenant = TenantId::new(format!("tenant-{}", number % 100))?;
    Ok(Space { tenant, id: id.into() }.scope(Kind::Embedding))
}

/// The rows of a scope lie far from each other, as they do when they come one after the other. Foreign keys hold by
/// construction and are not asked.
fn filling(spaces: u32, materials: &Materials) -> anyhow::Result<String> {
    let mut rows = String::new();
    for number in 1..=REVISIONS {
        let material = materials.revision(number)?;
        let (snapshot, capability) = (&material.snapshot, &material.capability);
        let identity = snapshot.identity();
        let separator = if number > 1 { "," } else { "" };
        write!(
            rows,
            "{separator}\n({number}, '{}'::jsonb, '{}', '{}'::jsonb, '{}', '{}', '{}', '{}', '{}', {})",
            snapshot.canonical(),
            snapshot.digest(),
            capability.canonical(),
            capability.digest(),
            identity.selection.plugin_id(),
            identity.selection.provider(),
            identity.selection.model(),
            identity.vector_space_id.map(|id| id.to_string()).unwrap_or_default(),
            identity.dimension.map_or(0, |dimension| dimension.get()),
        )?;
    }
    Ok(format!(
        "SET session_replication_role = replica;
         INSERT INTO knowledge_spaces
         SELECT
           'tenant-' || n % 100, ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, 'Space ' || n,
           'active', NULL, now() - interval '1 day', now() - interval '1 day'
         FROM generate_series(1, {spaces}) AS n;

         INSERT INTO knowledge_space_manifests
         SELECT gen_random_uuid(), tenant_id, id, 1, '{{\"note\": \"kept\"}}', created_at, created_at
         FROM knowledge_spaces;

         INSERT INTO knowledge_space_profile_revisions (
           id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest,
           capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id, dimension,
           created_by_subject_id, activated_by_subject_id, created_at, updated_at, activated_at, superseded_at
         )
         SELECT
           gen_random_uuid(), space.tenant_id, space.id, 'embedding', material.revision,
           CASE material.revision WHEN {REVISIONS} THEN 'active' ELSE 'superseded' END,
           material.snapshot, material.digest, material.capability, material.capability_digest,
           material.plugin_id, material.provider, material.model, material.vector_space_id, material.dimension,
           'user:ann', 'user:ann', at, at + interval '1 minute', at,
           CASE WHEN material.revision < {REVISIONS} THEN at + interval '1 minute' END
         FROM
           (VALUES {rows}) AS material (
             revision, snapshot, digest, capability, capability_digest, plugin_id, provider, model,
             vector_space_id, dimension
           ),
           LATERAL (
             SELECT tenant_id, id, created_at + material.revision * interval '1 minute' AS at
             FROM knowledge_spaces
           ) AS space
         ORDER BY material.revision;

         INSERT INTO knowledge_space_profile_heads
         SELECT
           gen_random_uuid(), tenant_id, knowledge_space_id, kind, id, revision, revision, created_at, created_at
         FROM knowledge_space_profile_revisions
         WHERE state = 'active';

         VACUUM ANALYZE;
         CHECKPOINT;"
    ))
}
