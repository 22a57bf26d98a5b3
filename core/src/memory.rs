//! The in-memory store: the reference that the others are compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backfill::{Backfill, BackfillRow, BackfillStatus};
use crate::change::{
    Activate, Append, Applied, BackfillGuard, Change, CopyScope, CopySpace, FailRevision, HeadMove, Install,
    Publish, PutManifest, WriteBackfill,
};
use crate::head::Head;
use crate::identifiers::{BackfillId, RevisionId, TenantId};
use crate::numbers::{PageLimit, RevisionNumber};
use crate::refusal::{StoreCode, StoreError};
use crate::revision::{RevisionRow, RevisionStatus};
use crate::scope::{Kind, Scope, Space};
use crate::space::{LegacyProfile, ManifestRow, SpaceRow};
use crate::state::{
    BackfillKey, LedgerState, Neighbour, Newest, ScopeQuery, ScopeState, SpaceState, VectorSpaceCarrier,
};
use crate::store::{
    BackfillCounts, BackfillFilter, Claim, Claimed, DiscoveryPage, DiscoverySpace, EXHAUSTED_PER_CLAIM,
    RevisionPage, SpaceContent, SpaceFilter, Store,
};
use crate::time::{Clock, Timestamp};

/// A store that keeps everything in memory.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    content: Arc<Mutex<MemoryContent>>,
}

/// What an in-memory store holds. Tests change it behind the store's back.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the fields are the five tables and who else writes them")]
pub struct MemoryContent {
    pub neighbour: Neighbour,
    pub spaces: BTreeMap<Space, SpaceRow>,
    pub manifests: BTreeMap<Space, ManifestRow>,
    pub revisions: BTreeMap<Scope, BTreeMap<RevisionNumber, RevisionRow>>,
    pub heads: BTreeMap<Scope, Head>,
    pub backfills: BTreeMap<BackfillId, BackfillRow>,
}

impl MemoryStore {
    /// An empty store that tells the time by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, content: Arc::default() }
    }

    /// What the store holds.
    pub fn content(&self) -> MutexGuard<'_, MemoryContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryContent {
    fn of_scope(&self, scope: &Scope) -> impl DoubleEndedIterator<Item = &RevisionRow> {
        self.revisions.get(scope).into_iter().flat_map(BTreeMap::values)
    }

    fn revision(&self, scope: &Scope, number: RevisionNumber) -> Option<&RevisionRow> {
        self.revisions.get(scope)?.get(&number)
    }

    fn by_id(&self, scope: &Scope, id: RevisionId) -> Option<&RevisionRow> {
        self.of_scope(scope).find(|row| row.id == id)
    }

    fn by_id_mut(&mut self, scope: &Scope, id: RevisionId) -> Option<&mut RevisionRow> {
        self.revisions.get_mut(scope)?.values_mut().find(|row| row.id == id)
    }

    fn in_state(&self, scope: &Scope, status: RevisionStatus) -> Option<RevisionNumber> {
        self.of_scope(scope).find(|row| row.status == status).map(|row| row.revision)
    }

    fn predecessor(&self, scope: &Scope, number: RevisionNumber) -> Option<RevisionNumber> {
        self.of_scope(scope)
            .filter(|row| row.revision < number && row.status.was_ever_active())
            .map(|row| row.revision)
            .next_back()
    }

    fn profile(&self, scope: &Scope) -> Option<String> {
        match self.manifests.get(&scope.space)?.legacy_profile(scope.kind) {
            LegacyProfile::Absent => None,
            LegacyProfile::Readable(text) => Some(text),
            LegacyProfile::Unreadable => Some(String::new()),
        }
    }

    fn carriers(&self, query: &ScopeQuery) -> Vec<VectorSpaceCarrier> {
        let Some(wanted) = query.vector_space_id.map(|id| id.to_string()) else { return Vec::new() };
        let mut carriers: Vec<VectorSpaceCarrier> = Vec::new();
        for row in self.of_scope(&query.scope).filter(|row| row.vector_space_id.as_deref() == Some(&wanted)) {
            let carrier = VectorSpaceCarrier {
                plugin_id: row.plugin_id.clone(),
                provider: row.provider.clone(),
                model: row.model.clone(),
                dimension: row.dimension,
                was_ever_active: false,
            };
            let known = carriers
                .iter_mut()
                .find(|known| VectorSpaceCarrier { was_ever_active: false, ..(*known).clone() } == carrier);
            match known {
                Some(known) => known.was_ever_active |= row.status.was_ever_active(),
                None => {
                    carriers.push(VectorSpaceCarrier { was_ever_active: row.status.was_ever_active(), ..carrier })
                }
            }
        }
        carriers.sort();
        carriers
    }

    fn load(&self, query: &ScopeQuery, now: Timestamp) -> ScopeState {
        let scope = &query.scope;
        let head = self.heads.get(scope).copied();
        let head_revision = head.and_then(|head| self.by_id(scope, head.revision_id)).cloned();
        let successor = query.successor_of.and_then(|after| {
            self.of_scope(scope)
                .find(|row| row.status.was_ever_active() && after.is_none_or(|after| row.revision > after))
                .cloned()
        });
        ScopeState {
            scope: scope.clone(),
            now,
            neighbour: self.neighbour,
            space: self.spaces.get(&scope.space).cloned(),
            has_legacy_profile: self.profile(scope).is_some_and(|text| text.starts_with('{')),
            head,
            head_predecessor: head_revision.as_ref().and_then(|row| self.predecessor(scope, row.revision)),
            head_revision,
            active: self.in_state(scope, RevisionStatus::Active),
            candidate: self.in_state(scope, RevisionStatus::Candidate),
            newest: self.of_scope(scope).next_back().map(|row| Newest {
                revision: row.revision,
                status: row.status,
                updated_at: row.updated_at,
            }),
            revision: query.revision.and_then(|number| self.revision(scope, number)).cloned(),
            predecessor: query.revision.and_then(|number| self.predecessor(scope, number)),
            by_id: query.revision_id.and_then(|id| self.by_id(scope, id)).cloned(),
            successor,
            carriers: self.carriers(query),
        }
    }

    fn newest_backfill(&self, scope: &Scope) -> Option<&BackfillRow> {
        let of_scope = self.backfills.values().filter(|row| row.scope == *scope);
        of_scope.max_by_key(|row| (row.source_manifest_version, row.created_at, row.id))
    }

    // -- writing: each answers whether the guards held

    fn is_writable(&self, space: &Space) -> bool {
        self.spaces.get(space).is_some_and(SpaceRow::is_writable)
    }

    fn append(&mut self, append: &Append) -> Applied {
        let scope = &append.revision.scope;
        let row = append.revision.to_row();
        if !self.can_append(scope, &row, append.is_first)
            || self.in_state(scope, RevisionStatus::Candidate).is_some()
        {
            return Applied::Stale;
        }
        self.insert(scope, row)
    }

    fn can_append(&self, scope: &Scope, row: &RevisionRow, is_first: bool) -> bool {
        self.is_writable(&scope.space)
            && self.revision(scope, row.revision).is_none()
            && (!is_first || self.of_scope(scope).next().is_none())
    }

    fn insert(&mut self, scope: &Scope, row: RevisionRow) -> Applied {
        if self.revisions.values().flat_map(BTreeMap::values).any(|other| other.id == row.id) {
            return Applied::RevisionIdTaken;
        }
        self.revisions.entry(scope.clone()).or_default().insert(row.revision, row);
        Applied::Done
    }

    fn head_can_move(&self, scope: &Scope, head: &HeadMove) -> bool {
        match head {
            HeadMove::Create(_) => {
                !self.heads.contains_key(scope) && self.in_state(scope, RevisionStatus::Active).is_none()
            }
            HeadMove::Advance { from, .. } => {
                let stored = self.heads.get(scope);
                let is_same = |head: &Head| {
                    head.row_version == from.row_version
                        && head.revision_id == from.revision_id
                        && head.active_revision == from.active_revision
                };
                stored.is_some_and(is_same)
                    && self.by_id(scope, from.revision_id).is_some_and(|row| row.status == RevisionStatus::Active)
            }
        }
    }

    fn move_head(&mut self, scope: &Scope, head: &HeadMove) {
        let to = head.head();
        if let HeadMove::Advance { from, .. } = head
            && let Some(row) = self.by_id_mut(scope, from.revision_id)
        {
            row.status = RevisionStatus::Superseded;
            row.superseded_at = Some(to.updated_at);
            row.updated_at = to.updated_at;
        }
        self.heads.insert(scope.clone(), to);
    }

    fn can_activate(&self, activate: &Activate) -> bool {
        self.is_writable(&activate.scope.space)
            && self
                .by_id(&activate.scope, activate.revision_id)
                .is_some_and(|row| row.status == RevisionStatus::Candidate)
            && self.head_can_move(&activate.scope, &activate.head)
    }

    fn activate(&mut self, activates: &[Activate]) -> Applied {
        if !activates.iter().all(|activate| self.can_activate(activate)) {
            return Applied::Stale;
        }
        for activate in activates {
            self.move_head(&activate.scope, &activate.head);
            if let Some(row) = self.by_id_mut(&activate.scope, activate.revision_id) {
                row.status = RevisionStatus::Active;
                row.activated_at = Some(activate.at);
                row.activated_by = Some(activate.by.clone());
                row.updated_at = activate.at;
            }
        }
        Applied::Done
    }

    fn publish(&mut self, publish: &Publish) -> Applied {
        let scope = &publish.revision.scope;
        let row = publish.revision.to_row();
        if !self.can_append(scope, &row, publish.is_first) || !self.head_can_move(scope, &publish.head) {
            return Applied::Stale;
        }
        let applied = self.insert(scope, row);
        if applied == Applied::Done {
            self.move_head(scope, &publish.head);
        }
        applied
    }

    fn fail(&mut self, fail: &FailRevision) -> Applied {
        let row = self.by_id_mut(&fail.scope, fail.revision_id);
        let Some(row) = row.filter(|row| row.status == RevisionStatus::Candidate) else { return Applied::Stale };
        row.status = RevisionStatus::Failed;
        row.failed_at = Some(fail.at);
        row.failed_by = Some(fail.by.clone());
        row.failure_code = Some(fail.failure.code.clone());
        row.failure_message = Some(fail.failure.message.clone());
        row.updated_at = fail.at;
        Applied::Done
    }

    fn put_manifest(&mut self, put: &PutManifest) -> Applied {
        let is_as_found = match &put.add_space {
            Some(_) => !self.spaces.contains_key(&put.space),
            None => self.is_writable(&put.space),
        };
        if !is_as_found || self.manifests.get(&put.space).map(|manifest| manifest.version) != put.from {
            return Applied::Stale;
        }
        if let Some(space) = &put.add_space {
            self.spaces.insert(put.space.clone(), space.clone());
        } else if let (Some(name), Some(space)) = (&put.rename, self.spaces.get_mut(&put.space)) {
            space.name.clone_from(name);
            space.updated_at = put.to.updated_at;
        }
        self.manifests.insert(put.space.clone(), put.to.clone());
        Applied::Done
    }

    fn delete_space(&mut self, space: &Space) -> Applied {
        if self.spaces.remove(space).is_none() {
            return Applied::Stale;
        }
        self.backfills.retain(|_, row| row.scope.space != *space);
        self.heads.retain(|scope, _| scope.space != *space);
        self.revisions.retain(|scope, _| scope.space != *space);
        self.manifests.remove(space);
        Applied::Done
    }

    fn is_guarded(&self, guard: &BackfillGuard) -> bool {
        self.backfills.get(&guard.id).is_some_and(|row| {
            row.row_version == guard.row_version
                && row.lease_token == guard.lease_token
                && row.lease_expires_at == guard.lease_expires_at
        })
    }

    fn write_backfill(&mut self, write: &WriteBackfill) -> Applied {
        if !self.is_guarded(&write.from) {
            return Applied::Stale;
        }
        self.backfills.insert(write.from.id, BackfillRow::from(&write.to));
        Applied::Done
    }

    fn install(&mut self, install: &Install) -> Applied {
        let scope = &install.revision.scope;
        let row = install.revision.to_row();
        let head = HeadMove::Create(install.head);
        let has_manifest = self.manifests.get(&scope.space).is_some_and(|stored| {
            stored.version == install.manifest.version && stored.metadata == install.manifest.metadata
        });
        if !self.is_guarded(&install.backfill.from)
            || !has_manifest
            || !self.can_append(scope, &row, true)
            || !self.head_can_move(scope, &head)
        {
            return Applied::Stale;
        }
        let applied = self.insert(scope, row);
        if applied == Applied::Done {
            self.move_head(scope, &head);
            self.write_backfill(&install.backfill);
        }
        applied
    }

    fn copy_space(&mut self, copy: &CopySpace) -> Result<Applied, StoreError> {
        let space = &copy.row.space;
        if self.spaces.contains_key(space) {
            return Ok(Applied::Stale);
        }
        if let Some(manifest) = &copy.manifest {
            if self.manifests.contains_key(space) {
                return Ok(Applied::Stale);
            }
            if self.manifests.values().any(|other| other.id == manifest.id) {
                return Err(taken("manifest"));
            }
            self.manifests.insert(space.clone(), manifest.clone());
        }
        self.spaces.insert(space.clone(), copy.row.clone());
        Ok(Applied::Done)
    }

    fn copy_scope(&mut self, copy: &CopyScope) -> Result<Applied, StoreError> {
        let scope = &copy.scope;
        let is_empty = !self.heads.contains_key(scope)
            && self.of_scope(scope).next().is_none()
            && !self.backfills.values().any(|row| row.scope == *scope);
        if !is_empty || !self.spaces.contains_key(&scope.space) {
            return Ok(Applied::Stale);
        }
        let mut revisions = self.revisions.values().flat_map(BTreeMap::values);
        if revisions.any(|other| copy.revisions.iter().any(|row| row.id == other.id)) {
            return Ok(Applied::RevisionIdTaken);
        }
        if copy.head.is_some_and(|head| self.heads.values().any(|other| other.id == head.id)) {
            return Err(taken("head"));
        }
        if copy.backfills.iter().any(|row| self.backfills.contains_key(&row.id)) {
            return Err(taken("backfill"));
        }
        let rows: BTreeMap<_, _> = copy.revisions.iter().map(|row| (row.revision, row.clone())).collect();
        if !rows.is_empty() {
            self.revisions.insert(scope.clone(), rows);
        }
        self.heads.extend(copy.head.map(|head| (scope.clone(), head)));
        self.backfills.extend(copy.backfills.iter().map(|row| (row.id, row.clone())));
        Ok(Applied::Done)
    }

    fn apply(&mut self, change: &Change) -> Result<Applied, StoreError> {
        Ok(match change {
            Change::Append(append) => self.append(append),
            Change::Activate(activates) => self.activate(activates),
            Change::Publish(publish) => self.publish(publish),
            Change::Fail(fail) => self.fail(fail),
            Change::AddSpace(row) => {
                let is_new = !self.spaces.contains_key(&row.space);
                if is_new {
                    self.spaces.insert(row.space.clone(), row.clone());
                }
                if is_new { Applied::Done } else { Applied::Stale }
            }
            Change::PutManifest(put) => self.put_manifest(put),
            Change::DeleteSpace(space) => self.delete_space(space),
            Change::Backfill(write) => self.write_backfill(write),
            Change::Install(install) => self.install(install),
            Change::CopySpace(copy) => self.copy_space(copy)?,
            Change::CopyScope(copy) => self.copy_scope(copy)?,
        })
    }

    fn claim(&mut self, claim: &Claim, now: Timestamp) -> Claimed {
        let due = |status: BackfillStatus| {
            let mut rows: Vec<Backfill> = self
                .backfills
                .values()
                .filter(|row| row.status == status && claim.filter.has(&row.scope.space))
                .filter_map(|row| row.clone().read())
                .filter(|row| row.is_due(now))
                .collect();
            rows.sort_by_key(|row| (due_since(row), row.id));
            rows
        };
        let mut claimed = Claimed::default();
        let mut tokens = claim.tokens.iter();
        for rows in [due(BackfillStatus::Running), due(BackfillStatus::Queued)] {
            let (exhausted, fresh): (Vec<_>, Vec<_>) = rows.into_iter().partition(Backfill::is_exhausted);
            let exhausted = exhausted.iter().take(EXHAUSTED_PER_CLAIM as usize);
            claimed.exhausted.extend(exhausted.filter_map(|row| row.exhausted(now)));
            let claimable = fresh.iter().filter(|row| row.row_version.next().is_some());
            let given = claimable.zip(tokens.by_ref());
            claimed
                .backfills
                .extend(given.filter_map(|(row, token)| row.claimed(&claim.worker, *token, claim.lease, now)));
        }
        for row in claimed.backfills.iter().chain(&claimed.exhausted) {
            self.backfills.insert(row.id, BackfillRow::from(row));
        }
        claimed
    }
}

fn taken(table: &str) -> StoreError {
    StoreError::new(StoreCode::Schema, format!("expected a fresh id of a {table}, found that it is taken"))
}

fn due_since(row: &Backfill) -> Timestamp {
    match row.state {
        crate::backfill::BackfillState::Running { lease_expires_at, .. } => lease_expires_at,
        _ => row.due_at,
    }
}

impl SpaceFilter {
    /// Whether a space is among those that are asked for.
    pub fn has(&self, space: &Space) -> bool {
        match self {
            Self::All => true,
            Self::Tenant(tenant) => space.tenant == *tenant,
            Self::Spaces(spaces) => spaces.contains(space),
        }
    }
}

/// A page of spaces in the order of a key of theirs.
fn walked<'s, K: Ord>(
    spaces: impl Iterator<Item = &'s Space>,
    after: Option<&Space>,
    limit: PageLimit,
    key: impl Fn(&Space) -> K,
) -> Vec<Space> {
    let mut spaces: Vec<Space> =
        spaces.filter(|space| after.is_none_or(|after| key(space) > key(after))).cloned().collect();
    spaces.sort_by_key(key);
    spaces.dedup();
    spaces.truncate(limit.get() as usize);
    spaces
}

#[async_trait::async_trait]
impl Store for MemoryStore {
    async fn load_scopes(&self, queries: &[ScopeQuery]) -> Result<Vec<ScopeState>, StoreError> {
        let content = self.content();
        let now = self.clock.now();
        Ok(queries.iter().map(|query| content.load(query, now)).collect())
    }

    async fn load_space(&self, space: &Space) -> Result<SpaceState, StoreError> {
        let content = self.content();
        Ok(SpaceState {
            now: self.clock.now(),
            neighbour: content.neighbour,
            space: content.spaces.get(space).cloned(),
            manifest: content.manifests.get(space).cloned(),
        })
    }

    async fn load_backfill(&self, key: &BackfillKey) -> Result<LedgerState, StoreError> {
        let content = self.content();
        let row = match key {
            BackfillKey::Fenced(fence) => content.backfills.get(&fence.backfill),
            BackfillKey::NewestOf(scope) => content.newest_backfill(scope),
        };
        let scope = row.map(|row| &row.scope);
        let head = scope.and_then(|scope| content.heads.get(scope)).copied();
        Ok(LedgerState {
            now: self.clock.now(),
            neighbour: content.neighbour,
            backfill: row.cloned(),
            space: scope.and_then(|scope| content.spaces.get(&scope.space)).cloned(),
            manifest: scope.and_then(|scope| content.manifests.get(&scope.space)).cloned(),
            head,
            head_revision: scope
                .zip(head)
                .and_then(|(scope, head)| content.by_id(scope, head.revision_id))
                .cloned(),
            first: scope.and_then(|scope| content.of_scope(scope).next()).cloned(),
        })
    }

    async fn apply(&self, change: &Change) -> Result<Applied, StoreError> {
        self.content().apply(change)
    }

    async fn back_off(&self, _attempt: u32) {}

    async fn revision_page(
        &self,
        scope: &Scope,
        after: Option<RevisionNumber>,
        limit: PageLimit,
    ) -> Result<RevisionPage, StoreError> {
        let content = self.content();
        let mut rows: Vec<RevisionRow> = content
            .of_scope(scope)
            .filter(|row| after.is_none_or(|after| row.revision > after))
            .take(limit.get() as usize + 1)
            .cloned()
            .collect();
        let has_more = rows.len() > limit.get() as usize;
        rows.truncate(limit.get() as usize);
        Ok(RevisionPage { head: content.heads.get(scope).copied(), rows, unreadable: Vec::new(), has_more })
    }

    async fn revision_at(&self, scope: &Scope, moment: Timestamp) -> Result<Option<RevisionRow>, StoreError> {
        let was_active = |row: &&RevisionRow| {
            row.activated_at.is_some_and(|at| at <= moment) && row.superseded_at.is_none_or(|at| at > moment)
        };
        Ok(self.content().of_scope(scope).rfind(was_active).cloned())
    }

    async fn space_page(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&Space>,
        limit: PageLimit,
    ) -> Result<Vec<SpaceRow>, StoreError> {
        let content = self.content();
        let wanted = |space: &&Space| {
            tenant.is_none_or(|tenant| space.tenant == *tenant) && after.is_none_or(|after| *space > after)
        };
        let spaces = content.spaces.iter().filter(|(space, _)| wanted(space));
        Ok(spaces.take(limit.get() as usize).map(|(_, row)| row.clone()).collect())
    }

    async fn audit_page(&self, after: Option<&Space>, limit: PageLimit) -> Result<Vec<SpaceContent>, StoreError> {
        let content = self.content();
        let owners = content
            .spaces
            .keys()
            .chain(content.manifests.keys())
            .chain(content.heads.keys().map(|scope| &scope.space))
            .chain(content.revisions.keys().map(|scope| &scope.space))
            .chain(content.backfills.values().map(|row| &row.scope.space));
        let spaces = walked(owners, after, limit, Clone::clone).into_iter();
        let mut rows = 0;
        let fits = |(place, content): &(usize, SpaceContent)| {
            rows += content.rows();
            *place == 0 || rows <= SpaceContent::ROWS_OF_A_PAGE
        };
        let page = spaces.map(|space| content.of_space(space)).enumerate().take_while(fits);
        Ok(page.map(|(_, content)| content).collect())
    }

    async fn space_content(&self, space: &Space) -> Result<SpaceContent, StoreError> {
        Ok(self.content().of_space(space.clone()))
    }

    async fn schema_differences(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn discovery_page(
        &self,
        after: Option<&Space>,
        limit: PageLimit,
        filter: &SpaceFilter,
    ) -> Result<DiscoveryPage, StoreError> {
        let content = self.content();
        let wanted = content.spaces.keys().filter(|space| filter.has(space));
        let spaces = walked(wanted, after, limit, |space| (space.id, space.tenant.clone()));
        let looked_at = spaces.into_iter().map(|space| DiscoverySpace {
            is_writable: content.is_writable(&space),
            manifest_version: content.manifests.get(&space).map(|manifest| manifest.version),
            profiles: Kind::ALL.map(|kind| content.profile(&space.scope(kind))),
            has_head: Kind::ALL.map(|kind| content.heads.contains_key(&space.scope(kind))),
            space,
        });
        Ok(DiscoveryPage { now: self.clock.now(), spaces: looked_at.collect() })
    }

    async fn enqueue(&self, backfills: &[Backfill]) -> Result<Vec<BackfillId>, StoreError> {
        let mut content = self.content();
        let mut added = Vec::new();
        for backfill in backfills {
            let is_known = content.backfills.values().any(|row| {
                row.scope == backfill.scope
                    && row.source_manifest_version == backfill.source.manifest_version
                    && row.source_snapshot_digest == backfill.source.digest
            });
            if !is_known && content.spaces.contains_key(&backfill.scope.space) {
                content.backfills.insert(backfill.id, BackfillRow::from(backfill));
                added.push(backfill.id);
            }
        }
        Ok(added)
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        let now = self.clock.now();
        Ok(self.content().claim(claim, now))
    }

    async fn backfill_page(
        &self,
        filter: &BackfillFilter,
        after: Option<BackfillId>,
        limit: PageLimit,
    ) -> Result<Vec<BackfillRow>, StoreError> {
        let content = self.content();
        let has_code = |row: &BackfillRow, code: &str| {
            row.last_error_code.as_deref() == Some(code) || row.retry_code.as_deref() == Some(code)
        };
        let matches = |row: &&BackfillRow| {
            filter.spaces.has(&row.scope.space)
                && filter.status.is_none_or(|status| row.status == status)
                && filter.code.as_deref().is_none_or(|code| has_code(row, code))
                && after.is_none_or(|after| row.id > after)
        };
        Ok(content.backfills.values().filter(matches).take(limit.get() as usize).cloned().collect())
    }

    async fn backfill_counts(&self, filter: &SpaceFilter) -> Result<BackfillCounts, StoreError> {
        let now = self.clock.now();
        let content = self.content();
        let mut counts = BackfillCounts::default();
        for row in content.backfills.values().filter(|row| filter.has(&row.scope.space)) {
            match row.status {
                BackfillStatus::Queued => {
                    counts.queued += 1;
                    counts.due += u64::from(row.due_at <= now);
                }
                BackfillStatus::Running => {
                    counts.running += 1;
                    counts.expired += u64::from(row.lease_expires_at.is_some_and(|expiry| expiry <= now));
                }
                BackfillStatus::Succeeded => counts.succeeded += 1,
                BackfillStatus::Failed => counts.failed += 1,
            }
        }
        Ok(counts)
    }

    async fn retry_all(&self, code: Option<&str>) -> Result<u64, StoreError> {
        let now = self.clock.now();
        let mut content = self.content();
        let is_wanted = |row: &&BackfillRow| {
            row.status == BackfillStatus::Failed
                && code.is_none_or(|code| row.last_error_code.as_deref() == Some(code))
                && content.newest_backfill(&row.scope).is_some_and(|newest| newest.id == row.id)
        };
        let failed: Vec<BackfillRow> = content.backfills.values().filter(is_wanted).cloned().collect();
        let requeued: Vec<BackfillRow> = failed
            .into_iter()
            .filter_map(|row| row.read()?.requeued(now))
            .map(|backfill| BackfillRow::from(&backfill))
            .collect();
        for row in &requeued {
            content.backfills.insert(row.id, row.clone());
        }
        Ok(requeued.len() as u64)
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut content = self.content();
        let rows_before = content.backfills.len();
        content.backfills.retain(|_, row| {
            row.status != BackfillStatus::Succeeded || row.completed_at.is_none_or(|at| at >= before)
        });
        Ok((rows_before - content.backfills.len()) as u64)
    }
}

impl MemoryContent {
    fn of_space(&self, space: Space) -> SpaceContent {
        let scopes = Kind::ALL.map(|kind| space.scope(kind));
        let of_kind = |scope: &Scope| {
            let kind = scope.kind;
            self.of_scope(scope).map(move |row| (kind, row.clone())).collect::<Vec<_>>()
        };
        let mut backfills: Vec<BackfillRow> =
            self.backfills.values().filter(|row| row.scope.space == space).cloned().collect();
        backfills.sort_by_key(|row| (row.scope.kind, row.source_manifest_version, row.created_at, row.id));
        SpaceContent {
            row: self.spaces.get(&space).cloned(),
            manifest: self.manifests.get(&space).cloned(),
            heads: scopes.iter().filter_map(|scope| Some((scope.kind, *self.heads.get(scope)?))).collect(),
            revisions: scopes.iter().flat_map(of_kind).collect(),
            backfills,
            unreadable: Vec::new(),
            strangers: Vec::new(),
            space,
        }
    }
}
