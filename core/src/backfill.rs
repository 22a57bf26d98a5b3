//! Backfills: ledger rows that say "install this legacy profile as the first revision and head".

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use crate::identifiers::{ArgumentError, BackfillId, LeaseToken, WorkerId};
use crate::json::{self, Limits};
use crate::numbers::{ManifestVersion, RowVersion};
use crate::revision::Failure;
use crate::scope::Scope;
use crate::time::{Lease, Timestamp};

/// Who creates the revisions that adoption installs.
pub const BACKFILL_SUBJECT: &str = "system:legacy-profile-backfill";

/// The code of a row whose attempts are spent.
pub const ATTEMPTS_EXHAUSTED: &str = "PROFILE_BACKFILL_ATTEMPTS_EXHAUSTED";

/// The message that goes with it.
pub const ATTEMPTS_EXHAUSTED_MESSAGE: &str =
    "every allowed attempt was claimed and none was finished; retry the backfill once the cause is known";

/// A ledger row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    /// The id of the row.
    pub id: BackfillId,
    /// Where the profile is to be installed.
    pub scope: Scope,
    /// What is to be installed.
    pub source: LegacySource,
    /// Where the work stands.
    pub state: BackfillState,
    /// How often it was claimed and not handed back.
    pub attempts: u32,
    /// How often it may be claimed.
    pub max_attempts: u32,
    /// Before this time a queued row is not claimed.
    pub due_at: Timestamp,
    /// Why the last attempt failed, where another one is to follow.
    pub retry: Option<Failure>,
    /// How often the row has been written but for heartbeats.
    pub row_version: RowVersion,
    /// When it was discovered.
    pub created_at: Timestamp,
    /// When its row last changed but for heartbeats.
    pub updated_at: Timestamp,
}

/// A legacy profile, frozen when it was discovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacySource {
    /// The version of the manifest that held it.
    pub manifest_version: ManifestVersion,
    /// The profile, a JSON object.
    pub snapshot: String,
    /// The digest it was stored with.
    pub digest: String,
}

impl LegacySource {
    /// The RFC 8785 digest of the profile as it is now; `None` if it is not JSON any more.
    pub(crate) fn recomputed_digest(&self) -> Option<Digest> {
        json::digest(self.snapshot.as_bytes(), Limits::ROW).ok()
    }
}

/// Where the work on a backfill stands, with what belongs to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackfillState {
    /// It waits to be claimed.
    Queued,
    /// A worker owns it, until the lease expires.
    Running {
        /// Who claimed it.
        worker: String,
        /// What the worker must hold.
        lease_token: LeaseToken,
        /// From this moment on it may be claimed again.
        lease_expires_at: Timestamp,
        /// When the worker last gave a sign.
        heartbeat_at: Timestamp,
    },
    /// Done.
    Succeeded {
        /// When.
        completed_at: Timestamp,
    },
    /// Given up, until somebody retries it.
    Failed {
        /// When.
        completed_at: Timestamp,
        /// Why.
        failure: Failure,
    },
}

/// The name of a backfill's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackfillStatus {
    /// It waits to be claimed.
    Queued,
    /// A worker owns it.
    Running,
    /// Done.
    Succeeded,
    /// Given up, until somebody retries it.
    Failed,
}

impl BackfillStatus {
    /// All states, in the order of a row's life.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Succeeded, Self::Failed];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for BackfillStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for BackfillStatus {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            ArgumentError::new("state", format!("expected queued, running, succeeded or failed, found `{text}`"))
        })
    }
}

/// What a worker must still hold to write. A heartbeat leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The row.
    pub backfill: BackfillId,
    /// The token of the claim.
    pub lease_token: LeaseToken,
    /// The row version of the claim.
    pub row_version: RowVersion,
}

impl Backfill {
    /// The name of its state.
    pub const fn status(&self) -> BackfillStatus {
        match self.state {
            BackfillState::Queued => BackfillStatus::Queued,
            BackfillState::Running { .. } => BackfillStatus::Running,
            BackfillState::Succeeded { .. } => BackfillStatus::Succeeded,
            BackfillState::Failed { .. } => BackfillStatus::Failed,
        }
    }

    /// The fence of a running row.
    pub const fn fence(&self) -> Option<Fence> {
        match self.state {
            BackfillState::Running { lease_token, .. } => {
                Some(Fence { backfill: self.id, lease_token, row_version: self.row_version })
            }
            _ => None,
        }
    }

    /// When the lease of a running row ends.
    pub const fn lease_expires_at(&self) -> Option<Timestamp> {
        match self.state {
            BackfillState::Running { lease_expires_at, .. } => Some(lease_expires_at),
            _ => None,
        }
    }

    /// Whether the holder of `fence` owns the row at `now`. The lease ends at its expiry, not after it.
    pub fn is_held_by(&self, fence: &Fence, now: Timestamp) -> bool {
        match &self.state {
            BackfillState::Running { lease_expires_at, .. } => {
                self.fence() == Some(*fence) && now < *lease_expires_at
            }
            _ => false,
        }
    }

    /// Whether a worker may claim the row at `now`, or the claim is to fail it because its attempts are spent.
    pub fn is_due(&self, now: Timestamp) -> bool {
        match &self.state {
            BackfillState::Queued => self.due_at <= now,
            BackfillState::Running { lease_expires_at, .. } => *lease_expires_at <= now,
            BackfillState::Succeeded { .. } | BackfillState::Failed { .. } => false,
        }
    }

    /// Whether the row may not be claimed once more.
    pub const fn is_exhausted(&self) -> bool {
        self.attempts >= self.max_attempts
    }

    /// The row as a claim at `now` leaves it; `None` at the end of the row versions.
    pub fn claimed(
        &self,
        worker: &WorkerId,
        lease_token: LeaseToken,
        lease: Lease,
        now: Timestamp,
    ) -> Option<Self> {
        Some(Self {
            state: BackfillState::Running {
                worker: worker.as_str().to_owned(),
                lease_token,
                lease_expires_at: now.plus(lease.span()),
                heartbeat_at: now,
            },
            attempts: self.attempts.saturating_add(1),
            ..self.written_at(now)?
        })
    }

    /// The row as a claim at `now` leaves it if its attempts are spent; `None` at the end of the row versions.
    pub fn exhausted(&self, now: Timestamp) -> Option<Self> {
        let failure =
            Failure { code: ATTEMPTS_EXHAUSTED.to_owned(), message: ATTEMPTS_EXHAUSTED_MESSAGE.to_owned() };
        self.failed(failure, now)
    }

    pub(crate) fn failed(&self, failure: Failure, now: Timestamp) -> Option<Self> {
        let written = self.written_at(now)?;
        let completed_at = written.updated_at;
        Some(Self { state: BackfillState::Failed { completed_at, failure }, retry: None, ..written })
    }

    pub(crate) fn succeeded(&self, now: Timestamp) -> Option<Self> {
        let written = self.written_at(now)?;
        let completed_at = written.updated_at;
        Some(Self { state: BackfillState::Succeeded { completed_at }, retry: None, ..written })
    }

    pub(crate) fn queued(&self, now: Timestamp, delay: crate::time::Span) -> Option<Self> {
        let written = self.written_at(now)?;
        let due_at = written.updated_at.plus(delay);
        Some(Self { state: BackfillState::Queued, due_at, ..written })
    }

    /// A failed row as a retry at `now` leaves it: queued, due now, with no attempts; `None` at the end of the
    /// row versions.
    pub fn requeued(&self, now: Timestamp) -> Option<Self> {
        Some(Self { attempts: 0, ..self.queued(now, crate::time::Span::ZERO)? })
    }

    /// The row with its next version, stamped not before it was last written.
    fn written_at(&self, now: Timestamp) -> Option<Self> {
        Some(Self { row_version: self.row_version.next()?, updated_at: self.updated_at.max(now), ..self.clone() })
    }
}

/// A ledger row as a store holds it: columns that nobody has checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the columns of `knowledge_space_profile_backfills`")]
pub struct BackfillRow {
    pub id: BackfillId,
    pub scope: Scope,
    pub source_manifest_version: ManifestVersion,
    pub source_snapshot: String,
    pub source_snapshot_digest: String,
    pub status: BackfillStatus,
    pub attempts: u32,
    pub max_attempts: u32,
    pub worker: Option<String>,
    pub lease_token: Option<LeaseToken>,
    pub lease_expires_at: Option<Timestamp>,
    pub heartbeat_at: Option<Timestamp>,
    pub due_at: Timestamp,
    pub retry_code: Option<String>,
    pub retry_message: Option<String>,
    pub last_error_code: Option<String>,
    pub last_error_message: Option<String>,
    pub row_version: RowVersion,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}

impl BackfillRow {
    /// The row, if its columns belong together. The source is told in canonical form, whatever spaces and order of
    /// keys the store keeps.
    pub fn read(self) -> Option<Backfill> {
        // Half a failure is none, and no row should have one.
        if self.last_error_code.is_some() != self.last_error_message.is_some()
            || self.retry_code.is_some() != self.retry_message.is_some()
        {
            return None;
        }
        let failure = |code: Option<String>, message: Option<String>| {
            code.zip(message).map(|(code, message)| Failure { code, message })
        };
        let lease = (self.worker, self.lease_token, self.lease_expires_at, self.heartbeat_at);
        let last_error = failure(self.last_error_code, self.last_error_message);
        let state = match (self.status, lease, self.completed_at, last_error) {
            (BackfillStatus::Queued, (None, None, None, None), None, None) => BackfillState::Queued,
            (
                BackfillStatus::Running,
                (Some(worker), Some(lease_token), Some(lease_expires_at), Some(heartbeat_at)),
                None,
                None,
            ) => BackfillState::Running { worker, lease_token, lease_expires_at, heartbeat_at },
            (BackfillStatus::Succeeded, (None, None, None, None), Some(completed_at), None) => {
                BackfillState::Succeeded { completed_at }
            }
            (BackfillStatus::Failed, (None, None, None, None), Some(completed_at), Some(failure)) => {
                BackfillState::Failed { completed_at, failure }
            }
            _ => return None,
        };
        Some(Backfill {
            id: self.id,
            scope: self.scope,
            source: LegacySource {
                manifest_version: self.source_manifest_version,
                snapshot: json::canonicalize(self.source_snapshot.as_bytes(), Limits::ROW)
                    .unwrap_or(self.source_snapshot),
                digest: self.source_snapshot_digest,
            },
            state,
            attempts: self.attempts,
            max_attempts: self.max_attempts,
            due_at: self.due_at,
            retry: failure(self.retry_code, self.retry_message),
            row_version: self.row_version,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

impl From<&Backfill> for BackfillRow {
    fn from(backfill: &Backfill) -> Self {
        let mut row = Self {
            id: backfill.id,
            scope: backfill.scope.clone(),
            source_manifest_version: backfill.source.manifest_version,
            source_snapshot: backfill.source.snapshot.clone(),
            source_snapshot_digest: backfill.source.digest.clone(),
            status: backfill.status(),
            attempts: backfill.attempts,
            max_attempts: backfill.max_attempts,
            worker: None,
            lease_token: None,
            lease_expires_at: None,
            heartbeat_at: None,
            due_at: backfill.due_at,
            retry_code: backfill.retry.as_ref().map(|failure| failure.code.clone()),
            retry_message: backfill.retry.as_ref().map(|failure| failure.message.clone()),
            last_error_code: None,
            last_error_message: None,
            row_version: backfill.row_version,
            created_at: backfill.created_at,
            updated_at: backfill.updated_at,
            completed_at: None,
        };
        match &backfill.state {
            BackfillState::Queued => {}
            BackfillState::Running { worker, lease_token, lease_expires_at, heartbeat_at } => {
                row.worker = Some(worker.clone());
                row.lease_token = Some(*lease_token);
                row.lease_expires_at = Some(*lease_expires_at);
                row.heartbeat_at = Some(*heartbeat_at);
            }
            BackfillState::Succeeded { completed_at } => row.completed_at = Some(*completed_at),
            BackfillState::Failed { completed_at, failure } => {
                row.completed_at = Some(*completed_at);
                row.last_error_code = Some(failure.code.clone());
                row.last_error_message = Some(failure.message.clone());
            }
        }
        row
    }
}
