//! Numbers within the limits that every store shares.

use std::fmt;
use std::str::FromStr;

use crate::identifiers::ArgumentError;

/// The largest revision, row version, dimension and manifest version: a 32-bit column's end.
pub const LARGEST_NUMBER: u32 = i32::MAX as u32;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $field:literal, $largest:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The smallest value, 1.
            pub const FIRST: Self = Self(1);
            /// The largest value.
            pub const LAST: Self = Self($largest);

            /// The number of that value, if it is one.
            pub(crate) fn of(value: u32) -> Option<Self> {
                (1..=$largest).contains(&value).then_some(Self(value))
            }

            /// The value as an integer.
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The value after this one; `None` at the end.
            pub fn next(self) -> Option<Self> {
                (self < Self::LAST).then_some(Self(self.0 + 1))
            }

            /// The value before this one; `None` at the start.
            pub fn previous(self) -> Option<Self> {
                (self > Self::FIRST).then_some(Self(self.0 - 1))
            }
        }

        impl TryFrom<i64> for $name {
            type Error = ArgumentError;

            fn try_from(value: i64) -> Result<Self, ArgumentError> {
                u32::try_from(value).ok().and_then(Self::of).ok_or_else(|| {
                    ArgumentError::new(
                        $field,
                        format!("expected a whole number from 1 to {}, found {value}", $largest),
                    )
                })
            }
        }

        impl From<$name> for i64 {
            fn from(value: $name) -> Self {
                Self::from(value.0)
            }
        }

        impl FromStr for $name {
            type Err = ArgumentError;

            fn from_str(text: &str) -> Result<Self, ArgumentError> {
                let value = text.parse::<i64>().map_err(|_| {
                    ArgumentError::new(
                        $field,
                        format!("expected a whole number from 1 to {}, found `{text}`", $largest),
                    )
                })?;
                Self::try_from(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

number!(
    /// The number of a revision in its scope: 1 to 2,147,483,647, never reused.
    RevisionNumber, "revision", LARGEST_NUMBER
);
number!(
    /// How often a row has been written, from 1: 1 to 2,147,483,647.
    RowVersion, "row version", LARGEST_NUMBER
);
number!(
    /// The number of values in a vector: 1 to 2,147,483,647.
    Dimension, "dimension", LARGEST_NUMBER
);
number!(
    /// The version of a manifest: 1 to 2,147,483,647.
    ManifestVersion, "manifest version", LARGEST_NUMBER
);
number!(
    /// How many results a query keeps: 1 to 100.
    TopK, "topK", 100
);
number!(
    /// How many items a page or a batch holds at most: 1 to 1,000.
    PageLimit, "limit", 1_000
);

impl PageLimit {
    /// Spaces that a copy reads at once, if they are small.
    pub(crate) const SPACES_OF_A_COPY: Self = Self(16);
}
