//! knowledge-fs's own sequence: seventeen statements in two transactions, `BEGIN` and `COMMIT` among them.
//!
//! It is what its repository sends to propose and to activate one revision, minus its look for a deletion job, whose
//! table is not ours. Nothing makes it slow here: it runs on the same driver and as many connections, statements are
//! prepared once a connection, nothing is digested or compared but what decides the next step, and the snapshot comes
//! ready to be written.

use anyhow::Context as _;
use space_profiles_core::Scope;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};
use uuid::Uuid;

use super::material::Material;
use super::subjects::{Subject, integer, now, one, pool};

// Propose.
const LOCK_SPACE: &str = "SELECT id, lifecycle_state, deletion_job_id FROM knowledge_spaces
     WHERE tenant_id = $1 AND id = $2 FOR UPDATE";
const PENDING: &str = "SELECT id, revision FROM knowledge_space_profile_revisions
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND state = 'candidate' LIMIT 1 FOR UPDATE";
const LATEST: &str = "SELECT revision FROM knowledge_space_profile_revisions
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 ORDER BY revision DESC LIMIT 1 FOR UPDATE";
const INSERT: &str = "INSERT INTO knowledge_space_profile_revisions (
       id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest, capability_snapshot,
       capability_snapshot_digest, plugin_id, provider, model, vector_space_id, dimension, created_by_subject_id,
       failure_code, failure_message, created_at, updated_at, activated_at, superseded_at, failed_at
     )
     VALUES (
       $1, $2, $3, $4, $5, 'candidate', $6::jsonb, $7, $8::jsonb, $9, $10, $11, $12, $13, $14, $15, NULL, NULL,
       $16::timestamptz, $16::timestamptz, NULL, NULL, NULL
     )";
const REVISION: &str = "SELECT * FROM knowledge_space_profile_revisions
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND revision = $4";

// Activate; LOCK_SPACE comes first again.
const LOCK_HEAD: &str = "SELECT * FROM knowledge_space_profile_heads
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 FOR UPDATE";
const LOCK_REVISION: &str = "SELECT * FROM knowledge_space_profile_revisions
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND revision = $4 FOR UPDATE";
const LOCK_REVISION_BY_ID: &str = "SELECT * FROM knowledge_space_profile_revisions WHERE id = $1 FOR UPDATE";
const SUPERSEDE: &str = "UPDATE knowledge_space_profile_revisions
     SET state = 'superseded', superseded_at = $2::timestamptz, updated_at = $2::timestamptz
     WHERE id = $1 AND state = 'active'";
const ACTIVATE: &str = "UPDATE knowledge_space_profile_revisions
     SET state = 'active', activated_at = $2::timestamptz, updated_at = $2::timestamptz
     WHERE id = $1 AND state = 'candidate'";
const ADVANCE: &str = "UPDATE knowledge_space_profile_heads
     SET profile_revision_id = $4, active_revision = $5, row_version = $6, updated_at = $7::timestamptz
     WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND row_version = $8";
const HEAD: &str = "SELECT
       head.id AS head_id, head.profile_revision_id, head.active_revision, head.row_version,
       head.created_at AS head_created_at, head.updated_at AS head_updated_at, revision.*
     FROM
       knowledge_space_profile_heads AS head
       JOIN knowledge_space_profile_revisions AS revision ON revision.id = head.profile_revision_id
     WHERE head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3";

/// The service that writes the same tables.
pub struct KnowledgeFs(PgPool);

impl KnowledgeFs {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub async fn open(url: &str, connections: u32) -> anyhow::Result<Self> {
        pool(url, connections).await.map(Self)
    }

    /// Seven statements.
    async fn propose(&self, scope: &Scope, next: &Material) -> anyhow::Result<()> {
        let now = now()?;
        let mut transaction = self.0.begin().await?;
        lock_space(&mut transaction, scope).await?;
        let pending = of_scope(PENDING, scope).fetch_optional(&mut *transaction).await?;
        anyhow::ensure!(pending.is_none(), "expected no candidate");
        let latest = of_scope(LATEST, scope).fetch_optional(&mut *transaction).await?;
        let latest = latest.context("expected a revision")?.try_get::<i32, _>("revision")?;
        let revision = integer(next.snapshot.revision().get())?;
        anyhow::ensure!(latest + 1 == revision, "expected revision {revision} to be the next, found {latest}");
        let identity = next.snapshot.identity();
        let inserted = sqlx::query(INSERT)
            .bind(Uuid::new_v4())
            .bind(scope.space.tenant.as_str())
            .bind(scope.space.id.as_uuid())
            .bind(scope.kind.as_str())
            .bind(revision)
            .bind(next.snapshot.canonical())
            .bind(next.snapshot.digest().to_string())
            .bind(next.capability.canonical())
            .bind(next.capability.digest().to_string())
            .bind(identity.selection.plugin_id())
            .bind(identity.selection.provider())
            .bind(identity.selection.model())
            .bind(identity.vector_space_id.map(|id| id.to_string()))
            .bind(identity.dimension.map(|dimension| integer(dimension.get())).transpose()?)
            .bind("user:ann")
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        one(inserted.rows_affected())?;
        let created = of_scope(REVISION, scope).bind(revision).fetch_optional(&mut *transaction).await?;
        created.context("expected the candidate")?;
        Ok(transaction.commit().await?)
    }

    /// Ten statements.
    async fn activate(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        let now = now()?;
        let (active, revision) = (integer(active)?, integer(next.snapshot.revision().get())?);
        let mut transaction = self.0.begin().await?;
        lock_space(&mut transaction, scope).await?;
        let head =
            of_scope(LOCK_HEAD, scope).fetch_optional(&mut *transaction).await?.context("expected a head")?;
        anyhow::ensure!(head.try_get::<i32, _>("active_revision")? == active, "expected {active} to be active");
        let candidate = of_scope(LOCK_REVISION, scope).bind(revision).fetch_optional(&mut *transaction).await?;
        let candidate = candidate.context("expected the candidate")?;
        anyhow::ensure!(state(&candidate)? == "candidate", "expected a candidate");
        let previous: Uuid = head.try_get("profile_revision_id")?;
        let previous = sqlx::query(LOCK_REVISION_BY_ID).bind(previous).fetch_optional(&mut *transaction).await?;
        let previous = previous.context("expected the former revision")?;
        anyhow::ensure!(
            state(&previous)? == "active" && previous.try_get::<i32, _>("revision")? == active,
            "expected the head to name the active revision"
        );
        for (statement, row) in [(SUPERSEDE, &previous), (ACTIVATE, &candidate)] {
            let id: Uuid = row.try_get("id")?;
            let moved = sqlx::query(statement).bind(id).bind(&now).execute(&mut *transaction).await?;
            one(moved.rows_affected())?;
        }
        let row_version: i32 = head.try_get("row_version")?;
        let advanced = of_scope(ADVANCE, scope)
            .bind(candidate.try_get::<Uuid, _>("id")?)
            .bind(revision)
            .bind(row_version + 1)
            .bind(&now)
            .bind(row_version)
            .execute(&mut *transaction)
            .await?;
        one(advanced.rows_affected())?;
        of_scope(HEAD, scope).fetch_optional(&mut *transaction).await?.context("expected a head")?;
        Ok(transaction.commit().await?)
    }
}

#[async_trait::async_trait]
impl Subject for KnowledgeFs {
    async fn propose_and_activate(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        self.propose(scope, next).await?;
        self.activate(scope, active, next).await
    }

    async fn publish(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        self.propose_and_activate(scope, active, next).await
    }

    async fn head(&self, scope: &Scope, active: u32) -> anyhow::Result<()> {
        let head = of_scope(HEAD, scope).fetch_optional(&self.0).await?.context("expected a head")?;
        anyhow::ensure!(
            state(&head)? == "active" && head.try_get::<i32, _>("active_revision")? == integer(active)?,
            "expected revision {active} to be active"
        );
        Ok(())
    }
}

async fn lock_space(connection: &mut PgConnection, scope: &Scope) -> anyhow::Result<()> {
    let space = sqlx::query(LOCK_SPACE)
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .fetch_optional(connection)
        .await?
        .context("expected a space")?;
    anyhow::ensure!(
        space.try_get::<&str, _>("lifecycle_state")? == "active"
            && space.try_get::<Option<Uuid>, _>("deletion_job_id")?.is_none(),
        "expected a writable space"
    );
    Ok(())
}

/// A statement whose first three arguments are the scope.
fn of_scope<'q>(statement: &'static str, scope: &'q Scope) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(statement)
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
}

fn state(row: &PgRow) -> Result<&str, sqlx::Error> {
    row.try_get("state")
}
