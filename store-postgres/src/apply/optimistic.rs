//! Writing without a load: one statement that looks, as a load would, and writes under the guards of a write.
//!
//! What it looks at is as of the statement's snapshot, as it would be if it had been loaded; what must still be so when
//! the statement writes is guarded as in [`super::revisions`].

use space_profiles_core::{
    Head, Revision, RevisionRow, RevisionStatus, StoreError, Timestamp, TryActivate, TryAppend, TryPublish,
};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::revisions::{insert_revision, with_content};
use crate::appended::is_short;
use crate::load::integer;
use crate::rows::Columns;
use crate::sessions::Sessions;
use crate::statement::{Call, Statement, statements};

/// The moment of the write.
macro_rules! clock {
    () => {
        "clock AS MATERIALIZED (SELECT coalesce($18::timestamptz, clock_timestamp()) AS at)"
    };
}

/// That a row is one of the scope's.
macro_rules! of_scope {
    ($row:literal) => {
        concat!($row, ".tenant_id = $1 AND ", $row, ".knowledge_space_id = $2 AND ", $row, ".kind = $3")
    };
}

/// That there is no revision of the scope under a condition.
macro_rules! no_revision {
    ($condition:literal) => {
        concat!(
            "NOT EXISTS (
               SELECT FROM knowledge_space_profile_revisions AS found WHERE ",
            of_scope!("found"),
            " AND ",
            $condition,
            ")"
        )
    };
}

/// The latest time in the row of `revision`.
macro_rules! latest_stamp {
    () => {
        "greatest(
           revision.created_at, revision.updated_at, revision.activated_at, revision.superseded_at, revision.failed_at
         )"
    };
}

/// That `revision` is configured otherwise than what is appended, as its [`Novelty`](space_profiles_core::Novelty) says.
macro_rules! differs {
    () => {
        "(
           $20::boolean
           OR (revision.plugin_id, revision.provider, revision.model, revision.dimension)
             IS DISTINCT FROM ($11, $12, $13, $15)
           OR revision.revision = $21::integer AND revision.snapshot_digest <> $22
         )"
    };
}

/// That `revision` says what was verified: all that [`with_content`] says, and that nobody has activated or failed it.
/// When it was proposed cannot have changed (a trigger), and a candidate has no other times (a constraint).
macro_rules! is_what_was_verified {
    () => {
        "revision.id = $4 AND revision.revision = $5 AND revision.state = $6
         AND revision.snapshot = $7::jsonb AND revision.snapshot_digest = $8
         AND revision.capability_snapshot = $9::jsonb AND revision.capability_snapshot_digest = $10
         AND revision.plugin_id = $11 AND revision.provider = $12 AND revision.model = $13
         AND revision.vector_space_id IS NOT DISTINCT FROM $14 AND revision.dimension IS NOT DISTINCT FROM $15
         AND revision.created_by_subject_id = $16
         AND revision.activated_by_subject_id IS NULL AND revision.failed_by_subject_id IS NULL"
    };
}

/// That no other service manages the database, unless it may.
macro_rules! is_ours_unless {
    ($may_be_managed:literal) => {
        concat!(
            "(",
            $may_be_managed,
            "::boolean
               OR to_regclass(quote_ident(current_schema()) || '.projection_set_publication_heads') IS NULL)"
        )
    };
}

/// That no revision of the scope carries the vector space, of an embedding.
macro_rules! vector_space_is_free {
    () => {
        no_revision!("$14::text IS NOT NULL AND found.vector_space_id = $14")
    };
}

/// The active revision `$expected`, under further conditions, after the step `$after`.
macro_rules! former {
    ($after:literal, $expected:literal, $conditions:expr) => {
        concat!(
            "former AS MATERIALIZED (
               SELECT revision.id, clock.at
               FROM ",
            $after,
            " CROSS JOIN clock, knowledge_space_profile_revisions AS revision
               WHERE ",
            of_scope!("revision"),
            " AND revision.revision = ",
            $expected,
            "::integer AND revision.state = 'active' AND ",
            latest_stamp!(),
            " <= clock.at AND ",
            $conditions,
            "
               FOR UPDATE OF revision
             )"
        )
    };
}

/// The head moves to revision `$4`, whose number is `$5`, from the `former` one, which is superseded. The last step,
/// `superseded`, has no row if the head was elsewhere.
macro_rules! head_moved {
    ($expected:literal) => {
        concat!(
            "moved AS (
               UPDATE knowledge_space_profile_heads AS head
               SET
                 profile_revision_id = $4, active_revision = $5, row_version = head.row_version + 1,
                 updated_at = former.at
               FROM former
               WHERE ",
            of_scope!("head"),
            " AND head.active_revision = ",
            $expected,
            " AND head.profile_revision_id = former.id AND head.row_version < 2147483647
                 AND head.updated_at <= former.at AND head.created_at BETWEEN '0001-01-01T00:00:00Z' AND former.at
               RETURNING
                 head.id AS head_id, head.row_version, head.created_at, head.updated_at, former.id AS former_id
             ),
             superseded AS (
               UPDATE knowledge_space_profile_revisions AS revision
               SET state = 'superseded', superseded_at = moved.updated_at, updated_at = moved.updated_at
               FROM moved
               WHERE revision.id = moved.former_id
               RETURNING moved.head_id, moved.row_version, moved.created_at, moved.updated_at
             )"
        )
    };
}

statements! {
    /// That there is no candidate is also guarded by the scope's unique index, as is the number.
    ///
    /// States are asked about one by one, here and below: each has a unique index of its own, while a list of states
    /// would be looked for in all of a scope's history.
    TRY_APPEND = concat!(
        "WITH
           ", clock!(), ",
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           newest AS MATERIALIZED (
             SELECT revision.revision, revision.updated_at
             FROM knowledge_space_profile_revisions AS revision
             WHERE (SELECT true FROM space) AND ", of_scope!("revision"), "
             ORDER BY revision.revision DESC LIMIT 1
             FOR KEY SHARE OF revision
           )
         ", insert_revision!("clock.at", "clock.at", "NULL"), "
         FROM
           newest
           CROSS JOIN clock
           LEFT JOIN knowledge_space_profile_heads AS head ON ", of_scope!("head"), "
           LEFT JOIN knowledge_space_profile_revisions AS revision
             ON revision.id = head.profile_revision_id AND ", of_scope!("revision"), "
         WHERE
           newest.revision = $19::integer AND newest.updated_at <= clock.at
           AND ", no_revision!("found.state = 'candidate'"), " AND ", is_ours_unless!("$23"), "
           AND (head.updated_at <= clock.at) IS NOT FALSE
           AND (", latest_stamp!(), " <= clock.at) IS NOT FALSE
           AND ((revision.state = 'active') IS NOT TRUE OR ", differs!(), ")
           AND ", vector_space_is_free!(), "
         RETURNING created_at"
    );

    TRY_PUBLISH = concat!(
        "WITH
           ", clock!(), ",
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           ", former!("space", "$24", concat!(
                differs!(), " AND ", is_ours_unless!("$23"), " AND ",
                no_revision!("found.state = 'active' AND found.revision <> $24"), " AND ",
                no_revision!("found.state = 'candidate'"), " AND ", vector_space_is_free!(),
                " AND (
                   SELECT newest.revision = $19::integer AND newest.updated_at <= clock.at
                   FROM knowledge_space_profile_revisions AS newest
                   WHERE ", of_scope!("newest"), "
                   ORDER BY newest.revision DESC LIMIT 1
                 )"
              )), ",
           ", head_moved!("$24"), ",
           published AS (
             ", insert_revision!("superseded.updated_at", "superseded.updated_at", "superseded.updated_at"), "
             FROM superseded
             RETURNING true
           )
         SELECT superseded.* FROM superseded, published"
    );

    TRY_ACTIVATE = concat!(
        "WITH
           ", clock!(), ",
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           candidate AS MATERIALIZED (
             SELECT true
             FROM space CROSS JOIN clock, knowledge_space_profile_revisions AS revision
             WHERE ", of_scope!("revision"), " AND ", is_what_was_verified!(), " AND ", latest_stamp!(), " <= clock.at
             FOR UPDATE OF revision
           ),
           ", former!("candidate", "$19", concat!(
                no_revision!("found.state = 'active' AND found.revision <> $19"), " AND ",
                no_revision!("found.revision > $5"), " AND ", is_ours_unless!("$20")
              )), ",
           ", head_moved!("$19"), "
         UPDATE knowledge_space_profile_revisions AS revision
         SET
           state = 'active', activated_at = superseded.updated_at, activated_by_subject_id = $17,
           updated_at = superseded.updated_at
         FROM superseded
         WHERE revision.id = $4
         RETURNING
           superseded.head_id, superseded.row_version, superseded.created_at, superseded.updated_at"
    );
}

pub(crate) async fn try_append(sessions: &Sessions, append: &TryAppend) -> Result<Option<Timestamp>, StoreError> {
    let call = appending(sessions, TRY_APPEND, append, &append.revision.to_row()).with(append.is_read_alike);
    let rows = sessions.try_write(call).await?;
    rows.first().map(|row| Columns::of(row).time("created_at")).transpose()
}

pub(crate) async fn try_publish(sessions: &Sessions, publish: &TryPublish) -> Result<Option<Head>, StoreError> {
    let candidate = publish.append.revision.to_row();
    let by = Some(candidate.created_by.clone());
    let row = RevisionRow { status: RevisionStatus::Active, activated_by: by, ..candidate };
    let call = appending(sessions, TRY_PUBLISH, &publish.append, &row)
        .with(publish.append.is_read_alike && sessions.manages_heads())
        .with(integer(publish.expected.get()));
    let rows = sessions.try_write(call).await?;
    rows.first().map(|row| head_at(row, &publish.append.revision)).transpose()
}

pub(crate) async fn try_activate(sessions: &Sessions, activate: &TryActivate) -> Result<Option<Head>, StoreError> {
    let TryActivate { candidate, by, expected } = activate;
    if !is_short(candidate) {
        return Ok(None);
    }
    let row = RevisionRow { activated_by: Some(by.as_str().to_owned()), ..candidate.to_row() };
    let call = with_content(Call::of_scope(TRY_ACTIVATE, &candidate.scope), &row)
        .with(sessions.now())
        .with(integer(expected.get()))
        .with(sessions.manages_heads());
    let rows = sessions.try_write(call).await?;
    rows.first().map(|row| head_at(row, candidate)).transpose()
}

/// A call whose arguments from $4 to $22 are the new row's and what it must be different in.
fn appending(sessions: &Sessions, statement: Statement, append: &TryAppend, row: &RevisionRow) -> Call {
    let TryAppend { revision, previous, novelty, .. } = append;
    with_content(Call::of_scope(statement, &revision.scope), row)
        .with(sessions.now())
        .with(integer(previous.get()))
        .with(novelty.is_waived)
        .with(novelty.same.map(|(number, _)| integer(number.get())))
        .with(novelty.same.map(|(_, digest)| digest.to_string()))
}

/// The head that has moved to a revision.
fn head_at(row: &PgRow, revision: &Revision) -> Result<Head, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Head {
        id: columns.value::<Uuid>("id")?.into(),
        revision_id: revision.id,
        active_revision: revision.number(),
        row_version: columns.number("row_version")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
    })
}
