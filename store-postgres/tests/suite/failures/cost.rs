//! How many statements reach the server.

use space_profiles_conformance::{Fixture, by, five_minutes, space_of, target, usual};
use space_profiles_core::{Draw, Kind};
use throwaway_postgres::Proxy;

use crate::clients::client_at;
use crate::databases::Database;

/// One that looks and writes.
const WITHOUT_LOAD: u64 = 1;
/// One to load and one to apply.
const HAPPY_PATH: u64 = 2;
/// One to load, `BEGIN`, the lock on the space, the write, `COMMIT`.
const OF_AN_EMPTY_SCOPE: u64 = 5;

/// A client of which every statement is counted.
struct Counted {
    client: Fixture,
    proxy: Proxy,
    database: Database,
}

impl Counted {
    async fn new() -> Self {
        let database = Database::migrated();
        let proxy = Proxy::start(database.cluster.port());
        let client = client_at(&format!("{}?max_connections=1", proxy.url(&database.name))).await;
        Self { client, proxy, database }
    }

    /// Another client of the database, whose statements are not counted.
    async fn another(&self) -> Fixture {
        client_at(&self.database.url()).await
    }

    /// The statements of a call, which must succeed.
    async fn cost<T, E: std::fmt::Debug>(&self, call: impl Future<Output = Result<T, E>>) -> (u64, T) {
        let before = self.proxy.statements();
        let value = call.await.unwrap();
        (self.proxy.statements() - before, value)
    }
}

#[tokio::test]
async fn a_write_is_one_statement_or_one_load_and_one_statement() {
    let counted = Counted::new().await;
    let client = &counted.client;
    let ann = by("user:ann");
    // Twice, since a statement is prepared once and types are looked up then.
    for round in ["first", "second"] {
        let space = space_of("tenant-a", client.draw.id());
        let (embedding, retrieval) = (space.scope(Kind::Embedding), space.scope(Kind::Retrieval));
        let mut costs = Vec::new();
        macro_rules! cost {
            ($name:literal, $expected:expr, $call:expr) => {{
                let (statements, value) = counted.cost($call).await;
                costs.push(($name, statements, $expected));
                value
            }};
        }
        cost!("add a space", HAPPY_PATH, client.registry.add_space(&space, None));
        cost!("first propose", OF_AN_EMPTY_SCOPE, client.propose(&embedding, 1));
        cost!("first activate", HAPPY_PATH, client.activate(&embedding, 1, None));
        cost!("first publish", OF_AN_EMPTY_SCOPE, client.publish(&retrieval, 1, None));
        cost!("propose", WITHOUT_LOAD, client.propose(&embedding, 2));
        cost!("activate", WITHOUT_LOAD, client.activate(&embedding, 2, Some(1)));
        cost!("publish", WITHOUT_LOAD, client.publish(&embedding, 3, Some(2)));
        cost!("restore", HAPPY_PATH, client.restore(&embedding, 1, Some(3)));
        counted.another().await.propose(&embedding, 5).await.unwrap();
        cost!("activate what another proposed", HAPPY_PATH, client.activate(&embedding, 5, Some(4)));
        cost!("propose", WITHOUT_LOAD, client.propose(&embedding, 6));
        cost!("propose", WITHOUT_LOAD, client.propose(&retrieval, 2));
        let both = client.registry.activate_all(&space, target(6, Some(5)), target(2, Some(1)), &ann);
        cost!("activate both", HAPPY_PATH, both);
        cost!("propose", WITHOUT_LOAD, client.propose(&embedding, 7));
        cost!("fail", HAPPY_PATH, client.fail(&embedding, 7, "NOT_WANTED"));
        cost!("head", 1, client.registry.head(&embedding));

        let legacy = space_of("tenant-a", client.draw.id());
        cost!("import", HAPPY_PATH, client.import(&legacy, 1, Some(usual(Kind::Embedding, 1)), None));
        assert_eq!(client.discover().await, 1);
        let backfill = client.claim("worker-a", 1).await.backfills.remove(0);
        let fence = backfill.fence().unwrap();
        cost!("heartbeat", HAPPY_PATH, client.ledger.heartbeat(&fence, five_minutes()));
        cost!("fail a backfill", HAPPY_PATH, client.fail_backfill(&fence, "MODEL_UNAVAILABLE", false, None));
        cost!("retry", HAPPY_PATH, client.ledger.retry(&legacy.scope(Kind::Embedding)));
        let fence = client.claim("worker-a", 1).await.backfills.remove(0).fence().unwrap();
        cost!("release", HAPPY_PATH, client.ledger.release(&fence));
        let fence = client.claim("worker-a", 1).await.backfills.remove(0).fence().unwrap();
        cost!("complete", OF_AN_EMPTY_SCOPE, client.complete(&fence));
        cost!("delete a space", HAPPY_PATH, client.registry.delete_space(&space));

        for (name, found, expected) in costs {
            if round == "second" {
                assert_eq!(found, expected, "statements of `{name}`");
            }
        }
    }
}

#[tokio::test]
async fn a_claim_is_one_statement() {
    let counted = Counted::new().await;
    let client = &counted.client;
    client.claim("worker-a", 10).await;
    client.legacy_space(Some(usual(Kind::Embedding, 1)), None).await;
    client.discover().await;
    let before = counted.proxy.statements();
    assert_eq!(client.claim("worker-a", 10).await.backfills.len(), 1);
    assert_eq!(counted.proxy.statements() - before, 1);
}
