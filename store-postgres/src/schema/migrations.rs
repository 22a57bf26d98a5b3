//! The migrations: their names, their text, and how each is run.

use std::borrow::Cow;

use space_profiles_core::Digest;

/// How a migration is run in a schema that has the three tables already. One that has none of them gets every
/// migration as it is written, in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// In one transaction with the note that it was applied.
    Transaction,
    /// Index by index, while others read and write.
    Concurrently,
}

/// INVARIANT: what has been released is never edited, only followed by another.
#[derive(Debug)]
pub(super) struct Migration {
    pub(super) name: &'static str,
    pub(super) means: Means,
    text: &'static str,
}

pub(super) const SPACES: &str = "0001_spaces";
pub(super) const PROFILES: &str = "0002_profiles";

/// What can be refused by the rows that are there comes first, so that a refusal leaves little behind.
pub(super) const MIGRATIONS: [Migration; 6] = [
    Migration { name: SPACES, means: Means::Transaction, text: include_str!("migrations/0001_spaces.sql") },
    // The seed's own text, so that every name that Postgres chooses is the one that it chose there.
    Migration { name: PROFILES, means: Means::Transaction, text: include_str!("migrations/0002_profiles.sql") },
    Migration {
        name: "0003_one_per_scope",
        means: Means::Concurrently,
        text: include_str!("migrations/0003_one_per_scope.sql"),
    },
    Migration {
        name: "0004_columns",
        means: Means::Transaction,
        text: include_str!("migrations/0004_columns.sql"),
    },
    Migration {
        name: "0005_immutable",
        means: Means::Transaction,
        text: include_str!("migrations/0005_immutable.sql"),
    },
    Migration {
        name: "0006_indexes",
        means: Means::Concurrently,
        text: include_str!("migrations/0006_indexes.sql"),
    },
];

impl Migration {
    pub(super) fn sql(&self) -> Cow<'static, str> {
        with_line_feeds(self.text)
    }

    pub(super) fn checksum(&self) -> String {
        checksum(self.text)
    }

    /// The names of its indexes and what makes each, of a migration that is run concurrently.
    pub(super) fn indexes(&self) -> Vec<(String, String)> {
        let sql = self.sql();
        let statements = sql.split(";\n").map(without_comments);
        statements
            .filter_map(|statement| {
                let name = statement.split('"').nth(1)?.to_owned();
                Some((name, statement))
            })
            .collect()
    }
}

/// Of the text with line feeds alone, so that a checkout with other line ends makes the same binary.
pub(super) fn checksum(text: &str) -> String {
    String::from_utf8_lossy(&Digest::of(with_line_feeds(text).as_bytes()).to_hex()).into_owned()
}

fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

fn without_comments(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
