//! SHA-256 digests.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; its text is 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hex digits")]
pub struct NotADigest;

impl Digest {
    /// The digest of some bytes.
    ///
    /// ```
    /// use space_profiles_core::Digest;
    /// assert!(Digest::of(b"{}").to_string().starts_with("44136fa3"));
    /// ```
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest as 64 lower-case hex digits of ASCII.
    pub fn to_hex(self) -> [u8; 64] {
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
        hex
    }

    /// Reads 64 lower-case hex digits.
    pub(crate) fn from_hex(hex: &[u8]) -> Result<Self, NotADigest> {
        let hex: &[u8; 64] = hex.try_into().map_err(|_| NotADigest)?;
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            if let [high, low] = pair {
                let (high, low) = (hex_value(*high), hex_value(*low));
                wrong |= high | low;
                *byte = high << 4 | (low & 15);
            }
        }
        if wrong & 0xF0 == 0 { Ok(Self(bytes)) } else { Err(NotADigest) }
    }

    /// Appends the text.
    pub fn push_to(self, out: &mut String) {
        // Hex digits are ASCII.
        out.push_str(std::str::from_utf8(&self.to_hex()).unwrap_or_default());
    }
}

/// Without a branch, so that the loops around it vectorise.
const fn hex_digit(nibble: u8) -> u8 {
    nibble + b'0' + (nibble > 9) as u8 * (b'a' - b'0' - 10)
}

/// The value of a lower-case hex digit; above 15 for any other byte.
const fn hex_value(byte: u8) -> u8 {
    let digit = byte.wrapping_sub(b'0');
    let letter = byte.wrapping_sub(b'a');
    let is_digit = (digit < 10) as u8;
    let is_letter = (letter < 6) as u8;
    (is_digit * digit) | (is_letter * letter.wrapping_add(10)) | ((1 - (is_digit | is_letter)) * 0x80)
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(std::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        Self::from_hex(text.as_bytes())
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_lower_case_hex_digits_are_a_digest() {
        let text = "0123456789abcdef".repeat(4);
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        for wrong in [text.to_uppercase(), text.replace('0', "g"), text.replace('9', ":"), format!("{text}0")] {
            assert_eq!(wrong.parse::<Digest>(), Err(NotADigest), "{wrong}");
        }
        for byte in 0..=255_u8 {
            let is_hex = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            assert_eq!(hex_value(byte) < 16, is_hex, "{byte}");
        }
    }
}
