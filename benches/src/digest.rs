//! From an unsorted text to the hex digest, beside SHA-256 of the canonical bytes alone and beside another
//! implementation of RFC 8785.

use std::hint::black_box;
use std::time::Duration;

use space_profiles_core::json::{self, Limits};
use space_profiles_core::{Digest, Kind, snapshot};

use crate::inputs;
use crate::measure::{Subject, in_turn};
use crate::results::Row;

/// This product.
pub const OURS: &str = "space-profiles";
/// SHA-256 of the canonical bytes: no implementation can do less.
pub const FLOOR: &str = "sha256";
/// The crate of that name on a `serde_json::Value`.
pub const PEER: &str = "serde_json_canonicalizer";

/// Measures every case, `budget` long each.
pub fn run(budget: Duration) -> Vec<Row> {
    let small = inputs::capability(inputs::SMALL_CAPABILITY);
    let large = inputs::capability(inputs::LARGE_CAPABILITY);
    let checked =
        |kind| move |text: &[u8]| snapshot::validate(kind, text).snapshot.map(|snapshot| snapshot.digest());
    let free_form = |text: &[u8]| json::digest(text, Limits::ANY).ok();
    [
        case("embedding", inputs::EMBEDDING, &checked(Kind::Embedding), budget),
        case("retrieval", inputs::RETRIEVAL, &checked(Kind::Retrieval), budget),
        case("capability-12k", &small, &free_form, budget),
        case("capability-1m", &large, &free_form, budget),
    ]
    .concat()
}

fn case(name: &str, text: &str, ours: &dyn Fn(&[u8]) -> Option<Digest>, budget: Duration) -> Vec<Row> {
    let text = text.as_bytes();
    let canonical = json::canonicalize(text, Limits::ANY).unwrap_or_default();
    let peer = || {
        let value: serde_json::Value = serde_json::from_slice(black_box(text)).unwrap_or_default();
        Digest::of(&serde_json_canonicalizer::to_vec(&value).unwrap_or_default()).to_hex()
    };
    let ours = || ours(black_box(text)).map(Digest::to_hex);
    let floor = || Digest::of(black_box(canonical.as_bytes())).to_hex();
    assert_eq!((ours(), peer()), (Some(floor()), floor()), "{name}: all must do the same work");
    let subjects = vec![
        Subject::new(OURS, || _ = black_box(ours())),
        Subject::new(FLOOR, || _ = black_box(floor())),
        Subject::new(PEER, || _ = black_box(peer())),
    ];
    in_turn(name, subjects, budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_every_subject() {
        let rows = run(Duration::ZERO);
        for case in ["embedding", "retrieval", "capability-12k", "capability-1m"] {
            for subject in [OURS, FLOOR, PEER] {
                assert_eq!(rows.iter().filter(|row| row.case == case && row.subject == subject).count(), 1);
            }
        }
        assert!(rows.iter().all(|row| row.median_ns > 0.0 && row.samples_ns.len() >= 9));
    }
}
