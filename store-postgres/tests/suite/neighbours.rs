//! A database that knowledge-fs made, writes and reads too.

use serde_json::{Value, json};
use space_profiles_conformance::{
    Fixture, by, code, five_minutes, free_form, limit, number, space_of, target, typed_embedding, usual,
};
use space_profiles_core::decide::Completed;
use space_profiles_core::{
    Digest, Draw, Error, Kind, Outcome, Proposal, Revision, Scope, Space, SpaceFilter, WorkerId,
};
use space_profiles_postgres::PostgresStore;

use crate::clients::{Way, of_space};
use crate::databases::{Database, THEIR_SPACES};

/// Its migration of the three tables of profiles.
const PROFILES: &str = include_str!("../../src/schema/migrations/0002_profiles.sql");

/// What makes it the one that moves heads.
const PUBLICATIONS: &str = "CREATE TABLE projection_set_publication_heads (id uuid PRIMARY KEY)";

/// Keys that it orders in another way than RFC 8785 does.
const OUT_OF_ORDER: &str = r#"{"B":1,"a":2,"maxTokens":4,"max_tokens":3}"#;
const AS_IT_ORDERS_THEM: &str = r#"{"a":2,"B":1,"max_tokens":3,"maxTokens":4}"#;

struct Theirs {
    database: Database,
    client: Fixture,
}

impl Theirs {
    /// One in which it did something before we came.
    async fn after(way: Way, statements: &str) -> Self {
        Self::opened(way, statements, "").await
    }

    async fn opened(way: Way, statements: &str, parameters: &str) -> Self {
        let database = Database::empty();
        database.sql(&format!("{THEIR_SPACES}{PROFILES};{statements}"));
        PostgresStore::migrate(&database.options()).await.unwrap();
        let client = way.client(&database, parameters).await;
        Self { database, client }
    }

    /// A space that it adds.
    fn space(&self) -> Space {
        let space = space_of("t", self.client.draw.id());
        self.database.sql(&added(&space));
        space
    }

    /// A space that it adds, with a legacy embedding profile.
    fn legacy_space(&self) -> Space {
        let space = self.space();
        self.database.sql(&format!(
            "INSERT INTO knowledge_space_manifests (id, tenant_id, knowledge_space_id, manifest_version, metadata)
             VALUES (gen_random_uuid(), 't', '{}', 3, '{}')",
            space.id,
            json!({"__knowledgeFsEmbeddingProfile": usual(Kind::Embedding, 1)})
        ));
        space
    }

    /// Adopts the legacy embedding profile of a space.
    async fn adopt(&self, space: &Space) {
        assert_eq!(self.client.discover().await, 1);
        let (worker, only) = (WorkerId::new("worker-a").unwrap(), SpaceFilter::Spaces(vec![space.clone()]));
        let mut claimed = self.client.ledger.claim(&worker, limit(1), five_minutes(), &only).await.unwrap();
        let fence = claimed.backfills.remove(0).fence().unwrap();
        assert_eq!(self.client.complete(&fence).await.unwrap().value, Completed::Installed);
    }

    /// Reads every revision as it does: the digest is that of the JSON text in its order of keys.
    fn assert_readable_by_it(&self, space: &Space) {
        let rows = self.database.sql(&format!(
            "SELECT snapshot_digest || snapshot FROM knowledge_space_profile_revisions WHERE {};
             SELECT capability_snapshot_digest || capability_snapshot FROM knowledge_space_profile_revisions WHERE {}",
            of_space(space),
            of_space(space)
        ));
        assert!(!rows.is_empty());
        for row in rows.lines() {
            let (digest, text) = row.split_at(64);
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Digest::of(stable_json(&value).as_bytes()).to_string(), digest, "{text}");
        }
    }
}

/// JSON as knowledge-fs digests it: keys in the order of `localeCompare`, which for letters and digits is that of the
/// dictionary.
fn stable_json(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            assert!(keys.iter().all(|key| key.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{value}");
            keys.sort_by_key(|key| key.to_ascii_lowercase());
            let members = keys.iter().map(|key| format!("{}:{}", json!(key), stable_json(&members[*key])));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(stable_json).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

fn added(space: &Space) -> String {
    format!("INSERT INTO knowledge_spaces (id, tenant_id) VALUES ('{}', '{}');", space.id, space.tenant.as_str())
}

/// A revision as it inserts them: all columns of the seed, in order. `digested` is the text that it digests.
fn inserted(space: &Space, revision: u32, state: &str, capability: &str, digested: &str) -> String {
    let snapshot = usual(Kind::Embedding, revision);
    let times = match state {
        "superseded" => "now(), now(), NULL",
        "active" => "now(), NULL, NULL",
        _ => "NULL, NULL, NULL",
    };
    let text = |name: &str| snapshot[name].as_str().unwrap().to_owned();
    format!(
        "INSERT INTO knowledge_space_profile_revisions VALUES (
           gen_random_uuid(), 't', '{}', 'embedding', {revision}, '{state}', '{snapshot}', '{}', '{capability}', '{}',
           '{}', '{}', '{}', '{}', {}, 'user:owner', NULL, NULL, now(), now(), {times});",
        space.id,
        Digest::of(stable_json(&snapshot).as_bytes()),
        Digest::of(digested.as_bytes()),
        text("pluginId"),
        text("provider"),
        text("model"),
        text("vectorSpaceId"),
        snapshot["dimension"],
    )
}

fn head_at(space: &Space, revision: u32) -> String {
    format!(
        "INSERT INTO knowledge_space_profile_heads
         SELECT gen_random_uuid(), 't', '{0}', 'embedding', id, {revision}, {revision}, now(), now()
         FROM knowledge_space_profile_revisions WHERE knowledge_space_id = '{0}' AND revision = {revision};",
        space.id
    )
}

fn some_space(number: u128) -> Space {
    space_of("t", uuid::Uuid::from_u128(0x018f_0d60_7a49_7cc2_9c1b_0000_0000_0000 + number))
}

async fn propose(
    client: &Fixture,
    scope: &Scope,
    revision: u32,
    capability: &str,
) -> Result<Outcome<Revision>, Error> {
    let snapshot = usual(scope.kind, revision).to_string();
    client
        .registry
        .propose(scope, &Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:ann")))
        .await
}

#[tokio::test]
async fn its_rows_read_and_verify_in_either_order_of_keys() {
    let (one, two) = (some_space(1), some_space(2));
    let plain = free_form().to_string();
    let statements = [
        added(&one),
        inserted(&one, 1, "superseded", &plain, &plain),
        inserted(&one, 2, "active", OUT_OF_ORDER, AS_IT_ORDERS_THEM),
        head_at(&one, 2),
        inserted(&one, 3, "candidate", OUT_OF_ORDER, OUT_OF_ORDER),
        added(&two),
        inserted(&two, 1, "active", OUT_OF_ORDER, AS_IT_ORDERS_THEM),
        head_at(&two, 1),
    ]
    .concat();
    for way in Way::BOTH {
        let theirs = Theirs::after(way, &statements).await;
        let client = &theirs.client;
        let scope = one.scope(Kind::Embedding);
        let head = client.registry.head(&scope).await.unwrap().head;
        assert_eq!((head.active_revision, head.row_version.get()), (number(2), 2), "{way:?}");
        assert_eq!(client.states(&scope).await, ["superseded", "active", "candidate"], "{way:?}");
        client.registry.head(&two.scope(Kind::Embedding)).await.unwrap();
        client.assert_sound().await;

        client.activate(&scope, 3, Some(2)).await.unwrap();
        client.restore(&scope, 1, Some(3)).await.unwrap();
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn a_digest_that_is_right_in_no_order_of_keys_is_corrupt() {
    let space = some_space(3);
    let wrong = r#"{"max_tokens":3,"a":2,"B":1,"maxTokens":4}"#;
    let statements = [added(&space), inserted(&space, 1, "candidate", OUT_OF_ORDER, wrong)].concat();
    let theirs = Theirs::after(Way::Directly, &statements).await;
    let read = theirs.client.registry.revision(&space.scope(Kind::Embedding), number(1)).await;
    assert_eq!(code(read), "SNAPSHOT_CORRUPT");
}

#[tokio::test]
async fn it_reads_what_we_write() {
    for way in Way::BOTH {
        let theirs = Theirs::after(way, "").await;
        let (client, space) = (&theirs.client, theirs.space());
        for kind in Kind::ALL {
            let scope = space.scope(kind);
            client.propose(&scope, 1).await.unwrap();
            client.activate(&scope, 1, None).await.unwrap();
            client.publish(&scope, 2, Some(1)).await.unwrap();
            client.restore(&scope, 1, Some(2)).await.unwrap();
        }
        let typed = typed_embedding(&usual(Kind::Embedding, 4), 32, "2026-07-14T12:00:00Z");
        propose(client, &space.scope(Kind::Embedding), 4, typed.canonical()).await.unwrap();
        theirs.assert_readable_by_it(&space);

        let legacy = theirs.legacy_space();
        theirs.adopt(&legacy).await;
        theirs.assert_readable_by_it(&legacy);
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn spaces_and_manifests_that_it_keeps_are_left_to_it() {
    for way in Way::BOTH {
        let theirs = Theirs::after(way, "").await;
        let (client, space) = (&theirs.client, theirs.space());
        let fresh = space_of("t", client.draw.id());
        for space in [&space, &fresh] {
            assert_eq!(code(client.registry.add_space(space, None).await), "STORE_FOREIGN_TABLES", "{way:?}");
            let imported = client.import(space, 1, Some(usual(Kind::Embedding, 1)), None).await;
            assert_eq!(code(imported), "STORE_FOREIGN_TABLES", "{way:?}");
        }
        assert_eq!(code(client.registry.delete_space(&space).await), "STORE_FOREIGN_TABLES", "{way:?}");
        assert_eq!(code(client.registry.delete_space(&fresh).await), "SPACE_NOT_FOUND", "{way:?}");
        assert_eq!(theirs.database.sql("SELECT count(*) FROM knowledge_spaces"), "1", "{way:?}");

        // What is there is discovered and adopted, and its own writes go on.
        let legacy = theirs.legacy_space();
        theirs.adopt(&legacy).await;
        assert_eq!(client.states(&legacy.scope(Kind::Embedding)).await, ["active"], "{way:?}");
        theirs.database.sql(&format!("DELETE FROM knowledge_spaces WHERE id = '{}'", space.id));
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn heads_that_it_moves_are_not_moved_past_it() {
    for way in Way::BOTH {
        let theirs = Theirs::after(way, PUBLICATIONS).await;
        let (client, space) = (&theirs.client, theirs.space());
        let scope = space.scope(Kind::Embedding);
        client.propose(&scope, 1).await.unwrap();
        // Before every other check: neither the revision nor the space need be there.
        let nowhere = space_of("t", client.draw.id());
        for scope in [&scope, &nowhere.scope(Kind::Embedding)] {
            for revision in [1, 7] {
                assert_eq!(code(client.activate(scope, revision, None).await), "MANAGED_ELSEWHERE", "{way:?}");
                assert_eq!(code(client.restore(scope, revision, None).await), "MANAGED_ELSEWHERE", "{way:?}");
                assert_eq!(code(client.publish(scope, revision, None).await), "MANAGED_ELSEWHERE", "{way:?}");
                let targets = [target(revision, None), target(revision, None)];
                let both =
                    client.registry.activate_all(&scope.space, targets[0], targets[1], &by("user:ann")).await;
                assert_eq!(code(both), "MANAGED_ELSEWHERE", "{way:?}");
            }
            let invalid = Proposal::new(b"{}", b"[]", by("user:ann"));
            assert_eq!(code(client.registry.publish(scope, &invalid, None).await), "MANAGED_ELSEWHERE", "{way:?}");
        }
        assert_eq!(client.states(&scope).await, ["candidate"], "{way:?}");
        client.fail(&scope, 1, "NOT_WANTED").await.unwrap();

        // As its own backfill does.
        let legacy = theirs.legacy_space();
        theirs.adopt(&legacy).await;
        theirs.assert_readable_by_it(&legacy);
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn whoever_takes_heads_over_moves_them() {
    for way in Way::BOTH {
        let theirs = Theirs::opened(way, PUBLICATIONS, "manage=heads").await;
        let (client, space) = (&theirs.client, theirs.space());
        let (embedding, retrieval) = (space.scope(Kind::Embedding), space.scope(Kind::Retrieval));
        client.propose(&embedding, 1).await.unwrap();
        client.activate(&embedding, 1, None).await.unwrap();
        client.publish(&embedding, 2, Some(1)).await.unwrap();
        client.restore(&embedding, 1, Some(2)).await.unwrap();
        client.propose(&embedding, 4).await.unwrap();
        client.propose(&retrieval, 1).await.unwrap();
        let both =
            client.registry.activate_all(&space, target(4, Some(3)), target(1, None), &by("user:ann")).await;
        assert!(!both.unwrap().replayed, "{way:?}");
        assert_eq!(code(client.registry.delete_space(&space).await), "STORE_FOREIGN_TABLES", "{way:?}");
        theirs.assert_readable_by_it(&space);
        client.assert_sound().await;
    }
}

#[tokio::test]
async fn a_capability_whose_keys_it_orders_otherwise_is_not_written_where_it_reads() {
    for way in Way::BOTH {
        let theirs = Theirs::opened(way, PUBLICATIONS, "manage=heads").await;
        let (client, space) = (&theirs.client, theirs.space());
        let scope = space.scope(Kind::Embedding);
        assert_eq!(code(propose(client, &scope, 1, OUT_OF_ORDER).await), "CAPABILITY_KEY_ORDER", "{way:?}");
        let snapshot = usual(Kind::Embedding, 1).to_string();
        let proposal = Proposal::new(snapshot.as_bytes(), OUT_OF_ORDER.as_bytes(), by("user:ann"));
        let published = client.registry.publish(&scope, &proposal, None).await;
        let said = published.as_ref().unwrap_err().to_string();
        assert_eq!(code(published), "CAPABILITY_KEY_ORDER", "{way:?}");
        assert!(said.contains("`B`") && said.contains("`a`"), "{said}");
        assert_eq!(client.states(&scope).await, [""; 0], "{way:?}");
        // After what is wrong with the documents themselves.
        let invalid = Proposal::new(b"{}", OUT_OF_ORDER.as_bytes(), by("user:ann"));
        assert_eq!(code(client.registry.propose(&scope, &invalid).await), "SNAPSHOT_INVALID", "{way:?}");

        propose(client, &scope, 1, r#"{"a":1,"B":2}"#).await.unwrap_err();
        propose(client, &scope, 1, r#"{"a":1,"b":2,"maxTokens":3}"#).await.unwrap();
        theirs.assert_readable_by_it(&space);
    }
    // Elsewhere nobody minds.
    let theirs = Theirs::after(Way::Directly, "").await;
    propose(&theirs.client, &theirs.space().scope(Kind::Embedding), 1, OUT_OF_ORDER).await.unwrap();
}

#[tokio::test]
async fn what_is_immutable_is_so_for_it_too_and_its_own_writes_pass() {
    let space = some_space(4);
    let plain = free_form().to_string();
    let statements = [added(&space), inserted(&space, 1, "active", &plain, &plain), head_at(&space, 1)].concat();
    let theirs = Theirs::after(Way::Directly, &statements).await;
    let revisions = "UPDATE knowledge_space_profile_revisions SET";
    for change in [
        format!("{revisions} snapshot = '{{}}'"),
        format!("{revisions} snapshot_digest = repeat('0', 64)"),
        format!("{revisions} capability_snapshot = '{{}}'"),
        format!("{revisions} revision = 9"),
        format!("{revisions} model = 'other'"),
        format!("{revisions} created_by_subject_id = 'user:other'"),
        "UPDATE knowledge_space_profile_heads SET kind = 'retrieval'".to_owned(),
    ] {
        let refusal = theirs.database.try_sql(&change).unwrap_err();
        assert!(refusal.contains("immutable"), "{change}: {refusal}");
    }
    // An activation of its own, which also writes values that are there already.
    theirs.database.sql(&inserted(&space, 2, "candidate", &plain, &plain));
    theirs.database.sql(&format!(
        "BEGIN;
         {revisions} state = 'superseded', superseded_at = now(), updated_at = now(), model = model WHERE revision = 1;
         {revisions} state = 'active', activated_at = now(), updated_at = now() WHERE revision = 2;
         UPDATE knowledge_space_profile_heads AS head
         SET profile_revision_id = revision.id, active_revision = 2, row_version = row_version + 1, updated_at = now()
         FROM knowledge_space_profile_revisions AS revision WHERE revision.revision = 2;
         COMMIT"
    ));
    let head = theirs.client.registry.head(&space.scope(Kind::Embedding)).await.unwrap().head;
    assert_eq!((head.active_revision, head.row_version.get()), (number(2), 2));
    theirs.client.assert_sound().await;
}
