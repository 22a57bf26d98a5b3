CREATE UNIQUE INDEX "knowledge_space_profile_revisions_one_candidate_uq"
  ON "knowledge_space_profile_revisions" ("tenant_id", "knowledge_space_id", "kind")
  WHERE "state" = 'candidate';

CREATE UNIQUE INDEX "knowledge_space_profile_revisions_one_active_uq"
  ON "knowledge_space_profile_revisions" ("tenant_id", "knowledge_space_id", "kind")
  WHERE "state" = 'active';
