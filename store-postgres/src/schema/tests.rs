//! Every test has a database of its own in the cluster that they share.

mod beside;
mod damage;
mod immutable;
mod interrupted;
mod made;
mod obstacles;
mod together;

use std::ops::Deref;
use std::str::FromStr as _;
use std::time::Duration;

use space_profiles_core::{StoreCode, StoreError};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use throwaway_postgres::shared;

use super::catalog::{self, ALL_TABLES, PROFILE_TABLES, Part};
use super::{PATIENCE, Patience, migrate_with, session};

/// The space tables as the other service has them.
const THEIR_SPACES: &str = include_str!("../../../testdata/seed/knowledge_fs_spaces.postgres.sql");

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
    database: throwaway_postgres::Database,
    options: PgConnectOptions,
}

impl From<throwaway_postgres::Database> for Database {
    fn from(database: throwaway_postgres::Database) -> Self {
        let options = PgConnectOptions::from_str(&database.url()).unwrap();
        Self { database, options }
    }
}

impl Deref for Database {
    type Target = throwaway_postgres::Database;

    fn deref(&self) -> &Self::Target {
        &self.database
    }
}

impl Database {
    fn empty() -> Self {
        throwaway_postgres::Database::empty().into()
    }

    /// As `CREATE DATABASE` makes it.
    fn created(how: &str) -> Self {
        throwaway_postgres::Database::created(how).into()
    }

    /// Nobody may be connected to this one.
    fn copy(&self) -> Self {
        throwaway_postgres::Database::copy_of(&self.name).into()
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

    /// What a statement is refused with.
    fn refusal(&self, statements: &str) -> String {
        self.try_sql(statements).expect_err("it was not refused")
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
