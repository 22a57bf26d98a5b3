//! What changed between two snapshots.

use std::cmp::Ordering;

use crate::json::{Document, JsonError, Limits, Node, Pointer};
use crate::snapshot::Snapshot;

/// One member that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberChange {
    /// The member.
    pub pointer: Pointer,
    /// Its canonical JSON text before, if it was there.
    pub before: Option<String>,
    /// Its canonical JSON text after, if it is there.
    pub after: Option<String>,
}

/// What changed between two snapshots, and whether vectors have to be made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileDiff {
    /// Whether selection, dimension or vector space of an embedding profile changed.
    pub needs_reembedding: bool,
    /// Every member that differs, in canonical order; a member that is an object on both sides is compared
    /// member by member.
    pub changes: Vec<MemberChange>,
}

impl ProfileDiff {
    /// Compares two valid snapshots.
    pub fn between(from: &Snapshot, to: &Snapshot) -> Self {
        let needs_reembedding = match (from.embedding(), to.embedding()) {
            (None, None) => false,
            (Some(_), Some(_)) => from.identity() != to.identity(),
            _ => true,
        };
        // Canonical text parses.
        let changes = diff(from.canonical().as_bytes(), to.canonical().as_bytes()).unwrap_or_default();
        Self { needs_reembedding, changes }
    }
}

/// Every member that differs between two JSON texts.
///
/// # Errors
///
/// The first fault of either text.
///
/// ```
/// use space_profiles_core::diff;
/// let changes = diff(br#"{"a": 1, "b": {"c": 2}}"#, br#"{"a": 1.0, "b": {"c": 3}}"#)?;
/// assert_eq!(changes[0].pointer.as_str(), "/b/c");
/// assert_eq!(changes[0].after.as_deref(), Some("3"));
/// # Ok::<(), space_profiles_core::json::JsonError>(())
/// ```
pub fn diff(from: &[u8], to: &[u8]) -> Result<Vec<MemberChange>, JsonError> {
    let from = Document::parse(from, Limits::ANY)?;
    let to = Document::parse(to, Limits::ANY)?;
    let mut changes = Vec::new();
    compare(Pointer::root(), (&from, from.root()), (&to, to.root()), &mut changes);
    Ok(changes)
}

type Part<'d, 'a> = (&'d Document<'a>, &'d Node);

/// INVARIANT: both documents are at most 64 deep, which bounds the recursion.
fn compare(pointer: Pointer, from: Part<'_, '_>, to: Part<'_, '_>, changes: &mut Vec<MemberChange>) {
    let (Node::Object(before), Node::Object(after)) = (from.1, to.1) else {
        let (before, after) = (from.0.canonical_of(from.1), to.0.canonical_of(to.1));
        if before != after {
            changes.push(MemberChange { pointer, before: Some(before), after: Some(after) });
        }
        return;
    };
    // Members are in canonical order on both sides.
    let (mut before, mut after) =
        (from.0.children(*before).iter().peekable(), to.0.children(*after).iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (Some(one), Some(two)) => crate::json::utf16_order(from.0.key(one), to.0.key(two)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let one = if order.is_le() { before.next() } else { None };
        let two = if order.is_ge() { after.next() } else { None };
        let Some(key) = one.map(|entry| from.0.key(entry)).or(two.map(|entry| to.0.key(entry))) else {
            return;
        };
        let pointer = pointer.child(key);
        match (one, two) {
            (Some(one), Some(two)) => compare(pointer, (from.0, &one.node), (to.0, &two.node), changes),
            (one, two) => changes.push(MemberChange {
                pointer,
                before: one.map(|entry| from.0.canonical_of(&entry.node)),
                after: two.map(|entry| to.0.canonical_of(&entry.node)),
            }),
        }
    }
}
