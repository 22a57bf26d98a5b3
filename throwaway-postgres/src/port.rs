//! Ports for servers.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::TcpListener;

/// A port on 127.0.0.1 that was free a moment ago; whoever binds it must cope with somebody having been faster.
///
/// It lies below the ports that systems give to outgoing connections, so that a server that is stopped for a while
/// finds it free again.
pub(crate) fn free_port() -> u16 {
    const FIRST: u64 = 12_000;
    const COUNT: u64 = 20_000;
    std::iter::repeat_with(|| FIRST + RandomState::new().build_hasher().finish() % COUNT)
        .filter_map(|port| u16::try_from(port).ok())
        .take(1000)
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("expected a free port on 127.0.0.1")
}
