//! Writing without a load: nothing is written where anything is otherwise than expected.

use std::future::Future;

use space_profiles_conformance::{ANN, Fixture, by, code, free_form, number, target, usual};
use space_profiles_core::decide::{self, Activation, Proposed, Publication};
use space_profiles_core::snapshot::{Capability, Snapshot};
use space_profiles_core::{Draw, Head, Kind, Scope, Store, Timestamp};

use crate::clients::{Session, Way};
use crate::databases::Database;

/// What is otherwise for whoever writes to a scope whose revisions are 1 and 2, the active one. `$SCOPE` names its rows,
/// `$SPACE` its space.
const OBSTACLES: [&str; 6] = [
    "UPDATE knowledge_spaces SET lifecycle_state = 'deleting' WHERE $SPACE",
    "UPDATE knowledge_spaces SET deletion_job_id = gen_random_uuid() WHERE $SPACE",
    // A revision that came after all that are known.
    "INSERT INTO knowledge_space_profile_revisions
     SELECT (jsonb_populate_record(
       former, jsonb_build_object('id', gen_random_uuid(), 'revision', 9, 'state', 'superseded', 'superseded_at', now())
     )).*
     FROM knowledge_space_profile_revisions AS former WHERE $SCOPE AND revision = 2",
    // What is stored is later than the clock.
    "UPDATE knowledge_space_profile_revisions SET updated_at = now() + interval '1 hour' WHERE $SCOPE AND revision = 2",
    "UPDATE knowledge_space_profile_revisions SET activated_at = 'infinity' WHERE $SCOPE AND revision = 2",
    "UPDATE knowledge_space_profile_heads SET updated_at = now() + interval '1 hour' WHERE $SCOPE",
];

/// What is otherwise for whoever appends.
const OBSTACLES_TO_APPENDING: [&str; 1] = ["UPDATE knowledge_space_profile_revisions
     SET state = 'candidate', activated_at = NULL, superseded_at = NULL WHERE $SCOPE AND revision = 1"];

/// What is otherwise for whoever appends an embedding revision 3.
const OBSTACLES_TO_VECTORS: [&str; 2] = [
    "UPDATE knowledge_space_profile_revisions SET vector_space_id = '$VECTORS' WHERE $SCOPE AND revision = 1",
    "UPDATE knowledge_space_profile_revisions SET model = 'model-3', dimension = 24 WHERE $SCOPE AND revision = 2",
];

/// What is otherwise for whoever moves the head from revision 2.
const OBSTACLES_TO_MOVING: [&str; 5] = [
    "UPDATE knowledge_space_profile_heads SET created_at = '-infinity' WHERE $SCOPE",
    "UPDATE knowledge_space_profile_heads SET active_revision = 1 WHERE $SCOPE",
    "UPDATE knowledge_space_profile_heads SET profile_revision_id = gen_random_uuid() WHERE $SCOPE",
    "UPDATE knowledge_space_profile_heads SET row_version = 2147483647 WHERE $SCOPE",
    "UPDATE knowledge_space_profile_revisions SET state = 'superseded', superseded_at = now()
     WHERE $SCOPE AND revision = 2",
];

/// What is otherwise for whoever activates revision 3.
const OBSTACLES_TO_ACTIVATING: [&str; 16] = [
    "UPDATE knowledge_space_profile_revisions SET activated_by_subject_id = 'user:eve' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET failed_by_subject_id = 'user:eve' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET id = gen_random_uuid() WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions
     SET state = 'failed', failed_at = now(), failure_code = 'NOT_WANTED', failure_message = ''
     WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET revision = 4 WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET snapshot = snapshot || '{\"more\": 1}' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET snapshot_digest = repeat('0', 64) WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET capability_snapshot = '{}' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET capability_snapshot_digest = repeat('0', 64)
     WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET plugin_id = 'other' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET provider = 'other' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET model = 'other' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions
     SET
       vector_space_id = CASE kind WHEN 'embedding' THEN 'other' END,
       provider = CASE kind WHEN 'retrieval' THEN 'x' ELSE provider END
     WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions
     SET
       dimension = CASE kind WHEN 'embedding' THEN 1 END,
       provider = CASE kind WHEN 'retrieval' THEN 'x' ELSE provider END
     WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET created_by_subject_id = 'user:eve' WHERE $SCOPE AND revision = 3",
    "UPDATE knowledge_space_profile_revisions SET updated_at = now() + interval '1 hour' WHERE $SCOPE AND revision = 3",
];

/// A second active revision, which the unique index lets nobody have.
const TWO_ACTIVE: &str = "DROP INDEX IF EXISTS knowledge_space_profile_revisions_one_active_uq;
     UPDATE knowledge_space_profile_revisions SET state = 'active', superseded_at = NULL
     WHERE $SCOPE AND revision = 1";

/// The other service moves heads.
const PUBLICATIONS: &str = "CREATE TABLE IF NOT EXISTS projection_set_publication_heads (id uuid PRIMARY KEY)";

struct Try {
    database: Database,
    client: Fixture,
}

impl Try {
    async fn new(way: Way) -> Self {
        let database = Database::migrated();
        let client = way.client(&database, "").await;
        Self { database, client }
    }

    fn store(&self) -> std::sync::Arc<dyn Store> {
        std::sync::Arc::clone(self.client.registry.store())
    }

    fn proposed(&self, kind: Kind, revision: u32, says_that_of: u32) -> Proposed {
        let mut snapshot = usual(kind, says_that_of);
        snapshot["revision"] = revision.into();
        Proposed {
            revision_id: self.client.draw.revision_id(),
            snapshot: Snapshot::parse(kind, snapshot.to_string().as_bytes()).unwrap(),
            capability: Capability::parse(free_form().to_string().as_bytes()).unwrap(),
            by: by(ANN),
            is_recognised_by_id: false,
            allow_unchanged: false,
            ignore_legacy: false,
        }
    }

    async fn append(&self, scope: &Scope, revision: u32, says_that_of: u32) -> Option<Timestamp> {
        let append = decide::try_propose(scope, &self.proposed(scope.kind, revision, says_that_of))?;
        self.store().optimistic().unwrap().try_append(&append).await.unwrap()
    }

    async fn publish(&self, scope: &Scope, revision: u32, says_that_of: u32, expected: u32) -> Option<Head> {
        let publication = Publication {
            proposed: self.proposed(scope.kind, revision, says_that_of),
            expected: Some(number(expected)),
            head_id: self.client.draw.id().into(),
        };
        let publish = decide::try_publish(scope, &publication)?;
        self.store().optimistic().unwrap().try_publish(&publish).await.unwrap()
    }

    /// Activates revision 3 as it is when `meanwhile` begins.
    async fn activate(&self, scope: &Scope, meanwhile: &str) -> Option<Head> {
        let revision = self.client.registry.revision(scope, number(3)).await.unwrap();
        let target = target(3, Some(2));
        let command = Activation { target, by: by(ANN), head_id: self.client.draw.id().into() };
        let activate = decide::try_activate(revision, &command).unwrap();
        self.tamper(scope, meanwhile);
        self.writes_nothing_or(scope, async {
            self.store().optimistic().unwrap().try_activate(&activate).await.unwrap()
        })
        .await
    }

    /// Changes rows, past the triggers and foreign keys that forbid it.
    fn tamper(&self, scope: &Scope, statement: &str) {
        let space = &scope.space;
        let statement = statement
            .replace(
                "$SCOPE",
                &format!(
                    "(tenant_id, knowledge_space_id, kind) = ('{}', '{}', '{}')",
                    space.tenant.as_str(),
                    space.id,
                    scope.kind
                ),
            )
            .replace("$SPACE", &format!("(tenant_id, id) = ('{}', '{}')", space.tenant.as_str(), space.id))
            .replace("$VECTORS", usual(Kind::Embedding, 3)["vectorSpaceId"].as_str().unwrap());
        self.database.sql(&format!("SET session_replication_role = replica; {statement}"));
    }

    /// The answer of a write, which has changed no row if it says so.
    async fn writes_nothing_or<T>(&self, scope: &Scope, write: impl Future<Output = Option<T>>) -> Option<T> {
        let rows = format!(
            "SELECT coalesce(jsonb_agg(to_jsonb(revision) ORDER BY revision.id)::text, '')
             FROM knowledge_space_profile_revisions AS revision WHERE knowledge_space_id = '{0}';
             SELECT to_jsonb(head) FROM knowledge_space_profile_heads AS head WHERE knowledge_space_id = '{0}'",
            scope.space.id
        );
        let before = self.database.sql(&rows);
        let answer = write.await;
        assert_eq!(answer.is_none(), self.database.sql(&rows) == before);
        answer
    }
}

#[tokio::test]
async fn what_is_as_expected_is_written_in_one_go() {
    for way in Way::BOTH {
        let with = Try::new(way).await;
        for kind in Kind::ALL {
            let scope = with.client.history(kind, 2).await;
            let at = with.writes_nothing_or(&scope, with.append(&scope, 3, 3)).await;
            let head = with.activate(&scope, "").await.unwrap();
            assert!(at.unwrap() <= head.updated_at && head.created_at < head.updated_at);
            assert_eq!((head.active_revision.get(), head.row_version.get()), (3, 3));
            let published = with.publish(&scope, 4, 4, 3).await.unwrap();
            assert_eq!((published.id, published.row_version.get()), (head.id, 4));
            assert_eq!(with.client.registry.head(&scope).await.unwrap().head, published);
            // After a failed candidate the newest revision is not the active one.
            with.client.propose(&scope, 5).await.unwrap();
            with.client.fail(&scope, 5, "NOT_WANTED").await.unwrap();
            assert!(with.publish(&scope, 6, 6, 4).await.is_some());
            assert_eq!(
                with.client.states(&scope).await,
                ["superseded", "superseded", "superseded", "superseded", "failed", "active"]
            );
        }
    }
}

#[tokio::test]
async fn nothing_is_appended_where_anything_is_otherwise() {
    let with = Try::new(Way::Directly).await;
    for kind in Kind::ALL {
        let of_vectors = if kind == Kind::Embedding { &OBSTACLES_TO_VECTORS[..] } else { &[] };
        for obstacle in OBSTACLES.iter().chain(&OBSTACLES_TO_APPENDING).chain(of_vectors) {
            let scope = with.client.history(kind, 2).await;
            with.tamper(&scope, obstacle);
            let appended = with.writes_nothing_or(&scope, with.append(&scope, 3, 3)).await;
            assert_eq!(appended, None, "{kind}: {obstacle}");
            let scope = with.client.history(kind, 2).await;
            with.tamper(&scope, obstacle);
            let published = with.writes_nothing_or(&scope, with.publish(&scope, 3, 3, 2)).await;
            assert_eq!(published, None, "{kind}: {obstacle}");
        }
        // The newest revision is another than the active one, and later than the clock.
        let scope = with.client.history(kind, 2).await;
        with.client.propose(&scope, 3).await.unwrap();
        with.client.fail(&scope, 3, "NOT_WANTED").await.unwrap();
        with.tamper(
            &scope,
            "UPDATE knowledge_space_profile_revisions SET updated_at = now() + interval '1 hour'
             WHERE $SCOPE AND revision = 3",
        );
        with.tamper(
            &scope,
            "UPDATE knowledge_space_profile_revisions SET model = 'm' WHERE $SCOPE AND revision = 2",
        );
        assert_eq!(with.writes_nothing_or(&scope, with.append(&scope, 4, 4)).await, None);
        assert_eq!(with.writes_nothing_or(&scope, with.publish(&scope, 4, 4, 2)).await, None);

        let scope = with.client.history(kind, 2).await;
        // A gap, and a number that is taken.
        for revision in [2, 4] {
            assert_eq!(with.writes_nothing_or(&scope, with.append(&scope, revision, revision)).await, None);
            assert_eq!(with.writes_nothing_or(&scope, with.publish(&scope, revision, revision, 2)).await, None);
        }
        with.client.propose(&scope, 3).await.unwrap();
        assert_eq!(with.writes_nothing_or(&scope, with.append(&scope, 4, 4)).await, None, "beside a candidate");
        assert_eq!(
            with.writes_nothing_or(&scope, with.publish(&scope, 4, 4, 2)).await,
            None,
            "beside a candidate"
        );
    }
}

#[tokio::test]
async fn nothing_is_appended_that_may_say_what_the_active_revision_says() {
    let with = Try::new(Way::Directly).await;
    let scope = with.client.history(Kind::Retrieval, 2).await;
    assert_eq!(with.writes_nothing_or(&scope, with.append(&scope, 3, 2)).await, None);
    assert_eq!(with.writes_nothing_or(&scope, with.publish(&scope, 3, 2, 2)).await, None);
    // Where the active revision is another than the one before, nobody can tell from a digest.
    with.client.propose(&scope, 3).await.unwrap();
    with.client.fail(&scope, 3, "NOT_WANTED").await.unwrap();
    assert_eq!(with.writes_nothing_or(&scope, with.append(&scope, 4, 4)).await, None);
    assert!(with.publish(&scope, 4, 4, 2).await.is_some());
}

#[tokio::test]
async fn no_head_is_moved_where_anything_is_otherwise() {
    let with = Try::new(Way::Directly).await;
    for kind in Kind::ALL {
        for obstacle in OBSTACLES_TO_MOVING {
            let scope = with.client.history(kind, 2).await;
            with.tamper(&scope, obstacle);
            let published = with.writes_nothing_or(&scope, with.publish(&scope, 3, 3, 2)).await;
            assert_eq!(published, None, "{kind}: {obstacle}");
        }
        for obstacle in OBSTACLES.iter().chain(&OBSTACLES_TO_MOVING).chain(&OBSTACLES_TO_ACTIVATING) {
            let scope = with.client.history(kind, 2).await;
            with.client.propose(&scope, 3).await.unwrap();
            assert_eq!(with.activate(&scope, obstacle).await, None, "{kind}: {obstacle}");
        }
    }
    for obstacle in [TWO_ACTIVE, PUBLICATIONS] {
        let with = Try::new(Way::Directly).await;
        let scope = with.client.history(Kind::Embedding, 2).await;
        let other = with.client.history(Kind::Embedding, 2).await;
        with.client.propose(&other, 3).await.unwrap();
        with.tamper(&scope, obstacle);
        assert_eq!(with.writes_nothing_or(&scope, with.publish(&scope, 3, 3, 2)).await, None, "{obstacle}");
        // Who reads the rows may know another order of the free-form capability's keys.
        let appended = with.writes_nothing_or(&scope, with.append(&scope, 3, 3)).await;
        assert_eq!(appended.is_none(), obstacle == PUBLICATIONS);
        assert_eq!(with.activate(&other, obstacle).await, None, "{obstacle}");
    }
}

#[tokio::test]
async fn what_is_remembered_of_a_candidate_is_never_taken_for_what_is_stored() {
    let database = Database::migrated();
    let (one, other) = (Way::Directly.client(&database, "").await, Way::Directly.client(&database, "").await);
    let scope = one.history(Kind::Embedding, 2).await;
    one.propose(&scope, 3).await.unwrap();
    other.fail(&scope, 3, "NOT_WANTED").await.unwrap();
    assert_eq!(code(one.activate(&scope, 3, Some(2)).await), "NOT_CANDIDATE");

    // The scope is another one by now, and so is its candidate.
    one.propose(&scope, 4).await.unwrap();
    other.registry.delete_space(&scope.space).await.unwrap();
    assert_eq!(code(one.activate(&scope, 4, Some(2)).await), "REVISION_NOT_FOUND");
    publish_three(&other, &scope).await;
    one.propose(&scope, 4).await.unwrap();
    other.registry.delete_space(&scope.space).await.unwrap();
    publish_three(&other, &scope).await;
    let theirs = other.propose(&scope, 4).await.unwrap().value;
    let activated = one.activate(&scope, 4, Some(3)).await.unwrap().value;
    assert_eq!((activated.revision.id, activated.revision.created_at), (theirs.id, theirs.created_at));
    assert_eq!(one.registry.head(&scope).await.unwrap(), activated);
}

#[tokio::test]
async fn a_repeat_and_a_refusal_need_no_lock() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "lock_timeout_ms=100").await;
        for kind in Kind::ALL {
            let scope = client.history(kind, 1).await;
            client.propose(&scope, 2).await.unwrap();
            let id = &scope.space.id;
            let locked = format!("SELECT FROM knowledge_spaces WHERE id = '{id}' FOR UPDATE");
            let session = Session::holding(&database, &locked).await;
            assert!(client.propose(&scope, 2).await.unwrap().replayed);
            assert_eq!(code(client.propose(&scope, 3).await), "CANDIDATE_EXISTS");
            assert_eq!(code(client.publish(&scope, 3, Some(2)).await), "HEAD_CONFLICT");
            assert_eq!(code(client.activate(&scope, 2, Some(1)).await), "STORE_BUSY");
            drop(session);
        }
    }
}

/// Adds the space, and revisions 1 to 3.
async fn publish_three(client: &Fixture, scope: &Scope) {
    client.registry.add_space(&scope.space, None).await.unwrap();
    for revision in 1..=3 {
        client.publish(scope, revision, Some(revision - 1).filter(|before| *before > 0)).await.unwrap();
    }
}
