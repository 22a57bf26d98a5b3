//! Postgres clusters for tests.
