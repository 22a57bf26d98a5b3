//! Which spaces a statement is about.
//!
//! Each filter is a statement of its own, so that each has its own plan.

use std::collections::BTreeSet;

use space_profiles_core::{Space, SpaceFilter};
use uuid::Uuid;

use crate::statement::{Call, Statement};

/// One statement for each filter. The arguments of the filter come last.
pub(crate) struct Filtered {
    pub(crate) all: Statement,
    pub(crate) tenant: Statement,
    pub(crate) spaces: Statement,
}

impl Filtered {
    /// The call for a filter, with the arguments that come first and then the filter's.
    pub(crate) fn call(&self, filter: &SpaceFilter, with_arguments: impl FnOnce(Call) -> Call) -> Call {
        match filter {
            SpaceFilter::All => with_arguments(Call::of(self.all)),
            SpaceFilter::Tenant(tenant) => with_arguments(Call::of(self.tenant)).with(tenant.as_str()),
            SpaceFilter::Spaces(spaces) => {
                // Each space once: a row that is wanted twice is still one row.
                let wanted: BTreeSet<&Space> = spaces.iter().collect();
                let tenants: Vec<&str> = wanted.iter().map(|space| space.tenant.as_str()).collect();
                let ids: Vec<Uuid> = wanted.iter().map(|space| space.id.as_uuid()).collect();
                with_arguments(Call::of(self.spaces)).with(tenants).with(ids)
            }
        }
    }
}
