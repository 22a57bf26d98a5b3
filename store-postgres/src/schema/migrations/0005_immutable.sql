CREATE FUNCTION "space_profiles_immutable"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = 'restrict_violation',
    MESSAGE = TG_ARGV[0],
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME;
END
$$;

-- `UPDATE OF` keeps a trigger away from updates that do not name its columns: those that move a revision through
-- its states, advance a head, claim a backfill or keep its lease.
CREATE TRIGGER "knowledge_space_profile_revisions_immutable_tr"
BEFORE UPDATE OF
  "id", "tenant_id", "knowledge_space_id", "kind", "revision", "snapshot", "snapshot_digest",
  "capability_snapshot", "capability_snapshot_digest", "plugin_id", "provider", "model", "vector_space_id",
  "dimension", "created_by_subject_id", "created_at"
ON "knowledge_space_profile_revisions"
FOR EACH ROW WHEN (
  NEW."id" IS DISTINCT FROM OLD."id"
  OR NEW."tenant_id" IS DISTINCT FROM OLD."tenant_id"
  OR NEW."knowledge_space_id" IS DISTINCT FROM OLD."knowledge_space_id"
  OR NEW."kind" IS DISTINCT FROM OLD."kind"
  OR NEW."revision" IS DISTINCT FROM OLD."revision"
  OR NEW."snapshot" IS DISTINCT FROM OLD."snapshot"
  OR NEW."snapshot_digest" IS DISTINCT FROM OLD."snapshot_digest"
  OR NEW."capability_snapshot" IS DISTINCT FROM OLD."capability_snapshot"
  OR NEW."capability_snapshot_digest" IS DISTINCT FROM OLD."capability_snapshot_digest"
  OR NEW."plugin_id" IS DISTINCT FROM OLD."plugin_id"
  OR NEW."provider" IS DISTINCT FROM OLD."provider"
  OR NEW."model" IS DISTINCT FROM OLD."model"
  OR NEW."vector_space_id" IS DISTINCT FROM OLD."vector_space_id"
  OR NEW."dimension" IS DISTINCT FROM OLD."dimension"
  OR NEW."created_by_subject_id" IS DISTINCT FROM OLD."created_by_subject_id"
  OR NEW."created_at" IS DISTINCT FROM OLD."created_at"
)
EXECUTE FUNCTION "space_profiles_immutable"('a revision is immutable but for its state');

CREATE TRIGGER "knowledge_space_profile_heads_immutable_tr"
BEFORE UPDATE OF "tenant_id", "knowledge_space_id", "kind"
ON "knowledge_space_profile_heads"
FOR EACH ROW WHEN (
  NEW."tenant_id" IS DISTINCT FROM OLD."tenant_id"
  OR NEW."knowledge_space_id" IS DISTINCT FROM OLD."knowledge_space_id"
  OR NEW."kind" IS DISTINCT FROM OLD."kind"
)
EXECUTE FUNCTION "space_profiles_immutable"('the scope of a head is immutable');

CREATE TRIGGER "knowledge_space_profile_backfills_immutable_tr"
BEFORE UPDATE OF
  "tenant_id", "knowledge_space_id", "kind", "source_manifest_version", "source_snapshot",
  "source_snapshot_digest"
ON "knowledge_space_profile_backfills"
FOR EACH ROW WHEN (
  NEW."tenant_id" IS DISTINCT FROM OLD."tenant_id"
  OR NEW."knowledge_space_id" IS DISTINCT FROM OLD."knowledge_space_id"
  OR NEW."kind" IS DISTINCT FROM OLD."kind"
  OR NEW."source_manifest_version" IS DISTINCT FROM OLD."source_manifest_version"
  OR NEW."source_snapshot" IS DISTINCT FROM OLD."source_snapshot"
  OR NEW."source_snapshot_digest" IS DISTINCT FROM OLD."source_snapshot_digest"
)
EXECUTE FUNCTION "space_profiles_immutable"('the scope and the source of a backfill are immutable');
