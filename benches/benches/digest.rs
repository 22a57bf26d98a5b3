//! From a text to its checked digest, beside SHA-256 of the canonical bytes alone and another implementation.

mod ratios;

use std::hint::black_box;

use benches::inputs;
use criterion::{BenchmarkId, Criterion};
use space_profiles_core::json::{self, Limits};
use space_profiles_core::{Digest, Kind, snapshot};

fn main() {
    ratios::run("digest", "sha256", |criterion| {
        for (kind, text) in [(Kind::Embedding, inputs::EMBEDDING), (Kind::Retrieval, inputs::RETRIEVAL)] {
            let ours = |text: &str| snapshot::validate(kind, text.as_bytes()).snapshot.map(|found| found.digest());
            case(criterion, kind.as_str(), text, &ours);
        }
        for (name, bytes) in
            [("capability-12k", inputs::SMALL_CAPABILITY), ("capability-1m", inputs::LARGE_CAPABILITY)]
        {
            let ours = |text: &str| json::digest(text.as_bytes(), Limits::ANY).ok();
            case(criterion, name, &inputs::capability(bytes), &ours);
        }
    });
}

fn case(criterion: &mut Criterion, name: &str, text: &str, ours: &dyn Fn(&str) -> Option<Digest>) {
    let canonical = json::canonicalize(text.as_bytes(), Limits::ANY).expect("an input is JSON");
    let mut group = criterion.benchmark_group("digest");
    group.bench_function(BenchmarkId::new("space-profiles", name), |bencher| {
        bencher.iter(|| ours(black_box(text)))
    });
    group.bench_function(BenchmarkId::new("sha256", name), |bencher| {
        bencher.iter(|| Digest::of(black_box(canonical.as_bytes())));
    });
    group.bench_function(BenchmarkId::new("serde_json_canonicalizer", name), |bencher| {
        bencher.iter(|| {
            let value: serde_json::Value = serde_json::from_str(black_box(text)).expect("an input is JSON");
            Digest::of(&serde_json_canonicalizer::to_vec(&value).expect("a value is canonicalised"))
        });
    });
    group.finish();
}
