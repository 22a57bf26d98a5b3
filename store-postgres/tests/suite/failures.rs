//! What goes wrong around a store, and what its callers then learn.

mod beside;
mod cancelled;
mod conflicts;
mod cost;
mod refused;
mod secrets;
mod timeouts;
