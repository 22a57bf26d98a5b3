//! Servers that do not do as asked, and what to do about it.

use std::sync::Arc;

use space_profiles_conformance::{Fixture, by, code, free_form, limit, usual};
use space_profiles_core::{Draw, Error, Kind, Proposal, RevisionId, Scope, SpaceFilter, StoreCode, WorkerId};
use space_profiles_postgres::{PostgresOptions, PostgresStore};
use throwaway_postgres::{Cluster, ClusterOptions, Cut, Proxy, Shutdown};

use crate::clients::{Way, client_at, of_space};
use crate::databases::Database;

/// A failure of the store: its code and its words.
fn failure<T: std::fmt::Debug>(answer: Result<T, Error>) -> (&'static str, String) {
    match answer.expect_err("expected a failure") {
        Error::Store(error) => (error.code.as_str(), error.message),
        Error::Refused(refusal) => panic!("expected a failure of the store, found {refusal}"),
    }
}

async fn opening(url: &str) -> (StoreCode, String) {
    let options = PostgresOptions::from_url(url).unwrap();
    let Err(error) = PostgresStore::open(&options).await else { panic!("{url} could be opened") };
    (error.code, error.message)
}

async fn reads_but_does_not_write(client: &Fixture, scope: &Scope) {
    assert_eq!(client.registry.head(scope).await.unwrap().head.active_revision.get(), 1);
    assert_eq!(client.states(scope).await, ["active", "candidate"]);
    client.assert_sound().await;
    let worker = WorkerId::new("worker-a").unwrap();
    let lease = space_profiles_conformance::five_minutes();
    let writes = [
        failure(client.activate(scope, 2, Some(1)).await),
        failure(client.propose(&scope.space.scope(Kind::Retrieval), 1).await),
        failure(client.publish(&scope.space.scope(Kind::Retrieval), 1, None).await),
        failure(client.fail(scope, 2, "NOT_WANTED").await),
        failure(client.registry.delete_space(&scope.space).await),
        failure(client.ledger.claim(&worker, limit(1), lease, &SpaceFilter::All).await),
        failure(client.ledger.retry_all(None).await),
        failure(client.ledger.prune("2020-01-01T00:00:00Z".parse().unwrap()).await),
    ];
    for (code, message) in writes {
        assert_eq!(code, "STORE_READ_ONLY", "{message}");
        assert!(message.contains("primary"), "{message}");
    }
    // What needs no write is answered.
    assert!(client.propose(scope, 2).await.unwrap().replayed);
    assert_eq!(code(client.propose(scope, 7).await), "CANDIDATE_EXISTS");
    assert_eq!(code(client.publish(scope, 3, Some(1)).await), "CANDIDATE_EXISTS");
}

#[tokio::test]
async fn a_hot_standby_is_read_and_refuses_writes() {
    let primary = Cluster::start(&ClusterOptions::default());
    primary.create_database("store");
    PostgresStore::migrate(&PostgresOptions::from_url(&primary.url("store")).unwrap()).await.unwrap();
    let client = client_at(&primary.url("store")).await;
    let scope = client.history(Kind::Embedding, 1).await;
    client.propose(&scope, 2).await.unwrap();
    let standby = primary.standby();
    standby.catch_up_with(&primary);
    let reader = client_at(&standby.url("store")).await;
    reads_but_does_not_write(&reader, &scope).await;
}

#[tokio::test]
async fn a_database_whose_transactions_are_read_only_is_read_and_refuses_writes() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Way::Directly.client(&database, "").await;
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();
        database.sql(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name));
        reads_but_does_not_write(&way.client(&database, "").await, &scope).await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_unavailable() {
    // Nobody may listen on port 1.
    let (code, message) = opening("postgres://postgres@127.0.0.1:1/store?acquire_timeout_ms=500").await;
    assert_eq!(code, StoreCode::Unavailable, "{message}");
    assert!(message.contains("host, port"), "{message}");

    let database = Database::migrated();
    let proxy = Proxy::start(database.cluster.port());
    let client = client_at(&format!("{}?acquire_timeout_ms=3000", proxy.url(&database.name))).await;
    let scope = client.history(Kind::Embedding, 1).await;
    proxy.cut(Cut::Everything);
    let (code, message) = failure(client.registry.head(&scope).await);
    assert_eq!(code, "STORE_UNAVAILABLE", "{message}");
    proxy.heal();
    client.publish(&scope, 2, Some(1)).await.unwrap();
}

#[tokio::test]
async fn a_missing_database_is_unavailable() {
    let database = Database::empty();
    let (code, message) = opening(&database.cluster.url("nowhere")).await;
    assert_eq!(code, StoreCode::Unavailable, "{message}");
    assert!(message.contains("\"nowhere\" does not exist"), "{message}");
}

#[tokio::test]
async fn a_wrong_password_is_unavailable_and_the_right_one_may_hold_any_letter() {
    let cluster = Cluster::start(&ClusterOptions::default());
    cluster.create_database("store");
    cluster.sql("store", "CREATE ROLE keeper SUPERUSER LOGIN PASSWORD 'p@ss/w:rd?#%'");
    let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(cluster.folder().join("data/pg_hba.conf"), rules).unwrap();
    cluster.stop(Shutdown::Fast);
    cluster.start_again();

    let url = |password: &str| format!("postgres://keeper{password}@127.0.0.1:{}/store", cluster.port());
    let (code, message) = opening(&url(":s3cr3tpw")).await;
    assert_eq!(code, StoreCode::Unavailable, "{message}");
    assert!(message.contains("28P01") && !message.contains("s3cr3tpw"), "{message}");
    let (code, message) = opening(&url("")).await;
    assert_eq!(code, StoreCode::Unavailable, "{message}");
    let right = url(":p%40ss%2Fw%3Ard%3F%23%25");
    PostgresStore::migrate(&PostgresOptions::from_url(&right).unwrap()).await.unwrap();
    client_at(&right).await.history(Kind::Embedding, 1).await;
}

#[tokio::test]
async fn a_database_without_the_schema_tells_to_migrate() {
    for way in Way::BOTH {
        let database = Database::empty();
        let client = way.client(&database, "").await;
        let scope = space_profiles_conformance::space_of("tenant-a", client.draw.id()).scope(Kind::Embedding);
        let answers = [
            failure(client.registry.head(&scope).await),
            failure(client.registry.add_space(&scope.space, None).await),
            failure(client.publish(&scope, 1, None).await),
            failure(client.registry.spaces(None, None, limit(1)).await),
            failure(client.ledger.get(&scope).await),
        ];
        for (code, message) in answers {
            assert_eq!(code, "STORE_SCHEMA", "{message}");
            assert!(message.contains("`space-profiles migrate`"), "{way:?}: {message}");
        }
    }
}

#[tokio::test]
async fn a_missing_grant_is_named_and_nothing_is_changed() {
    let database = Database::migrated();
    let owner = Way::Directly.client(&database, "").await;
    let scope = owner.history(Kind::Embedding, 1).await;
    owner.propose(&scope, 2).await.unwrap();
    let role = format!("reader_{}", database.name);
    database.sql(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"));
    let reader = client_at(&database.url().replace("//postgres@", &format!("//{role}@"))).await;

    assert_eq!(reader.registry.head(&scope).await.unwrap().head.active_revision.get(), 1);
    let (code, message) = failure(reader.activate(&scope, 2, Some(1)).await);
    assert_eq!(code, "STORE_SCHEMA", "{message}");
    // A lock on the space's row takes the right to update it, which the server does not say.
    for words in ["knowledge_spaces", "42501", "GRANT SELECT, INSERT, UPDATE, DELETE"] {
        assert!(message.contains(words), "expected `{words}` in {message}");
    }
    let granted = format!(
        "GRANT INSERT, UPDATE, DELETE ON knowledge_spaces, knowledge_space_manifests, knowledge_space_profile_heads,
           knowledge_space_profile_revisions, knowledge_space_profile_backfills TO {role}"
    );
    database.sql(&granted);
    reader.activate(&scope, 2, Some(1)).await.unwrap();
    reader.claimed_embedding().await;
    database.sql(&format!("DROP OWNED BY {role}"));
    let (code, message) = failure(reader.registry.head(&scope).await);
    assert_eq!(code, "STORE_SCHEMA", "{message}");
    drop(reader);
}

#[tokio::test]
async fn a_constraint_that_nobody_here_knows_is_a_matter_of_the_schema() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "").await;
        let scope = client.history(Kind::Embedding, 1).await;
        database.sql(
            "ALTER TABLE knowledge_space_profile_revisions ADD CONSTRAINT made_by_hand CHECK (revision < 2);
             CREATE UNIQUE INDEX one_tenant_one_head ON knowledge_space_profile_heads (tenant_id)",
        );
        let (code, message) = failure(client.propose(&scope, 2).await);
        assert_eq!(code, "STORE_SCHEMA", "{way:?}: {message}");
        assert!(message.contains("made_by_hand"), "{message}");
        let (code, message) = failure(client.publish(&scope.space.scope(Kind::Retrieval), 1, None).await);
        assert_eq!(code, "STORE_SCHEMA", "{way:?}: {message}");
        assert!(message.contains("one_tenant_one_head"), "{message}");
        assert_eq!(client.states(&scope).await, ["active"], "{way:?}");
        assert_eq!(client.states(&scope.space.scope(Kind::Retrieval)).await, [""; 0], "{way:?}");
    }
}

async fn propose_as(client: &Fixture, scope: &Scope, id: RevisionId) -> Result<(), Error> {
    let (snapshot, capability) = (usual(scope.kind, 1).to_string(), free_form().to_string());
    let proposal = Proposal::new(snapshot.as_bytes(), capability.as_bytes(), by("user:ann"));
    client.registry.propose_next(scope, &proposal, id).await.map(|_| ())
}

#[tokio::test]
async fn a_revision_id_of_another_scope_is_taken() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = Arc::new(way.client(&database, "").await);
        let id = RevisionId::from(client.draw.id());
        let scope = client.scope(Kind::Embedding).await;
        propose_as(&client, &scope, id).await.unwrap();
        propose_as(&client, &scope, id).await.unwrap();
        for other in [scope.space.scope(Kind::Retrieval), client.scope(Kind::Embedding).await] {
            assert_eq!(code(propose_as(&client, &other, id).await), "REVISION_ID_TAKEN", "{way:?}");
            assert_eq!(client.states(&other).await, [""; 0], "{way:?}");
        }

        // Also when it is taken at the same moment.
        let id = RevisionId::from(client.draw.id());
        let mut calls = Vec::new();
        for _ in 0..4 {
            let (client, scope) = (Arc::clone(&client), client.scope(Kind::Embedding).await);
            calls.push(tokio::spawn(async move { propose_as(&client, &scope, id).await }));
        }
        let mut taken = 0;
        for call in calls {
            if let Err(error) = call.await.unwrap() {
                assert_eq!(error.code(), "REVISION_ID_TAKEN", "{way:?}: {error}");
                taken += 1;
            }
        }
        assert_eq!(taken, 3, "{way:?}");
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_changed() {
    for way in Way::BOTH {
        let database = Database::migrated();
        let client = way.client(&database, "").await;
        let scope = client.history(Kind::Embedding, 1).await;
        client.propose(&scope, 2).await.unwrap();
        // The last statement of an activation.
        database.sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
             CREATE TRIGGER full_disk BEFORE UPDATE ON knowledge_space_profile_revisions
               FOR EACH ROW WHEN (NEW.state = 'active') EXECUTE FUNCTION full_disk();
             CREATE TRIGGER full_disk BEFORE INSERT ON knowledge_space_profile_heads
               FOR EACH ROW EXECUTE FUNCTION full_disk();",
        );
        let before = rows(&database, &scope);
        let (code, message) = failure(client.activate(&scope, 2, Some(1)).await);
        assert_eq!(code, "STORE_FULL", "{way:?}: {message}");
        let (code, message) = failure(client.publish(&scope.space.scope(Kind::Retrieval), 1, None).await);
        assert_eq!(code, "STORE_FULL", "{way:?}: {message}");
        assert_eq!(rows(&database, &scope), before, "{way:?}");

        database.sql(
            "DROP TRIGGER full_disk ON knowledge_space_profile_revisions;
             DROP TRIGGER full_disk ON knowledge_space_profile_heads",
        );
        assert!(!client.activate(&scope, 2, Some(1)).await.unwrap().replayed, "{way:?}");
        client.assert_sound().await;
    }
}

/// All that is stored of a space's profiles.
fn rows(database: &Database, scope: &Scope) -> String {
    let place = of_space(&scope.space);
    database.sql(&format!(
        "SELECT revision::text FROM knowledge_space_profile_revisions AS revision WHERE {place} ORDER BY id;
         SELECT head::text FROM knowledge_space_profile_heads AS head WHERE {place} ORDER BY id"
    ))
}
