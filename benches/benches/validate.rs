//! Validation, of texts that are valid and of texts that are not, beside serde_json, which looks at syntax alone.

mod ratios;

use std::hint::black_box;

use benches::candidate::Candidate;
use benches::inputs;
use criterion::{BenchmarkId, Criterion};
use space_profiles_core::Kind;
use space_profiles_core::snapshot::{self, Capability};

fn main() {
    ratios::run("validate", "serde_json", |criterion| {
        let validate = |kind| move |text: &str| _ = black_box(snapshot::validate(kind, text.as_bytes()));
        case(criterion, "embedding", inputs::EMBEDDING, validate(Kind::Embedding));
        case(criterion, "retrieval", inputs::RETRIEVAL, validate(Kind::Retrieval));
        let faulty = inputs::RETRIEVAL.replace("\"topK\": 15", "\"topK\": 0").replace("gpt-4.1", " gpt-4.1");
        assert_eq!(snapshot::validate(Kind::Retrieval, faulty.as_bytes()).issues.len(), 2);
        case(criterion, "retrieval with two issues", &faulty, validate(Kind::Retrieval));
        let capability = Candidate::new(1).expect("1 is a number").capability;
        let typed = |text: &str| _ = black_box(Capability::parse(text.as_bytes()));
        case(criterion, "typed capability", &capability, typed);
    });
}

fn case(criterion: &mut Criterion, name: &str, text: &str, validate: impl Fn(&str)) {
    let mut group = criterion.benchmark_group("validate");
    group.bench_function(BenchmarkId::new("space-profiles", name), |bencher| {
        bencher.iter(|| validate(black_box(text)));
    });
    group.bench_function(BenchmarkId::new("serde_json", name), |bencher| {
        bencher.iter(|| serde_json::from_str::<serde_json::Value>(black_box(text)));
    });
    group.finish();
}
