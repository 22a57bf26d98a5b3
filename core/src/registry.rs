//! The registry: every operation on profiles, over any store.

use std::pin::Pin;
use std::sync::Arc;

use crate::audit::{AuditPage, Finding, audit_space};
use crate::change::Applied;
use crate::decide::{self, Decided, Decision, Doubt, RevisionEntry};
use crate::diff::ProfileDiff;
use crate::head::ActiveProfile;
use crate::identifiers::{FailureCode, FailureMessage, RevisionId, SubjectId, TenantId, check_space_name};
use crate::import::ImportLine;
use crate::ledger::Ledger;
use crate::numbers::{PageLimit, RevisionNumber};
use crate::refusal::{Error, Refusal, StoreCode, StoreError};
use crate::report::Issue;
use crate::revision::Revision;
use crate::scope::{Kind, Scope, Space};
use crate::snapshot::{Capability, Draft, Snapshot};
use crate::space::SpaceRow;
use crate::state::{HeadState, ScopeQuery, ScopeState};
use crate::store::{Draw, Store, not_loaded};
use crate::time::Timestamp;

/// How often a command is decided again on fresh state before the store counts as busy.
const FRESH_STARTS: u32 = 8;

/// All operations on profiles, over a store.
///
/// Every write loads, decides and applies; if somebody else was first, it does so again on fresh state, at
/// most eight times, and so finds the precise refusal. Where a store is an [`OptimisticStore`](crate::OptimisticStore),
/// what usually happens is written without a load.
#[derive(Clone)]
pub struct Registry {
    store: Arc<dyn Store>,
    draw: Arc<dyn Draw>,
}

/// An answer, and whether the stored state already was this very command's work.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<T> {
    /// The answer.
    pub value: T,
    /// Whether nothing had to be written.
    pub replayed: bool,
}

/// A snapshot that somebody wants to become a revision.
#[derive(Debug, Clone)]
pub struct Proposal<'p> {
    /// The snapshot's JSON text.
    pub snapshot: &'p [u8],
    /// The capability snapshot's JSON text.
    pub capability: &'p [u8],
    /// Who proposes it.
    pub by: SubjectId,
    /// Whether the active revision may have the same configuration and capability.
    pub allow_unchanged: bool,
    /// Whether the manifest may hold a legacy profile that was not adopted.
    pub ignore_legacy: bool,
}

impl<'p> Proposal<'p> {
    /// A proposal with both overrides off.
    pub const fn new(snapshot: &'p [u8], capability: &'p [u8], by: SubjectId) -> Self {
        Self { snapshot, capability, by, allow_unchanged: false, ignore_legacy: false }
    }
}

/// A page of a scope's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Revisions {
    /// The number that the head names.
    pub active_revision: Option<RevisionNumber>,
    /// The revisions, by number; a corrupt one is an entry of its own.
    pub items: Vec<RevisionEntry>,
    /// After which number to go on, if there is more.
    pub next: Option<RevisionNumber>,
}

impl Registry {
    /// A registry over a store; ids come from `draw`.
    pub fn new(store: Arc<dyn Store>, draw: Arc<dyn Draw>) -> Self {
        Self { store, draw }
    }

    /// The operations on backfills, over the same store.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(Arc::clone(&self.store), Arc::clone(&self.draw))
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Appends a candidate. The snapshot carries its number, which must be the scope's next.
    ///
    /// # Errors
    ///
    /// `SNAPSHOT_INVALID` with every issue, then as [`decide::propose`].
    pub async fn propose(&self, scope: &Scope, proposal: &Proposal<'_>) -> Result<Outcome<Revision>, Error> {
        let (snapshot, capability) = checked(scope.kind, proposal)?;
        let proposed = self.proposed(proposal, snapshot, capability, None);
        let mut start = Start::FRESH;
        if let Some(store) = self.store.optimistic()
            && let Some(append) = decide::try_propose(scope, &proposed)
        {
            match self.attempted(store.try_append(&append).await).await? {
                Attempt::Written(at) => {
                    let revision = Revision { created_at: at, updated_at: at, ..append.revision };
                    return Ok(Outcome { value: revision, replayed: false });
                }
                Attempt::Unwritten(next) => start = next,
            }
        }
        let query = query_for(scope, &proposed);
        self.decide_on(&query, start, |state, _| decide::propose(state, &proposed)).await
    }

    /// Appends a candidate whose number is filled in, and of an embedding the vector space id where it is
    /// missing. A repeat is recognised by `revision_id`, which the caller makes.
    ///
    /// # Errors
    ///
    /// As [`Self::propose`]; `REVISION_ID_TAKEN` if the id belongs to another revision.
    pub async fn propose_next(
        &self,
        scope: &Scope,
        proposal: &Proposal<'_>,
        revision_id: RevisionId,
    ) -> Result<Outcome<Revision>, Error> {
        let filler = Filler::new(scope.kind, proposal)?;
        let filler = &filler;
        run(&*self.store, |_| {
            Box::pin(async move {
                let (proposed, state) = self.filled(scope, proposal, filler, revision_id).await?;
                Ok(decide::propose(&state, &proposed))
            })
        })
        .await
    }

    /// Makes a candidate the active revision, if the active one still is what the caller saw.
    ///
    /// # Errors
    ///
    /// As [`decide::activate`].
    pub async fn activate(
        &self,
        scope: &Scope,
        revision: RevisionNumber,
        expected: Option<RevisionNumber>,
        by: &SubjectId,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        let query = ScopeQuery { revision: Some(revision), ..ScopeQuery::of(scope.clone()) };
        let target = decide::Target { revision, expected };
        let command = decide::Activation { target, by: by.clone(), head_id: self.draw.id().into() };
        let mut start = Start::FRESH;
        if let Some(store) = self.store.optimistic().filter(|_| expected.is_some())
            && let Some(candidate) = store.recall_candidate(scope, revision).await?
            && let Some(activate) = decide::try_activate(candidate, &command)
        {
            match self.attempted(store.try_activate(&activate).await).await? {
                Attempt::Written(head) => {
                    let active = activate.candidate.activated(head.updated_at, by);
                    return Ok(Outcome { value: ActiveProfile { head, revision: active }, replayed: false });
                }
                Attempt::Unwritten(next) => start = next,
            }
        }
        self.decide_on(&query, start, |state, doubt| decide::activate(state, &command, doubt)).await
    }

    /// Activates candidates of both kinds of one space, together or not at all.
    ///
    /// # Errors
    ///
    /// As [`decide::activate_all`].
    pub async fn activate_all(
        &self,
        space: &Space,
        embedding: decide::Target,
        retrieval: decide::Target,
        by: &SubjectId,
    ) -> Result<Outcome<[ActiveProfile; 2]>, Error> {
        let query = |kind, target: decide::Target| ScopeQuery {
            revision: Some(target.revision),
            ..ScopeQuery::of(space.scope(kind))
        };
        let queries = [query(Kind::Embedding, embedding), query(Kind::Retrieval, retrieval)];
        let command = decide::ActivateAll {
            embedding: (embedding, self.draw.id().into()),
            retrieval: (retrieval, self.draw.id().into()),
            by: by.clone(),
        };
        let (queries, command) = (&queries, &command);
        run(&*self.store, |doubt| {
            Box::pin(async move {
                let states = self.store.load_scopes(queries).await?;
                let [embedding, retrieval] = states.as_slice() else { return Err(not_loaded()) };
                Ok(decide::activate_all([embedding, retrieval], command, doubt))
            })
        })
        .await
    }

    /// Proposes and activates in one write.
    ///
    /// # Errors
    ///
    /// `MANAGED_ELSEWHERE`; `SNAPSHOT_INVALID` with every issue; then as [`decide::publish`].
    pub async fn publish(
        &self,
        scope: &Scope,
        proposal: &Proposal<'_>,
        expected: Option<RevisionNumber>,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        let (snapshot, capability) = match checked(scope.kind, proposal) {
            Ok(valid) => valid,
            Err(invalid) => return Err(self.unless_managed_elsewhere(scope, invalid).await),
        };
        let proposed = self.proposed(proposal, snapshot, capability, None);
        let query = query_for(scope, &proposed);
        let publication = decide::Publication { proposed, expected, head_id: self.draw.id().into() };
        let mut start = Start::FRESH;
        if let Some(store) = self.store.optimistic()
            && let Some(publish) = decide::try_publish(scope, &publication)
        {
            match self.attempted(store.try_publish(&publish).await).await? {
                Attempt::Written(head) => {
                    let at = head.updated_at;
                    let candidate = Revision { created_at: at, ..publish.append.revision };
                    let revision = candidate.activated(at, &publication.proposed.by);
                    return Ok(Outcome { value: ActiveProfile { head, revision }, replayed: false });
                }
                Attempt::Unwritten(next) => start = next,
            }
        }
        self.decide_on(&query, start, |state, doubt| decide::publish(state, &publication, doubt)).await
    }

    /// Publishes a snapshot whose number is filled in; see [`Self::propose_next`].
    ///
    /// # Errors
    ///
    /// As [`Self::publish`]; `REVISION_ID_TAKEN` if the id belongs to another revision.
    pub async fn publish_next(
        &self,
        scope: &Scope,
        proposal: &Proposal<'_>,
        expected: Option<RevisionNumber>,
        revision_id: RevisionId,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        let filler = match Filler::new(scope.kind, proposal) {
            Ok(valid) => valid,
            Err(invalid) => return Err(self.unless_managed_elsewhere(scope, invalid).await),
        };
        let head_id = self.draw.id().into();
        let filler = &filler;
        run(&*self.store, |doubt| {
            Box::pin(async move {
                let (proposed, state) = self.filled(scope, proposal, filler, revision_id).await?;
                Ok(decide::publish(&state, &decide::Publication { proposed, expected, head_id }, doubt))
            })
        })
        .await
    }

    /// Rolls back: appends a revision with an earlier one's configuration and activates it, in one write.
    ///
    /// # Errors
    ///
    /// As [`decide::restore`].
    pub async fn restore(
        &self,
        scope: &Scope,
        revision: RevisionNumber,
        expected: Option<RevisionNumber>,
        by: &SubjectId,
    ) -> Result<Outcome<ActiveProfile>, Error> {
        let query =
            ScopeQuery { revision: Some(revision), successor_of: Some(expected), ..ScopeQuery::of(scope.clone()) };
        let command = decide::Restore {
            revision,
            expected,
            by: by.clone(),
            revision_id: self.draw.revision_id(),
            head_id: self.draw.id().into(),
        };
        self.decide_on(&query, Start::FRESH, |state, doubt| decide::restore(state, &command, doubt)).await
    }

    /// Gives up a candidate.
    ///
    /// # Errors
    ///
    /// As [`decide::fail`].
    pub async fn fail(
        &self,
        scope: &Scope,
        revision: RevisionNumber,
        code: FailureCode,
        message: FailureMessage,
        by: &SubjectId,
    ) -> Result<Outcome<RevisionEntry>, Error> {
        let query = ScopeQuery { revision: Some(revision), ..ScopeQuery::of(scope.clone()) };
        let command = decide::Fail { revision, code, message, by: by.clone() };
        self.decide_on(&query, Start::FRESH, |state, _| decide::fail(state, &command)).await
    }

    /// The active profile.
    ///
    /// # Errors
    ///
    /// `PROFILE_NOT_FOUND`, `HEAD_INVALID`, `SNAPSHOT_CORRUPT`.
    pub async fn head(&self, scope: &Scope) -> Result<ActiveProfile, Error> {
        let HeadState { head, revision, active } = self.store.load_head(scope).await?;
        let head = head.ok_or(Refusal::ProfileNotFound)?;
        decide::head_agrees(Some(head), revision.as_ref(), active)?;
        let row = revision.ok_or(Refusal::ProfileNotFound)?;
        Ok(ActiveProfile { head, revision: row.verify(scope)? })
    }

    /// One revision.
    ///
    /// # Errors
    ///
    /// `REVISION_NOT_FOUND`, `SNAPSHOT_CORRUPT`.
    pub async fn revision(&self, scope: &Scope, number: RevisionNumber) -> Result<Revision, Error> {
        let query = ScopeQuery { revision: Some(number), ..ScopeQuery::of(scope.clone()) };
        let row = self.load(&query).await?.revision.ok_or(Refusal::RevisionNotFound(number))?;
        Ok(row.verify(scope)?)
    }

    /// A page of a scope's revisions, by number.
    ///
    /// # Errors
    ///
    /// What the store fails with; a corrupt row is an entry of its own.
    pub async fn revisions(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<Revisions, Error> {
        let page = self.store.revision_page(scope, after, limit).await?;
        let mut items: Vec<RevisionEntry> = page.rows.iter().map(|row| row.verify(scope)).collect();
        items.extend(page.unreadable.into_iter().map(Err));
        let number = |entry: &RevisionEntry| match entry {
            Ok(revision) => revision.number(),
            Err(corruption) => corruption.revision,
        };
        items.sort_by_key(number);
        let next = items.last().filter(|_| page.has_more).map(number);
        Ok(Revisions { active_revision: page.head.map(|head| head.active_revision), items, next })
    }

    /// The revision that was active at a moment: the highest activated by then and not superseded by then.
    ///
    /// # Errors
    ///
    /// `PROFILE_NOT_FOUND`, `SNAPSHOT_CORRUPT`.
    pub async fn active_at(&self, scope: &Scope, moment: Timestamp) -> Result<Revision, Error> {
        let row = self.store.revision_at(scope, moment).await?.ok_or(Refusal::NothingActiveAt(moment))?;
        Ok(row.verify(scope)?)
    }

    /// What changed between two revisions, and whether it needs re-embedding.
    ///
    /// # Errors
    ///
    /// `REVISION_NOT_FOUND`, `SNAPSHOT_CORRUPT`.
    pub async fn diff(
        &self,
        scope: &Scope,
        from: RevisionNumber,
        to: RevisionNumber,
    ) -> Result<ProfileDiff, Error> {
        let from = self.revision(scope, from).await?;
        let to = self.revision(scope, to).await?;
        Ok(ProfileDiff::between(&from.snapshot, &to.snapshot))
    }

    /// Adds a space.
    ///
    /// # Errors
    ///
    /// `ARGUMENT_INVALID`; `STORE_FOREIGN_TABLES`; `SPACE_EXISTS` if it exists with another name.
    pub async fn add_space(&self, space: &Space, name: Option<&str>) -> Result<Outcome<SpaceRow>, Error> {
        name.map_or(Ok(()), check_space_name)?;
        run(&*self.store, |_| {
            Box::pin(async move { Ok(decide::add_space(&self.store.load_space(space).await?, space, name)) })
        })
        .await
    }

    /// Spaces, by (tenant, id).
    ///
    /// # Errors
    ///
    /// What the store fails with.
    pub async fn spaces(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, Error> {
        Ok(self.store.space_page(tenant, after, limit).await?)
    }

    /// Removes a space with all its profiles, backfills and its manifest.
    ///
    /// # Errors
    ///
    /// As [`decide::delete_space`].
    pub async fn delete_space(&self, space: &Space) -> Result<Outcome<()>, Error> {
        run(&*self.store, |doubt| {
            Box::pin(async move { Ok(decide::delete_space(&self.store.load_space(space).await?, space, doubt)) })
        })
        .await
    }

    /// Imports a space and its manifest.
    ///
    /// # Errors
    ///
    /// As [`decide::import`].
    pub async fn import(&self, line: &ImportLine) -> Result<Outcome<decide::Imported>, Error> {
        let fresh_id = self.draw.id().into();
        run(&*self.store, |_| {
            Box::pin(async move { Ok(decide::import(&self.store.load_space(&line.space).await?, line, fresh_id)) })
        })
        .await
    }

    /// Checks a page of spaces above `after` with everything that belongs to each, and the schema on the first
    /// page.
    ///
    /// # Errors
    ///
    /// What the store fails with.
    pub async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<AuditPage, Error> {
        let mut findings = Vec::new();
        if after.is_none() {
            findings.extend(self.store.schema_differences().await?.into_iter().map(Finding::of_schema));
        }
        let contents = self.store.audit_page(after, limit).await?;
        let mut checked = 0;
        for content in &contents {
            checked += content.heads.len() + content.revisions.len() + content.backfills.len();
            findings.extend(audit_space(content));
        }
        Ok(AuditPage { checked, findings, next: contents.last().map(|content| content.space.clone()) })
    }

    async fn load(&self, query: &ScopeQuery) -> Result<ScopeState, StoreError> {
        let states = self.store.load_scopes(std::slice::from_ref(query)).await?;
        states.into_iter().next().ok_or_else(not_loaded)
    }

    /// What becomes of a publication that is refused before the state was looked at.
    async fn unless_managed_elsewhere(&self, scope: &Scope, invalid: Refusal) -> Error {
        match self.load(&ScopeQuery::of(scope.clone())).await {
            Ok(state) if state.neighbour.moves_heads => Refusal::ManagedElsewhere.into(),
            Ok(_) => invalid.into(),
            Err(error) => error.into(),
        }
    }

    async fn decide_on<T>(
        &self,
        query: &ScopeQuery,
        start: Start,
        decide: impl Fn(&ScopeState, Doubt) -> Decided<T> + Send + Sync,
    ) -> Result<Outcome<T>, Error> {
        let decide = &decide;
        run_from(start, &*self.store, |doubt| Box::pin(async move { Ok(decide(&self.load(query).await?, doubt)) }))
            .await
    }

    /// What a write without a load came to. A lost reply is looked into, as after any write.
    async fn attempted<T>(&self, answer: Result<Option<T>, StoreError>) -> Result<Attempt<T>, StoreError> {
        match answer {
            Ok(Some(written)) => Ok(Attempt::Written(written)),
            Ok(None) => Ok(Attempt::Unwritten(Start { attempt: 2, doubt: Doubt::None })),
            Err(error) if error.code == StoreCode::OutcomeUnknown => {
                self.store.back_off(1).await;
                Ok(Attempt::Unwritten(Start { attempt: 2, doubt: Doubt::LostCommit }))
            }
            Err(error) => Err(error),
        }
    }

    fn proposed(
        &self,
        proposal: &Proposal<'_>,
        snapshot: Snapshot,
        capability: Capability,
        revision_id: Option<RevisionId>,
    ) -> decide::Proposed {
        decide::Proposed {
            revision_id: revision_id.unwrap_or_else(|| self.draw.revision_id()),
            is_recognised_by_id: revision_id.is_some(),
            snapshot,
            capability,
            by: proposal.by.clone(),
            allow_unchanged: proposal.allow_unchanged,
            ignore_legacy: proposal.ignore_legacy,
        }
    }

    /// The proposal with the number that comes next, and the state in which it does. The vector space id follows
    /// from the number and is looked up with it, so a number that was taken meanwhile is filled in anew.
    async fn filled(
        &self,
        scope: &Scope,
        proposal: &Proposal<'_>,
        filler: &Filler<'_>,
        revision_id: RevisionId,
    ) -> Result<(decide::Proposed, ScopeState), StoreError> {
        let mut state = self.load(&ScopeQuery::of(scope.clone())).await?;
        for attempt in 1.. {
            let next = next_number(&state);
            // At the end of the numbers the decision refuses whatever is filled in.
            let snapshot = filler.draft.fill(next.unwrap_or(RevisionNumber::LAST), &filler.capability);
            let proposed = self.proposed(proposal, snapshot, filler.capability.clone(), Some(revision_id));
            state = self.load(&query_for(scope, &proposed)).await?;
            let is_settled = next_number(&state) == next || state.by_id.is_some();
            if is_settled || filler.draft.names_its_number() || attempt > FRESH_STARTS {
                return Ok((proposed, state));
            }
        }
        Err(not_loaded())
    }
}

/// A decision under way. Boxed, since futures of `AsyncFn` closures are not known to be `Send`.
pub(crate) type Deciding<'d, T> = Pin<Box<dyn Future<Output = Result<Decided<T>, StoreError>> + Send + 'd>>;

/// What became of a write without a load.
enum Attempt<T> {
    Written(T),
    Unwritten(Start),
}

/// Where a command stands before it is decided on a loaded state.
#[derive(Clone, Copy)]
struct Start {
    attempt: u32,
    doubt: Doubt,
}

impl Start {
    /// It has not been tried.
    const FRESH: Self = Self { attempt: 1, doubt: Doubt::None };
}

/// Loads, decides and applies, again on fresh state as long as somebody else is first.
pub(crate) async fn run<'d, T>(
    store: &dyn Store,
    decide: impl Fn(Doubt) -> Deciding<'d, T> + Send + Sync,
) -> Result<Outcome<T>, Error> {
    run_from(Start::FRESH, store, decide).await
}

/// As [`run`], when it has been tried already.
async fn run_from<'d, T>(
    Start { attempt: first, mut doubt }: Start,
    store: &dyn Store,
    decide: impl Fn(Doubt) -> Deciding<'d, T> + Send + Sync,
) -> Result<Outcome<T>, Error> {
    for attempt in first..=FRESH_STARTS + 1 {
        let decision = match decide(doubt).await {
            // What was committed or not stays unknown as long as nothing can be read.
            Err(error) if doubt == Doubt::LostCommit => return Err(outcome_unknown(&error).into()),
            Err(error) => return Err(error.into()),
            Ok(decided) => decided?,
        };
        let (change, value) = match decision {
            Decision::Replayed(value) => return Ok(Outcome { value, replayed: true }),
            Decision::Change(change, value) => (change, value),
        };
        match store.apply(&change).await {
            Ok(Applied::Done) => return Ok(Outcome { value, replayed: false }),
            // A lost commit that was still under way took the id itself.
            Ok(Applied::RevisionIdTaken) if doubt == Doubt::LostCommit => {}
            Ok(Applied::RevisionIdTaken) => return Err(revision_id_taken(&change).into()),
            Ok(Applied::Stale) => {}
            Err(error) if error.code == StoreCode::OutcomeUnknown => doubt = Doubt::LostCommit,
            // The lost commit may still be under way, and its locks be what this attempt has failed for.
            Err(error) if doubt == Doubt::LostCommit => return Err(outcome_unknown(&error).into()),
            Err(error) => return Err(error.into()),
        }
        if attempt <= FRESH_STARTS {
            store.back_off(attempt).await;
        }
    }
    if doubt == Doubt::LostCommit {
        return Err(outcome_unknown("every further attempt met somebody else's change").into());
    }
    let message = format!("somebody else was first {FRESH_STARTS} times in a row; try again");
    Err(StoreError::new(StoreCode::Busy, message).into())
}

fn outcome_unknown(why: impl std::fmt::Display) -> StoreError {
    let message = format!(
        "the reply to a commit was lost and whether it happened could not be learnt ({why}); \
         repeat the same command, which recognises its own work"
    );
    StoreError::new(StoreCode::OutcomeUnknown, message)
}

fn revision_id_taken(change: &crate::change::Change) -> Refusal {
    use crate::change::Change;
    match change {
        Change::Append(append) => Refusal::RevisionIdTaken(append.revision.id),
        Change::Publish(publish) => Refusal::RevisionIdTaken(publish.revision.id),
        Change::Install(install) => Refusal::RevisionIdTaken(install.revision.id),
        // Which of them it is, no store says.
        Change::CopyScope(_) => {
            Refusal::CopyConflict { found: "the id of a revision taken by a row of another scope".to_owned() }
        }
        // No other change writes a revision's id.
        _ => Refusal::RevisionIdTaken(uuid::Uuid::nil().into()),
    }
}

fn next_number(state: &ScopeState) -> Option<RevisionNumber> {
    state.newest.map_or(Some(RevisionNumber::FIRST), |newest| newest.revision.next())
}

fn query_for(scope: &Scope, proposed: &decide::Proposed) -> ScopeQuery {
    ScopeQuery {
        scope: scope.clone(),
        revision: Some(proposed.snapshot.revision()),
        revision_id: proposed.is_recognised_by_id.then_some(proposed.revision_id),
        vector_space_id: proposed.snapshot.identity().vector_space_id,
        successor_of: None,
    }
}

/// A valid snapshot with a valid capability that is about its models.
fn checked(kind: Kind, proposal: &Proposal<'_>) -> Result<(Snapshot, Capability), Refusal> {
    let snapshot = Snapshot::parse_proposal(kind, proposal.snapshot);
    let (snapshot, capability) = both(snapshot, Capability::parse(proposal.capability))?;
    agreed(capability.disagreements(snapshot.profile()))?;
    Ok((snapshot, capability))
}

/// A draft that is filled in as often as the state changes.
struct Filler<'p> {
    draft: Draft<'p>,
    capability: Capability,
}

impl<'p> Filler<'p> {
    fn new(kind: Kind, proposal: &Proposal<'p>) -> Result<Self, Refusal> {
        let draft = Draft::parse(kind, proposal.snapshot);
        let (draft, capability) = both(draft, Capability::parse(proposal.capability))?;
        let filled = draft.fill(RevisionNumber::FIRST, &capability);
        agreed(capability.disagreements(filled.profile()))?;
        Ok(Self { draft, capability })
    }
}

fn both<T>(
    snapshot: Result<T, Vec<Issue>>,
    capability: Result<Capability, Vec<Issue>>,
) -> Result<(T, Capability), Refusal> {
    match (snapshot, capability) {
        (Ok(snapshot), Ok(capability)) => Ok((snapshot, capability)),
        (snapshot, capability) => {
            let snapshot_issues = snapshot.err().into_iter().flatten();
            let issues = snapshot_issues.chain(capability.err().into_iter().flatten()).collect();
            Err(Refusal::SnapshotInvalid { issues })
        }
    }
}

fn agreed(issues: Vec<Issue>) -> Result<(), Refusal> {
    if issues.is_empty() { Ok(()) } else { Err(Refusal::SnapshotInvalid { issues }) }
}
