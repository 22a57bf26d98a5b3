//! Keeps profiles in Postgres: for production, beside the other service that writes the same tables.
#![deny(missing_docs)]

// Until the store uses it.
#[allow(dead_code)]
mod schema;
