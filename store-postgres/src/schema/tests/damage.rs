//! That every kind of damage is told.

use super::*;

const R: &str = "knowledge_space_profile_revisions";
const B: &str = "knowledge_space_profile_backfills";

/// What is done to a migrated schema, and a part of what is said of it. Nothing is said of what is harmless.
const DAMAGE: &[(&str, &[&str])] = &[
    ("DROP TABLE {b}", &["expected table `{b}`, found none"]),
    ("ALTER TABLE {b} SET UNLOGGED", &["to be `ordinary, logged`, found `ordinary, unlogged`"]),
    (
        "ALTER TABLE {b} DROP COLUMN retry_code",
        &["expected column `retry_code` of `{b}`, `character varying(64)`"],
    ),
    ("ALTER TABLE {b} ALTER execution_attempts TYPE bigint", &["`integer not null`, found `bigint not null`"]),
    ("ALTER TABLE {r} ALTER failure_code TYPE text", &["`character varying(64)`, found `text`"]),
    ("ALTER TABLE {r} ALTER created_at DROP NOT NULL", &["column `created_at` of `{r}`"]),
    ("ALTER TABLE {b} ALTER due_at DROP DEFAULT", &["not null default now()`, found"]),
    ("ALTER TABLE {b} ALTER due_at SET DEFAULT now() + interval '1 day'", &["column `due_at`"]),
    ("ALTER TABLE {r} ADD COLUMN theirs integer", &[]),
    ("ALTER TABLE {r} ADD COLUMN theirs integer NOT NULL DEFAULT 1", &[]),
    ("ALTER TABLE {b} ADD COLUMN theirs integer NOT NULL", &["unexpected column `theirs` of `{b}`"]),
    ("CREATE INDEX theirs ON {r} (model)", &[]),
    (
        "CREATE INDEX theirs ON {r} (model); DROP INDEX knowledge_space_profile_revisions_scope_state_idx",
        &["index `knowledge_space_profile_revisions_scope_state_idx`"],
    ),
    ("DROP INDEX knowledge_space_profile_backfills_spent_idx", &["spent_idx` of `{b}`, `CREATE INDEX"]),
    (
        "DROP INDEX knowledge_space_profile_revisions_one_active_uq;
      CREATE INDEX knowledge_space_profile_revisions_one_active_uq
      ON {r} (tenant_id, knowledge_space_id, kind) WHERE state = 'active'",
        &["`CREATE UNIQUE INDEX", "found `CREATE INDEX"],
    ),
    (
        "UPDATE pg_index SET indisvalid = false
      WHERE indexrelid = 'knowledge_space_profile_revisions_one_active_uq'::regclass",
        &["one_active_uq` of `{r}` to do its duty, found it invalid"],
    ),
    (
        "ALTER TABLE {r} DROP CONSTRAINT knowledge_space_profile_revisions_state_ck",
        &["constraint `knowledge_space_profile_revisions_state_ck`"],
    ),
    (
        "ALTER TABLE {r} DROP CONSTRAINT knowledge_space_profile_revisions_state_ck;
      ALTER TABLE {r} ADD CONSTRAINT knowledge_space_profile_revisions_state_ck
      CHECK (state IN ('candidate', 'active', 'superseded', 'failed')) NOT VALID",
        &["found it not validated"],
    ),
    (
        "ALTER TABLE {r} DROP CONSTRAINT knowledge_space_profile_revisions_kind_ck;
      ALTER TABLE {r} ADD CONSTRAINT knowledge_space_profile_revisions_kind_ck CHECK (kind <> '')",
        &["found `CHECK"],
    ),
    ("ALTER TABLE {r} ADD CONSTRAINT theirs CHECK (model <> 'x')", &["unexpected constraint `theirs` of `{r}`"]),
    (
        "ALTER TABLE {b} DROP CONSTRAINT knowledge_space_profile_backf_tenant_id_knowledge_space_id_fkey",
        &["foreign key `FOREIGN KEY (tenant_id, knowledge_space_id) REFERENCES"],
    ),
    (
        "ALTER TABLE {b} RENAME CONSTRAINT knowledge_space_profile_backf_tenant_id_knowledge_space_id_fkey TO x",
        &[],
    ),
    (
        "ALTER TABLE {b} DROP CONSTRAINT knowledge_space_profile_backf_tenant_id_knowledge_space_id_fkey;
      ALTER TABLE {b} ADD FOREIGN KEY (tenant_id, knowledge_space_id) REFERENCES knowledge_spaces (tenant_id, id)
      ON DELETE CASCADE NOT VALID",
        &["foreign key", "found it not validated"],
    ),
    (
        "ALTER TABLE {b} DROP CONSTRAINT knowledge_space_profile_backf_tenant_id_knowledge_space_id_fkey;
      ALTER TABLE {b} ADD FOREIGN KEY (tenant_id, knowledge_space_id) REFERENCES knowledge_spaces (tenant_id, id)",
        &["expected foreign key", "unexpected foreign key"],
    ),
    (
        "DROP TRIGGER knowledge_space_profile_heads_immutable_tr ON knowledge_space_profile_heads",
        &["expected trigger `knowledge_space_profile_heads_immutable_tr`"],
    ),
    ("ALTER TABLE {r} DISABLE TRIGGER USER", &["found it disabled"]),
    ("ALTER TABLE {r} ENABLE REPLICA TRIGGER knowledge_space_profile_revisions_immutable_tr", &["replicas only"]),
    (
        "CREATE OR REPLACE FUNCTION space_profiles_immutable() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN RETURN NEW; END'",
        &["expected function `space_profiles_immutable`", "BEGIN RETURN NEW; END"],
    ),
    (
        "DROP TRIGGER knowledge_space_profile_revisions_immutable_tr ON {r};
      CREATE TRIGGER knowledge_space_profile_revisions_immutable_tr BEFORE UPDATE OF snapshot ON {r}
      FOR EACH ROW EXECUTE FUNCTION space_profiles_immutable('x')",
        &["expected trigger"],
    ),
    (
        "CREATE TRIGGER theirs AFTER INSERT ON {r} FOR EACH ROW EXECUTE FUNCTION space_profiles_immutable('x')",
        &["unexpected trigger `theirs` of `{r}`"],
    ),
    ("CREATE RULE theirs AS ON INSERT TO {r} DO INSTEAD NOTHING", &["unexpected rule `theirs`"]),
    ("ALTER TABLE {r} ENABLE ROW LEVEL SECURITY", &["`{r}` to do its duty, found it under row security"]),
    ("ALTER TABLE {b} FORCE ROW LEVEL SECURITY", &["`{b}` to do its duty, found it under row security"]),
];

/// The same, of spaces and manifests that we made.
const DAMAGE_OF_OUR_SPACES: &[(&str, &[&str])] = &[
    (
        "ALTER TABLE knowledge_spaces DROP COLUMN deletion_job_id",
        &["expected column `deletion_job_id` of `knowledge_spaces`, `uuid`, found none"],
    ),
    ("ALTER TABLE knowledge_spaces ALTER deletion_job_id TYPE text", &["to be `uuid`, found `text`"]),
    (
        "ALTER TABLE knowledge_spaces ALTER tenant_id TYPE text",
        &["`character varying(255) not null`, found `text"],
    ),
    ("ALTER TABLE knowledge_spaces ALTER tenant_id TYPE varchar(255) COLLATE \"C\"", &["with its own collation"]),
    (
        "ALTER TABLE knowledge_spaces ALTER updated_at TYPE timestamp",
        &["found `timestamp without time zone not null`"],
    ),
    ("ALTER TABLE knowledge_space_manifests ALTER metadata DROP NOT NULL", &["`jsonb not null`, found `jsonb`"]),
    ("ALTER TABLE knowledge_spaces ADD COLUMN slug text", &[]),
    ("ALTER TABLE knowledge_spaces ADD COLUMN slug text NOT NULL", &["unexpected column `slug`"]),
    (
        "ALTER TABLE knowledge_spaces ADD CHECK (name <> 'x')",
        &["unexpected constraint `knowledge_spaces_name_check`"],
    ),
    ("DROP INDEX knowledge_spaces_walk_idx", &["index `knowledge_spaces_walk_idx` of `knowledge_spaces`"]),
    ("CREATE INDEX theirs ON knowledge_spaces (name)", &[]),
    (
        "ALTER TABLE knowledge_space_manifests DROP CONSTRAINT knowledge_space_manifests_space_uq",
        &["constraint `knowledge_space_manifests_space_uq` of `knowledge_space_manifests`"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests DROP CONSTRAINT knowledge_space_manifests_positive_ck",
        &["constraint `knowledge_space_manifests_positive_ck`"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests
         DROP CONSTRAINT knowledge_space_manifests_tenant_id_knowledge_space_id_fkey",
        &["foreign key `FOREIGN KEY (tenant_id, knowledge_space_id) REFERENCES"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests
         RENAME CONSTRAINT knowledge_space_manifests_tenant_id_knowledge_space_id_fkey TO x",
        &[],
    ),
    (
        "CREATE TRIGGER theirs AFTER INSERT ON knowledge_spaces
         FOR EACH ROW EXECUTE FUNCTION space_profiles_immutable('x')",
        &["unexpected trigger `theirs` of `knowledge_spaces`"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests RENAME TO m",
        &["expected table `knowledge_space_manifests`, found none"],
    ),
    (
        "ALTER TABLE knowledge_spaces ENABLE ROW LEVEL SECURITY",
        &["rows may be hidden; run ALTER TABLE knowledge_spaces NO FORCE ROW LEVEL SECURITY, DISABLE ROW"],
    ),
];

/// The same, of spaces and manifests that the other service made: only what we read must be there.
const DAMAGE_OF_THEIR_SPACES: &[(&str, &[&str])] = &[
    (
        "ALTER TABLE knowledge_spaces DROP COLUMN deletion_job_id",
        &["column `deletion_job_id` of `knowledge_spaces`"],
    ),
    ("ALTER TABLE knowledge_spaces ALTER updated_at TYPE timestamp", &["found timestamp without time zone"]),
    (
        "ALTER TABLE knowledge_spaces ALTER tenant_id TYPE varchar(90) COLLATE \"C\"",
        &["TYPE character varying(90) COLLATE \"default\""],
    ),
    (
        "ALTER TABLE knowledge_spaces ALTER deletion_job_id TYPE text;
         INSERT INTO knowledge_spaces (id, tenant_id, deletion_job_id) VALUES (gen_random_uuid(), 't', 'job 7')",
        &[],
    ),
    (
        "ALTER TABLE knowledge_space_manifests ALTER id TYPE varchar;
         INSERT INTO knowledge_space_manifests VALUES ('manifest 7', 't', gen_random_uuid(), 1, '{}', now(), now())",
        &[],
    ),
    ("ALTER TABLE knowledge_spaces ADD COLUMN more text NOT NULL, ADD CHECK (name <> 'x')", &[]),
    (
        "ALTER TABLE knowledge_space_manifests
         DROP CONSTRAINT knowledge_space_manifests_tenant_id_knowledge_space_id_key",
        &["expected (knowledge_space_id, tenant_id) of `knowledge_space_manifests` to be unique"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests RENAME TO m",
        &["expected table `knowledge_space_manifests`, found none"],
    ),
    (
        "ALTER TABLE knowledge_space_manifests ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
        &[
            "rows may be hidden; run ALTER TABLE knowledge_space_manifests NO FORCE ROW LEVEL SECURITY, DISABLE ROW",
        ],
    ),
];

#[tokio::test]
async fn each_kind_of_damage_is_told_and_nothing_that_is_harmless() {
    let template = Database::empty();
    template.migrate().await.unwrap();
    each_is_told(&template, DAMAGE).await;
    each_is_told(&template, DAMAGE_OF_OUR_SPACES).await;
}

#[tokio::test]
async fn of_their_spaces_only_what_is_read_is_compared() {
    let template = Database::theirs();
    template.migrate().await.unwrap();
    each_is_told(&template, DAMAGE_OF_THEIR_SPACES).await;
}

async fn each_is_told(template: &Database, damages: &[(&str, &[&str])]) {
    let fill = |text: &str| text.replace("{r}", R).replace("{b}", B);
    for (damage, parts) in damages {
        let database = template.copy();
        database.sql(&fill(damage));
        let differences = database.differences().await;
        let text = differences.join("\n");
        assert_eq!(differences.is_empty(), parts.is_empty(), "{damage}: {text}");
        for part in *parts {
            assert!(text.contains(&fill(part)), "{damage}: {text}");
        }
        // A migration says the same.
        let everything = database.everything();
        match database.migrate().await {
            Ok(_) => assert!(parts.is_empty(), "{damage}"),
            Err(error) => assert!(differences.iter().all(|it| error.message.contains(it)), "{damage}: {error}"),
        }
        assert_eq!(database.everything(), everything);
    }
}
