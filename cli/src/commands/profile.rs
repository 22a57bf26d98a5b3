use serde_json::json;
use space_profiles_core::decide::{RevisionEntry, Target};
use space_profiles_core::json::Limits;
use space_profiles_core::{
    ActiveProfile, FailureCode, FailureMessage, Kind, Outcome, Proposal, Revision, RevisionId, RevisionNumber,
    Scope, Space, SubjectId,
};

use crate::args::{Expectation, Proposing};
use crate::exit::{Ending, Failure};
use crate::input;
use crate::output::Output;
use crate::output::json::{Answer, BothDocument, EntryDocument, ProfileDocument, RevisionDocument};
use crate::store::Opened;

/// A proposal with its texts, read from their files.
pub(super) struct Texts {
    scope: Scope,
    snapshot: Vec<u8>,
    capability: Vec<u8>,
    /// The number and the vector space id are to be filled in.
    is_draft: bool,
    by: SubjectId,
    allow_unchanged: bool,
    ignore_legacy: bool,
}

impl Texts {
    pub(super) fn read(proposing: Proposing) -> Result<Self, Failure> {
        let is_draft = proposing.snapshot.is_none();
        if is_draft && proposing.scope.kind == Kind::Retrieval {
            let message = "expected --snapshot FILE for a retrieval profile, found --plugin, --provider, --model and \
                           --dimension, which describe an embedding one";
            return Err(Failure::Usage { message: message.to_owned() });
        }
        if let (Some(snapshot), "-") = (&proposing.snapshot, &*proposing.capability.to_string_lossy())
            && snapshot.as_os_str() == "-"
        {
            let message = "expected one of --snapshot and --capability to be a file, found both on standard input";
            return Err(Failure::Usage { message: message.to_owned() });
        }
        let snapshot = match &proposing.snapshot {
            Some(file) => input::read(file, Limits::SNAPSHOT.bytes)?,
            None => json!({
                "pluginId": proposing.plugin, "provider": proposing.provider, "model": proposing.model,
                "dimension": proposing.dimension,
            })
            .to_string()
            .into_bytes(),
        };
        Ok(Self {
            scope: proposing.scope,
            snapshot,
            capability: input::read(&proposing.capability, Limits::ANY.bytes)?,
            is_draft,
            by: proposing.by.subject()?,
            allow_unchanged: proposing.allow_unchanged,
            ignore_legacy: proposing.ignore_legacy,
        })
    }

    fn proposal(&self) -> Proposal<'_> {
        Proposal {
            allow_unchanged: self.allow_unchanged,
            ignore_legacy: self.ignore_legacy,
            ..Proposal::new(&self.snapshot, &self.capability, self.by.clone())
        }
    }
}

fn fresh_id() -> RevisionId {
    uuid::Uuid::now_v7().into()
}

pub(super) async fn propose(store: &Opened, texts: &Texts, output: Output) -> Result<Ending, Failure> {
    let scope = &texts.scope;
    let outcome = if texts.is_draft {
        store.registry.propose_next(scope, &texts.proposal(), fresh_id()).await?
    } else {
        store.registry.propose(scope, &texts.proposal()).await?
    };
    output.either(
        || Answer::new(&outcome, |revision: &Revision| RevisionDocument::from(revision)),
        || {
            let (number, state) = (outcome.value.number(), outcome.value.status());
            match outcome.replayed {
                true => format!(
                    "revision {number} of {scope} had been proposed by this very command; it is {state} now"
                ),
                false => {
                    format!("revision {number} of {scope} is proposed; nothing uses it before it is activated")
                }
            }
        },
    )?;
    Ok(Ending::Done)
}

pub(super) async fn publish(
    store: &Opened,
    texts: &Texts,
    expected: Expectation,
    output: Output,
) -> Result<Ending, Failure> {
    let scope = &texts.scope;
    let outcome = if texts.is_draft {
        store.registry.publish_next(scope, &texts.proposal(), expected.0, fresh_id()).await?
    } else {
        store.registry.publish(scope, &texts.proposal(), expected.0).await?
    };
    activated(&outcome, output)
}

pub(super) async fn activate(
    store: &Opened,
    scope: &Scope,
    revision: RevisionNumber,
    expected: Expectation,
    by: &SubjectId,
    output: Output,
) -> Result<Ending, Failure> {
    let outcome = store.registry.activate(scope, revision, expected.0, by).await?;
    activated(&outcome, output)
}

pub(super) async fn restore(
    store: &Opened,
    scope: &Scope,
    revision: RevisionNumber,
    expected: Expectation,
    by: &SubjectId,
    output: Output,
) -> Result<Ending, Failure> {
    let outcome = store.registry.restore(scope, revision, expected.0, by).await?;
    activated(&outcome, output)
}

fn activated(outcome: &Outcome<ActiveProfile>, output: Output) -> Result<Ending, Failure> {
    output.either(
        || Answer::new(outcome, |profile: &ActiveProfile| ProfileDocument::from(profile)),
        || sentence(&outcome.value, outcome.replayed),
    )?;
    Ok(Ending::Done)
}

fn sentence(profile: &ActiveProfile, replayed: bool) -> String {
    let (number, scope) = (profile.revision.number(), &profile.revision.scope);
    let version = profile.head.row_version;
    if !replayed {
        return format!("revision {number} of {scope} is active (row version {version})");
    }
    let active = profile.head.active_revision;
    format!(
        "revision {number} of {scope} had been activated by this very command; \
         revision {active} is active (row version {version})"
    )
}

pub(super) async fn activate_all(
    store: &Opened,
    space: &Space,
    [embedding, retrieval]: [(RevisionNumber, Expectation); 2],
    by: &SubjectId,
    output: Output,
) -> Result<Ending, Failure> {
    let target = |(revision, expected): (RevisionNumber, Expectation)| Target { revision, expected: expected.0 };
    let outcome = store.registry.activate_all(space, target(embedding), target(retrieval), by).await?;
    output.either(
        || Answer::new(&outcome, |profiles: &[ActiveProfile; 2]| BothDocument::from(profiles)),
        || {
            let sentences = outcome.value.each_ref().map(|profile| sentence(profile, outcome.replayed));
            sentences.join("\n")
        },
    )?;
    Ok(Ending::Done)
}

pub(super) async fn fail(
    store: &Opened,
    scope: &Scope,
    revision: RevisionNumber,
    (code, message): (FailureCode, FailureMessage),
    by: &SubjectId,
    output: Output,
) -> Result<Ending, Failure> {
    let outcome = store.registry.fail(scope, revision, code, message, by).await?;
    output.either(
        || Answer::new(&outcome, |entry: &RevisionEntry| EntryDocument::from(entry)),
        || match outcome.replayed {
            true => format!("revision {revision} of {scope} had failed already; its first failure stands"),
            false => format!("revision {revision} of {scope} is failed"),
        },
    )?;
    Ok(Ending::Done)
}
