//! What is to be reached: the table of section 12 of the specification.

use std::collections::BTreeMap;

use crate::results::{Quartiles, Results, Row, ratio};

/// The rows of one subject at one case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) case: &'static str,
    pub(super) subject: &'static str,
}

/// What is compared, and how it must turn out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    /// Our time, as a multiple of the reference's.
    Time { ours: Place, reference: Place, at_most: f64 },
    /// Our rate, as a multiple of the reference's.
    Rate { ours: Place, reference: Place, at_least: f64 },
    /// A size in bytes.
    Size { of: &'static str, at_most: u64 },
}

/// One goal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub(super) work: &'static str,
    pub(super) bench: &'static str,
    pub(super) bound: Bound,
}

/// What was found of a goal.
pub(super) enum Found {
    /// A ratio, and the medians that it is of.
    Ratio { ratio: Quartiles, ours_ns: f64, reference_ns: f64 },
    /// A size.
    Size(u64),
}

const OURS: &str = "space-profiles";

const fn time(
    work: &'static str,
    bench: &'static str,
    case: &'static str,
    of: &'static str,
    at_most: f64,
) -> Goal {
    let (ours, reference) = (Place { case, subject: OURS }, Place { case, subject: of });
    Goal { work, bench, bound: Bound::Time { ours, reference, at_most } }
}

const fn rate(
    work: &'static str,
    bench: &'static str,
    case: &'static str,
    of: &'static str,
    at_least: f64,
) -> Goal {
    let (ours, reference) = (Place { case, subject: OURS }, Place { case, subject: of });
    Goal { work, bench, bound: Bound::Rate { ours, reference, at_least } }
}

/// Our own time where there is much, as a multiple of it where there is little.
const fn growth(work: &'static str, bench: &'static str, cases: [&'static str; 2], at_most: f64) -> Goal {
    let [little, much] = cases;
    let (ours, reference) = (Place { case: much, subject: OURS }, Place { case: little, subject: OURS });
    Goal { work, bench, bound: Bound::Time { ours, reference, at_most } }
}

/// Every goal.
pub(super) const GOALS: [Goal; 19] = [
    time("embedding snapshot, text to checked digest", "digest", "embedding", "sha256", 2.2),
    time("retrieval snapshot, text to checked digest", "digest", "retrieval", "sha256", 3.5),
    time("capability object of 12 KB, text to digest", "digest", "capability-12k", "sha256", 5.0),
    time("capability object of 1 MB, text to digest", "digest", "capability-1m", "sha256", 9.0),
    rate(
        "propose + activate on Postgres, 1 client",
        "postgres",
        "propose + activate, 1 client, 1,000 spaces",
        "knowledge-fs",
        1.9,
    ),
    rate(
        "propose + activate on Postgres, 16 clients",
        "postgres",
        "propose + activate, 16 clients, 1,000 spaces",
        "knowledge-fs",
        1.4,
    ),
    rate("publish on Postgres, 1 client", "postgres", "publish, 1 client, 1,000 spaces", "knowledge-fs", 2.8),
    rate("publish on Postgres, 16 clients", "postgres", "publish, 16 clients, 1,000 spaces", "knowledge-fs", 2.1),
    growth(
        "head among 100,000 spaces",
        "postgres",
        ["head, 1 client, 1,000 spaces", "head, 1 client, 100,000 spaces"],
        1.3,
    ),
    growth(
        "propose + activate among 100,000 spaces",
        "postgres",
        ["propose + activate, 1 client, 1,000 spaces", "propose + activate, 1 client, 100,000 spaces"],
        1.3,
    ),
    growth(
        "publish among 100,000 spaces",
        "postgres",
        ["publish, 1 client, 1,000 spaces", "publish, 1 client, 100,000 spaces"],
        1.3,
    ),
    growth(
        "claim of 10 with 1,000,000 queued",
        "ledger",
        ["claim of 10, 1,000 queued", "claim of 10, 1,000,000 queued"],
        1.5,
    ),
    rate("backfills installed by the worker", "ledger", "drain", "graphile-worker", 1.0),
    rate("propose + activate on SQLite", "sqlite", "propose + activate", "rusqlite by hand", 0.9),
    rate("validate embedding in WASM, Node", "wasm", "validate embedding, Node", "zod", 2.0),
    rate("validate embedding in WASM, Chromium", "wasm", "validate embedding, Chromium", "zod", 2.0),
    rate("validate retrieval in WASM, Node", "wasm", "validate retrieval, Node", "zod", 3.0),
    rate("validate retrieval in WASM, Chromium", "wasm", "validate retrieval, Chromium", "zod", 3.0),
    Goal {
        work: "the module after Brotli",
        bench: "wasm",
        bound: Bound::Size { of: "space-profiles: module, Brotli", at_most: 45_000 },
    },
];

impl Goal {
    /// How it turned out, if it was measured.
    pub(super) fn found(&self, all: &BTreeMap<String, Results>) -> Option<Found> {
        let results = all.get(self.bench)?;
        let row = |place: Place| results.row(place.case, place.subject);
        let found = |ours: &Row, reference: &Row, ratio| Found::Ratio {
            ratio,
            ours_ns: ours.median_ns,
            reference_ns: reference.median_ns,
        };
        match self.bound {
            Bound::Time { ours, reference, .. } => {
                let (ours, reference) = (row(ours)?, row(reference)?);
                Some(found(ours, reference, ratio(ours, reference)?))
            }
            Bound::Rate { ours, reference, .. } => {
                let (ours, reference) = (row(ours)?, row(reference)?);
                Some(found(ours, reference, ratio(reference, ours)?))
            }
            Bound::Size { of, .. } => results.bytes.get(of).copied().map(Found::Size),
        }
    }

    /// Whether what was found is what is wanted.
    pub(super) fn is_met(&self, found: &Found) -> bool {
        match (self.bound, found) {
            (Bound::Time { at_most, .. }, Found::Ratio { ratio, .. }) => ratio.median <= at_most,
            (Bound::Rate { at_least, .. }, Found::Ratio { ratio, .. }) => ratio.median >= at_least,
            (Bound::Size { at_most, .. }, Found::Size(bytes)) => *bytes <= at_most,
            _ => false,
        }
    }

    /// The longest time that meets the goal, as a multiple of the reference's.
    pub(super) fn longest(&self) -> Option<f64> {
        match self.bound {
            Bound::Time { at_most, .. } => Some(at_most),
            Bound::Rate { at_least, .. } => Some(1.0 / at_least),
            Bound::Size { .. } => None,
        }
    }

    /// What it is measured by: another subject, or our own time at another case.
    pub(super) fn reference(&self) -> &'static str {
        match self.bound {
            Bound::Time { ours, reference, .. } | Bound::Rate { ours, reference, .. } => {
                if ours.case == reference.case { reference.subject } else { reference.case }
            }
            Bound::Size { .. } => "",
        }
    }
}
