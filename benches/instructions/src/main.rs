//! Does one kind of work so and so often: `space-profiles-instructions CASE SUBJECT TIMES`.

use std::hint::black_box;

use space_profiles_core::json::{self, Limits};
use space_profiles_core::{Digest, Kind, snapshot};

#[path = "../../src/inputs.rs"]
mod inputs;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, subject, times] = arguments.as_slice() else {
        panic!("expected CASE SUBJECT TIMES, found {arguments:?}")
    };
    let times: u32 = times.parse().expect("TIMES is a number");
    let text = match case.as_str() {
        "embedding" => inputs::EMBEDDING.to_owned(),
        "retrieval" => inputs::RETRIEVAL.to_owned(),
        "capability-12k" => inputs::capability(inputs::SMALL_CAPABILITY),
        "capability-1m" => inputs::capability(inputs::LARGE_CAPABILITY),
        other => panic!("expected embedding, retrieval, capability-12k or capability-1m, found {other}"),
    };
    let kind = case.parse::<Kind>().ok();
    match (subject.as_str(), kind) {
        ("sha256", _) => {
            let canonical = json::canonicalize(text.as_bytes(), Limits::ANY).expect("the inputs are JSON");
            repeat(times, || Digest::of(black_box(canonical.as_bytes())));
        }
        ("space-profiles", Some(kind)) => {
            let digest = |text| snapshot::validate(kind, text).snapshot.expect("the inputs are valid").digest();
            repeat(times, || digest(black_box(text.as_bytes())));
        }
        ("space-profiles", None) => repeat(times, || json::digest(black_box(text.as_bytes()), Limits::ANY)),
        (other, _) => panic!("expected sha256 or space-profiles, found {other}"),
    }
}

fn repeat<T>(times: u32, work: impl Fn() -> T) {
    for _ in 0..times {
        black_box(work());
    }
}
