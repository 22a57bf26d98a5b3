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

-- So that a claim for one tenant does not wade through the rows of all others that are due before its own.
CREATE INDEX "knowledge_space_profile_backfills_tenant_idx"
  ON "knowledge_space_profile_backfills" ("tenant_id", "due_at", "id")
  WHERE "run_state" = 'queued' AND "execution_attempts" < "max_execution_attempts";
