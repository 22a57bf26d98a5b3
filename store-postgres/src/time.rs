//! Times as Postgres keeps them: whole microseconds since 2000-01-01.

use space_profiles_core::Timestamp;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::{Decode, Postgres, Type};

/// 2000-01-01T00:00:00Z, in microseconds since 1970-01-01T00:00:00Z.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

/// A moment on its way to or from a column of type `timestamptz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl Type<Postgres> for Moment {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1184))
    }
}

impl PgHasArrayType for Moment {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1185))
    }
}

impl Encode<'_, Postgres> for Moment {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode(self.0.as_micros() - POSTGRES_EPOCH, buffer)
    }
}

impl Decode<'_, Postgres> for Moment {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let micros = micros(&value)?;
        if !(Timestamp::EARLIEST.as_micros()..=Timestamp::LATEST.as_micros()).contains(&micros) {
            return Err("expected a time between the years 0 and 9999, found one outside or infinity".into());
        }
        Ok(Self(Timestamp::from_micros(micros)))
    }
}

/// A moment of a column whose values are another service's: one outside of the calendar is the nearest inside.
pub(crate) struct NearestMoment(pub(crate) Timestamp);

impl Type<Postgres> for NearestMoment {
    fn type_info() -> PgTypeInfo {
        Moment::type_info()
    }
}

impl Decode<'_, Postgres> for NearestMoment {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Self(Timestamp::from_micros(micros(&value)?)))
    }
}

/// Microseconds since 1970, or the nearest that can be counted.
fn micros(value: &PgValueRef<'_>) -> Result<i64, BoxDynError> {
    if value.format() == PgValueFormat::Text {
        return Err("expected a time in binary".into());
    }
    let micros = <[u8; 8]>::try_from(value.as_bytes()?).map(i64::from_be_bytes)?;
    Ok(micros.saturating_add(POSTGRES_EPOCH))
}
