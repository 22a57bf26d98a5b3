//! Statements and their arguments.

use space_profiles_core::Scope;
use sqlx::encode::Encode;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Arguments, Postgres, Type};

/// A statement of ours. [`statements!`] makes them, so that each is listed for the test that prepares every one
/// on the real schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// Declares statements, and `STATEMENTS` with all of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $(
            $(#[$doc])*
            const $name: $crate::statement::Statement =
                $crate::statement::Statement { name: stringify!($name), sql: $sql };
        )*

        pub(crate) const STATEMENTS: &[$crate::statement::Statement] = &[$($name),*];
    };
}

pub(crate) use statements;

/// A statement with its arguments. Whoever repeats it clones it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    statement: Statement,
    arguments: PgArguments,
    unencoded: Option<String>,
}

impl Call {
    pub(crate) fn of(statement: Statement) -> Self {
        Self { statement, arguments: PgArguments::default(), unencoded: None }
    }

    /// A call whose first three arguments are a scope.
    pub(crate) fn of_scope(statement: Statement, scope: &Scope) -> Self {
        Self::of(statement)
            .with(scope.space.tenant.as_str())
            .with(scope.space.id.as_uuid())
            .with(scope.kind.as_str())
    }

    /// The call with its next argument.
    pub(crate) fn with<'v>(mut self, value: impl Encode<'v, Postgres> + Type<Postgres>) -> Self {
        if let Err(error) = self.arguments.add(value) {
            self.unencoded = Some(error.to_string());
        }
        self
    }

    /// Runs the statement to its very end: its rows arrive before its transaction is committed, so whoever
    /// stops at the last row knows nothing yet.
    pub(crate) async fn run(
        self,
        connection: &mut PgConnection,
        is_named: bool,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        if let Some(why) = self.unencoded {
            return Err(sqlx::Error::Encode(why.into()));
        }
        sqlx::query_with(self.statement.sql, self.arguments).persistent(is_named).fetch_all(connection).await
    }
}
