//! Putting the members of an object in canonical order; those of one key keep the order of the text.

use super::canonical::utf16_order;
use super::document::Entry;

/// Sorts the entries from `first` on.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn sort(entries: &mut [Entry<'_>]) {
    entries.sort_by(|left, right| utf16_order(&left.key, &right.key));
}

#[cfg(target_arch = "wasm32")]
pub(super) use small::sort;

/// A merge sort, slower than the standard library's, and a tenth of its size in the module for browsers.
#[cfg(any(test, target_arch = "wasm32"))]
mod small {
    use std::borrow::Cow;

    use super::{Entry, utf16_order};
    use crate::json::Node;

    pub(in crate::json) fn sort(entries: &mut [Entry<'_>]) {
        let mut runs: Vec<Vec<Entry<'_>>> = Vec::new();
        for entry in &mut *entries {
            let entry = std::mem::replace(entry, Entry { key: Cow::Borrowed(""), node: Node::Null });
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|last| utf16_order(&last.key, &entry.key).is_le()) => {
                    run.push(entry);
                }
                _ => runs.push(vec![entry]),
            }
        }
        while runs.len() > 1 {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
            let mut rest = runs.into_iter();
            while let Some(run) = rest.next() {
                merged.push(match rest.next() {
                    Some(next) => merge(run, next),
                    None => run,
                });
            }
            runs = merged;
        }
        for (place, entry) in entries.iter_mut().zip(runs.into_iter().flatten()) {
            *place = entry;
        }
    }

    fn merge<'a>(left: Vec<Entry<'a>>, right: Vec<Entry<'a>>) -> Vec<Entry<'a>> {
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        loop {
            let comes_left = match (left.peek(), right.peek()) {
                (Some(one), Some(other)) => utf16_order(&one.key, &other.key).is_le(),
                (one, _) => one.is_some(),
            };
            match if comes_left { left.next() } else { right.next() } {
                Some(entry) => merged.push(entry),
                None => return merged,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Entry, small, sort};
    use crate::json::Node;

    proptest! {
        #[test]
        fn both_sorts_give_the_same_order(keys in proptest::collection::vec("[a-c\u{E000}\u{10000}]{0,2}", 0..40)) {
            let entries = || -> Vec<Entry<'_>> {
                let entry = |(at, key): (usize, &String)| Entry { key: key.clone().into(), node: Node::Number(at as f64) };
                keys.iter().enumerate().map(entry).collect()
            };
            let (mut one, mut other) = (entries(), entries());
            sort(&mut one);
            small::sort(&mut other);
            prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }
}
