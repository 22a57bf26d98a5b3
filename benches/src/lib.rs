//! Benchmarks: how long what this product does takes, always beside something measured in the same run.
//!
//! Every benchmark gives [`results::Results`]: rows of one case and one subject, which are printed as a table of
//! medians and ratios, written as JSON, and collected in `REPORT.md`.

pub mod candidate;
pub mod digest;
pub mod inputs;
pub mod ledger;
pub mod load;
pub mod machine;
pub mod measure;
pub mod postgres;
pub mod report;
pub mod results;
pub mod sqlite;
pub mod wasm;
