//! JSON columns, which statements give as they are.
//!
//! Cast to text by a statement, a large value would be in memory whole wherever the server sorts rows or keeps them,
//! as it keeps all that a statement with writes in it answers; and what does not fit its `work_mem` goes into temporary
//! files, for which a full disk has no room. A column as it is stays a pointer there, and becomes text on its way out.

use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::{Decode, Postgres, Type};

/// The text of a value of type `jsonb`.
pub(crate) struct JsonText(pub(crate) String);

impl Type<Postgres> for JsonText {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(3802))
    }
}

impl Decode<'_, Postgres> for JsonText {
    /// The binary form of `jsonb` is a version, which has only ever been 1, and the text.
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match (value.format(), value.as_bytes()?) {
            (PgValueFormat::Binary, [1, text @ ..]) => Ok(Self(std::str::from_utf8(text)?.to_owned())),
            _ => Err("expected JSON in the first version of its binary form".into()),
        }
    }
}
