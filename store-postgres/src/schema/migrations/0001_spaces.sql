-- Only for a database that has neither table: elsewhere both belong to the service that made them.
CREATE TABLE "knowledge_spaces" (
  "tenant_id" VARCHAR(255) NOT NULL,
  "id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "lifecycle_state" VARCHAR(64) NOT NULL,
  "deletion_job_id" UUID,
  "created_at" TIMESTAMPTZ NOT NULL,
  "updated_at" TIMESTAMPTZ NOT NULL,
  PRIMARY KEY ("tenant_id", "id")
);

-- Discovery walks spaces by (id, tenant).
CREATE INDEX "knowledge_spaces_walk_idx" ON "knowledge_spaces" ("id", "tenant_id");

CREATE TABLE "knowledge_space_manifests" (
  "id" UUID PRIMARY KEY NOT NULL,
  "tenant_id" VARCHAR(255) NOT NULL,
  "knowledge_space_id" UUID NOT NULL,
  "manifest_version" INTEGER NOT NULL,
  "metadata" JSONB NOT NULL,
  "created_at" TIMESTAMPTZ NOT NULL,
  "updated_at" TIMESTAMPTZ NOT NULL,
  CONSTRAINT "knowledge_space_manifests_space_uq" UNIQUE ("tenant_id", "knowledge_space_id"),
  CONSTRAINT "knowledge_space_manifests_positive_ck" CHECK ("manifest_version" >= 1),
  FOREIGN KEY ("tenant_id", "knowledge_space_id")
    REFERENCES "knowledge_spaces" ("tenant_id", "id") ON DELETE CASCADE
);
