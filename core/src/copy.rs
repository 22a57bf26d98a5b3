//! A store's whole content, copied into another.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::change::{CopyScope, CopySpace};
use crate::decide::{self, Copied, Departing};
use crate::numbers::PageLimit;
use crate::refusal::{Error, Refusal, StoreCode};
use crate::registry::run;
use crate::scope::{Scope, Space};
use crate::state::Neighbour;
use crate::store::{SpaceContent, Store};

/// Copies a store's whole content into another, a space or a scope a step: ids, numbers, row versions and times are
/// kept, and what is there already is skipped.
///
/// It may be dropped between any two steps, or within one: a step is written wholly or not at all, and another copy
/// goes on. So does this one: a step that failed, or was dropped, is the next one again.
///
/// It holds a space with all its rows in memory, or a few small ones, and what the target has of one to compare.
///
/// ```
/// # use std::sync::Arc;
/// # use space_profiles_core::{memory::MemoryStore, *};
/// # struct Noon;
/// # impl Clock for Noon {
/// #     fn now(&self) -> Timestamp { Timestamp::from_micros(1_784_030_400_000_000) }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (offline, production) = (MemoryStore::new(Arc::new(Noon)), MemoryStore::new(Arc::new(Noon)));
/// let mut copy = StoreCopy::new(Arc::new(offline), Arc::new(production));
/// while let Some(step) = copy.step().await? {
///     if let Err(error) = step.outcome {
///         eprintln!("{}: {error}", step.part);
///     }
/// }
/// # Ok::<(), Error>(())
/// # }).unwrap();
/// ```
pub struct StoreCopy {
    from: Arc<dyn Store>,
    to: Arc<dyn Store>,
    after: Option<Space>,
    /// The spaces that were read and are not copied yet: many small ones, or a large one.
    page: VecDeque<SpaceContent>,
    /// The first of them, verified.
    next: Option<(Space, Result<Departing, Refusal>)>,
    /// The scopes that are left of the space that was copied last.
    scopes: VecDeque<(Scope, Result<Arc<CopyScope>, Refusal>)>,
    /// Who else writes the target.
    neighbour: Neighbour,
}

/// A part of a store's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyPart {
    /// A space and its manifest.
    Space(Space),
    /// A scope: its head, its revisions and its backfills.
    Scope(Scope),
}

impl std::fmt::Display for CopyPart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Space(space) => space.fmt(formatter),
            Self::Scope(scope) => scope.fmt(formatter),
        }
    }
}

/// What became of one part.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyStep {
    /// Which part.
    pub part: CopyPart,
    /// What became of it. Of a space that is not copied no scope is either.
    pub outcome: Result<Copied, Error>,
}

impl StoreCopy {
    /// A copy that has not begun.
    pub fn new(from: Arc<dyn Store>, to: Arc<dyn Store>) -> Self {
        Self {
            from,
            to,
            after: None,
            page: VecDeque::new(),
            next: None,
            scopes: VecDeque::new(),
            neighbour: Neighbour::default(),
        }
    }

    /// Copies the next part; none is left when it answers nothing. Spaces come by (tenant, id), each before its
    /// scopes.
    ///
    /// The outcome of a part is refused with `SNAPSHOT_CORRUPT` if the source's rows are broken, and else as
    /// [`decide::copy_space`] and [`decide::copy_scope`]; `STORE_SCHEMA` if the target's tables refuse its rows.
    ///
    /// # Errors
    ///
    /// What either store fails with. The part is then the next one still.
    pub async fn step(&mut self) -> Result<Option<CopyStep>, Error> {
        // Nothing is taken out before it is done with.
        if let Some((scope, departing)) = self.scopes.front() {
            let answer = match departing {
                Ok(departing) => self.copy_scope(departing).await,
                Err(refusal) => Err(refusal.clone().into()),
            };
            let step = CopyStep { part: CopyPart::Scope(scope.clone()), outcome: of_part(answer)? };
            self.scopes.pop_front();
            return Ok(Some(step));
        }
        if self.next.is_none() {
            if self.page.is_empty() {
                self.page = self.from.audit_page(self.after.as_ref(), PageLimit::SPACES_OF_A_COPY).await?.into();
            }
            let content = self.page.pop_front();
            self.next = content.map(|content| (content.space.clone(), decide::departing(content)));
        }
        let Some((_, departing)) = &self.next else { return Ok(None) };
        let answer = match departing {
            Ok(departing) => self.copy_space(&departing.space).await,
            Err(refusal) => Err(refusal.clone().into()),
        };
        let outcome = of_part(answer)?;
        let Some((space, departing)) = self.next.take() else { return Ok(None) };
        self.after = Some(space.clone());
        let outcome = outcome.map(|(copied, neighbour)| {
            let scopes = departing.map(|departing| departing.scopes).unwrap_or_default().into_iter();
            self.scopes = scopes.map(|(scope, departing)| (scope, departing.map(Arc::new))).collect();
            self.neighbour = neighbour;
            copied
        });
        Ok(Some(CopyStep { part: CopyPart::Space(space), outcome }))
    }

    async fn copy_space(&self, space: &CopySpace) -> Result<(Copied, Neighbour), Error> {
        let to = &*self.to;
        let outcome = run(to, |doubt| {
            Box::pin(async move { Ok(decide::copy_space(space, &to.load_space(&space.row.space).await?, doubt)) })
        })
        .await?;
        Ok(outcome.value)
    }

    async fn copy_scope(&self, scope: &Arc<CopyScope>) -> Result<Copied, Error> {
        let (to, neighbour) = (&*self.to, self.neighbour);
        let outcome = run(to, |doubt| {
            Box::pin(async move {
                Ok(decide::copy_scope(scope, &to.space_content(&scope.scope.space).await?, neighbour, doubt))
            })
        })
        .await?;
        Ok(outcome.value)
    }
}

/// A refusal is a part's own, and so is a row that the target's tables do not take; other failures end the copy.
fn of_part<T>(answer: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match answer {
        Err(Error::Store(error)) if error.code != StoreCode::Schema => Err(error.into()),
        answer => Ok(answer),
    }
}
