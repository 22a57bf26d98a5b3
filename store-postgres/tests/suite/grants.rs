//! The grants of the operator's page are what each role needs, and no more.

use std::collections::BTreeSet;
use std::sync::Arc;

use space_profiles_conformance::{
    Fixture, ManualClock, StoreBuilder, StoreUnderTest, Tamper, by, code, five_minutes, limit, number, space_of,
    target, usual,
};
use space_profiles_core::{Backfill, BackfillFilter, Kind, Scope, Space, SpaceFilter, Span, Store, StoreCode};
use space_profiles_postgres::{PostgresOptions, PostgresStore, testing};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use crate::databases::Database;
use crate::page::{THEIR_TABLES, block};

/// What knowledge-fs's tables do not grant: their rows are made and removed by it alone.
const WRITES_OF_SPACES: [&str; 5] =
    ["ADD", "ADD_WITH_MANIFEST", "DELETE", "PUT_FIRST_MANIFEST", "REPLACE_MANIFEST"];

/// A database with the page's roles, each with what the page grants and nothing else.
struct Platform {
    database: Database,
}

impl Platform {
    /// One whose tables are all our own.
    async fn ours() -> Self {
        let platform = Self::with_roles();
        platform.grant("grants: migrator, own tables");
        platform.migrate("").await;
        platform.grant("grants: app, own tables");
        platform.grant("grants: auditor");
        platform
    }

    /// One whose tables knowledge-fs made and owns.
    async fn theirs() -> Self {
        let platform = Self::with_roles();
        let owner = platform.role("knowledge_fs");
        platform.database.sql(&format!(
            "CREATE ROLE {owner}; GRANT CREATE, USAGE ON SCHEMA public TO {owner}; SET ROLE {owner}; {THEIR_TABLES}"
        ));
        platform.grant("grants: migrator, tables of knowledge-fs");
        platform.migrate(&format!("?options[role]={owner}")).await;
        platform.grant("grants: app, tables of knowledge-fs");
        platform.grant("grants: auditor");
        let owners = "SELECT string_agg(DISTINCT tableowner, ' ') FROM pg_tables WHERE schemaname = 'public'";
        assert_eq!(platform.database.sql(owners), owner);
        platform
    }

    fn with_roles() -> Self {
        let database = Database::empty();
        database.sql(&format!(
            "REVOKE ALL ON DATABASE {} FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC",
            database.name
        ));
        let platform = Self { database };
        platform.grant("grants: roles");
        platform
    }

    /// Roles belong to the whole cluster, which other tests share.
    fn role(&self, name: &str) -> String {
        format!("{}_{name}", self.database.name)
    }

    fn grant(&self, mark: &str) {
        let mut statements = block(mark).replace("DATABASE platform", &format!("DATABASE {}", self.database.name));
        for role in ["space_profiles_migrator", "space_profiles_app", "space_profiles_auditor", "knowledge_fs"] {
            statements = statements.replace(role, &self.role(role));
        }
        self.database.sql(&statements);
    }

    fn options(&self, role: &str, parameters: &str) -> PostgresOptions {
        let url = self.database.url().replace("//postgres@", &format!("//{}@", self.role(role)));
        PostgresOptions::from_url(&format!("{url}{parameters}")).unwrap()
    }

    async fn migrate(&self, parameters: &str) {
        let options = self.options("space_profiles_migrator", parameters);
        assert!(!PostgresStore::migrate(&options).await.unwrap().is_empty());
        assert!(PostgresStore::migrate(&options).await.unwrap().is_empty());
    }

    async fn fixture(&self, role: &str, parameters: &str) -> Fixture {
        Fixture::new(&Role(self.options(role, parameters))).await
    }

    /// As knowledge-fs does.
    fn add_space(&self, space: &Space, metadata: &str) {
        let (tenant, id) = (space.tenant.as_str(), space.id);
        self.database.sql(&format!(
            "INSERT INTO knowledge_spaces (id, tenant_id, name, lifecycle_state, created_at, updated_at)
             VALUES ('{id}', '{tenant}', '', 'active', now(), now());
             INSERT INTO knowledge_space_manifests (
               id, tenant_id, knowledge_space_id, manifest_version, metadata, created_at, updated_at
             )
             VALUES (gen_random_uuid(), '{tenant}', '{id}', 1, '{metadata}', now(), now())"
        ));
    }
}

/// Builds stores of a role on a database that is there already.
struct Role(PostgresOptions);

struct Opened(PostgresStore);

#[async_trait::async_trait]
impl StoreBuilder for Role {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        Arc::new(Opened(PostgresStore::open(&self.0.clone().clock(clock)).await.unwrap()))
    }
}

#[async_trait::async_trait]
impl StoreUnderTest for Opened {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        assert_eq!(format!("{tamper:?}"), "nothing", "no role may do that");
    }
}

/// Every operation on profiles, on a space that is there.
async fn use_profiles(fixture: &Fixture, space: &Space) {
    let [embedding, retrieval] = Kind::ALL.map(|kind| space.scope(kind));
    fixture.propose(&embedding, 1).await.unwrap();
    fixture.activate(&embedding, 1, None).await.unwrap();
    fixture.publish(&embedding, 2, Some(1)).await.unwrap();
    fixture.restore(&embedding, 1, Some(2)).await.unwrap();
    fixture.propose(&embedding, 4).await.unwrap();
    fixture.fail(&embedding, 4, "REJECTED").await.unwrap();
    fixture.publish(&retrieval, 1, None).await.unwrap();
    fixture.propose(&embedding, 5).await.unwrap();
    fixture.propose(&retrieval, 2).await.unwrap();
    let both = (target(5, Some(3)), target(2, Some(1)));
    fixture.registry.activate_all(space, both.0, both.1, &by("user:ann")).await.unwrap();
    read_profiles(fixture, &embedding).await;
}

async fn read_profiles(fixture: &Fixture, scope: &Scope) {
    let head = fixture.registry.head(scope).await.unwrap();
    fixture.registry.revision(scope, number(1)).await.unwrap();
    fixture.registry.revisions(scope, None, limit(10)).await.unwrap();
    fixture.registry.active_at(scope, head.head.updated_at).await.unwrap();
    fixture.registry.diff(scope, number(1), number(2)).await.unwrap();
    fixture.registry.spaces(None, None, limit(10)).await.unwrap();
    fixture.ledger.list(&BackfillFilter::default(), None, limit(10)).await.unwrap();
    fixture.ledger.counts(&SpaceFilter::All).await.unwrap();
    fixture.assert_sound().await;
}

/// Every operation on backfills, on a space whose manifest holds both legacy profiles.
async fn use_backfills(fixture: &Fixture, space: &Space) {
    assert_eq!(fixture.discover().await, 2);
    let embedding = space.scope(Kind::Embedding);
    let mut rows = fixture.claim("worker-a", 2).await.backfills;
    rows.sort_by_key(|row| row.scope.kind);
    let [first, second]: [Backfill; 2] = rows.try_into().unwrap();
    fixture.ledger.heartbeat(&first.fence().unwrap(), five_minutes()).await.unwrap();
    fixture.ledger.release(&first.fence().unwrap()).await.unwrap();
    fixture.fail_backfill(&second.fence().unwrap(), "REJECTED", false, None).await.unwrap();
    fixture.ledger.retry(&second.scope).await.unwrap();
    let rows = fixture.claim("worker-a", 2).await.backfills;
    for row in rows {
        let fence = row.fence().unwrap();
        if row.scope == embedding {
            fixture.complete(&fence).await.unwrap();
        } else {
            fixture.fail_backfill(&fence, "REJECTED", false, None).await.unwrap();
        }
    }
    assert_eq!(fixture.ledger.retry_all(None).await.unwrap(), 1);
    fixture.ledger.get(&embedding).await.unwrap();
    let later = fixture.registry.head(&embedding).await.unwrap().head.updated_at;
    fixture.clock.advance(Span::from_seconds(60));
    assert_eq!(fixture.ledger.prune(later).await.unwrap(), 0);
    fixture.assert_sound().await;
}

fn legacy_profiles() -> String {
    Kind::ALL.map(|kind| format!("\"{}\": {}", kind.legacy_key(), usual(kind, 1))).join(", ")
}

#[tokio::test]
async fn the_application_role_does_everything_on_our_own_tables() {
    let platform = Platform::ours().await;
    let fixture = platform.fixture("space_profiles_app", "").await;
    let space = fixture.space().await;
    use_profiles(&fixture, &space).await;
    fixture.registry.delete_space(&space).await.unwrap();
    let [embedding, retrieval] = Kind::ALL.map(|kind| usual(kind, 1));
    let space = fixture.legacy_space(Some(embedding.clone()), None).await;
    fixture.import(&space, 2, Some(embedding), Some(retrieval)).await.unwrap();
    use_backfills(&fixture, &space).await;
}

#[tokio::test]
async fn the_application_role_does_all_but_spaces_on_tables_of_knowledge_fs() {
    let platform = Platform::theirs().await;
    let fixture = platform.fixture("space_profiles_app", "").await;
    let space = space_of("tenant-a", Uuid::from_u128(1));
    platform.add_space(&space, "{}");
    use_profiles(&fixture, &space).await;
    let space = space_of("tenant-a", Uuid::from_u128(2));
    platform.add_space(&space, &format!("{{{}}}", legacy_profiles()));
    use_backfills(&fixture, &space).await;

    let other = space_of("tenant-a", Uuid::from_u128(3));
    assert_eq!(code(fixture.registry.add_space(&other, None).await), "STORE_FOREIGN_TABLES");
    assert_eq!(code(fixture.registry.delete_space(&space).await), "STORE_FOREIGN_TABLES");
    assert_eq!(code(fixture.import(&other, 1, None, None).await), "STORE_FOREIGN_TABLES");
}

#[tokio::test]
async fn the_auditor_reads_and_audits_and_writes_nothing() {
    for platform in [Platform::ours().await, Platform::theirs().await] {
        let space = space_of("tenant-a", Uuid::from_u128(1));
        platform.add_space(&space, "{}");
        use_profiles(&platform.fixture("space_profiles_app", "").await, &space).await;

        let scope = space.scope(Kind::Embedding);
        let fixture = platform.fixture("space_profiles_auditor", "").await;
        read_profiles(&fixture, &scope).await;
        assert_eq!(fixture.under_test.store().schema_differences().await.unwrap(), Vec::<String>::new());
        let options = platform.options("space_profiles_auditor", "");
        assert!(PostgresStore::pending_migrations(&options).await.unwrap().is_empty());
        assert_eq!(code(fixture.propose(&scope, 6).await), "STORE_READ_ONLY");

        // Not only the setting keeps it from writing, which the role itself could change.
        let fixture =
            platform.fixture("space_profiles_auditor", "?options[default_transaction_read_only]=off").await;
        let moment = fixture.registry.head(&scope).await.unwrap().head.updated_at;
        let store = fixture.under_test.store();
        let error = store.prune(moment).await.unwrap_err();
        assert_eq!(error.code, StoreCode::Schema);
        assert!(error.message.contains("permission denied"), "{}", error.message);
        assert_eq!(code(fixture.propose(&scope, 6).await), "STORE_SCHEMA");
    }
}

/// Tells which statements a role is refused. `EXPLAIN` checks privileges as running does, and changes nothing.
struct Statements {
    connection: PgConnection,
    prepared: Vec<(&'static str, String)>,
    role: String,
}

impl Statements {
    async fn of(platform: &Platform, role: &str) -> Self {
        let mut connection = PgConnection::connect(&platform.database.url()).await.unwrap();
        let mut prepared = Vec::new();
        for (position, (name, sql)) in testing::statements().into_iter().enumerate() {
            let arguments = (1..).take_while(|number| sql.contains(&format!("${number}"))).count();
            let arguments = vec!["NULL"; arguments].join(", ");
            let call = if arguments.is_empty() { String::new() } else { format!("({arguments})") };
            run(&mut connection, &format!("PREPARE s{position} AS {sql}")).await.unwrap();
            prepared.push((name, format!("EXPLAIN EXECUTE s{position}{call}")));
        }
        Self { connection, prepared, role: platform.role(role) }
    }

    /// The names of the statements that are refused after some change of the grants, which is undone again.
    async fn refused_after(&mut self, change: &str) -> BTreeSet<&'static str> {
        let Self { connection, prepared, role } = self;
        run(connection, &format!("BEGIN; {change}; SET LOCAL ROLE {role}")).await.unwrap();
        let mut refused = BTreeSet::new();
        for (name, explain) in prepared {
            run(connection, "SAVEPOINT before").await.unwrap();
            if let Err(error) = run(connection, explain).await {
                let state = error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned());
                assert_eq!(state.as_deref(), Some("42501"), "{name}: {error}");
                refused.insert(*name);
            }
            run(connection, "ROLLBACK TO before").await.unwrap();
        }
        run(connection, "ROLLBACK").await.unwrap();
        refused
    }

    /// What the role has been granted, each as a statement that takes it away.
    async fn revocations(&mut self) -> Vec<String> {
        const SQL: &str = "
            SELECT format('REVOKE %s ON %s FROM %s', privilege_type, relname, grantee::regrole)
            FROM pg_class, aclexplode(relacl)
            WHERE grantee = $1::text::regrole
            UNION ALL
            SELECT format('REVOKE %s (%I) ON %s FROM %s', privilege_type, attname, attrelid::regclass, grantee::regrole)
            FROM pg_attribute, aclexplode(attacl)
            WHERE grantee = $1::text::regrole
            ORDER BY 1";
        sqlx::query_scalar(SQL).bind(&self.role).fetch_all(&mut self.connection).await.unwrap()
    }
}

async fn run(connection: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.map(drop)
}

#[tokio::test]
async fn every_statement_is_allowed_and_every_grant_is_needed() {
    for (platform, refused, grants) in [
        (Platform::ours().await, BTreeSet::new(), 21),
        (Platform::theirs().await, BTreeSet::from(WRITES_OF_SPACES), 15),
    ] {
        let mut statements = Statements::of(&platform, "space_profiles_app").await;
        assert_eq!(statements.refused_after("SELECT").await, refused);
        let revocations = statements.revocations().await;
        assert_eq!(revocations.len(), grants, "{revocations:?}");
        for revocation in revocations {
            let more = statements.refused_after(&revocation).await;
            assert!(more.len() > refused.len(), "nothing needs what `{revocation}` takes");
        }
    }
}
