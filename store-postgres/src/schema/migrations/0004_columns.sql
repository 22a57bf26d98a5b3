-- New columns come last and are nullable or have a default: the other service also inserts without a column list.
ALTER TABLE "knowledge_space_profile_revisions"
  ADD COLUMN IF NOT EXISTS "activated_by_subject_id" VARCHAR(255),
  ADD COLUMN IF NOT EXISTS "failed_by_subject_id" VARCHAR(255);

-- No row is rewritten: a default that is not volatile, as now() is, is computed once and kept in the catalog
-- (ALTER TABLE, Notes). So every row that is there becomes due at the moment of the migration.
ALTER TABLE "knowledge_space_profile_backfills"
  ADD COLUMN IF NOT EXISTS "due_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
  ADD COLUMN IF NOT EXISTS "retry_code" VARCHAR(64),
  ADD COLUMN IF NOT EXISTS "retry_message" TEXT;
