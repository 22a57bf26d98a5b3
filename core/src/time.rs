//! Moments and spans, in microseconds.

use std::fmt;
use std::str::FromStr;

use ::time::OffsetDateTime;
use ::time::format_description::well_known::Rfc3339;

use crate::identifiers::ArgumentError;

/// A moment, in microseconds since 1970-01-01T00:00:00Z. Its text is RFC 3339 in UTC with six digits.
///
/// Finer parts are cut off, not rounded, so what is returned is what is read back from any store.
///
/// ```
/// use space_profiles_core::Timestamp;
/// let moment: Timestamp = "2026-07-14T14:00:00.123456789+02:00".parse()?;
/// assert_eq!(moment.to_string(), "2026-07-14T12:00:00.123456Z");
/// # Ok::<(), space_profiles_core::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 0000-01-01T00:00:00Z, the earliest moment with an RFC 3339 text.
    pub const EARLIEST: Self = Self(-62_167_219_200_000_000);
    /// 9999-12-31T23:59:59.999999Z, the latest moment with an RFC 3339 text.
    pub const LATEST: Self = Self(253_402_300_799_999_999);

    /// A moment from microseconds since 1970; moments without an RFC 3339 text become the nearest that has one.
    pub const fn from_micros(micros: i64) -> Self {
        if micros < Self::EARLIEST.0 {
            Self::EARLIEST
        } else if micros > Self::LATEST.0 {
            Self::LATEST
        } else {
            Self(micros)
        }
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The moment `span` later.
    pub const fn plus(self, span: Span) -> Self {
        Self::from_micros(self.0.saturating_add(span.as_micros()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0) * 1_000;
        let moment = OffsetDateTime::from_unix_timestamp_nanos(nanos).map_err(|_| fmt::Error)?;
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second(),
            moment.microsecond()
        )
    }
}

impl FromStr for Timestamp {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
            ArgumentError::new(
                "time",
                format!("expected an RFC 3339 time with offset, such as 2026-07-14T12:00:00Z, found `{text}`"),
            )
        })?;
        // Already UTC; converting first would panic at the ends of the calendar.
        let nanos = moment.unix_timestamp_nanos();
        Ok(Self::from_micros(i64::try_from(nanos.div_euclid(1_000)).unwrap_or(i64::MAX)))
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A length of time that is not negative, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self::from_micros(0);

    /// A span of microseconds; at most 2^62 of them.
    pub const fn from_micros(micros: u64) -> Self {
        let micros = if micros > 1 << 62 { 1 << 62 } else { micros };
        Self(micros as i64)
    }

    /// A span of seconds.
    pub const fn from_seconds(seconds: u32) -> Self {
        Self::from_micros(seconds as u64 * 1_000_000)
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }
}

/// How long a claim holds without a heartbeat: 1 second to 1 hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(Span);

impl Lease {
    /// 30 seconds.
    pub const DEFAULT: Self = Self(Span::from_seconds(30));

    /// A lease of a length.
    ///
    /// # Errors
    ///
    /// The span is shorter than a second or longer than an hour.
    pub fn new(span: Span) -> Result<Self, ArgumentError> {
        if (Span::from_seconds(1)..=Span::from_seconds(3_600)).contains(&span) {
            return Ok(Self(span));
        }
        Err(ArgumentError::new(
            "lease",
            format!("expected 1 second to 1 hour, found {} microseconds", span.as_micros()),
        ))
    }

    /// The length.
    pub const fn span(self) -> Span {
        self.0
    }
}

/// Tells the time to a store that has no clock of its own. Tests inject theirs.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_12_times_are_cut_to_the_microsecond_and_never_carried_over() {
        let cut = |text: &str| text.parse::<Timestamp>().unwrap().to_string();
        assert_eq!(cut("2026-07-14T12:00:00.123456789Z"), "2026-07-14T12:00:00.123456Z");
        assert_eq!(cut("2026-07-14T12:00:00.9999996Z"), "2026-07-14T12:00:00.999999Z");
        assert_eq!(cut("1969-12-31T23:59:59.9999999Z"), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn times_beyond_the_calendar_are_the_nearest_within_it() {
        assert_eq!("9999-12-31T23:59:59-23:59".parse(), Ok(Timestamp::LATEST));
        assert_eq!("0000-01-01T00:00:00+23:59".parse(), Ok(Timestamp::EARLIEST));
    }

    #[test]
    fn a_time_needs_an_offset() {
        for wrong in ["2026-07-14T12:00:00", "2026-07-14", "2026-02-30T12:00:00Z", "tomorrow", ""] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }
}
