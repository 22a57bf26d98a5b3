CREATE TABLE "knowledge_space_profile_backfills" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "tenant_id" TEXT NOT NULL,
  "knowledge_space_id" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "source_manifest_version" INTEGER NOT NULL,
  "source_snapshot" TEXT NOT NULL,
  "source_snapshot_digest" TEXT NOT NULL,
  "run_state" TEXT NOT NULL,
  "execution_attempts" INTEGER NOT NULL,
  "max_execution_attempts" INTEGER NOT NULL,
  "worker_id" TEXT,
  "lease_token" TEXT,
  "lease_expires_at" INTEGER,
  "heartbeat_at" INTEGER,
  "due_at" INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000000),
  "retry_code" TEXT,
  "retry_message" TEXT,
  "row_version" INTEGER NOT NULL,
  "last_error_code" TEXT,
  "last_error_message" TEXT,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER NOT NULL,
  "completed_at" INTEGER,
  CONSTRAINT "knowledge_space_profile_backfills_kind_ck"
    CHECK ("kind" IN ('embedding', 'retrieval')),
  CONSTRAINT "knowledge_space_profile_backfills_state_ck"
    CHECK ("run_state" IN ('queued', 'running', 'succeeded', 'failed')),
  CONSTRAINT "knowledge_space_profile_backfills_positive_ck"
    CHECK (
      "source_manifest_version" >= 1
      AND "execution_attempts" >= 0
      AND "max_execution_attempts" >= 1
      AND "execution_attempts" <= "max_execution_attempts"
      AND "row_version" >= 1
    ),
  CONSTRAINT "knowledge_space_profile_backfills_lease_ck"
    CHECK (
      (
        "run_state" = 'running'
        AND "worker_id" IS NOT NULL AND "lease_token" IS NOT NULL
        AND "lease_expires_at" IS NOT NULL AND "heartbeat_at" IS NOT NULL
      )
      OR (
        "run_state" <> 'running'
        AND "worker_id" IS NULL AND "lease_token" IS NULL
        AND "lease_expires_at" IS NULL AND "heartbeat_at" IS NULL
      )
    ),
  CONSTRAINT "knowledge_space_profile_backfills_lifecycle_ck"
    CHECK (
      (
        "run_state" IN ('queued', 'running')
        AND "completed_at" IS NULL
        AND "last_error_code" IS NULL AND "last_error_message" IS NULL
      )
      OR (
        "run_state" = 'succeeded'
        AND "completed_at" IS NOT NULL
        AND "last_error_code" IS NULL AND "last_error_message" IS NULL
      )
      OR (
        "run_state" = 'failed'
        AND "completed_at" IS NOT NULL
        AND "last_error_code" IS NOT NULL AND "last_error_message" IS NOT NULL
      )
    ),
  CONSTRAINT "knowledge_space_profile_backfills_lease_token_ck"
    CHECK (
      "lease_token" IS NULL
      OR "lease_token" <> '00000000-0000-0000-0000-000000000000'
    ),
  CONSTRAINT "knowledge_space_profile_backfills_integer_ck"
    CHECK (
      "source_manifest_version" <= 2147483647
      AND "max_execution_attempts" <= 2147483647
      AND "row_version" <= 2147483647
    ),
  CONSTRAINT "knowledge_space_profile_backfills_length_ck"
    CHECK (
      length("tenant_id") BETWEEN 1 AND 255
      AND length("source_snapshot_digest") = 64
      AND ("worker_id" IS NULL OR length("worker_id") <= 255)
      AND ("retry_code" IS NULL OR length("retry_code") <= 64)
      AND ("last_error_code" IS NULL OR length("last_error_code") <= 64)
    ),
  CONSTRAINT "knowledge_space_profile_backfills_uuid_ck"
    CHECK (
      "id" GLOB '????????-????-????-????-????????????'
      AND "id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("id", '-', '')) = 32
      AND "knowledge_space_id" GLOB '????????-????-????-????-????????????'
      AND "knowledge_space_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("knowledge_space_id", '-', '')) = 32
      AND (
        "lease_token" IS NULL
        OR (
          "lease_token" GLOB '????????-????-????-????-????????????'
          AND "lease_token" NOT GLOB '*[^0-9a-f-]*' AND length(replace("lease_token", '-', '')) = 32
        )
      )
    ),
  CONSTRAINT "knowledge_space_profile_backfills_json_ck"
    CHECK (json_valid("source_snapshot")),
  FOREIGN KEY ("tenant_id", "knowledge_space_id")
    REFERENCES "knowledge_spaces" ("tenant_id", "id") ON DELETE CASCADE
) STRICT;

CREATE UNIQUE INDEX "knowledge_space_profile_backfills_source_uq"
  ON "knowledge_space_profile_backfills" (
    "tenant_id", "knowledge_space_id", "kind",
    "source_manifest_version", "source_snapshot_digest"
  );

CREATE INDEX "knowledge_space_profile_backfills_claim_idx"
  ON "knowledge_space_profile_backfills" (
    "run_state", "lease_expires_at", "updated_at", "id"
  );

-- A claim reads each sort of row in its own order and stops at its limit. Queued rows whose attempts are spent
-- lie apart, so that however many there are, no claim wades through them to the rows that it can give away.
CREATE INDEX "knowledge_space_profile_backfills_queued_idx"
  ON "knowledge_space_profile_backfills" ("due_at", "id")
  WHERE "run_state" = 'queued' AND "execution_attempts" < "max_execution_attempts";

CREATE INDEX "knowledge_space_profile_backfills_spent_idx"
  ON "knowledge_space_profile_backfills" ("due_at", "id")
  WHERE "run_state" = 'queued' AND "execution_attempts" >= "max_execution_attempts";

CREATE INDEX "knowledge_space_profile_backfills_running_idx"
  ON "knowledge_space_profile_backfills" ("lease_expires_at", "id")
  WHERE "run_state" = 'running';

CREATE TRIGGER "knowledge_space_profile_backfills_immutable_tr"
BEFORE UPDATE OF
  "tenant_id", "knowledge_space_id", "kind", "source_manifest_version", "source_snapshot",
  "source_snapshot_digest"
ON "knowledge_space_profile_backfills"
WHEN
  NEW."tenant_id" IS NOT OLD."tenant_id"
  OR NEW."knowledge_space_id" IS NOT OLD."knowledge_space_id"
  OR NEW."kind" IS NOT OLD."kind"
  OR NEW."source_manifest_version" IS NOT OLD."source_manifest_version"
  OR NEW."source_snapshot" IS NOT OLD."source_snapshot"
  OR NEW."source_snapshot_digest" IS NOT OLD."source_snapshot_digest"
BEGIN
  SELECT RAISE(ABORT, 'the scope and the source of a backfill are immutable');
END;
