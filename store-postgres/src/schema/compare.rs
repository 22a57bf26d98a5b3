//! How the tables that are there differ from those that should be.

use super::catalog::{ExpectedPart, Part};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Missing,
    /// There, but not doing its duty: an index whose build ended early, a trigger that is switched off.
    Idle,
    Changed,
    Unexpected,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) manner: Manner,
    /// The migration that should have made the part; none if none does.
    pub(super) migration: Option<&'static str>,
    pub(super) sort: String,
    pub(super) name: String,
    pub(super) sentence: String,
}

pub(super) fn compare(expected: &[ExpectedPart], found: &[Part]) -> Vec<Difference> {
    let tables: Vec<&str> =
        found.iter().filter(|part| part.sort == "table").map(|part| part.name.as_str()).collect();
    let mut differences = Vec::new();
    for ExpectedPart { migration, part } in expected {
        // Of a table that is missing, that alone is said.
        if part.sort != "table" && !part.table.is_empty() && !tables.contains(&part.table.as_str()) {
            continue;
        }
        let Part { sort, name, definition, .. } = part;
        let what = part.title();
        let (manner, sentence) = match found.iter().find(|other| other.is_namesake_of(part)) {
            Some(other) if other.definition != *definition => {
                (Manner::Changed, format!("expected {what} to be `{definition}`, found `{}`", other.definition))
            }
            Some(other) if !other.state.is_empty() => {
                (Manner::Idle, format!("expected {what} to do its duty, found it {}", other.state))
            }
            Some(_) => continue,
            None if sort == "table" || sort == "foreign key" => {
                (Manner::Missing, format!("expected {what}, found none"))
            }
            None => (Manner::Missing, format!("expected {what}, `{definition}`, found none")),
        };
        let (sort, name) = (sort.clone(), name.clone());
        differences.push(Difference { manner, migration: Some(migration), sort, name, sentence });
    }
    let unexpected = found.iter().filter(|part| {
        part.does_harm_unexpectedly() && expected.iter().all(|other| !other.part.is_namesake_of(part))
    });
    differences.extend(unexpected.map(|part| Difference {
        manner: Manner::Unexpected,
        migration: None,
        sort: part.sort.clone(),
        name: part.name.clone(),
        sentence: format!("found an unexpected {}, `{}`", part.title(), part.definition),
    }));
    differences
}

impl Part {
    fn is_namesake_of(&self, other: &Self) -> bool {
        (&self.table, &self.sort, &self.name) == (&other.table, &other.sort, &other.name)
    }

    fn title(&self) -> String {
        let Self { table, sort, name, .. } = self;
        if table.is_empty() || sort == "table" {
            format!("{sort} `{name}`")
        } else {
            format!("{sort} `{name}` of `{table}`")
        }
    }

    /// The other service may add indexes and columns that can be left out; what else hangs on a table can change or
    /// refuse what is written.
    fn does_harm_unexpectedly(&self) -> bool {
        match self.sort.as_str() {
            "index" => false,
            "column" => self.definition.ends_with(" not null"),
            _ => true,
        }
    }
}
