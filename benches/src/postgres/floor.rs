//! The least that Postgres must do: the guarded statements alone, by hand. Nothing is loaded, parsed, digested or
//! decided, and who knows no more than two numbers gets no reason when a guard does not hold.

use space_profiles_core::{Draw as _, OsDraw, Scope};
use sqlx::postgres::{PgArguments, PgPool};
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};

use super::material::Material;
use super::subjects::{Subject, integer, now, pool};

/// The space, under the lock that the library takes.
macro_rules! space {
    () => {
        "space AS MATERIALIZED (
           SELECT true FROM knowledge_spaces
           WHERE tenant_id = $1 AND id = $2 AND lifecycle_state = 'active' AND deletion_job_id IS NULL
           FOR SHARE
         )"
    };
}

/// A revision in a state, locked before anything is written.
macro_rules! locked_revision {
    ($after:literal, $number:literal, $state:literal) => {
        concat!(
            "(
               SELECT revision.id
               FROM ",
            $after,
            ", knowledge_space_profile_revisions AS revision
               WHERE
                 revision.tenant_id = $1 AND revision.knowledge_space_id = $2 AND revision.kind = $3
                 AND revision.revision = ",
            $number,
            " AND revision.state = '",
            $state,
            "'
               FOR UPDATE OF revision
             )"
        )
    };
}

macro_rules! insert {
    ($state:literal, $activated_by:literal, $activated_at:literal, $from:literal) => {
        concat!(
            "INSERT INTO knowledge_space_profile_revisions (
               id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest,
               capability_snapshot, capability_snapshot_digest, plugin_id, provider, model, vector_space_id,
               dimension, created_by_subject_id, created_at, updated_at, activated_by_subject_id, activated_at
             )
             SELECT
               $6, $1, $2, $3, $4, '",
            $state,
            "', $7::jsonb, $8, $9::jsonb, $10, $11, $12, $13, $14, $15, $16, $17::timestamptz, $17::timestamptz, ",
            $activated_by,
            ", ",
            $activated_at,
            " FROM ",
            $from,
            " RETURNING id"
        )
    };
}

const PROPOSE: &str = concat!(
    "WITH
       ",
    space!(),
    ",
       previous AS MATERIALIZED (
         SELECT revision.id
         FROM space, knowledge_space_profile_revisions AS revision
         WHERE
           revision.tenant_id = $1 AND revision.knowledge_space_id = $2 AND revision.kind = $3
           AND revision.revision = $5
         FOR KEY SHARE OF revision
       )
     ",
    insert!("candidate", "NULL", "NULL", "previous")
);

const ACTIVATE: &str = concat!(
    "WITH
       ",
    space!(),
    ",
       candidate AS MATERIALIZED ",
    locked_revision!("space", "$4", "candidate"),
    ",
       former AS MATERIALIZED ",
    locked_revision!("candidate", "$5", "active"),
    ",
       moved AS (
         UPDATE knowledge_space_profile_heads AS head
         SET
           profile_revision_id = candidate.id, active_revision = $4, row_version = row_version + 1,
           updated_at = $6::timestamptz
         FROM candidate, former
         WHERE
           head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3 AND head.active_revision = $5
           AND head.profile_revision_id = former.id
         RETURNING candidate.id AS candidate_id, former.id AS former_id
       ),
       superseded AS (
         UPDATE knowledge_space_profile_revisions AS revision
         SET state = 'superseded', superseded_at = $6::timestamptz, updated_at = $6::timestamptz
         FROM moved
         WHERE revision.id = moved.former_id
         RETURNING moved.candidate_id
       )
     UPDATE knowledge_space_profile_revisions AS revision
     SET
       state = 'active', activated_at = $6::timestamptz, updated_at = $6::timestamptz,
       activated_by_subject_id = 'user:ann'
     FROM superseded
     WHERE revision.id = superseded.candidate_id
     RETURNING revision.id"
);

const PUBLISH: &str = concat!(
    "WITH
       ",
    space!(),
    ",
       former AS MATERIALIZED ",
    locked_revision!("space", "$5", "active"),
    ",
       moved AS (
         UPDATE knowledge_space_profile_heads AS head
         SET
           profile_revision_id = $6, active_revision = $4, row_version = row_version + 1,
           updated_at = $17::timestamptz
         FROM former
         WHERE
           head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3 AND head.active_revision = $5
           AND head.profile_revision_id = former.id
         RETURNING former.id AS former_id
       ),
       superseded AS (
         UPDATE knowledge_space_profile_revisions AS revision
         SET state = 'superseded', superseded_at = $17::timestamptz, updated_at = $17::timestamptz
         FROM moved
         WHERE revision.id = moved.former_id
         RETURNING true
       )
     ",
    insert!("active", "'user:ann'", "$17::timestamptz", "superseded")
);

const HEAD: &str = "SELECT head.active_revision, revision.snapshot::text, revision.capability_snapshot::text
     FROM
       knowledge_space_profile_heads AS head
       JOIN knowledge_space_profile_revisions AS revision ON revision.id = head.profile_revision_id
     WHERE head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3";

/// Statements alone.
pub struct Floor(PgPool);

impl Floor {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub async fn open(url: &str, connections: u32) -> anyhow::Result<Self> {
        pool(url, connections).await.map(Self)
    }

    async fn run(&self, query: Query<'_, Postgres, PgArguments>) -> anyhow::Result<()> {
        let rows = query.fetch_all(&self.0).await?;
        anyhow::ensure!(rows.len() == 1, "expected the guards to hold");
        Ok(())
    }
}

#[async_trait::async_trait]
impl Subject for Floor {
    async fn propose_and_activate(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        self.run(insertion(PROPOSE, scope, active, next)?).await?;
        self.run(of_scope(ACTIVATE, scope, active, next)?.bind(now()?)).await
    }

    async fn publish(&self, scope: &Scope, active: u32, next: &Material) -> anyhow::Result<()> {
        self.run(insertion(PUBLISH, scope, active, next)?).await
    }

    async fn head(&self, scope: &Scope, active: u32) -> anyhow::Result<()> {
        let head = sqlx::query(HEAD)
            .bind(scope.space.tenant.as_str())
            .bind(scope.space.id.as_uuid())
            .bind(scope.kind.as_str())
            .fetch_one(&self.0)
            .await?;
        anyhow::ensure!(head.try_get::<i32, _>(0)? == integer(active)?, "expected revision {active} to be active");
        Ok(())
    }
}

/// The scope, the next number and the active one: $1 to $5.
fn of_scope<'q>(
    statement: &'static str,
    scope: &'q Scope,
    active: u32,
    next: &Material,
) -> anyhow::Result<Query<'q, Postgres, PgArguments>> {
    Ok(sqlx::query(statement)
        .bind(scope.space.tenant.as_str())
        .bind(scope.space.id.as_uuid())
        .bind(scope.kind.as_str())
        .bind(integer(next.snapshot.revision().get())?)
        .bind(integer(active)?))
}

/// And the row's columns: $6 to $17.
fn insertion<'q>(
    statement: &'static str,
    scope: &'q Scope,
    active: u32,
    next: &'q Material,
) -> anyhow::Result<Query<'q, Postgres, PgArguments>> {
    let identity = next.snapshot.identity();
    Ok(of_scope(statement, scope, active, next)?
        .bind(OsDraw.id())
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
        .bind(now()?))
}
