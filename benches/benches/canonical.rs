//! From a text to its canonical form, beside every other implementation of RFC 8785 and beside SHA-256 of that form.

mod ratios;

use std::hint::black_box;

use benches::inputs;
use criterion::{BenchmarkId, Criterion};
use serde_json::Value;
use space_profiles_core::Digest;
use space_profiles_core::json::{self, Limits};

type Canonicalize = fn(&Value) -> Option<Vec<u8>>;

/// The others, which write what serde_json read.
const PEERS: [(&str, Canonicalize); 3] = [
    ("json-canon", |value| json_canon::to_vec(value).ok()),
    ("serde_jcs", |value| serde_jcs::to_vec(value).ok()),
    ("serde_json_canonicalizer", |value| serde_json_canonicalizer::to_vec(value).ok()),
];

fn main() {
    ratios::run("canonical", "sha256", |criterion| {
        case(criterion, "embedding", inputs::EMBEDDING);
        case(criterion, "retrieval", inputs::RETRIEVAL);
        case(criterion, "capability-12k", &inputs::capability(inputs::SMALL_CAPABILITY));
        case(criterion, "capability-1m", &inputs::capability(inputs::LARGE_CAPABILITY));
    });
}

fn case(criterion: &mut Criterion, name: &str, text: &str) {
    let canonical = json::canonicalize(text.as_bytes(), Limits::ANY).expect("an input is JSON");
    let mut group = criterion.benchmark_group("canonical");
    group.bench_function(BenchmarkId::new("space-profiles", name), |bencher| {
        bencher.iter(|| json::canonicalize(black_box(text).as_bytes(), Limits::ANY));
    });
    group.bench_function(BenchmarkId::new("sha256", name), |bencher| {
        bencher.iter(|| Digest::of(black_box(canonical.as_bytes())));
    });
    for (peer, canonicalize) in PEERS {
        let work = || canonicalize(&serde_json::from_str(black_box(text)).ok()?);
        assert_eq!(work().as_deref(), Some(canonical.as_bytes()), "{peer}: all must do the same work");
        group.bench_function(BenchmarkId::new(peer, name), |bencher| bencher.iter(work));
    }
    group.finish();
}
