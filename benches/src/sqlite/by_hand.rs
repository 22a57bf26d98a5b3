//! Propose and activate as somebody would write them for one program: rusqlite, one connection, no layers.
//!
//! The statements, their transactions and the connection's settings are those of `store-sqlite`, word for word: what
//! the store sends to SQLite is compared with what this sends in a test. What is left out is everything else: no
//! snapshot is validated, nothing is decided, no row that was read is checked, and the caller waits on the spot.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Params, Transaction, TransactionBehavior, params};
use space_profiles_core::Digest;
use uuid::Uuid;

use super::{BY, KIND};
use crate::candidate::Candidate;

/// The head's row and what its revision's row names.
const HEAD: &str = "
    SELECT id, profile_revision_id, active_revision, row_version, created_at, updated_at
    FROM knowledge_space_profile_heads
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3";
const REVISION_BY_ID: &str = "
    SELECT id, revision, state, snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
    plugin_id, provider, model, vector_space_id, dimension,
    created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code, failure_message,
    created_at, updated_at, activated_at, superseded_at, failed_at
    FROM knowledge_space_profile_revisions
    WHERE id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3";
const SPACE: &str = "
    SELECT tenant_id, id, name, lifecycle_state, deletion_job_id, created_at, updated_at
    FROM knowledge_spaces WHERE tenant_id = ?1 AND id = ?2";
const HAS_LEGACY_PROFILE: &str = "
    SELECT CASE WHEN json_valid(metadata) THEN json_type(metadata, ?3) END IS 'object'
    FROM knowledge_space_manifests
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2";
const PREDECESSOR: &str = "
    SELECT id, revision FROM (
      SELECT * FROM (
        SELECT id, revision FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active' AND revision < ?4
        ORDER BY revision DESC LIMIT 1
      )
      UNION ALL
      SELECT * FROM (
        SELECT id, revision FROM knowledge_space_profile_revisions
        WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'superseded' AND revision < ?4
        ORDER BY revision DESC LIMIT 1
      )
    )
    ORDER BY revision DESC LIMIT 1";
const ACTIVE: &str = "
    SELECT id, revision
    FROM knowledge_space_profile_revisions
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active'
    ORDER BY revision LIMIT 1";
const CANDIDATE: &str = "
    SELECT id, revision
    FROM knowledge_space_profile_revisions
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'candidate'
    ORDER BY revision LIMIT 1";
const NEWEST: &str = "
    SELECT id, revision, state, updated_at
    FROM knowledge_space_profile_revisions
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
    ORDER BY revision DESC LIMIT 1";
const REVISION_BY_NUMBER: &str = "
    SELECT id, revision, state, snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
    plugin_id, provider, model, vector_space_id, dimension,
    created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code, failure_message,
    created_at, updated_at, activated_at, superseded_at, failed_at
    FROM knowledge_space_profile_revisions
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND revision = ?4";
const CARRIERS: &str = "
    SELECT plugin_id, provider, model, dimension, max(state IN ('active', 'superseded'))
    FROM knowledge_space_profile_revisions
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND vector_space_id = ?4
    GROUP BY plugin_id, provider, model, dimension
    ORDER BY plugin_id, provider, model, dimension";

const IS_WRITABLE: &str = "
    SELECT lifecycle_state = 'active' AND deletion_job_id IS NULL
    FROM knowledge_spaces
    WHERE tenant_id = ?1 AND id = ?2";
const IS_EMPTY: &str = "
    SELECT NOT EXISTS (
      SELECT 1 FROM knowledge_space_profile_revisions
      WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
    )";
const INSERT_REVISION: &str = "
    INSERT INTO knowledge_space_profile_revisions (
      id, tenant_id, knowledge_space_id, kind, revision, state,
      snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
      plugin_id, provider, model, vector_space_id, dimension,
      created_by_subject_id, activated_by_subject_id, failed_by_subject_id, failure_code, failure_message,
      created_at, updated_at, activated_at, superseded_at, failed_at
    ) VALUES (
      ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
      ?21, ?22, ?23, ?24, ?25
    )";
const HAS_NO_HEAD: &str = "
    SELECT NOT EXISTS (
      SELECT 1 FROM knowledge_space_profile_heads
      WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
    )";
const SUPERSEDE: &str = "
    UPDATE knowledge_space_profile_revisions
    SET state = 'superseded', superseded_at = ?5, updated_at = ?5
    WHERE
      id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'active'
      AND EXISTS (
        SELECT 1 FROM knowledge_space_profile_heads
        WHERE
          tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3
          AND profile_revision_id = ?4 AND active_revision = ?6 AND row_version = ?7
      )";
const ACTIVATE: &str = "
    UPDATE knowledge_space_profile_revisions
    SET state = 'active', activated_at = ?5, activated_by_subject_id = ?6, updated_at = ?5
    WHERE id = ?4 AND tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND state = 'candidate'";
const CREATE_HEAD: &str = "
    INSERT INTO knowledge_space_profile_heads (
      id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
      created_at, updated_at
    ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const MOVE_HEAD: &str = "
    UPDATE knowledge_space_profile_heads
    SET profile_revision_id = ?4, active_revision = ?5, row_version = ?6, updated_at = ?7
    WHERE tenant_id = ?1 AND knowledge_space_id = ?2 AND kind = ?3 AND row_version = ?8";

/// A connection.
pub(super) struct ByHand {
    pub(super) connection: Connection,
}

/// What is needed of a head's row.
struct Head {
    revision_id: String,
    active_revision: i64,
    row_version: i64,
}

impl ByHand {
    /// Opens a database that the store has made, with the store's settings.
    pub(super) fn open(file: &Path) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.pragma_update(None, "foreign_keys", true)?;
        // WAL is a property of the file.
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(Self { connection })
    }

    /// Appends a candidate.
    pub(super) fn propose(&mut self, tenant: &str, space: &str, candidate: &Candidate) -> anyhow::Result<()> {
        self.load(tenant, space, candidate.number, Some(&candidate.vector_space_id))?;
        let id = Uuid::now_v7().to_string();
        let (snapshot_digest, capability_digest) =
            (Digest::of(candidate.snapshot.as_bytes()), Digest::of(candidate.capability.as_bytes()));
        let now = now();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        require(&transaction, IS_WRITABLE, params![tenant, space])?;
        if candidate.number == 1 {
            require(&transaction, IS_EMPTY, params![tenant, space, KIND])?;
        }
        write(
            &transaction,
            INSERT_REVISION,
            params![
                id,
                tenant,
                space,
                KIND,
                candidate.number,
                "candidate",
                candidate.snapshot,
                snapshot_digest.to_string(),
                candidate.capability,
                capability_digest.to_string(),
                candidate.plugin_id,
                candidate.provider,
                candidate.model,
                candidate.vector_space_id,
                candidate.dimension,
                BY,
                None::<&str>,
                None::<&str>,
                None::<&str>,
                None::<&str>,
                now,
                now,
                None::<i64>,
                None::<i64>,
                None::<i64>,
            ],
        )?;
        Ok(transaction.commit()?)
    }

    /// Makes a candidate the active revision.
    pub(super) fn activate(&mut self, tenant: &str, space: &str, number: u32) -> anyhow::Result<()> {
        let (head, candidate) = self.load(tenant, space, number, None)?;
        let Some(Value::Text(id)) = candidate.and_then(|row| row.into_iter().next()) else {
            anyhow::bail!("expected a candidate")
        };
        let now = now();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        require(&transaction, IS_WRITABLE, params![tenant, space])?;
        match &head {
            None => require(&transaction, HAS_NO_HEAD, params![tenant, space, KIND])?,
            Some(Head { revision_id, active_revision, row_version }) => write(
                &transaction,
                SUPERSEDE,
                params![tenant, space, KIND, revision_id, now, active_revision, row_version],
            )?,
        }
        write(&transaction, ACTIVATE, params![tenant, space, KIND, id, now, BY])?;
        match head {
            None => {
                let head_id = Uuid::now_v7().to_string();
                write(&transaction, CREATE_HEAD, params![head_id, tenant, space, KIND, id, number, 1, now, now])?;
            }
            Some(Head { row_version, .. }) => write(
                &transaction,
                MOVE_HEAD,
                params![tenant, space, KIND, id, number, row_version + 1, now, row_version],
            )?,
        }
        Ok(transaction.commit()?)
    }

    /// Reads all that a decision needs, as of one moment. Answers the head and the revision of that number.
    fn load(
        &mut self,
        tenant: &str,
        space: &str,
        number: u32,
        vector_space_id: Option<&str>,
    ) -> anyhow::Result<(Option<Head>, Option<Vec<Value>>)> {
        let transaction = self.connection.transaction()?;
        let head = read(&transaction, HEAD, params![tenant, space, KIND])?.map(Head::of).transpose()?;
        if let Some(head) = &head {
            read(&transaction, REVISION_BY_ID, params![tenant, space, KIND, head.revision_id])?;
        }
        read(&transaction, SPACE, params![tenant, space])?;
        read(&transaction, HAS_LEGACY_PROFILE, params![tenant, space, "$.__knowledgeFsEmbeddingProfile"])?;
        if let Some(head) = &head {
            read(&transaction, PREDECESSOR, params![tenant, space, KIND, head.active_revision])?;
        }
        read(&transaction, ACTIVE, params![tenant, space, KIND])?;
        read(&transaction, CANDIDATE, params![tenant, space, KIND])?;
        read(&transaction, NEWEST, params![tenant, space, KIND])?;
        let revision = read(&transaction, REVISION_BY_NUMBER, params![tenant, space, KIND, number])?;
        read(&transaction, PREDECESSOR, params![tenant, space, KIND, number])?;
        if let Some(id) = vector_space_id {
            read(&transaction, CARRIERS, params![tenant, space, KIND, id])?;
        }
        Ok((head, revision))
    }
}

impl Head {
    fn of(row: Vec<Value>) -> anyhow::Result<Self> {
        match row.as_slice() {
            [_, Value::Text(revision_id), Value::Integer(active_revision), Value::Integer(row_version), ..] => {
                Ok(Self {
                    revision_id: revision_id.clone(),
                    active_revision: *active_revision,
                    row_version: *row_version,
                })
            }
            row => anyhow::bail!("expected a head, found {row:?}"),
        }
    }
}

/// The columns of the first row.
fn read(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> anyhow::Result<Option<Vec<Value>>> {
    let mut statement = transaction.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some((0..columns).map(|column| row.get(column)).collect::<Result<_, _>>()?))
}

/// Looks at a guard, which must hold.
fn require(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> anyhow::Result<()> {
    let holds: bool = transaction.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
    anyhow::ensure!(holds, "expected a guard to hold: {sql}");
    Ok(())
}

/// Writes one row, which must be there.
fn write(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> anyhow::Result<()> {
    let changed = transaction.prepare_cached(sql)?.execute(params)?;
    anyhow::ensure!(changed == 1, "expected to write one row, wrote {changed}: {sql}");
    Ok(())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
