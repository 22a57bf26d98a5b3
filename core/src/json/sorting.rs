//! Putting the members of an object in canonical order; those of one key keep the order of the text.

#[cfg(any(test, not(target_arch = "wasm32")))]
use std::cmp::Ordering;

#[cfg(not(target_arch = "wasm32"))]
pub(super) fn sort<T: Copy>(entries: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    entries.sort_by(order);
}

#[cfg(target_arch = "wasm32")]
pub(super) use small::sort;

/// A merge sort, slower than the standard library's, and a tenth of its size in the module for browsers.
#[cfg(any(test, target_arch = "wasm32"))]
mod small {
    use std::cmp::Ordering;

    pub(in crate::json) fn sort<T: Copy>(entries: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
        let mut runs: Vec<Vec<T>> = Vec::new();
        for entry in entries.iter().copied() {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|last| order(last, &entry).is_le()) => run.push(entry),
                _ => runs.push(vec![entry]),
            }
        }
        while runs.len() > 1 {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
            let mut rest = runs.into_iter();
            while let Some(run) = rest.next() {
                merged.push(match rest.next() {
                    Some(next) => merge(run, next, &order),
                    None => run,
                });
            }
            runs = merged;
        }
        for (place, entry) in entries.iter_mut().zip(runs.into_iter().flatten()) {
            *place = entry;
        }
    }

    fn merge<T: Copy>(left: Vec<T>, right: Vec<T>, order: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        loop {
            let comes_left = match (left.peek(), right.peek()) {
                (Some(one), Some(other)) => order(one, other).is_le(),
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

    use super::{small, sort};

    proptest! {
        #[test]
        fn both_sorts_give_the_same_order(keys in proptest::collection::vec(0..20, 0..60)) {
            let entries = || keys.iter().copied().enumerate().collect::<Vec<(usize, i32)>>();
            let (mut one, mut other) = (entries(), entries());
            sort(&mut one, |left, right| left.1.cmp(&right.1));
            small::sort(&mut other, |left, right| left.1.cmp(&right.1));
            prop_assert_eq!(one, other);
        }
    }
}
