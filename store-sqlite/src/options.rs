//! Where a store is and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use space_profiles_core::{ArgumentError, Clock};

use crate::clock::SystemClock;
use crate::connection::Blocking;

const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// SQLite counts the time-out in a C `int` of milliseconds.
const LONGEST_BUSY_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

/// Where a store is and how it is opened.
///
/// ```
/// use std::time::Duration;
/// use space_profiles_sqlite::SqliteOptions;
/// let options = SqliteOptions::file("space-profiles.db").busy_timeout(Duration::from_secs(2));
/// ```
#[derive(Clone)]
pub struct SqliteOptions {
    pub(crate) location: Location,
    pub(crate) busy_timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) create: bool,
    pub(crate) in_place: Option<Blocking>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Memory,
    File(PathBuf),
}

impl SqliteOptions {
    /// A file, which is made if there is none.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Location::File(path.into()))
    }

    /// A database in memory, which goes with the last handle of its store.
    pub fn memory() -> Self {
        Self::at(Location::Memory)
    }

    fn at(location: Location) -> Self {
        Self {
            location,
            busy_timeout: DEFAULT_BUSY_TIMEOUT,
            clock: Arc::new(SystemClock),
            create: true,
            in_place: None,
        }
    }

    /// Reads `sqlite:PATH`, `sqlite://PATH` or `sqlite::memory:`, with `?busy_timeout_ms=N` or without.
    ///
    /// The path is taken as it is written, without percent-decoding; it ends at the first `?`.
    ///
    /// ```
    /// use space_profiles_sqlite::SqliteOptions;
    /// assert!(SqliteOptions::from_url("sqlite:space-profiles.db?busy_timeout_ms=2000").is_ok());
    /// assert!(SqliteOptions::from_url("mysql://localhost").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Another scheme, no path, or another parameter.
    pub fn from_url(url: &str) -> Result<Self, ArgumentError> {
        let rest = url.strip_prefix("sqlite:").ok_or_else(|| {
            // Not the URL itself: one for another store may hold a password.
            let scheme = url.split_once(':').map_or("no scheme", |(scheme, _)| scheme);
            argument(format!("expected `sqlite:PATH` or `sqlite::memory:`, found {scheme}"))
        })?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let path = path.strip_prefix("//").unwrap_or(path);
        let options = match path {
            "" => return Err(argument("expected a path after `sqlite:`, found none".to_owned())),
            ":memory:" => Self::memory(),
            path => Self::file(path),
        };
        query.into_iter().flat_map(|query| query.split('&')).try_fold(options, Self::with_parameter)
    }

    fn with_parameter(self, parameter: &str) -> Result<Self, ArgumentError> {
        match parameter.split_once('=') {
            Some(("busy_timeout_ms", value)) => {
                let millis = value.parse().map_err(|_| {
                    argument(format!("expected `busy_timeout_ms` to be a whole number, found `{value}`"))
                })?;
                Ok(self.busy_timeout(Duration::from_millis(millis)))
            }
            _ => Err(argument(format!("expected the parameter `busy_timeout_ms=N`, found `{parameter}`"))),
        }
    }

    /// How long a call waits for another connection's lock before it fails with `STORE_BUSY`; at first 5 seconds.
    /// Longer than 24 days is 24 days.
    #[must_use]
    pub fn busy_timeout(self, busy_timeout: Duration) -> Self {
        Self { busy_timeout: busy_timeout.min(LONGEST_BUSY_TIMEOUT), ..self }
    }

    /// The clock that stamps rows and decides leases; at first [`SystemClock`].
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Whether opening makes what is missing. If not, a file must exist and be up to date, and opening leaves it
    /// as it is. At first it does.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Makes calls on the thread that awaits them, within `blocking`, which is to run what it is given at once and to
    /// tell the runtime that this thread will be blocked meanwhile. At first they are made on a thread of the store's
    /// own, which needs no runtime and suits all of them, but being handed over twice takes a call about as long as
    /// SQLite does.
    ///
    /// On Tokio's multi-threaded runtime:
    ///
    /// ```
    /// use space_profiles_sqlite::SqliteOptions;
    /// let options = SqliteOptions::memory().in_place(|call| tokio::task::block_in_place(call));
    /// ```
    ///
    /// A program in which nothing else happens while it waits needs only `in_place(|call| call())`.
    #[must_use]
    pub fn in_place(self, blocking: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        Self { in_place: Some(Arc::new(blocking)), ..self }
    }
}

fn argument(message: String) -> ArgumentError {
    ArgumentError { field: "store", message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_or_memory() {
        let location = |url: &str| SqliteOptions::from_url(url).unwrap().location;
        for (url, path) in [
            ("sqlite:a.db", "a.db"),
            ("sqlite://a.db", "a.db"),
            ("sqlite:///var/a.db", "/var/a.db"),
            ("sqlite:/var/a b.db?busy_timeout_ms=7", "/var/a b.db"),
        ] {
            assert_eq!(location(url), Location::File(path.into()), "{url}");
        }
        assert_eq!(location("sqlite::memory:"), Location::Memory);
        let options = SqliteOptions::from_url("sqlite:a.db?busy_timeout_ms=7").unwrap();
        assert_eq!(options.busy_timeout, Duration::from_millis(7));
    }

    #[test]
    fn anything_else_is_refused_without_echoing_a_password() {
        for wrong in ["a.db", "postgres://ann:secret@host/db", "sqlite:", "sqlite://", "sqlite:?busy_timeout_ms=1"]
        {
            let error = SqliteOptions::from_url(wrong).err().unwrap();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        for wrong in ["sqlite:a.db?mode=ro", "sqlite:a.db?busy_timeout_ms=x", "sqlite:a.db?busy_timeout_ms=-1"] {
            assert!(SqliteOptions::from_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_busy_timeout_is_cut_to_what_sqlite_can_count() {
        assert_eq!(SqliteOptions::memory().busy_timeout(Duration::MAX).busy_timeout, LONGEST_BUSY_TIMEOUT);
    }
}
