//! Measuring what takes no longer than a sample: each subject in turn, many times, so that whatever else the machine
//! does meets all of them alike.

use std::time::{Duration, Instant};

use crate::results::Row;

/// Somebody who does the work of a case.
pub struct Subject<'a> {
    name: &'a str,
    work: Box<dyn FnMut() + 'a>,
}

impl<'a> Subject<'a> {
    /// A subject; its work must give what it makes to [`std::hint::black_box`].
    pub fn new(name: &'a str, work: impl FnMut() + 'a) -> Self {
        Self { name, work: Box::new(work) }
    }
}

/// A sample is long beside what reading the clock costs, and short beside the time that the system gives to others.
const SAMPLE: Duration = Duration::from_micros(200);

/// Measures the subjects of a case in turn until `budget` is spent or each has a thousand samples, but each at least
/// nine times.
pub fn in_turn(case: &str, subjects: Vec<Subject<'_>>, budget: Duration) -> Vec<Row> {
    const LEAST_SAMPLES: usize = 9;
    const MOST_SAMPLES: usize = 1_000;
    let mut measured: Vec<(Subject<'_>, u32, Vec<f64>)> = subjects
        .into_iter()
        .map(|mut subject| (calibrate(&mut subject.work), subject))
        .map(|(repeats, subject)| (subject, repeats, Vec::new()))
        .collect();
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < LEAST_SAMPLES || (rounds < MOST_SAMPLES && begin.elapsed() < budget) {
        // Back and forth: whoever comes next meets the caches and the disk as its predecessor left them.
        let turns: &mut dyn Iterator<Item = _> =
            if rounds % 2 == 0 { &mut measured.iter_mut() } else { &mut measured.iter_mut().rev() };
        for (subject, repeats, samples) in turns {
            samples.push(time(&mut subject.work, *repeats).as_nanos() as f64 / f64::from(*repeats));
        }
        rounds += 1;
    }
    measured.into_iter().map(|(subject, _, samples)| Row::new(case, subject.name, samples)).collect()
}

/// How often the work must be repeated to fill a sample. It is warm then.
fn calibrate(work: &mut dyn FnMut()) -> u32 {
    let mut repeats = 1;
    loop {
        let elapsed = time(work, repeats);
        if elapsed >= SAMPLE {
            return repeats;
        }
        let missing = SAMPLE.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        repeats = (f64::from(repeats) * missing.clamp(1.2, 10.0)).ceil() as u32;
    }
}

fn time(work: &mut dyn FnMut(), repeats: u32) -> Duration {
    let begin = Instant::now();
    for _ in 0..repeats {
        work();
    }
    begin.elapsed()
}
