-- Marks the file as ours: "SPRF". Read before anything is written to a file that is already there.
PRAGMA application_id = 0x53505246;

-- Times are whole microseconds since 1970-01-01T00:00:00Z, so that they sort and compare as moments do.
-- UUIDs are their 36 lower-case characters. JSON is text. Lengths count code points, as VARCHAR(n) does.

CREATE TABLE "knowledge_spaces" (
  "tenant_id" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "lifecycle_state" TEXT NOT NULL,
  "deletion_job_id" TEXT,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER NOT NULL,
  PRIMARY KEY ("tenant_id", "id"),
  CONSTRAINT "knowledge_spaces_length_ck"
    CHECK (length("tenant_id") BETWEEN 1 AND 255 AND length("lifecycle_state") BETWEEN 1 AND 64),
  CONSTRAINT "knowledge_spaces_uuid_ck"
    CHECK (
      "id" GLOB '????????-????-????-????-????????????'
      AND "id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("id", '-', '')) = 32
      AND (
        "deletion_job_id" IS NULL
        OR (
          "deletion_job_id" GLOB '????????-????-????-????-????????????'
          AND "deletion_job_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("deletion_job_id", '-', '')) = 32
        )
      )
    )
) STRICT;

-- Discovery walks spaces by (id, tenant).
CREATE INDEX "knowledge_spaces_walk_idx" ON "knowledge_spaces" ("id", "tenant_id");

CREATE TABLE "knowledge_space_manifests" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "tenant_id" TEXT NOT NULL,
  "knowledge_space_id" TEXT NOT NULL,
  "manifest_version" INTEGER NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER NOT NULL,
  CONSTRAINT "knowledge_space_manifests_space_uq" UNIQUE ("tenant_id", "knowledge_space_id"),
  CONSTRAINT "knowledge_space_manifests_integer_ck"
    CHECK ("manifest_version" BETWEEN 1 AND 2147483647),
  CONSTRAINT "knowledge_space_manifests_length_ck"
    CHECK (length("tenant_id") BETWEEN 1 AND 255),
  CONSTRAINT "knowledge_space_manifests_uuid_ck"
    CHECK (
      "id" GLOB '????????-????-????-????-????????????'
      AND "id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("id", '-', '')) = 32
      AND "knowledge_space_id" GLOB '????????-????-????-????-????????????'
      AND "knowledge_space_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("knowledge_space_id", '-', '')) = 32
    ),
  CONSTRAINT "knowledge_space_manifests_json_ck"
    CHECK (json_valid("metadata")),
  FOREIGN KEY ("tenant_id", "knowledge_space_id")
    REFERENCES "knowledge_spaces" ("tenant_id", "id") ON DELETE CASCADE
) STRICT;
