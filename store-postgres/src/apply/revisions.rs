//! Appending, activating and failing revisions.

use space_profiles_core::{Activate, Append, FailRevision, Head, HeadMove, Publish, Revision, RevisionRow, Scope};
use uuid::Uuid;

use crate::load::integer;
use crate::statement::{Call, statements};
use crate::time::Moment;

/// A revision, of [`with_content`] and its times; the scope's three columns are $1 to $3.
macro_rules! insert_revision {
    () => {
        insert_revision!("$18", "$19", "$20")
    };
    ($created_at:literal, $updated_at:literal, $activated_at:literal) => {
        concat!(
            "INSERT INTO knowledge_space_profile_revisions (
           id, tenant_id, knowledge_space_id, kind, revision, state,
           snapshot, snapshot_digest, capability_snapshot, capability_snapshot_digest,
           plugin_id, provider, model, vector_space_id, dimension, created_by_subject_id,
           activated_by_subject_id, created_at, updated_at, activated_at
         )
         SELECT
           $4::uuid, $1::text, $2::uuid, $3::text, $5::integer, $6, $7::jsonb, $8, $9::jsonb, $10, $11::text,
           $12::text, $13::text, $14::text, $15::integer, $16, $17, ",
            $created_at,
            "::timestamptz, ",
            $updated_at,
            "::timestamptz, ",
            $activated_at,
            "::timestamptz"
        )
    };
}

macro_rules! insert_head {
    ($id:literal, $revision_id:literal, $revision:literal, $row_version:literal, $created_at:literal) => {
        concat!(
            "INSERT INTO knowledge_space_profile_heads (
               id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
               created_at, updated_at
             )
             SELECT ",
            $id,
            "::uuid, $1::text, $2::uuid, $3::text, ",
            $revision_id,
            "::uuid, ",
            $revision,
            "::integer, ",
            $row_version,
            "::integer, ",
            $created_at,
            "::timestamptz, ",
            $created_at,
            "::timestamptz"
        )
    };
}

/// That the scope has no revision: true for good only behind a lock on the space that others wait for.
macro_rules! scope_is_empty {
    () => {
        "NOT EXISTS (
           SELECT 1 FROM knowledge_space_profile_revisions
           WHERE tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3
         )"
    };
}

/// The revision that $5 follows, if the space is there.
macro_rules! previous_revision {
    () => {
        "SELECT true
         FROM space, knowledge_space_profile_revisions AS revision
         WHERE
           revision.tenant_id = $1 AND revision.knowledge_space_id = $2 AND revision.kind = $3
           AND revision.revision = $5::integer - 1
         FOR KEY SHARE OF revision"
    };
}

/// The head moves to revision `$4`, whose number is `$5`, from the one that it must name, which is superseded. All of it
/// happens after the step `$after`; the last step, `superseded`, has no row if anything was otherwise.
macro_rules! head_moved {
    (
        $after:literal,
        $from_id:literal,
        $from_revision:literal,
        $from_version:literal,
        $to_version:literal,
        $at:literal
    ) => {
        concat!(
            "former AS MATERIALIZED (
               SELECT revision.id
               FROM ",
            $after,
            ", knowledge_space_profile_revisions AS revision
               WHERE
                 revision.id = ",
            $from_id,
            " AND revision.tenant_id = $1 AND revision.knowledge_space_id = $2
                 AND revision.kind = $3 AND revision.state = 'active'
               FOR UPDATE OF revision
             ),
             moved AS (
               UPDATE knowledge_space_profile_heads AS head
               SET
                 profile_revision_id = $4, active_revision = $5, row_version = ",
            $to_version,
            ", updated_at = ",
            $at,
            "::timestamptz
               FROM former
               WHERE
                 head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = $3
                 AND head.row_version = ",
            $from_version,
            " AND head.profile_revision_id = former.id AND head.active_revision = ",
            $from_revision,
            "
               RETURNING former.id AS former_id
             ),
             superseded AS (
               UPDATE knowledge_space_profile_revisions AS revision
               SET state = 'superseded', superseded_at = ",
            $at,
            "::timestamptz, updated_at = ",
            $at,
            "::timestamptz
               FROM moved
               WHERE revision.id = moved.former_id
               RETURNING true
             )"
        )
    };
}

/// The candidate that is to be activated, if the space is there.
macro_rules! candidate {
    () => {
        "SELECT revision.id
         FROM space, knowledge_space_profile_revisions AS revision
         WHERE
           revision.id = $4 AND revision.tenant_id = $1 AND revision.knowledge_space_id = $2
           AND revision.kind = $3 AND revision.state = 'candidate'
         FOR UPDATE OF revision"
    };
}

/// The last step of an activation, after the one that it is driven by.
macro_rules! activated {
    ($after:literal) => {
        concat!(
            "activated AS (
               UPDATE knowledge_space_profile_revisions AS revision
               SET
                 state = 'active', activated_at = $6::timestamptz, activated_by_subject_id = $7,
                 updated_at = $6::timestamptz
               FROM ",
            $after,
            " WHERE revision.id = $4 RETURNING true
             )
             SELECT true FROM activated"
        )
    };
}

pub(super) use {insert_head, insert_revision, scope_is_empty};

statements! {
    /// Locks the space against every other write of profiles, for a change of a scope that must be empty.
    LOCK_SPACE = writable_space!("FOR NO KEY UPDATE");

    /// The revision before it must be there still: a scope that was deleted and made again is another one.
    APPEND = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           previous AS MATERIALIZED (", previous_revision!(), ")
         ",
        insert_revision!(), " FROM previous RETURNING true"
    );

    /// After [`LOCK_SPACE`].
    APPEND_FIRST = concat!(insert_revision!(), " WHERE ", scope_is_empty!(), " RETURNING true");

    /// That there is no head yet is guarded by the scope's unique index.
    PUBLISH_WITHOUT_HEAD = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           previous AS MATERIALIZED (", previous_revision!(), "),
           published AS (", insert_revision!(), " FROM previous RETURNING true)
         ", insert_head!("$21", "$4", "$5", "$22", "$23"), " FROM published RETURNING true"
    );

    /// After [`LOCK_SPACE`].
    PUBLISH_FIRST = concat!(
        "WITH published AS (", insert_revision!(), " WHERE ", scope_is_empty!(), " RETURNING true)
         ", insert_head!("$21", "$4", "$5", "$22", "$23"), " FROM published RETURNING true"
    );

    PUBLISH = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           ", head_moved!("space", "$21", "$22", "$23", "$24", "$25"), "
         ", insert_revision!(), " FROM superseded RETURNING true"
    );

    ACTIVATE = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           candidate AS MATERIALIZED (", candidate!(), "),
           ", head_moved!("candidate", "$8", "$9", "$10", "$11", "$6"), ",
           ", activated!("superseded")
    );

    /// That there is no head yet is guarded by the scope's unique index.
    ACTIVATE_WITHOUT_HEAD = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           candidate AS MATERIALIZED (", candidate!(), "),
           created AS (", insert_head!("$8", "$4", "$5", "$9", "$6"), " FROM candidate RETURNING true),
           ", activated!("created")
    );

    /// Activates a candidate of each kind. Both candidates, both former revisions and both heads are locked and
    /// counted before anything is written. An array has one element a kind.
    ACTIVATE_ALL = concat!(
        "WITH
           wanted AS MATERIALIZED (
             SELECT *
             FROM unnest(
               $3::text[], $4::uuid[], $5::integer[], $6::uuid[], $7::integer[], $8::integer[], $9::uuid[],
               $10::integer[], $11::timestamptz[]
             ) AS wanted (
               kind, candidate_id, revision, former_id, former_revision, former_version, head_id, row_version, at
             )
           ),
           space AS MATERIALIZED (", writable_space!("FOR SHARE"), "),
           candidates AS MATERIALIZED (
             SELECT revision.kind
             FROM
               space
               CROSS JOIN wanted
               JOIN knowledge_space_profile_revisions AS revision
                 ON
                   revision.id = wanted.candidate_id AND revision.tenant_id = $1
                   AND revision.knowledge_space_id = $2 AND revision.kind = wanted.kind
             WHERE revision.state = 'candidate'
             ORDER BY revision.kind
             FOR UPDATE OF revision
           ),
           former AS MATERIALIZED (
             SELECT revision.kind
             FROM
               wanted
               JOIN knowledge_space_profile_revisions AS revision
                 ON
                   revision.id = wanted.former_id AND revision.tenant_id = $1
                   AND revision.knowledge_space_id = $2 AND revision.kind = wanted.kind
             WHERE
               (SELECT count(*) FROM candidates) = cardinality($3)
               AND revision.state = 'active'
             ORDER BY revision.kind
             FOR UPDATE OF revision
           ),
           heads AS MATERIALIZED (
             SELECT head.kind
             FROM
               wanted
               JOIN knowledge_space_profile_heads AS head
                 ON head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = wanted.kind
             WHERE
               (SELECT count(*) FROM former) = (SELECT count(former_id) FROM wanted)
               AND head.row_version = wanted.former_version AND head.profile_revision_id = wanted.former_id
               AND head.active_revision = wanted.former_revision
             ORDER BY head.kind
             FOR UPDATE OF head
           ),
           ready AS MATERIALIZED (
             SELECT true
             WHERE
               (SELECT count(*) FROM candidates) = cardinality($3)
               AND (SELECT count(*) FROM heads) = (SELECT count(former_id) FROM wanted)
           ),
           moved AS (
             UPDATE knowledge_space_profile_heads AS head
             SET
               profile_revision_id = wanted.candidate_id, active_revision = wanted.revision,
               row_version = wanted.row_version, updated_at = wanted.at
             FROM ready, wanted
             WHERE
               head.tenant_id = $1 AND head.knowledge_space_id = $2 AND head.kind = wanted.kind
               AND head.row_version = wanted.former_version
             RETURNING true
           ),
           created AS (
             INSERT INTO knowledge_space_profile_heads (
               id, tenant_id, knowledge_space_id, kind, profile_revision_id, active_revision, row_version,
               created_at, updated_at
             )
             SELECT
               wanted.head_id, $1, $2, wanted.kind, wanted.candidate_id, wanted.revision, wanted.row_version,
               wanted.at, wanted.at
             FROM ready, wanted
             WHERE wanted.former_id IS NULL
             RETURNING true
           ),
           superseded AS (
             UPDATE knowledge_space_profile_revisions AS revision
             SET state = 'superseded', superseded_at = wanted.at, updated_at = wanted.at
             FROM wanted
             WHERE
               (SELECT count(*) FROM moved) + (SELECT count(*) FROM created) = cardinality($3)
               AND revision.id = wanted.former_id
             RETURNING true
           ),
           activated AS (
             UPDATE knowledge_space_profile_revisions AS revision
             SET
               state = 'active', activated_at = wanted.at, activated_by_subject_id = $12, updated_at = wanted.at
             FROM wanted
             WHERE
               (SELECT count(*) FROM superseded) = (SELECT count(former_id) FROM wanted)
               AND (SELECT count(*) FROM moved) + (SELECT count(*) FROM created) = cardinality($3)
               AND revision.id = wanted.candidate_id
             RETURNING true
           )
         SELECT count(*) = cardinality($3) FROM activated"
    );

    FAIL =
        "UPDATE knowledge_space_profile_revisions
         SET
           state = 'failed', failed_at = $5::timestamptz, failed_by_subject_id = $6, failure_code = $7,
           failure_message = $8, updated_at = $5::timestamptz
         WHERE
           id = $4 AND tenant_id = $1 AND knowledge_space_id = $2 AND kind = $3 AND state = 'candidate'
         RETURNING true";
}

pub(super) fn append(append: &Append) -> Vec<Call> {
    let row = append.revision.to_row();
    let insert = |statement| with_revision(Call::of_scope(statement, &append.revision.scope), &row);
    if append.is_first {
        return vec![lock_space(&append.revision.scope), insert(APPEND_FIRST)];
    }
    vec![insert(APPEND)]
}

pub(super) fn publish(publish: &Publish) -> Vec<Call> {
    let Revision { scope, .. } = &publish.revision;
    let row = publish.revision.to_row();
    let insert = |statement| with_revision(Call::of_scope(statement, scope), &row);
    match &publish.head {
        HeadMove::Advance { from, to } => vec![
            insert(PUBLISH)
                .with(from.revision_id.as_uuid())
                .with(integer(from.active_revision.get()))
                .with(integer(from.row_version.get()))
                .with(integer(to.row_version.get()))
                .with(Moment(to.updated_at)),
        ],
        HeadMove::Create(head) if publish.is_first => {
            vec![lock_space(scope), with_head(insert(PUBLISH_FIRST), head)]
        }
        HeadMove::Create(head) => vec![with_head(insert(PUBLISH_WITHOUT_HEAD), head)],
    }
}

pub(super) fn activate(targets: &[Activate]) -> Vec<Call> {
    match targets {
        // A change without a target writes nothing, which no decision asks for.
        [] => Vec::new(),
        [target] => vec![activate_one(target)],
        [first, ..] => vec![activate_all(first, targets)],
    }
}

fn activate_one(target: &Activate) -> Call {
    let call = |statement| {
        Call::of_scope(statement, &target.scope)
            .with(target.revision_id.as_uuid())
            .with(integer(target.revision.get()))
            .with(Moment(target.at))
            .with(target.by.as_str())
    };
    match &target.head {
        HeadMove::Advance { from, to } => call(ACTIVATE)
            .with(from.revision_id.as_uuid())
            .with(integer(from.active_revision.get()))
            .with(integer(from.row_version.get()))
            .with(integer(to.row_version.get())),
        HeadMove::Create(head) => {
            call(ACTIVATE_WITHOUT_HEAD).with(head.id.as_uuid()).with(integer(head.row_version.get()))
        }
    }
}

fn activate_all(first: &Activate, targets: &[Activate]) -> Call {
    let from = |target: &Activate| match target.head {
        HeadMove::Advance { from, .. } => Some(from),
        HeadMove::Create(_) => None,
    };
    let of_each = |value: fn(&Activate) -> Uuid| -> Vec<Uuid> { targets.iter().map(value).collect() };
    let kinds: Vec<&str> = targets.iter().map(|target| target.scope.kind.as_str()).collect();
    let revisions: Vec<i32> = targets.iter().map(|target| integer(target.revision.get())).collect();
    let former: Vec<Option<Uuid>> =
        targets.iter().map(|target| from(target).map(|head| head.revision_id.as_uuid())).collect();
    let former_revisions: Vec<Option<i32>> =
        targets.iter().map(|target| from(target).map(|head| integer(head.active_revision.get()))).collect();
    let former_versions: Vec<Option<i32>> =
        targets.iter().map(|target| from(target).map(|head| integer(head.row_version.get()))).collect();
    let versions: Vec<i32> = targets.iter().map(|target| integer(target.head.head().row_version.get())).collect();
    let moments: Vec<Moment> = targets.iter().map(|target| Moment(target.at)).collect();
    Call::of(ACTIVATE_ALL)
        .with(first.scope.space.tenant.as_str())
        .with(first.scope.space.id.as_uuid())
        .with(kinds)
        .with(of_each(|target| target.revision_id.as_uuid()))
        .with(revisions)
        .with(former)
        .with(former_revisions)
        .with(former_versions)
        .with(of_each(|target| target.head.head().id.as_uuid()))
        .with(versions)
        .with(moments)
        .with(first.by.as_str())
}

pub(super) fn fail(fail: &FailRevision) -> Call {
    Call::of_scope(FAIL, &fail.scope)
        .with(fail.revision_id.as_uuid())
        .with(Moment(fail.at))
        .with(fail.by.as_str())
        .with(fail.failure.code.as_str())
        .with(fail.failure.message.as_str())
}

pub(super) fn lock_space(scope: &Scope) -> Call {
    Call::of(LOCK_SPACE).with(scope.space.tenant.as_str()).with(scope.space.id.as_uuid())
}

/// The arguments of `insert_revision!`, from $4 to $20.
pub(super) fn with_revision(call: Call, row: &RevisionRow) -> Call {
    with_content(call, row)
        .with(Moment(row.created_at))
        .with(Moment(row.updated_at))
        .with(row.activated_at.map(Moment))
}

/// All of a revision's columns but its times, from $4 to $17.
pub(super) fn with_content(call: Call, row: &RevisionRow) -> Call {
    call.with(row.id.as_uuid())
        .with(integer(row.revision.get()))
        .with(row.status.as_str())
        .with(row.snapshot.as_str())
        .with(row.snapshot_digest.as_str())
        .with(row.capability_snapshot.as_str())
        .with(row.capability_snapshot_digest.as_str())
        .with(row.plugin_id.as_str())
        .with(row.provider.as_str())
        .with(row.model.as_str())
        .with(row.vector_space_id.as_deref())
        .with(row.dimension.map(|dimension| i32::try_from(dimension).unwrap_or(i32::MAX)))
        .with(row.created_by.as_str())
        .with(row.activated_by.as_deref())
}

/// The arguments of `insert_head!`, from $21 to $23.
pub(super) fn with_head(call: Call, head: &Head) -> Call {
    call.with(head.id.as_uuid()).with(integer(head.row_version.get())).with(Moment(head.created_at))
}
