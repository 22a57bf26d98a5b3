//! What core's users can see of it. `feature-independence` runs the same tests beside other features of serde_json.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "in tests a panic is how a failure is told"
)]

mod cases_features;
mod cases_json;
mod cases_snapshots;
mod derived_ids;
#[cfg(feature = "legacy-key-order")]
mod legacy_key_order;
mod properties;
mod testdata;
mod vectors;
