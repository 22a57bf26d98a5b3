//! The files of `examples/` do what README says of them.
