//! Ids that cannot hold a wrong value.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::text::{is_control, utf16_length};

/// An argument outside its limits; nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ArgumentError {
    /// The argument's name.
    pub field: &'static str,
    /// What was expected and what was found.
    pub message: String,
}

impl ArgumentError {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

impl From<std::convert::Infallible> for ArgumentError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The name of a space: at most 255 UTF-16 code units, without U+0000, which fits no store.
pub(crate) fn check_space_name(name: &str) -> Result<(), ArgumentError> {
    const LONGEST: usize = 255;
    let length = utf16_length(name);
    if length > LONGEST {
        let message = format!("expected at most {LONGEST} UTF-16 code units, found {length}");
        return Err(ArgumentError::new("name", message));
    }
    if name.contains('\0') {
        return Err(ArgumentError::new("name", "expected no U+0000, found one"));
    }
    Ok(())
}

fn check_length(field: &'static str, text: &str, longest: usize) -> Result<(), ArgumentError> {
    let length = utf16_length(text);
    if (1..=longest).contains(&length) {
        return Ok(());
    }
    Err(ArgumentError::new(field, format!("expected 1 to {longest} UTF-16 code units, found {length}")))
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $field:literal, $longest:literal, $controls:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks a text.
            ///
            /// # Errors
            ///
            /// The text is empty or too long, counted in UTF-16 code units, or has a control character.
            pub fn new(text: impl Into<String>) -> Result<Self, ArgumentError> {
                let text = text.into();
                check_length($field, &text, $longest)?;
                // U+0000 fits no store, wherever control characters are fine.
                if text.chars().any(|character| if $controls { character == '\0' } else { is_control(character) }) {
                    return Err(ArgumentError::new($field, "expected no control characters, found one"));
                }
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ArgumentError;

            fn from_str(text: &str) -> Result<Self, ArgumentError> {
                Self::new(text)
            }
        }
    };
}

text_id!(
    /// Who a space belongs to: 1 to 255 UTF-16 code units, no control characters.
    TenantId, "tenant", 255, false
);
text_id!(
    /// Who acts: 1 to 255 UTF-16 code units, no control characters.
    SubjectId, "by", 255, false
);
text_id!(
    /// A process that works on backfills: 1 to 255 UTF-16 code units, no control characters.
    WorkerId, "worker", 255, false
);
text_id!(
    /// A stable code of a failure: 1 to 64 UTF-16 code units, no control characters.
    FailureCode, "code", 64, false
);
text_id!(
    /// A sentence about a failure: 1 to 16,384 UTF-16 code units; lines and tabs are fine.
    FailureMessage, "message", 16_384, true
);

impl FailureMessage {
    /// As much of a text as a message can hold, without what it cannot.
    pub fn cut(text: &str) -> Self {
        const LONGEST: usize = 16_384;
        let mut units = 0;
        let kept: String = text
            .chars()
            .filter(|character| *character != '\0')
            .take_while(|character| {
                units += character.len_utf16();
                units <= LONGEST
            })
            .collect();
        Self(if kept.is_empty() { "no message".into() } else { kept.into() })
    }
}

/// Parses the 36 characters of a hyphenated UUID; letters of either case are the same id.
fn parse_uuid(field: &'static str, text: &str) -> Result<Uuid, ArgumentError> {
    Some(text)
        .filter(|text| text.len() == 36)
        .and_then(|text| Uuid::try_parse(text).ok())
        .ok_or_else(|| ArgumentError::new(field, format!("expected a UUID of 36 characters, found `{text}`")))
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The UUID.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = ArgumentError;

            fn from_str(text: &str) -> Result<Self, ArgumentError> {
                parse_uuid($field, text)?.try_into().map_err(ArgumentError::from)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

macro_rules! any_uuid {
    ($name:ident) => {
        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }
    };
}

uuid_id!(
    /// The id of a knowledge space. Together with the tenant it names a [`Space`](crate::Space).
    SpaceId, "space"
);
uuid_id!(
    /// The id of a revision's row.
    RevisionId, "revision id"
);
uuid_id!(
    /// The id of a head's row.
    HeadId, "head id"
);
uuid_id!(
    /// The id of a manifest's row.
    ManifestId, "manifest id"
);
uuid_id!(
    /// The id of a backfill's row.
    BackfillId, "backfill id"
);
uuid_id!(
    /// What a worker holds while it owns a backfill; never the nil UUID.
    LeaseToken, "lease token"
);

any_uuid!(SpaceId);
any_uuid!(RevisionId);
any_uuid!(HeadId);
any_uuid!(ManifestId);
any_uuid!(BackfillId);

impl TryFrom<Uuid> for LeaseToken {
    type Error = ArgumentError;

    fn try_from(uuid: Uuid) -> Result<Self, ArgumentError> {
        if uuid.is_nil() {
            return Err(ArgumentError::new("lease token", "expected a UUID other than nil"));
        }
        Ok(Self(uuid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_14_letter_case_of_a_uuid_does_not_matter() {
        let upper: SpaceId = "018F0D60-7A49-7CC2-9C1B-5B36F18F3A40".parse().unwrap();
        assert_eq!(upper.to_string(), "018f0d60-7a49-7cc2-9c1b-5b36f18f3a40");
        let token: LeaseToken = "018F0D60-7A49-7CC2-9C1B-5B36F18F3A40".parse().unwrap();
        assert_eq!(token.to_string(), upper.to_string());
    }

    #[test]
    fn lengths_of_ids_count_utf16_code_units() {
        assert!(TenantId::new("t".repeat(255)).is_ok());
        assert!(TenantId::new("t".repeat(256)).is_err());
        assert!(TenantId::new("😀".repeat(127)).is_ok());
        assert!(TenantId::new("😀".repeat(128)).is_err());
        assert!(TenantId::new("").is_err());
        assert!(WorkerId::new("a\nb").is_err());
        assert!(FailureMessage::new("two\nlines").is_ok());
        assert!("00000000-0000-0000-0000-000000000000".parse::<LeaseToken>().is_err());
    }

    #[test]
    fn a_message_is_cut_to_what_fits() {
        assert_eq!(FailureMessage::cut(&"😀".repeat(10_000)).as_str().chars().count(), 8_192);
        assert_eq!(FailureMessage::cut("a\0b").as_str(), "ab");
    }
}
