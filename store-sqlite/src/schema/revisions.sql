CREATE TABLE "knowledge_space_profile_revisions" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "tenant_id" TEXT NOT NULL,
  "knowledge_space_id" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "revision" INTEGER NOT NULL,
  "state" TEXT NOT NULL,
  "snapshot" TEXT NOT NULL,
  "snapshot_digest" TEXT NOT NULL,
  "capability_snapshot" TEXT NOT NULL,
  "capability_snapshot_digest" TEXT NOT NULL,
  "plugin_id" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "vector_space_id" TEXT,
  "dimension" INTEGER,
  "created_by_subject_id" TEXT NOT NULL,
  "activated_by_subject_id" TEXT,
  "failed_by_subject_id" TEXT,
  "failure_code" TEXT,
  "failure_message" TEXT,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER NOT NULL,
  "activated_at" INTEGER,
  "superseded_at" INTEGER,
  "failed_at" INTEGER,
  CONSTRAINT "knowledge_space_profile_revisions_scope_revision_uq"
    UNIQUE ("tenant_id", "knowledge_space_id", "kind", "revision"),
  CONSTRAINT "knowledge_space_profile_revisions_head_fk_uq"
    UNIQUE ("tenant_id", "knowledge_space_id", "kind", "id", "revision"),
  CONSTRAINT "knowledge_space_profile_revisions_attempt_fk_uq"
    UNIQUE (
      "tenant_id", "knowledge_space_id", "kind", "id", "revision", "snapshot_digest"
    ),
  CONSTRAINT "knowledge_space_profile_revisions_kind_ck"
    CHECK ("kind" IN ('embedding', 'retrieval')),
  CONSTRAINT "knowledge_space_profile_revisions_state_ck"
    CHECK ("state" IN ('candidate', 'active', 'superseded', 'failed')),
  CONSTRAINT "knowledge_space_profile_revisions_positive_ck"
    CHECK ("revision" >= 1 AND ("dimension" IS NULL OR "dimension" >= 1)),
  CONSTRAINT "knowledge_space_profile_revisions_vector_shape_ck"
    CHECK (
      (
        "kind" = 'embedding'
        AND "vector_space_id" IS NOT NULL
        AND "dimension" IS NOT NULL
        AND "dimension" >= 1
      )
      OR ("kind" = 'retrieval' AND "vector_space_id" IS NULL AND "dimension" IS NULL)
    ),
  CONSTRAINT "knowledge_space_profile_revisions_lifecycle_ck"
    CHECK (
      (
        "state" = 'candidate'
        AND "activated_at" IS NULL AND "superseded_at" IS NULL AND "failed_at" IS NULL
        AND "failure_code" IS NULL AND "failure_message" IS NULL
      )
      OR (
        "state" = 'active'
        AND "activated_at" IS NOT NULL AND "superseded_at" IS NULL AND "failed_at" IS NULL
        AND "failure_code" IS NULL AND "failure_message" IS NULL
      )
      OR (
        "state" = 'superseded'
        AND "activated_at" IS NOT NULL AND "superseded_at" IS NOT NULL AND "failed_at" IS NULL
        AND "failure_code" IS NULL AND "failure_message" IS NULL
      )
      OR (
        "state" = 'failed'
        AND "activated_at" IS NULL AND "superseded_at" IS NULL AND "failed_at" IS NOT NULL
        AND "failure_code" IS NOT NULL AND "failure_message" IS NOT NULL
      )
    ),
  CONSTRAINT "knowledge_space_profile_revisions_integer_ck"
    CHECK ("revision" <= 2147483647 AND ("dimension" IS NULL OR "dimension" <= 2147483647)),
  CONSTRAINT "knowledge_space_profile_revisions_length_ck"
    CHECK (
      length("tenant_id") BETWEEN 1 AND 255
      AND length("snapshot_digest") = 64
      AND length("capability_snapshot_digest") = 64
      AND length("plugin_id") <= 256
      AND length("provider") <= 256
      AND length("model") <= 256
      AND ("vector_space_id" IS NULL OR length("vector_space_id") <= 87)
      AND length("created_by_subject_id") <= 255
      AND ("activated_by_subject_id" IS NULL OR length("activated_by_subject_id") <= 255)
      AND ("failed_by_subject_id" IS NULL OR length("failed_by_subject_id") <= 255)
      AND ("failure_code" IS NULL OR length("failure_code") <= 64)
    ),
  CONSTRAINT "knowledge_space_profile_revisions_uuid_ck"
    CHECK (
      "id" GLOB '????????-????-????-????-????????????'
      AND "id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("id", '-', '')) = 32
      AND "knowledge_space_id" GLOB '????????-????-????-????-????????????'
      AND "knowledge_space_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("knowledge_space_id", '-', '')) = 32
    ),
  CONSTRAINT "knowledge_space_profile_revisions_json_ck"
    CHECK (json_valid("snapshot") AND json_valid("capability_snapshot")),
  FOREIGN KEY ("tenant_id", "knowledge_space_id")
    REFERENCES "knowledge_spaces" ("tenant_id", "id") ON DELETE CASCADE
) STRICT;

CREATE INDEX "knowledge_space_profile_revisions_scope_state_idx"
  ON "knowledge_space_profile_revisions" (
    "tenant_id", "knowledge_space_id", "kind", "state", "revision", "id"
  );

CREATE UNIQUE INDEX "knowledge_space_profile_revisions_one_candidate_uq"
  ON "knowledge_space_profile_revisions" ("tenant_id", "knowledge_space_id", "kind")
  WHERE "state" = 'candidate';

CREATE UNIQUE INDEX "knowledge_space_profile_revisions_one_active_uq"
  ON "knowledge_space_profile_revisions" ("tenant_id", "knowledge_space_id", "kind")
  WHERE "state" = 'active';

-- `UPDATE OF` keeps the trigger away from the updates that only move a revision through its states.
CREATE TRIGGER "knowledge_space_profile_revisions_immutable_tr"
BEFORE UPDATE OF
  "id", "tenant_id", "knowledge_space_id", "kind", "revision", "snapshot", "snapshot_digest",
  "capability_snapshot", "capability_snapshot_digest", "plugin_id", "provider", "model", "vector_space_id",
  "dimension", "created_by_subject_id", "created_at"
ON "knowledge_space_profile_revisions"
WHEN
  NEW."id" IS NOT OLD."id"
  OR NEW."tenant_id" IS NOT OLD."tenant_id"
  OR NEW."knowledge_space_id" IS NOT OLD."knowledge_space_id"
  OR NEW."kind" IS NOT OLD."kind"
  OR NEW."revision" IS NOT OLD."revision"
  OR NEW."snapshot" IS NOT OLD."snapshot"
  OR NEW."snapshot_digest" IS NOT OLD."snapshot_digest"
  OR NEW."capability_snapshot" IS NOT OLD."capability_snapshot"
  OR NEW."capability_snapshot_digest" IS NOT OLD."capability_snapshot_digest"
  OR NEW."plugin_id" IS NOT OLD."plugin_id"
  OR NEW."provider" IS NOT OLD."provider"
  OR NEW."model" IS NOT OLD."model"
  OR NEW."vector_space_id" IS NOT OLD."vector_space_id"
  OR NEW."dimension" IS NOT OLD."dimension"
  OR NEW."created_by_subject_id" IS NOT OLD."created_by_subject_id"
  OR NEW."created_at" IS NOT OLD."created_at"
BEGIN
  SELECT RAISE(ABORT, 'a revision is immutable but for its state');
END;
