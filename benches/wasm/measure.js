// Measuring in JavaScript, as `benches/src/measure.rs` does it in Rust: each subject in turn, back and forth, many times.

const LEAST_SAMPLES = 9;
/** In milliseconds: long beside the ticks of a browser's clock. */
const SAMPLE = 5;

/** Samples of each subject's work, in nanoseconds, taken in turn for so many seconds. */
export function inTurn(works, seconds) {
  const repeats = works.map(calibrated);
  const samples = works.map(() => []);
  const end = performance.now() + seconds * 1e3;
  for (let round = 0; round < LEAST_SAMPLES || performance.now() < end; round++) {
    const turns = [...works.keys()];
    for (const at of round % 2 ? turns.reverse() : turns) samples[at].push((time(works[at], repeats[at]) / repeats[at]) * 1e6);
  }
  return samples;
}

/** How often the work must be repeated to fill a sample. It is compiled for speed then. */
function calibrated(work) {
  const WARM = 300; // milliseconds
  for (const end = performance.now() + WARM; performance.now() < end; ) work();
  let repeats = 1;
  for (;;) {
    const elapsed = time(work, repeats);
    if (elapsed >= SAMPLE) return repeats;
    repeats = Math.ceil(repeats * Math.min(10, Math.max(1.2, SAMPLE / Math.max(elapsed, 1e-3))));
  }
}

let kept; // so that no work counts as done for nothing

function time(work, repeats) {
  const begin = performance.now();
  for (let at = 0; at < repeats; at++) kept = work();
  return performance.now() - begin;
}

/** Measures `validate` of several modules on one text, after all of them gave the digest that is expected. */
export function validations(modules, { kind, text, digest }, seconds) {
  for (const { validate } of modules) {
    const report = validate(kind, text);
    if (!report.valid || report.digest !== digest) throw new Error(`expected ${digest}, found ${JSON.stringify(report)}`);
    if (validate(kind, text.replace('"revision": 1', '"revision": 0')).valid) throw new Error("expected a refusal");
  }
  return inTurn(modules.map(({ validate }) => () => validate(kind, text)), seconds);
}

/** Milliseconds from importing a module that has not been seen before to its first answer. */
export async function firstAnswer(module, { kind, text, digest }) {
  const begin = performance.now();
  const { validate } = await import(module);
  const report = validate(kind, text);
  const elapsed = performance.now() - begin;
  if (report.digest !== digest) throw new Error(`expected ${digest}, found ${JSON.stringify(report)}`);
  return elapsed;
}
