//! The other service that writes the same tables: its transactions, statement by statement, as the seed describes
//! them. It knows the seed's columns only, takes the space's row `FOR UPDATE` before every change of a scope, stamps
//! with the clock of its own host, and digests a capability over keys in `localeCompare` order.

use space_profiles_conformance::{typed_embedding, typed_retrieval, usual};
use space_profiles_core::snapshot::Snapshot;
use space_profiles_core::{Digest, Draw, Kind, OsDraw, Scope, Space};
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

/// Its clock is ahead of the server's, and counts milliseconds.
const NOW: &str = "SELECT date_trunc('milliseconds', clock_timestamp() + interval '5 milliseconds')::text";

/// A capability whose keys RFC 8785 would have in another order, as text in this one.
const CAPABILITY: &str = r#"{"_checked":true,"apiVersion":"2026-07","Region":"eu"}"#;

/// Why a transaction of its was rolled back.
#[derive(Debug)]
pub(crate) enum Refused {
    /// What it read under its locks was not what it expected.
    Stale,
    /// A constraint, a deadlock or a serialization failure.
    ByServer,
}

type Answer<T> = Result<T, Refused>;

/// What a look at a scope shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) newest: Option<u32>,
    pub(crate) candidate: Option<u32>,
    pub(crate) active: Option<u32>,
}

impl Seen {
    pub(crate) fn next(self) -> u32 {
        self.newest.map_or(1, |newest| newest + 1)
    }
}

/// A ledger row that it claimed.
pub(crate) struct Claimed {
    pub(crate) scope: Scope,
    id: Uuid,
    lease_token: Uuid,
    row_version: i32,
}

#[derive(Clone)]
pub(crate) struct KnowledgeFs {
    pool: PgPool,
}

impl KnowledgeFs {
    pub(crate) async fn connect(url: &str, max_connections: u32) -> Self {
        let pool = PgPoolOptions::new().max_connections(max_connections).connect(url).await.unwrap();
        Self { pool }
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    /// A plain look, under no lock.
    pub(crate) async fn look(&self, scope: &Scope) -> Seen {
        let row = sqlx::query(
            "SELECT
               (SELECT max(revision) FROM knowledge_space_profile_revisions
                WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3),
               (SELECT revision FROM knowledge_space_profile_revisions
                WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND state = 'candidate'),
               (SELECT active_revision FROM knowledge_space_profile_heads
                WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3)",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .fetch_one(&self.pool)
        .await
        .unwrap();
        Seen { newest: number(&row, 0), candidate: number(&row, 1), active: number(&row, 2) }
    }

    /// Appends the usual snapshot of a number as candidate, if the number is the next.
    pub(crate) async fn propose(&self, scope: &Scope, revision: u32) -> Answer<()> {
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        lock_space(&mut transaction, &scope.space).await?;
        let newest: Option<i32> = sqlx::query_scalar(
            "SELECT max(revision) FROM knowledge_space_profile_revisions
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .fetch_one(&mut *transaction)
        .await?;
        let candidate = sqlx::query(
            "SELECT revision FROM knowledge_space_profile_revisions
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND state = 'candidate' LIMIT 1",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        if newest.unwrap_or(0) + 1 != integer(revision) || candidate.is_some() {
            return Err(Refused::Stale);
        }
        let snapshot = snapshot(scope.kind, revision);
        let digest = Digest::of(CAPABILITY.as_bytes()).to_string();
        insert_revision(&mut transaction, scope, &snapshot, (CAPABILITY, &digest), "user:fs", None, &now).await?;
        Ok(transaction.commit().await?)
    }

    /// The former revision becomes superseded, the candidate active, and the head advances by its row version.
    pub(crate) async fn activate(&self, scope: &Scope, revision: u32, expected: Option<u32>) -> Answer<()> {
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        lock_space(&mut transaction, &scope.space).await?;
        let head = sqlx::query(
            "SELECT id, profile_revision_id, active_revision, row_version FROM knowledge_space_profile_heads
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 FOR UPDATE",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        if head.as_ref().and_then(|head| number(head, 2)) != expected {
            return Err(Refused::Stale);
        }
        let candidate: Uuid = sqlx::query_scalar(
            "SELECT id FROM knowledge_space_profile_revisions
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND revision = $4
               AND state = 'candidate'
             FOR UPDATE",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .bind(integer(revision))
        .fetch_optional(&mut *transaction)
        .await?
        .ok_or(Refused::Stale)?;
        if let Some(head) = &head {
            let superseded = sqlx::query(
                "UPDATE knowledge_space_profile_revisions
                 SET state = 'superseded', superseded_at = $2::timestamptz, updated_at = $2::timestamptz
                 WHERE id = $1 AND state = 'active'",
            )
            .bind(head.get::<Uuid, _>(1))
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
            one(superseded.rows_affected())?;
        }
        let activated = sqlx::query(
            "UPDATE knowledge_space_profile_revisions
             SET state = 'active', activated_at = $2::timestamptz, updated_at = $2::timestamptz
             WHERE id = $1 AND state = 'candidate'",
        )
        .bind(candidate)
        .bind(&now)
        .execute(&mut *transaction)
        .await?;
        one(activated.rows_affected())?;
        match head {
            None => insert_head(&mut transaction, scope, candidate, revision, &now).await?,
            Some(head) => {
                let moved = sqlx::query(
                    "UPDATE knowledge_space_profile_heads
                     SET
                       profile_revision_id = $3, active_revision = $4, row_version = row_version + 1,
                       updated_at = $5::timestamptz
                     WHERE id = $1 AND row_version = $2",
                )
                .bind(head.get::<Uuid, _>(0))
                .bind(head.get::<i32, _>(3))
                .bind(candidate)
                .bind(integer(revision))
                .bind(&now)
                .execute(&mut *transaction)
                .await?;
                one(moved.rows_affected())?;
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Gives a candidate up.
    pub(crate) async fn fail(&self, scope: &Scope, revision: u32) -> Answer<()> {
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        lock_space(&mut transaction, &scope.space).await?;
        let failed = sqlx::query(
            "UPDATE knowledge_space_profile_revisions
             SET
               state = 'failed', failed_at = $5::timestamptz, updated_at = $5::timestamptz,
               failure_code = 'FS', failure_message = 'given up'
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND revision = $4
               AND state = 'candidate'",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .bind(integer(revision))
        .bind(&now)
        .execute(&mut *transaction)
        .await?;
        one(failed.rows_affected())?;
        Ok(transaction.commit().await?)
    }

    /// Notes something in a space's manifest, beside the profiles and with or without another version.
    pub(crate) async fn edit_manifest(&self, space: &Space, is_new_version: bool) -> Answer<()> {
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        let edited = sqlx::query(
            "UPDATE knowledge_space_manifests
             SET
               manifest_version = manifest_version + CASE WHEN $3 THEN 1 ELSE 0 END,
               metadata = metadata || jsonb_build_object('note', $4::text), updated_at = $4::timestamptz
             WHERE tenant_id = $1 AND knowledge_space_id = $2",
        )
        .bind(space.tenant.as_str())
        .bind(space.id.as_uuid())
        .bind(is_new_version)
        .bind(&now)
        .execute(&mut *transaction)
        .await?;
        one(edited.rows_affected())?;
        Ok(transaction.commit().await?)
    }

    /// Leases up to `most` queued ledger rows, or such whose lease has expired.
    pub(crate) async fn claim(&self, most: u32) -> Answer<Vec<Claimed>> {
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        let rows = sqlx::query(
            "SELECT id, tenant_id, knowledge_space_id, kind, row_version
             FROM knowledge_space_profile_backfills
             WHERE
               execution_attempts < max_execution_attempts
               AND (
                 run_state = 'queued'
                 OR (run_state = 'running' AND lease_expires_at <= $1::timestamptz)
               )
             ORDER BY updated_at, id LIMIT $2
             FOR UPDATE SKIP LOCKED",
        )
        .bind(&now)
        .bind(i64::from(most))
        .fetch_all(&mut *transaction)
        .await?;
        let mut claimed = Vec::new();
        for row in rows {
            let lease_token = OsDraw.id();
            let row_version = row.get::<i32, _>("row_version");
            let leased = sqlx::query(
                "UPDATE knowledge_space_profile_backfills
                 SET
                   run_state = 'running', worker_id = 'fs-worker', lease_token = $3,
                   lease_expires_at = $4::timestamptz + interval '5 minutes', heartbeat_at = $4::timestamptz,
                   execution_attempts = execution_attempts + 1, row_version = row_version + 1,
                   updated_at = $4::timestamptz
                 WHERE id = $1 AND row_version = $2",
            )
            .bind(row.get::<Uuid, _>("id"))
            .bind(row_version)
            .bind(lease_token)
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
            one(leased.rows_affected())?;
            let space = space_profiles_conformance::space_of(row.get("tenant_id"), row.get("knowledge_space_id"));
            let kind: Kind = row.get::<String, _>("kind").parse().unwrap();
            claimed.push(Claimed {
                scope: space.scope(kind),
                id: row.get("id"),
                lease_token,
                row_version: row_version + 1,
            });
        }
        transaction.commit().await?;
        Ok(claimed)
    }

    /// Installs the legacy profile of a claimed row as active revision and head, under locks on the space, the
    /// ledger row and the manifest, in this order; or fails the row, and answers no.
    pub(crate) async fn complete(&self, claimed: &Claimed) -> Answer<bool> {
        let Claimed { scope, id, lease_token, row_version } = claimed;
        let mut transaction = self.pool.begin().await?;
        let now = now(&mut transaction).await?;
        lock_space(&mut transaction, &scope.space).await?;
        let version: i32 = sqlx::query_scalar(
            "SELECT source_manifest_version FROM knowledge_space_profile_backfills
             WHERE
               id = $1 AND run_state = 'running' AND lease_token = $2 AND row_version = $3
               AND lease_expires_at > $4::timestamptz
             FOR UPDATE",
        )
        .bind(id)
        .bind(lease_token)
        .bind(row_version)
        .bind(&now)
        .fetch_optional(&mut *transaction)
        .await?
        .ok_or(Refused::Stale)?;
        let manifest = sqlx::query(
            "SELECT 1 FROM knowledge_space_manifests
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND manifest_version = $3 FOR UPDATE",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(version)
        .fetch_optional(&mut *transaction)
        .await?;
        let revision = sqlx::query(
            "SELECT 1 FROM knowledge_space_profile_revisions
             WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 LIMIT 1",
        )
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        let is_installable = manifest.is_some() && revision.is_none();
        if is_installable {
            let text = usual(scope.kind, 1);
            let capability = match scope.kind {
                Kind::Embedding => typed_embedding(&text, 1_536, "2026-07-14T12:00:00Z"),
                Kind::Retrieval => typed_retrieval(&text, "2026-07-14T12:00:00Z"),
            };
            // For a typed capability its order of keys and RFC 8785 agree in its own locale.
            let (capability, digest) = (capability.canonical(), capability.digest().to_string());
            let revision = insert_revision(
                &mut transaction,
                scope,
                &snapshot(scope.kind, 1),
                (capability, &digest),
                "system:legacy-profile-backfill",
                Some(&now),
                &now,
            )
            .await?;
            insert_head(&mut transaction, scope, revision, 1, &now).await?;
        }
        let error = (!is_installable).then_some("FS_NOT_INSTALLABLE");
        let settled = sqlx::query(
            "UPDATE knowledge_space_profile_backfills
             SET
               run_state = CASE WHEN $4::text IS NULL THEN 'succeeded' ELSE 'failed' END, worker_id = NULL,
               lease_token = NULL, lease_expires_at = NULL, heartbeat_at = NULL, last_error_code = $4,
               last_error_message = $4, completed_at = $5::timestamptz, updated_at = $5::timestamptz,
               row_version = row_version + 1
             WHERE id = $1 AND lease_token = $2 AND row_version = $3",
        )
        .bind(id)
        .bind(lease_token)
        .bind(row_version)
        .bind(error)
        .bind(&now)
        .execute(&mut *transaction)
        .await?;
        one(settled.rows_affected())?;
        transaction.commit().await?;
        Ok(is_installable)
    }
}

impl From<sqlx::Error> for Refused {
    fn from(error: sqlx::Error) -> Self {
        let state = error.as_database_error().and_then(|error| error.code());
        assert!(
            matches!(state.as_deref(), Some("23505" | "40001" | "40P01")),
            "expected the other service to be refused for a conflict only, found {error}"
        );
        Self::ByServer
    }
}

async fn now(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar(NOW).fetch_one(connection).await
}

async fn lock_space(connection: &mut PgConnection, space: &Space) -> Answer<()> {
    sqlx::query(
        "SELECT id FROM knowledge_spaces
         WHERE tenant_id = $1 AND id = $2 AND lifecycle_state = 'active' AND deletion_job_id IS NULL FOR UPDATE",
    )
    .bind(space.tenant.as_str())
    .bind(space.id.as_uuid())
    .fetch_optional(connection)
    .await?
    .map(drop)
    .ok_or(Refused::Stale)
}

/// Inserts the seed's columns; a revision with an `activated_at` is active, one without a candidate.
async fn insert_revision(
    connection: &mut PgConnection,
    scope: &Scope,
    snapshot: &Snapshot,
    (capability, capability_digest): (&str, &str),
    by: &str,
    activated_at: Option<&str>,
    now: &str,
) -> Result<Uuid, sqlx::Error> {
    let (id, identity) = (OsDraw.id(), snapshot.identity());
    sqlx::query(
        "INSERT INTO knowledge_space_profile_revisions (
           id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest,
           capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id,
           dimension, created_by_subject_id, failure_code, failure_message, created_at, updated_at,
           activated_at, superseded_at, failed_at
         )
         VALUES (
           $1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9::jsonb, $10, $11, $12, $13, $14, $15, $16, NULL, NULL,
           $17::timestamptz, $17::timestamptz, $18::timestamptz, NULL, NULL
         )",
    )
    .bind(id)
    .bind(scope.space.tenant.as_str())
    .bind(scope.space.id.as_uuid())
    .bind(scope.kind.as_str())
    .bind(integer(snapshot.revision().get()))
    .bind(if activated_at.is_some() { "active" } else { "candidate" })
    .bind(snapshot.canonical())
    .bind(snapshot.digest().to_string())
    .bind(capability)
    .bind(capability_digest)
    .bind(identity.selection.plugin_id())
    .bind(identity.selection.provider())
    .bind(identity.selection.model())
    .bind(identity.vector_space_id.map(|id| id.to_string()))
    .bind(identity.dimension.map(|dimension| integer(dimension.get())))
    .bind(by)
    .bind(now)
    .bind(activated_at)
    .execute(connection)
    .await?;
    Ok(id)
}

async fn insert_head(
    connection: &mut PgConnection,
    scope: &Scope,
    revision_id: Uuid,
    revision: u32,
    now: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO knowledge_space_profile_heads (
           id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
           created_at, updated_at
         )
         VALUES ($1, $2, $3, $4, $5, $6, 1, $7::timestamptz, $7::timestamptz)",
    )
    .bind(OsDraw.id())
    .bind(scope.space.tenant.as_str())
    .bind(scope.space.id.as_uuid())
    .bind(scope.kind.as_str())
    .bind(revision_id)
    .bind(integer(revision))
    .bind(now)
    .execute(connection)
    .await
    .map(drop)
}

fn snapshot(kind: Kind, revision: u32) -> Snapshot {
    Snapshot::parse(kind, usual(kind, revision).to_string().as_bytes()).expect("the snapshot is valid")
}

fn one(rows: u64) -> Answer<()> {
    if rows == 1 { Ok(()) } else { Err(Refused::Stale) }
}

fn number(row: &PgRow, column: usize) -> Option<u32> {
    row.get::<Option<i32>, _>(column).map(|number| u32::try_from(number).unwrap())
}

fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap()
}
