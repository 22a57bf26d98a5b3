//! How the server carries out what runs most often, in a database with 50,000 spaces and as many queued rows.
//!
//! Plans are looked at for their shape: which tables are read from end to end, and how many rows each step really saw.

use serde_json::Value;
use space_profiles_postgres::testing;

use crate::databases::Database;

const SPACES: u32 = 50_000;

/// Every space has a manifest; half of them an active revision of each kind, after one superseded; the other half a
/// queued row of each kind, of which a tenth is spent, and of the running ones, some have expired.
const FILL: &str = "
    INSERT INTO knowledge_spaces
    SELECT
      'tenant-' || n % 100, ('018f0d60-7a49-7cc2-9c00-' || lpad(to_hex(n), 12, '0'))::uuid, '', 'active', NULL,
      now(), now()
    FROM generate_series(1, 50000) AS n;
    INSERT INTO knowledge_space_manifests
    SELECT
      gen_random_uuid(), tenant_id, id, 1,
      '{\"__knowledgeFsEmbeddingProfile\": {\"model\": \"m\"}, \"__knowledgeFsRetrievalProfile\": {\"topK\": 3}}',
      now(), now()
    FROM knowledge_spaces;
    INSERT INTO knowledge_space_profile_revisions (
      id, tenant_id, knowledge_space_id, kind, revision, state, snapshot, snapshot_digest, capability_snapshot,
      capability_snapshot_digest, plugin_id, provider, model, vector_space_id, dimension, created_by_subject_id,
      created_at, updated_at, activated_at, superseded_at
    )
    SELECT
      gen_random_uuid(), tenant_id, id, kind, revision,
      CASE revision WHEN 1 THEN 'superseded' WHEN 2 THEN 'active' ELSE 'candidate' END,
      '{}', repeat('0', 64), '{}', repeat('0', 64), 'p', 'o', 'm',
      CASE kind WHEN 'embedding' THEN 'v' END, CASE kind WHEN 'embedding' THEN 8 END, 'user:ann', now(), now(),
      CASE WHEN revision < 3 THEN now() END, CASE revision WHEN 1 THEN now() END
    FROM
      knowledge_spaces, unnest(ARRAY['embedding', 'retrieval']) AS kind, generate_series(1, 3) AS revision
    WHERE id < '018f0d60-7a49-7cc2-9c00-0000000061a8';
    INSERT INTO knowledge_space_profile_heads
    SELECT
      gen_random_uuid(), tenant_id, knowledge_space_id, kind, id, revision, 2, now(), now()
    FROM knowledge_space_profile_revisions
    WHERE state = 'active';
    INSERT INTO knowledge_space_profile_backfills (
      id, tenant_id, knowledge_space_id, kind, source_manifest_version, source_snapshot, source_snapshot_digest,
      run_state, execution_attempts, max_execution_attempts, row_version, created_at, updated_at, due_at
    )
    SELECT
      gen_random_uuid(), tenant_id, id, kind, 1, '{}', repeat('0', 64), 'queued',
      CASE WHEN random() < 0.1 THEN 3 ELSE 0 END, 3, 1, now(), now(), now() - random() * interval '1 hour'
    FROM knowledge_spaces, unnest(ARRAY['embedding', 'retrieval']) AS kind
    WHERE id >= '018f0d60-7a49-7cc2-9c00-0000000061a8';
    UPDATE knowledge_space_profile_backfills
    SET
      run_state = 'running', worker_id = 'w', lease_token = gen_random_uuid(), heartbeat_at = now(),
      lease_expires_at = now() + (random() - 0.2) * interval '1 hour'
    WHERE id < '02000000-0000-0000-0000-000000000000';
    VACUUM ANALYZE;";

/// The rows that a scan or a sort may see, for a call that asks for 100.
const FEW: f64 = 500.0;

#[test]
fn no_plan_reads_a_table_from_end_to_end_or_sorts_the_backlog() {
    let database = Database::migrated();
    database.sql(FILL);
    let queued = database.sql("SELECT count(*) FROM knowledge_space_profile_backfills WHERE run_state = 'queued'");
    assert!(queued.parse::<u32>().unwrap() > SPACES * 9 / 10, "{queued}");
    let a_space = "'tenant-1', '018f0d60-7a49-7cc2-9c00-000000000001'";
    let scope = format!("{a_space}, 'embedding'");
    let id_of = |revision: u32| {
        database.sql(&format!(
            "SELECT id FROM knowledge_space_profile_revisions
             WHERE (tenant_id, knowledge_space_id, kind) = ({scope}) AND revision = {revision}"
        ))
    };
    let (former, candidate) = (id_of(2), id_of(3));
    let tokens = database.sql("SELECT quote_literal(array_agg(gen_random_uuid())) FROM generate_series(1, 100)");
    let spaces = database.sql(
        "SELECT quote_literal(array_agg(tenant_id)) || ', ' || quote_literal(array_agg(id))
         FROM (
           SELECT tenant_id, id FROM knowledge_spaces
           WHERE id >= '018f0d60-7a49-7cc2-9c00-0000000061a8' ORDER BY id LIMIT 100
         ) AS few",
    );
    let claim = format!("NULL, 'worker-a', 30000000, {tokens}, 100, 'CODE', 'message'");
    let asked = format!("3, 'v', '{candidate}', true, 1");
    let scopes = format!(
        "NULL, ARRAY['tenant-1'], ARRAY['018f0d60-7a49-7cc2-9c00-000000000001']::uuid[], ARRAY['embedding'], ARRAY[3],
         ARRAY['v'], ARRAY['{candidate}']::uuid[], ARRAY[true], ARRAY[1]"
    );
    // Two scopes with a long history; in the first the newest revision is the active one, in the second a candidate.
    let retrieval =
        |space: u32| format!("'tenant-{space}', '018f0d60-7a49-7cc2-9c00-00000000000{space}', 'retrieval'");
    let (settled, waiting) = (retrieval(2), retrieval(3));
    for long in [&settled, &waiting] {
        database.sql(&lengthened(long));
    }
    database.sql(&format!(
        "DELETE FROM knowledge_space_profile_revisions
         WHERE (tenant_id, knowledge_space_id, kind) = ({settled}) AND state = 'candidate';
         ANALYZE knowledge_space_profile_revisions"
    ));
    let waiting_candidate = database.sql(&format!(
        "SELECT id FROM knowledge_space_profile_revisions
         WHERE (tenant_id, knowledge_space_id, kind) = ({waiting}) AND state = 'candidate'"
    ));
    let content = "'{}', repeat('0', 64), '{}', repeat('0', 64), 'p', 'o', 'm', NULL, NULL, 'user:ann'";
    let appended = |state: &str, by: &str| {
        format!(
            "{settled}, gen_random_uuid(), 5003, '{state}', {content}, {by}, NULL, 5002, true, NULL, NULL, false"
        )
    };
    let try_append = appended("candidate", "NULL");
    let try_publish = format!("{}, 5002", appended("active", "'user:ann'"));
    let try_activate =
        format!("{waiting}, '{waiting_candidate}', 5003, 'candidate', {content}, 'user:ann', NULL, 5002, false");
    let activate = format!("{scope}, '{candidate}', 3, now(), 'user:ann', '{former}', 2, 2, 3");
    let activate_all = format!(
        "{a_space}, ARRAY['embedding'], ARRAY['{candidate}']::uuid[], ARRAY[3], ARRAY['{former}']::uuid[],
         ARRAY[2], ARRAY[2], ARRAY[gen_random_uuid()], ARRAY[3], ARRAY[now()], 'user:ann'"
    );
    let enqueued = database.sql(
        "SELECT
           quote_literal(array_agg(gen_random_uuid())) || ', ' || quote_literal(array_agg(tenant_id)) || ', '
           || quote_literal(array_agg(id)) || ', ' || quote_literal(array_agg('embedding'::text)) || ', '
           || quote_literal(array_agg(2)) || ', ' || quote_literal(array_agg('{}'::text)) || ', '
           || quote_literal(array_agg(repeat('1', 64))) || ', ' || quote_literal(array_agg(3)) || ', '
           || quote_literal(array_agg(now())) || ', ' || quote_literal(array_agg(now())) || ', '
           || quote_literal(array_agg(now()))
         FROM (SELECT tenant_id, id FROM knowledge_spaces ORDER BY id LIMIT 100) AS few",
    );
    let queued = database.sql(
        "SELECT quote_literal(array_agg(id)) FROM (
           SELECT id FROM knowledge_space_profile_backfills ORDER BY id DESC LIMIT 100
         ) AS few",
    );
    let installed = database.sql(
        "SELECT
           concat_ws(
             ', ', quote_literal(array_agg(tenant_id)), quote_literal(array_agg(knowledge_space_id)),
             quote_literal(array_agg(kind)), quote_literal(array_agg(gen_random_uuid())),
             quote_literal(array_agg(1)), quote_literal(array_agg('active'::text)),
             quote_literal(array_agg('{}'::text)), quote_literal(array_agg(repeat('0', 64))),
             quote_literal(array_agg('{}'::text)), quote_literal(array_agg(repeat('0', 64))),
             quote_literal(array_agg('p'::text)), quote_literal(array_agg('o'::text)),
             quote_literal(array_agg('m'::text)),
             quote_literal(array_agg(CASE kind WHEN 'embedding' THEN 'v' END)),
             quote_literal(array_agg(CASE kind WHEN 'embedding' THEN 8 END)),
             quote_literal(array_agg('user:ann'::text)), quote_literal(array_agg('user:ann'::text)),
             quote_literal(array_agg(now())), quote_literal(array_agg(now())), quote_literal(array_agg(now())),
             quote_literal(array_agg(gen_random_uuid())), quote_literal(array_agg(1)),
             quote_literal(array_agg(now())), quote_literal(array_agg(id)), quote_literal(array_agg(row_version)),
             quote_literal(array_agg(lease_token)), quote_literal(array_agg(lease_expires_at)),
             quote_literal(array_agg(row_version + 1)), quote_literal(array_agg(now())),
             quote_literal(array_agg(1)), quote_literal(array_agg(metadata))
           )
         FROM (
           SELECT backfill.*, manifest.metadata::text
           FROM
             knowledge_space_profile_backfills AS backfill
             JOIN knowledge_space_manifests AS manifest USING (tenant_id, knowledge_space_id)
           ORDER BY backfill.id LIMIT 100
         ) AS few",
    );
    let page = "NULL, '018f0d60-7a49-7cc2-9c00-000000005000', 'tenant-1', 100";
    let calls = [
        ("CLAIM", claim.clone()),
        ("CLAIM_OF_SPACES", format!("{claim}, {spaces}")),
        ("DISCOVERY", page.to_owned()),
        ("DISCOVERY_OF_SPACES", format!("{page}, {spaces}")),
        ("HEAD", waiting.clone()),
        ("HEAD_APART", waiting.clone()),
        ("SCOPE_ALONE", format!("{waiting}, NULL")),
        ("REVISION", format!("{waiting}, NULL, 5003")),
        ("PROPOSAL", format!("{scope}, NULL, 'w', NULL")),
        ("SCOPE", format!("{scope}, NULL, {asked}")),
        ("SCOPES", scopes),
        ("REVISION_ALONE", format!("{waiting}, 5003")),
        ("TRY_APPEND", try_append),
        ("TRY_PUBLISH", try_publish),
        ("TRY_ACTIVATE", try_activate),
        ("REVISIONS", format!("{scope}, 0, 101")),
        ("ACTIVATE", activate),
        ("ACTIVATE_ALL", activate_all),
        ("OWNERS", "'tenant-50', '018f0d60-7a49-7cc2-9c00-000000005000', 100, 64".to_owned()),
        ("BACKFILLS", "'00000000-0000-0000-0000-000000000000', NULL, NULL, 100".to_owned()),
        ("NEWEST_BACKFILL", format!("{scope}, NULL")),
        ("SPACE_ROWS", spaces.clone()),
        ("MANIFEST_ROWS", spaces.clone()),
        ("HEAD_ROWS", spaces.clone()),
        ("REVISION_ROWS", spaces.clone()),
        ("BACKFILL_ROWS", spaces.clone()),
        ("BACKFILLS_BY_ID", format!("{queued}, NULL")),
        ("LOCK_SPACES", spaces.clone()),
        ("INSTALL_ALL", installed),
        ("ENQUEUE", enqueued),
    ];
    for (name, arguments) in calls {
        for mode in ["force_custom_plan", "force_generic_plan"] {
            let plan = plan(&database, name, &arguments, mode);
            let mut faults = Vec::new();
            inspect(&plan, &mut faults);
            if name.starts_with("TRY_") {
                assert_eq!(plan["Actual Rows"], 1, "{name} with {mode} writes\n{plan:#}");
            }
            assert!(faults.is_empty(), "{name} with {mode}: {}\n{plan:#}", faults.join("; "));
        }
    }
}

/// Gives a scope 5,000 superseded revisions before the ones that it has.
fn lengthened(scope: &str) -> String {
    let of_scope = format!("(tenant_id, knowledge_space_id, kind) = ({scope})");
    format!(
        "SET session_replication_role = replica;
         UPDATE knowledge_space_profile_revisions SET revision = revision + 5000 WHERE {of_scope};
         UPDATE knowledge_space_profile_heads SET active_revision = active_revision + 5000 WHERE {of_scope};
         INSERT INTO knowledge_space_profile_revisions
         SELECT
           (jsonb_populate_record(
             former, jsonb_build_object('id', gen_random_uuid(), 'revision', number, 'superseded_at', now())
           )).*
         FROM knowledge_space_profile_revisions AS former, generate_series(1, 5000) AS number
         WHERE {of_scope} AND state = 'superseded'"
    )
}

/// The plan of a statement with what its steps really saw. What it writes is rolled back.
fn plan(database: &Database, name: &str, arguments: &str, mode: &str) -> Value {
    let statements = testing::statements();
    let (_, sql) = statements.iter().find(|(known, _)| *known == name).unwrap();
    let told = database.sql(&format!(
        "BEGIN;
         SET LOCAL plan_cache_mode = {mode};
         PREPARE statement AS {sql};
         EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE statement ({arguments});
         ROLLBACK;"
    ));
    serde_json::from_str::<Value>(&told).unwrap()[0]["Plan"].clone()
}

fn inspect(node: &Value, faults: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap();
    let table = node["Relation Name"].as_str().unwrap_or_default();
    let loops = node["Actual Loops"].as_f64().unwrap();
    let rows = node["Actual Rows"].as_f64().unwrap() * loops;
    let passed_over = node["Rows Removed by Filter"].as_f64().unwrap_or_default() * loops;
    if kind == "Seq Scan" && table.starts_with("knowledge_space") {
        faults.push(format!("a sequential scan of {table}"));
    }
    if kind.contains("Sort") && rows > FEW {
        faults.push(format!("a sort of {rows} rows"));
    }
    if kind.contains("Scan") && rows + passed_over > FEW * 4.0 {
        faults.push(format!("a {kind} of {table} that saw {} rows", rows + passed_over));
    }
    for below in node["Plans"].as_array().into_iter().flatten() {
        inspect(below, faults);
    }
}
