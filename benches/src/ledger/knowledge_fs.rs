//! The other service's claim, statement by statement: it takes queued rows and expired ones by one query in the order
//! of their last change, then leases each.

use std::time::{SystemTime, UNIX_EPOCH};

use space_profiles_core::{Draw, OsDraw, Timestamp};
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

pub(super) struct KnowledgeFs {
    connection: PgConnection,
}

impl KnowledgeFs {
    pub(super) async fn connect(url: &str) -> anyhow::Result<Self> {
        Ok(Self { connection: PgConnection::connect(url).await? })
    }

    /// Leases up to `most` rows and answers how many.
    pub(super) async fn claim(&mut self, most: u32) -> anyhow::Result<usize> {
        // It stamps with the clock of its own host.
        let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
        let now = Timestamp::from_micros(i64::try_from(micros)?).to_string();
        let mut transaction = self.connection.begin().await?;
        let rows = sqlx::query(
            "SELECT id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot::text, row_version
             FROM knowledge_space_profile_backfills
             WHERE
               execution_attempts < max_execution_attempts
               AND (run_state = 'queued' OR (run_state = 'running' AND lease_expires_at <= $1::timestamptz))
             ORDER BY updated_at, id LIMIT $2
             FOR UPDATE SKIP LOCKED",
        )
        .bind(&now)
        .bind(i64::from(most))
        .fetch_all(&mut *transaction)
        .await?;
        for row in &rows {
            sqlx::query(
                "UPDATE knowledge_space_profile_backfills
                 SET
                   run_state = 'running', worker_id = 'fs-worker', lease_token = $3,
                   lease_expires_at = $4::timestamptz + interval '5 minutes', heartbeat_at = $4::timestamptz,
                   execution_attempts = execution_attempts + 1, row_version = row_version + 1,
                   updated_at = $4::timestamptz
                 WHERE id = $1 AND row_version = $2",
            )
            .bind(row.get::<Uuid, _>("id"))
            .bind(row.get::<i32, _>("row_version"))
            .bind(OsDraw.id())
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(rows.len())
    }
}
