//! Every test has a database of its own in the cluster that they share.

mod beside;
mod damage;
mod immutable;
mod interrupted;
mod made;
mod obstacles;
mod together;

use std::str::FromStr as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use space_profiles_core::{StoreCode, StoreError};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use throwaway_postgres::{Cluster, shared};

use super::catalog::{self, ALL_TABLES, PROFILE_TABLES, Part};
use super::{PATIENCE, Patience, migrate_with, session};

/// The space tables as the other service has them.
const THEIR_SPACES: &str = "
    CREATE TABLE knowledge_spaces (
      id uuid PRIMARY KEY, tenant_id text NOT NULL, slug text NOT NULL DEFAULT '', name text NOT NULL DEFAULT '',
      description text, lifecycle_state varchar(16) NOT NULL DEFAULT 'active', deletion_job_id uuid,
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (tenant_id, id));
    CREATE TABLE knowledge_space_manifests (
      id uuid PRIMARY KEY, tenant_id text NOT NULL, knowledge_space_id uuid NOT NULL,
      manifest_version integer NOT NULL, metadata jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(), UNIQUE (tenant_id, knowledge_space_id));";

const SEED: &str = include_str!("migrations/0002_profiles.sql");

const SPACE: &str = "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40";

/// Short enough for a test that runs into every bound.
const HASTE: Patience = Patience {
    turn: Duration::from_millis(600),
    lock: Duration::from_millis(50),
    tries: 3,
    pause: Duration::from_millis(20),
    build: Duration::from_millis(300),
};

struct Database {
    cluster: &'static Cluster,
    name: String,
    options: PgConnectOptions,
}

impl Database {
    fn empty() -> Self {
        let database = Self::named();
        database.cluster.create_database(&database.name);
        database
    }

    /// As `CREATE DATABASE` makes it.
    fn created(how: &str) -> Self {
        let database = Self::named();
        database.cluster.sql("postgres", &format!("CREATE DATABASE {} TEMPLATE template0 {how}", database.name));
        database
    }

    /// Nobody may be connected to this one.
    fn copy(&self) -> Self {
        let database = Self::named();
        database.cluster.create_database_from(&database.name, &self.name);
        database
    }

    fn named() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("schema_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let cluster = shared();
        let options = PgConnectOptions::from_str(&cluster.url(&name)).unwrap();
        Self { cluster, name, options }
    }

    /// As the other service makes it.
    fn theirs() -> Self {
        let database = Self::empty();
        database.sql(&format!("{THEIR_SPACES}{SEED}"));
        database
    }

    /// As the other service makes it, with rows in every table.
    fn theirs_in_use() -> Self {
        let database = Self::theirs();
        database.sql(&format!(
            "INSERT INTO knowledge_spaces (id, tenant_id) VALUES ('{SPACE}', 't');
             INSERT INTO knowledge_space_manifests (id, tenant_id, knowledge_space_id, manifest_version, metadata)
             VALUES (gen_random_uuid(), 't', '{SPACE}', 1, '{{}}');"
        ));
        database.sql(&revision(1, "superseded"));
        database.sql(&revision(2, "active"));
        database.sql(&revision(3, "candidate"));
        database.sql(&head(2));
        database.sql(&backfill(1));
        database
    }

    fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name, statements)
    }

    /// What a statement is refused with.
    fn refusal(&self, statements: &str) -> String {
        self.cluster.try_sql(&self.name, statements).expect_err("it was not refused")
    }

    async fn migrate(&self) -> Result<Vec<&'static str>, StoreError> {
        super::migrate(&self.options).await
    }

    async fn migrate_hastily(&self) -> Result<Vec<&'static str>, StoreError> {
        migrate_with(&self.options, &HASTE).await
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect_with(&self.options).await.unwrap()
    }

    async fn pending(&self) -> Result<Vec<&'static str>, StoreError> {
        super::pending(&mut self.connect().await).await
    }

    async fn differences(&self) -> Vec<String> {
        super::differences(&mut self.connect().await).await.unwrap()
    }

    async fn catalog(&self, tables: &[&str]) -> Vec<Part> {
        let mut connection = self.connect().await;
        let mut reading = session::reading(&mut connection).await.unwrap();
        catalog::read(&mut reading, tables).await.unwrap()
    }

    /// Everything that a migration could change, without the server's own schemas.
    fn everything(&self) -> String {
        self.sql(
            "SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
               SELECT 'class ' || oid || relname || relnatts || relhastriggers AS line FROM pg_class WHERE oid >= 16384
               UNION ALL SELECT 'constraint ' || oid || conname || convalidated FROM pg_constraint WHERE oid >= 16384
               UNION ALL SELECT 'trigger ' || oid || tgname || tgenabled::text FROM pg_trigger WHERE oid >= 16384
               UNION ALL SELECT 'function ' || oid || prosrc FROM pg_proc WHERE oid >= 16384
             ) lines",
        )
    }

    fn migrations(&self) -> String {
        self.sql("SELECT string_agg(name || ' ' || made, ', ' ORDER BY name) FROM space_profiles_migrations")
    }
}

/// An INSERT as the other service could make it: without a column list.
fn revision(number: u32, state: &str) -> String {
    let times = match state {
        "candidate" => "NULL, NULL, NULL",
        "active" => "now(), NULL, NULL",
        _ => "now(), now(), NULL",
    };
    format!(
        "INSERT INTO knowledge_space_profile_revisions VALUES (
           gen_random_uuid(), 't', '{SPACE}', 'embedding', {number}, '{state}', '{{\"revision\": {number}}}',
           repeat('a', 64), '{{}}', repeat('b', 64), 'plugin', 'provider', 'model', 'vectors', 8, 'user:owner', NULL,
           NULL, now(), now(), {times});"
    )
}

fn head(number: u32) -> String {
    format!(
        "INSERT INTO knowledge_space_profile_heads
         SELECT gen_random_uuid(), 't', '{SPACE}', 'embedding', id, {number}, 1, now(), now()
         FROM knowledge_space_profile_revisions WHERE revision = {number};"
    )
}

fn backfill(manifest_version: u32) -> String {
    format!(
        "INSERT INTO knowledge_space_profile_backfills VALUES (
           gen_random_uuid(), 't', '{SPACE}', 'retrieval', {manifest_version}, '{{}}', repeat('c', 64), 'queued', 0, 3,
           NULL, NULL, NULL, NULL, 1, NULL, NULL, now(), now(), NULL);"
    )
}

fn names() -> Vec<&'static str> {
    super::MIGRATIONS.iter().map(|migration| migration.name).collect()
}

#[track_caller]
fn refused(migrated: Result<Vec<&'static str>, StoreError>, code: StoreCode) -> String {
    let error = migrated.expect_err("it was not refused");
    assert_eq!(error.code, code, "{}", error.message);
    error.message
}
