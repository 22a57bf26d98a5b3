use std::collections::BTreeMap;

use serde_json::json;
use space_profiles_core::decide::Imported;
use space_profiles_core::json::Limits;
use space_profiles_core::{Error, ImportLine, Issue, Kind, Refusal, Space};
use space_profiles_worker::Stop;

use super::interrupt::stop_on_signal;
use super::progress::Progress;
use crate::exit::{Ending, Failure};
use crate::input::{Line, Lines};
use crate::output::json::FailedDocument;
use crate::output::{Output, lists, tables};
use crate::store::Opened;

/// What became of a file's lines.
#[derive(Default)]
pub(super) struct ImportedFile {
    /// Manifests that were added or replaced.
    pub(super) imported: u64,
    /// Manifests that were there already.
    pub(super) unchanged: u64,
    /// Lines that were not imported.
    pub(super) failed: Vec<FailedDocument>,
    /// The spaces of the file, with the kinds for which their manifests have something.
    pub(super) spaces: BTreeMap<Space, Vec<Kind>>,
    /// Whether the rest of the file was left.
    pub(super) was_interrupted: bool,
}

pub(super) async fn run(store: &Opened, lines: Lines<'_>, output: Output) -> Result<Ending, Failure> {
    let imported = import(store, lines, &stop_on_signal(output)).await?;
    output.either(
        || json!({"imported": imported.imported, "unchanged": imported.unchanged, "failed": imported.failed}),
        || {
            let counts = [
                ("manifests imported", imported.imported),
                ("unchanged", imported.unchanged),
                ("failed", imported.failed.len() as u64),
            ];
            lists::below(tables::counts(&counts), &imported.failed)
        },
    )?;
    if imported.was_interrupted {
        return Ok(Ending::Interrupted);
    }
    Ok(Ending::unless_any(!imported.failed.is_empty()))
}

/// Imports every line that can be: a bad one is noted with its number, and the rest goes on.
pub(super) async fn import(store: &Opened, mut lines: Lines<'_>, stop: &Stop) -> Result<ImportedFile, Failure> {
    let progress = Progress::counting("lines imported");
    let mut found = ImportedFile::default();
    while let Some(line) = lines.next(Limits::ANY.bytes)? {
        if stop.is_requested() {
            found.was_interrupted = true;
            break;
        }
        import_line(store, &line, &mut found).await?;
        progress.at(line.number);
    }
    Ok(found)
}

async fn import_line(store: &Opened, line: &Line, found: &mut ImportedFile) -> Result<(), Failure> {
    let parsed = match ImportLine::parse(&line.bytes) {
        Ok(parsed) => parsed,
        Err(issues) => {
            found.failed.push(unreadable(line.number, issues));
            return Ok(());
        }
    };
    match store.registry.import(&parsed).await {
        Ok(outcome) => match outcome.value {
            Imported::Added | Imported::Replaced => found.imported += 1,
            Imported::Unchanged => found.unchanged += 1,
        },
        // Every line would be refused.
        Err(error @ Error::Refused(Refusal::ForeignTables)) => return Err(error.into()),
        Err(Error::Refused(refusal)) => found.failed.push(FailedDocument {
            // It concerns the space, so no scope can be named.
            scope: None,
            line: Some(line.number),
            code: refusal.code().to_owned(),
            message: format!("space {}: {refusal}", parsed.space),
            issues: Vec::new(),
        }),
        Err(error) => return Err(error.into()),
    }
    found.spaces.insert(parsed.space, parsed.profiles);
    Ok(())
}

fn unreadable(number: u64, issues: Vec<Issue>) -> FailedDocument {
    let (code, message) = match issues.first() {
        Some(first) if first.pointer.is_root() => (first.code.as_str(), first.message.clone()),
        Some(first) => (first.code.as_str(), format!("{}: {}", first.pointer, first.message)),
        None => ("JSON_INVALID", "the line cannot be read".to_owned()),
    };
    FailedDocument { scope: None, line: Some(number), code: code.to_owned(), message, issues }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use space_profiles_core::memory::MemoryStore;
    use space_profiles_core::{Clock, Neighbour, Timestamp};

    use super::*;

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(1_784_030_400_000_000)
        }
    }

    #[tokio::test]
    async fn an_import_into_somebody_elses_tables_is_refused_as_a_whole() {
        let store = MemoryStore::new(Arc::new(Noon));
        store.content().neighbour = Neighbour { owns_spaces: true, ..Neighbour::default() };
        let opened = Opened::new(Arc::new(store), async {});
        let line = Line {
            number: 1,
            bytes: br#"{"tenantId": "acme", "knowledgeSpaceId": "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40",
                "manifestVersion": 1, "metadata": {}}"#
                .to_vec(),
        };
        let mut found = ImportedFile::default();
        let failure = import_line(&opened, &line, &mut found).await.unwrap_err();
        assert_eq!((failure.code(), failure.exit_code()), ("STORE_FOREIGN_TABLES", 5));
        assert!(found.failed.is_empty() && found.spaces.is_empty());
    }
}
