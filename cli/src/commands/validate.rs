use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use space_profiles_core::Kind;
use space_profiles_core::json::{JsonError, Limits, canonicalize, digest as digest_of};
use space_profiles_core::snapshot;

use crate::exit::{Ending, Failure};
use crate::input;
use crate::output::{Output, tables};

pub(super) fn validate(file: &Path, kind: Kind, output: Output) -> Result<Ending, Failure> {
    let text = input::read(file, Limits::SNAPSHOT.bytes)?;
    let report = snapshot::validate(kind, &text);
    output.either(|| &report, || tables::report(&report))?;
    Ok(Ending::unless_any(!report.is_valid()))
}

pub(super) fn digest(file: &Path, output: Output) -> Result<Ending, Failure> {
    let text = input::read(file, Limits::ANY.bytes)?;
    let digest = digest_of(&text, Limits::ANY).map_err(|error| refused(file, error))?;
    output.either(|| json!({ "digest": digest }), || digest)?;
    Ok(Ending::Done)
}

pub(super) fn canonical(file: &Path) -> Result<Ending, Failure> {
    let text = input::read(file, Limits::ANY.bytes)?;
    let canonical = canonicalize(&text, Limits::ANY).map_err(|error| refused(file, error))?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(canonical.as_bytes())?;
    stdout.flush()?;
    Ok(Ending::Done)
}

fn refused(file: &Path, error: JsonError) -> Failure {
    Failure::Json { file: input::name(file), error }
}
