//! Which spaces a query is about.

use std::collections::BTreeSet;

use space_profiles_core::{Space, SpaceFilter};

/// A filter's part of a query. Its argument is always `?1`.
pub(crate) struct Filtered {
    /// What follows `FROM`.
    pub(crate) source: String,
    /// The first condition after `WHERE`.
    pub(crate) condition: &'static str,
    /// What to bind to `?1`.
    pub(crate) argument: Option<String>,
}

impl Filtered {
    /// Rows of a table whose columns `tenant_id` and `space_column` name their space. `index` is how a query
    /// over more than a list of spaces is to walk the table; a list is walked itself, space by space.
    pub(crate) fn rows_of(table: &str, space_column: &str, index: Option<&str>, filter: &SpaceFilter) -> Self {
        let walked = || match index {
            Some(index) => format!("{table} INDEXED BY {index}"),
            None => table.to_owned(),
        };
        match filter {
            SpaceFilter::All => Self { source: walked(), condition: "?1 IS NULL", argument: None },
            SpaceFilter::Tenant(tenant) => {
                Self { source: walked(), condition: "tenant_id = ?1", argument: Some(tenant.as_str().to_owned()) }
            }
            SpaceFilter::Spaces(spaces) => Self {
                // CROSS JOIN keeps the list outside, whatever the planner thinks of it.
                source: format!(
                    "(SELECT value ->> 0 AS wanted_tenant, value ->> 1 AS wanted_space FROM json_each(?1))
                     CROSS JOIN {table} ON tenant_id = wanted_tenant AND {space_column} = wanted_space"
                ),
                condition: "TRUE",
                argument: Some(listed(spaces)),
            },
        }
    }
}

/// A list as JSON, each space once: a row that is wanted twice is still one row.
fn listed(spaces: &[Space]) -> String {
    let wanted: BTreeSet<&Space> = spaces.iter().collect();
    let pairs: serde_json::Value = wanted
        .into_iter()
        .map(|space| serde_json::Value::from(vec![space.tenant.to_string(), space.id.to_string()]))
        .collect();
    pairs.to_string()
}
