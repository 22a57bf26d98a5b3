//! Where a store is and how it is opened.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use space_profiles_core::{ArgumentError, Clock};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

const DEFAULT_CONNECTIONS: u32 = 10;
const DEFAULT_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Postgres counts a time-out in a C `int` of milliseconds, and 0 means none.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

/// What the driver reads by itself.
const DRIVER_PARAMETERS: [&str; 20] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
    "channel_binding",
    "gssencmode",
];

/// Where a store is and how it is opened.
///
/// ```
/// use std::time::Duration;
/// use space_profiles_postgres::PostgresOptions;
/// let options = PostgresOptions::from_url("postgres://app@db.internal/platform?sslmode=verify-full")?
///     .lock_timeout(Duration::from_secs(2))
///     .max_connections(20);
/// # Ok::<(), space_profiles_core::ArgumentError>(())
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) connect: PgConnectOptions,
    pub(crate) conduct: Conduct,
    pub(crate) max_connections: u32,
}

/// How a store behaves on its connections, whoever made them.
#[derive(Clone)]
pub(crate) struct Conduct {
    pub(crate) is_pooled_outside: bool,
    pub(crate) manages_heads: bool,
    pub(crate) search_path: Option<String>,
    pub(crate) acquire_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            is_pooled_outside: false,
            manages_heads: false,
            search_path: None,
            acquire_timeout: DEFAULT_ACQUIRE_TIMEOUT,
            statement_timeout: DEFAULT_STATEMENT_TIMEOUT,
            lock_timeout: DEFAULT_LOCK_TIMEOUT,
            clock: None,
        }
    }
}

impl PostgresOptions {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, as libpq does, with these parameters of ours:
    /// `pgbouncer=true`, `manage=heads`, `search_path`, `max_connections`, `connect_timeout` (seconds), and
    /// `acquire_timeout_ms`, `statement_timeout_ms`, `lock_timeout_ms`.
    ///
    /// ```
    /// use space_profiles_postgres::PostgresOptions;
    /// assert!(PostgresOptions::from_url("postgres://app@pooler:6432/platform?pgbouncer=true").is_ok());
    /// assert!(PostgresOptions::from_url("postgres://app@db/platform?sslmod=require").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Another scheme, or a parameter that nobody knows. The URL is not repeated: it may hold a password.
    pub fn from_url(text: &str) -> Result<Self, ArgumentError> {
        let mut url = Url::parse(text).map_err(|error| {
            argument(format!("expected `postgres://USER@HOST/DATABASE`, found no URL: {error}"))
        })?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(argument(format!("expected the scheme `postgres`, found `{}`", url.scheme())));
        }
        // What follows may be the rest of a password, which is not to be repeated as a parameter that nobody knows.
        if url.fragment().is_some() || url.query().is_some_and(|query| query.contains('@')) {
            return Err(argument(
                "expected `postgres://USER:PASSWORD@HOST/DATABASE?PARAMETERS`, found a `#`, or an `@` after the `?`; \
                 write `#`, `?`, `/` and `@` that belong to a name or a password as %23, %3F, %2F and %40"
                    .to_owned(),
            ));
        }
        let parameters: Vec<(String, String)> =
            url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        let mut driver = Vec::new();
        let mut own = Vec::new();
        for (name, value) in parameters {
            if DRIVER_PARAMETERS.contains(&name.as_str()) || name.starts_with("options[") {
                driver.push((name, value));
            } else {
                own.push((name, value));
            }
        }
        check_ssl_mode(&driver)?;
        // libpq's settings of these two change nothing for a driver that has neither.
        driver.retain(|(name, _)| !matches!(name.as_str(), "channel_binding" | "gssencmode"));
        url.set_query(None);
        if !driver.is_empty() {
            url.query_pairs_mut().extend_pairs(&driver);
        }
        let connect = PgConnectOptions::from_url(&url).map_err(|_| {
            argument(
                "expected connection settings that the driver can read, found some that it cannot; check port, \
                 percent-encoding and the ssl parameters"
                    .to_owned(),
            )
        })?;
        let options = Self { connect, conduct: Conduct::default(), max_connections: DEFAULT_CONNECTIONS };
        own.into_iter().try_fold(options, |options, (name, value)| options.with_parameter(&name, &value))
    }

    fn with_parameter(self, name: &str, value: &str) -> Result<Self, ArgumentError> {
        let millis = || parsed(name, value).map(Duration::from_millis);
        match (name, value) {
            ("pgbouncer", "true") => Ok(self.pgbouncer(true)),
            ("pgbouncer", "false") => Ok(self.pgbouncer(false)),
            ("pgbouncer", _) => Err(argument(format!("expected `pgbouncer=true` or `false`, found `{value}`"))),
            ("manage", "heads") => Ok(self.manage_heads(true)),
            ("manage", _) => Err(argument(format!("expected `manage=heads`, found `{value}`"))),
            ("search_path", path) => Ok(self.search_path(path)),
            ("max_connections", _) => match parsed(name, value)? {
                0 => Err(argument("expected `max_connections` to be at least 1, found 0".to_owned())),
                most => Ok(self.max_connections(u32::try_from(most).unwrap_or(u32::MAX))),
            },
            ("connect_timeout", _) => Ok(self.acquire_timeout(Duration::from_secs(parsed(name, value)?))),
            ("acquire_timeout_ms", _) => Ok(self.acquire_timeout(millis()?)),
            ("statement_timeout_ms", _) => Ok(self.statement_timeout(millis()?)),
            ("lock_timeout_ms", _) => Ok(self.lock_timeout(millis()?)),
            _ => Err(argument(format!(
                "expected a parameter of libpq or one of `pgbouncer`, `manage`, `search_path`, `max_connections`, \
                 `connect_timeout`, `acquire_timeout_ms`, `statement_timeout_ms`, `lock_timeout_ms`, found `{name}`"
            ))),
        }
    }

    /// Whether the server is reached through PgBouncer in transaction mode. Each call is one explicit transaction
    /// then, and no statement has a name: the next transaction may meet another server connection. At first not.
    #[must_use]
    pub fn pgbouncer(mut self, is_pooled_outside: bool) -> Self {
        self.conduct.is_pooled_outside = is_pooled_outside;
        self
    }

    /// Whether heads are moved here though knowledge-fs manages the database, that is, publishes profiles together
    /// with their indexes there. At first not: such operations are refused with `MANAGED_ELSEWHERE`.
    #[must_use]
    pub fn manage_heads(mut self, manages_heads: bool) -> Self {
        self.conduct.manages_heads = manages_heads;
        self
    }

    /// The schemas in which the tables are looked for, as in `SET search_path`. At first the server's.
    #[must_use]
    pub fn search_path(mut self, search_path: impl Into<String>) -> Self {
        self.conduct.search_path = Some(search_path.into());
        self
    }

    /// How many connections the store may hold; at first 10.
    #[must_use]
    pub fn max_connections(self, max_connections: u32) -> Self {
        Self { max_connections, ..self }
    }

    /// How long a call waits for a free connection, and for a server that went away to come back; at first 5
    /// seconds.
    #[must_use]
    pub fn acquire_timeout(mut self, acquire_timeout: Duration) -> Self {
        self.conduct.acquire_timeout = acquire_timeout;
        self
    }

    /// How long a statement may run before the call fails with `STORE_BUSY`; at first 30 seconds, 0 for ever.
    #[must_use]
    pub fn statement_timeout(mut self, statement_timeout: Duration) -> Self {
        self.conduct.statement_timeout = statement_timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// How long a statement waits for another's lock before the call fails with `STORE_BUSY`; at first 5 seconds,
    /// 0 for ever.
    #[must_use]
    pub fn lock_timeout(mut self, lock_timeout: Duration) -> Self {
        self.conduct.lock_timeout = lock_timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// Tells the time instead of the server's clock: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.conduct.clock = Some(clock);
        self
    }

    /// The settings of a connection of the store's own.
    pub(crate) fn connection(&self) -> PgConnectOptions {
        // Every statement at debug level is enough; a slow one is no alarm of this library.
        let connect = self.connect.clone().log_slow_statements(log::LevelFilter::Debug, Duration::from_secs(1));
        if self.conduct.is_pooled_outside {
            // A pooler knows neither these start-up parameters nor the names of statements.
            return connect.extra_float_digits(None).statement_cache_capacity(0);
        }
        connect.options(self.settings())
    }

    /// The settings that a connection starts with, unless a pooler is between.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        if self.conduct.is_pooled_outside {
            return Vec::new();
        }
        let path = self.conduct.search_path.as_ref().map(|path| ("search_path", path.clone()));
        let timeouts = [
            ("statement_timeout", self.conduct.statement_timeout.as_millis().to_string()),
            ("lock_timeout", self.conduct.lock_timeout.as_millis().to_string()),
        ];
        // No statement of ours wants another plan for other arguments. Of a claim the server would believe so, for it
        // cannot know how few rows are asked for, and from a long queue plan each one anew: half of its time.
        let plans = ("plan_cache_mode", "force_generic_plan".to_owned());
        timeouts.into_iter().chain(path).chain([plans]).collect()
    }
}

impl Conduct {
    /// How a transaction begins. What a connection of one's own is started with, a pooler's is told each time.
    pub(crate) fn begin(&self, isolation: &str) -> String {
        if !self.is_pooled_outside {
            return format!("BEGIN {isolation}");
        }
        // An escape string means the same whatever `standard_conforming_strings` says.
        let path = self.search_path.as_ref().map(|path| path.replace('\\', r"\\").replace('\'', "''"));
        let path = path.map(|path| format!("; SELECT set_config('search_path', E'{path}', true)"));
        format!(
            "BEGIN {isolation}; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}{}",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            path.unwrap_or_default(),
        )
    }
}

fn check_ssl_mode(parameters: &[(String, String)]) -> Result<(), ArgumentError> {
    let modes = parameters.iter().filter(|(name, _)| matches!(name.as_str(), "sslmode" | "ssl-mode"));
    for (_, mode) in modes {
        PgSslMode::from_str(mode).map_err(|_| {
            argument(format!(
                "expected sslmode to be disable, allow, prefer, require, verify-ca or verify-full, found `{mode}`"
            ))
        })?;
    }
    Ok(())
}

fn parsed(name: &str, value: &str) -> Result<u64, ArgumentError> {
    value.parse().map_err(|_| argument(format!("expected `{name}` to be a whole number, found `{value}`")))
}

fn argument(message: String) -> ArgumentError {
    ArgumentError { field: "store", message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(parameters: &str) -> PostgresOptions {
        PostgresOptions::from_url(&format!("postgres://app@db/platform?{parameters}")).unwrap()
    }

    fn complaint(url: &str) -> String {
        match PostgresOptions::from_url(url) {
            Ok(_) => panic!("expected that {url} is refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn both_schemes_of_libpq_are_read_and_no_other() {
        assert!(PostgresOptions::from_url("postgresql://app@db/platform").is_ok());
        assert!(complaint("mysql://app@db/platform").contains("`mysql`"));
        assert!(complaint("platform.db").contains("found no URL"));
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let PostgresOptions { conduct, max_connections, .. } = options("");
        assert_eq!(max_connections, 10);
        assert!(!conduct.is_pooled_outside && !conduct.manages_heads && conduct.search_path.is_none());
        assert_eq!(conduct.acquire_timeout, Duration::from_secs(5));
        assert_eq!(conduct.statement_timeout, Duration::from_secs(30));
        assert_eq!(conduct.lock_timeout, Duration::from_secs(5));
    }

    #[test]
    fn our_parameters_are_read_and_percent_encoding_is_undone() {
        let PostgresOptions { conduct, max_connections, .. } = options(
            "pgbouncer=true&manage=heads&search_path=one%2C%20%22Two%22&max_connections=3&connect_timeout=7\
             &statement_timeout_ms=8&lock_timeout_ms=9",
        );
        assert_eq!(max_connections, 3);
        assert!(conduct.is_pooled_outside && conduct.manages_heads);
        assert_eq!(conduct.search_path.as_deref(), Some("one, \"Two\""));
        assert_eq!(conduct.acquire_timeout, Duration::from_secs(7));
        assert_eq!(conduct.statement_timeout, Duration::from_millis(8));
        assert_eq!(conduct.lock_timeout, Duration::from_millis(9));
        assert_eq!(options("acquire_timeout_ms=250").conduct.acquire_timeout, Duration::from_millis(250));
        assert!(!options("pgbouncer=false").conduct.is_pooled_outside);
    }

    #[test]
    fn the_drivers_parameters_reach_the_driver() {
        let connect = options(
            "sslmode=verify-full&application_name=worker&port=6000&host=%2Ftmp&channel_binding=prefer&gssencmode=disable",
        )
        .connect;
        assert!(matches!(connect.get_ssl_mode(), PgSslMode::VerifyFull));
        assert_eq!(connect.get_application_name(), Some("worker"));
        assert_eq!((connect.get_port(), connect.get_username()), (6000, "app"));
        assert_eq!(connect.get_socket().map(|path| path.as_path()), Some(std::path::Path::new("/tmp")));
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_its_name() {
        for (parameter, expected) in [
            ("sslmod=require", "found `sslmod`"),
            ("sslmode=required", "found `required`"),
            ("ssl-mode=on", "found `on`"),
            ("pgbouncer=yes", "found `yes`"),
            ("manage=all", "found `all`"),
            ("max_connections=0", "at least 1"),
            ("max_connections=many", "`max_connections` to be a whole number, found `many`"),
            ("lock_timeout_ms=-1", "`lock_timeout_ms` to be a whole number, found `-1`"),
            ("statement_timeout_ms=1.5", "`statement_timeout_ms` to be a whole number, found `1.5`"),
            ("acquire_timeout_ms=", "`acquire_timeout_ms` to be a whole number, found ``"),
            ("connect_timeout=5s", "`connect_timeout` to be a whole number, found `5s`"),
        ] {
            let said = complaint(&format!("postgres://app@db/platform?{parameter}"));
            assert!(said.contains(expected), "{parameter}: {said}");
        }
    }

    #[test]
    fn time_outs_are_at_most_what_postgres_can_count() {
        let options = options("lock_timeout_ms=99999999999&statement_timeout_ms=99999999999");
        assert_eq!(options.conduct.lock_timeout, LONGEST_TIMEOUT);
        assert_eq!(options.conduct.statement_timeout, LONGEST_TIMEOUT);
    }

    #[test]
    fn what_may_be_a_part_of_a_password_is_not_repeated() {
        for url in [
            "postgres://app:12?hunter2@db/platform",
            "postgres://app:p@12?hunter2&x@db/platform",
            "postgres://app:12?sslmode=hunter2@db/platform",
            "postgres://app:12#hunter2@db/platform",
            "postgres://app:hunter2@db:port/platform",
        ] {
            assert!(!complaint(url).contains("hunter2"), "{}", complaint(url));
        }
    }

    #[test]
    fn a_pooled_transaction_says_what_a_connection_of_ones_own_is_started_with() {
        let direct = options("lock_timeout_ms=7").conduct.begin("ISOLATION LEVEL READ COMMITTED");
        assert_eq!(direct, "BEGIN ISOLATION LEVEL READ COMMITTED");
        let pooled = options("pgbouncer=true&lock_timeout_ms=7&search_path=it%27s%5C").conduct;
        assert_eq!(
            pooled.begin("ISOLATION LEVEL READ COMMITTED"),
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 30000; SET LOCAL lock_timeout = 7; \
             SELECT set_config('search_path', E'it''s\\\\', true)"
        );
    }
}
