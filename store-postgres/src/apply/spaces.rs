//! Writing spaces and manifests. Only where both tables are ours: decisions see to that.

use space_profiles_core::{ManifestRow, PutManifest, Space, SpaceRow};

use crate::load::integer;
use crate::statement::{Call, statements};
use crate::time::Moment;

macro_rules! insert_space {
    () => {
        "INSERT INTO knowledge_spaces (
           tenant_id, id, name, lifecycle_state, deletion_job_id, created_at, updated_at
         )
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (tenant_id, id) DO NOTHING
         RETURNING true"
    };
}

/// That there is no manifest yet is guarded by the space's unique constraint.
macro_rules! insert_manifest {
    ($id:literal, $version:literal, $metadata:literal, $created_at:literal, $updated_at:literal) => {
        concat!(
            "INSERT INTO knowledge_space_manifests (
               id, tenant_id, knowledge_space_id, manifest_version, metadata, created_at, updated_at
             )
             SELECT ",
            $id,
            "::uuid, $1, $2::uuid, ",
            $version,
            "::integer, ",
            $metadata,
            "::jsonb, ",
            $created_at,
            "::timestamptz, ",
            $updated_at,
            "::timestamptz FROM space RETURNING true"
        )
    };
}

/// Another name for the space, if one is asked for; its own step, since it goes with the manifest or not at all.
macro_rules! renamed {
    () => {
        "renamed AS (
           UPDATE knowledge_spaces
           SET name = $8, updated_at = $7::timestamptz
           FROM put
           WHERE tenant_id = $1 AND id = $2 AND $8::text IS NOT NULL
         )"
    };
}

statements! {
    ADD = insert_space!();

    ADD_WITH_MANIFEST = concat!(
        "WITH space AS (", insert_space!(), ") ", insert_manifest!("$8", "$9", "$10", "$11", "$12")
    );

    /// Two imports of one space wait for each other at its row, and not crosswise below.
    PUT_FIRST_MANIFEST = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR NO KEY UPDATE"), "),
           put AS (", insert_manifest!("$3", "$4", "$5", "$6", "$7"), "),
           ", renamed!(), "
         SELECT true FROM put"
    );

    REPLACE_MANIFEST = concat!(
        "WITH
           space AS MATERIALIZED (", writable_space!("FOR NO KEY UPDATE"), "),
           put AS (
             UPDATE knowledge_space_manifests AS manifest
             SET
               id = $3, manifest_version = $4, metadata = $5::jsonb, created_at = $6::timestamptz,
               updated_at = $7::timestamptz
             FROM space
             WHERE
               manifest.tenant_id = $1 AND manifest.knowledge_space_id = $2 AND manifest.manifest_version = $9
             RETURNING true
           ),
           ", renamed!(), "
         SELECT true FROM put"
    );

    /// Heads go before the revisions that they may not outlive. What was added while this waited for the space's
    /// row is not in its snapshot: then the foreign keys stop it, and it begins again.
    DELETE =
        "WITH
           space AS MATERIALIZED (
             SELECT true FROM knowledge_spaces WHERE tenant_id = $1 AND id = $2 FOR UPDATE
           ),
           backfills AS (
             DELETE FROM knowledge_space_profile_backfills AS backfill
             USING space
             WHERE backfill.tenant_id = $1 AND backfill.knowledge_space_id = $2
             RETURNING true
           ),
           heads AS (
             DELETE FROM knowledge_space_profile_heads AS head
             USING space
             WHERE
               (SELECT count(*) FROM backfills) >= 0
               AND head.tenant_id = $1 AND head.knowledge_space_id = $2
             RETURNING true
           ),
           revisions AS (
             DELETE FROM knowledge_space_profile_revisions AS revision
             USING space
             WHERE
               (SELECT count(*) FROM heads) >= 0
               AND revision.tenant_id = $1 AND revision.knowledge_space_id = $2
             RETURNING true
           ),
           manifests AS (
             DELETE FROM knowledge_space_manifests AS manifest
             USING space
             WHERE
               (SELECT count(*) FROM revisions) >= 0
               AND manifest.tenant_id = $1 AND manifest.knowledge_space_id = $2
             RETURNING true
           )
         DELETE FROM knowledge_spaces
         USING space
         WHERE (SELECT count(*) FROM manifests) >= 0 AND tenant_id = $1 AND id = $2
         RETURNING true";
}

pub(super) fn add(row: &SpaceRow) -> Call {
    with_space(Call::of(ADD), row)
}

pub(super) fn add_with_manifest(row: &SpaceRow, manifest: &ManifestRow) -> Call {
    with_manifest(with_space(Call::of(ADD_WITH_MANIFEST), row), manifest)
}

fn with_manifest(call: Call, manifest: &ManifestRow) -> Call {
    call.with(manifest.id.as_uuid())
        .with(integer(manifest.version.get()))
        .with(manifest.metadata.as_str())
        .with(Moment(manifest.created_at))
        .with(Moment(manifest.updated_at))
}

fn with_space(call: Call, row: &SpaceRow) -> Call {
    call.with(row.space.tenant.as_str())
        .with(row.space.id.as_uuid())
        .with(row.name.as_str())
        .with(row.lifecycle_state.as_str())
        .with(row.deletion_job)
        .with(Moment(row.created_at))
        .with(Moment(row.updated_at))
}

pub(super) fn put_manifest(put: &PutManifest) -> Call {
    let of_space = |statement| Call::of(statement).with(put.space.tenant.as_str()).with(put.space.id.as_uuid());
    match (&put.add_space, put.from) {
        // No manifest is there without its space: a foreign key sees to it.
        (Some(row), _) => add_with_manifest(row, &put.to),
        (None, None) => with_manifest(of_space(PUT_FIRST_MANIFEST), &put.to).with(put.rename.as_deref()),
        (None, Some(from)) => with_manifest(of_space(REPLACE_MANIFEST), &put.to)
            .with(put.rename.as_deref())
            .with(integer(from.get())),
    }
}

pub(super) fn delete(space: &Space) -> Call {
    Call::of(DELETE).with(space.tenant.as_str()).with(space.id.as_uuid())
}
