//! What is special to Postgres; what is the same on every store is told where the other tests are.

mod adopting;
mod connecting;
mod copying;
mod neighbour;
mod pooled;
mod schema;
