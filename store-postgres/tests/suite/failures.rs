//! What goes wrong around a store, and what its callers then learn.

mod cancelled;
