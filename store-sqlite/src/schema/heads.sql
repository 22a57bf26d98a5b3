CREATE TABLE "knowledge_space_profile_heads" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "tenant_id" TEXT NOT NULL,
  "knowledge_space_id" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "profile_revision_id" TEXT NOT NULL,
  "active_revision" INTEGER NOT NULL,
  "row_version" INTEGER NOT NULL,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER NOT NULL,
  CONSTRAINT "knowledge_space_profile_heads_kind_ck"
    CHECK ("kind" IN ('embedding', 'retrieval')),
  CONSTRAINT "knowledge_space_profile_heads_positive_ck"
    CHECK ("active_revision" >= 1 AND "row_version" >= 1),
  CONSTRAINT "knowledge_space_profile_heads_integer_ck"
    CHECK ("active_revision" <= 2147483647 AND "row_version" <= 2147483647),
  CONSTRAINT "knowledge_space_profile_heads_length_ck"
    CHECK (length("tenant_id") BETWEEN 1 AND 255),
  CONSTRAINT "knowledge_space_profile_heads_uuid_ck"
    CHECK (
      "id" GLOB '????????-????-????-????-????????????'
      AND "id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("id", '-', '')) = 32
      AND "knowledge_space_id" GLOB '????????-????-????-????-????????????'
      AND "knowledge_space_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("knowledge_space_id", '-', '')) = 32
      AND "profile_revision_id" GLOB '????????-????-????-????-????????????'
      AND "profile_revision_id" NOT GLOB '*[^0-9a-f-]*' AND length(replace("profile_revision_id", '-', '')) = 32
    ),
  FOREIGN KEY ("tenant_id", "knowledge_space_id")
    REFERENCES "knowledge_spaces" ("tenant_id", "id") ON DELETE CASCADE,
  FOREIGN KEY (
    "tenant_id", "knowledge_space_id", "kind", "profile_revision_id", "active_revision"
  ) REFERENCES "knowledge_space_profile_revisions" (
    "tenant_id", "knowledge_space_id", "kind", "id", "revision"
  ) ON DELETE RESTRICT
) STRICT;

CREATE UNIQUE INDEX "knowledge_space_profile_heads_scope_uq"
  ON "knowledge_space_profile_heads" ("tenant_id", "knowledge_space_id", "kind");

CREATE TRIGGER "knowledge_space_profile_heads_immutable_tr"
BEFORE UPDATE OF "tenant_id", "knowledge_space_id", "kind"
ON "knowledge_space_profile_heads"
WHEN
  NEW."tenant_id" IS NOT OLD."tenant_id"
  OR NEW."knowledge_space_id" IS NOT OLD."knowledge_space_id"
  OR NEW."kind" IS NOT OLD."kind"
BEGIN
  SELECT RAISE(ABORT, 'the scope of a head is immutable');
END;
