//! What became of a scope, against what its writers were told.

use space_profiles_conformance::limit;
use space_profiles_core::{Finding, Head, Registry, Revision, RevisionStatus, Scope, Severity};

/// What a writer was told that it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) scope: Scope,
    pub(crate) revision: u32,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Appended it, in whatever state.
    Appended,
    /// Moved the head to it.
    Activated {
        after: Option<u32>,
    },
    Failed,
}

/// A scope's revisions, all of them sound, and its head.
pub(crate) struct History {
    pub(crate) revisions: Vec<Revision>,
    pub(crate) head: Option<Head>,
}

impl History {
    pub(crate) async fn of(registry: &Registry, scope: &Scope) -> Self {
        let mut revisions: Vec<Revision> = Vec::new();
        let mut after = None;
        loop {
            let page = registry.revisions(scope, after, limit(1_000)).await.unwrap();
            revisions.extend(page.items.into_iter().map(|entry| entry.expect("the row is sound")));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let head = registry.head(scope).await.ok().map(|profile| profile.head);
        Self { revisions, head }
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.revisions.iter().map(|revision| revision.number().get()).collect()
    }

    pub(crate) fn in_state(&self, status: RevisionStatus) -> Vec<u32> {
        let revisions = self.revisions.iter().filter(|revision| revision.status() == status);
        revisions.map(|revision| revision.number().get()).collect()
    }

    /// Each revision that was ever active, and the one before it.
    pub(crate) fn activations(&self) -> Vec<(u32, Option<u32>)> {
        let mut before = None;
        let ever_active = self.revisions.iter().filter(|revision| revision.status().was_ever_active());
        ever_active.map(|revision| (revision.number().get(), before.replace(revision.number().get()))).collect()
    }

    /// One active revision, at which the head is, and as many moves of the head as revisions were ever active.
    #[track_caller]
    pub(crate) fn assert_whole(&self) {
        let activations = self.activations();
        let newest = activations.last().map(|(revision, _)| *revision);
        assert_eq!(self.in_state(RevisionStatus::Active), newest.into_iter().collect::<Vec<u32>>());
        assert_eq!(self.head.map(|head| head.active_revision.get()), newest);
        let moves = self.head.map_or(0, |head| head.row_version.get());
        assert_eq!(moves as usize, activations.len(), "a row version was skipped");
        let numbers = self.numbers();
        let first = numbers.first().copied().unwrap_or(1);
        assert!(numbers.iter().copied().eq((first..).take(numbers.len())), "a number was skipped: {numbers:?}");
    }

    /// What the writers were told is what happened: nothing else, and nothing twice.
    #[track_caller]
    pub(crate) fn assert_made_by<'d>(&self, deeds: impl Iterator<Item = &'d Deed>) {
        let (mut appended, mut activations, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for deed in deeds {
            match deed.what {
                What::Appended => appended.push(deed.revision),
                What::Activated { after } => activations.push((deed.revision, after)),
                What::Failed => failed.push(deed.revision),
            }
        }
        appended.sort_unstable();
        activations.sort_unstable();
        failed.sort_unstable();
        assert_eq!(self.numbers(), appended, "found the revisions to the left, told were those to the right");
        assert_eq!(
            self.activations(),
            activations,
            "found the activations to the left, told were those to the right"
        );
        assert_eq!(self.in_state(RevisionStatus::Failed), failed, "found the failures to the left");
        self.assert_whole();
    }
}

/// The errors of an audit of everything.
pub(crate) async fn audit_errors(registry: &Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut after = None;
    loop {
        let page = registry.audit_page(after.as_ref(), limit(100)).await.unwrap();
        findings.extend(page.findings.into_iter().filter(|finding| finding.severity == Severity::Error));
        match page.next {
            Some(next) => after = Some(next),
            None => return findings,
        }
    }
}
