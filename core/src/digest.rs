//! SHA-256 digests.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

#[cfg(target_arch = "wasm32")]
use crate::hex;
use crate::json::Out;

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

    /// The digest of what `write` writes, and how many bytes that is.
    pub(crate) fn of_written(write: impl FnOnce(&mut Hashing)) -> (Self, usize) {
        let mut out = Hashing::new();
        write(&mut out);
        #[cfg(target_arch = "wasm32")]
        return (Self::of(out.as_bytes()), out.len());
        #[cfg(not(target_arch = "wasm32"))]
        out.finish()
    }

    /// The digest as 64 lower-case hex digits of ASCII.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn to_hex(self) -> [u8; 64] {
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
        hex
    }

    /// The digest as 64 lower-case hex digits of ASCII.
    #[cfg(target_arch = "wasm32")]
    pub fn to_hex(self) -> [u8; 64] {
        hex::to_digits(self.0)
    }

    /// Reads 64 lower-case hex digits.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn from_hex(hex: &[u8]) -> Result<Self, NotADigest> {
        hex.try_into().ok().and_then(hex::from_digits).map(Self).ok_or(NotADigest)
    }

    /// Reads 64 lower-case hex digits.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn from_hex(hex: &[u8]) -> Result<Self, NotADigest> {
        let hex: &[u8; 64] = hex.try_into().map_err(|_| NotADigest)?;
        // First every digit alone, then every pair, each of which vectorises.
        let mut values = [0; 64];
        let mut wrong = 0;
        for (value, digit) in values.iter_mut().zip(hex) {
            *value = hex_value(*digit);
            wrong |= *value;
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(values.as_chunks().0) {
            *byte = high << 4 | (low & 15);
        }
        if wrong & 0xF0 == 0 { Ok(Self(bytes)) } else { Err(NotADigest) }
    }

    /// Appends the text.
    pub fn push_to(self, out: &mut String) {
        self.write(out);
    }

    pub(crate) fn write(self, out: &mut impl Out) {
        out.push_ascii(&self.to_hex());
    }
}

/// Text on its way into a digest: it is never held as a whole.
///
/// How much is in the buffer lies apart from it: with a zero that is written with all those of the buffer at once, the
/// first to read it would wait for all of them.
#[cfg(not(target_arch = "wasm32"))]
#[repr(C)]
pub(crate) struct Hashing {
    filled: usize,
    /// What has been hashed; nothing as long as all of the text is in the buffer.
    sha: Option<Sha256>,
    hashed: usize,
    /// Many small parts are hashed at once.
    buffer: [u8; Self::BUFFER],
}

#[cfg(not(target_arch = "wasm32"))]
impl Hashing {
    const BUFFER: usize = 256;
    /// So many bytes of a short part are copied, however few it has: a copy of fixed length costs less than one of just
    /// as much. What is too much is written over.
    const COPIED: usize = 32;

    fn new() -> Self {
        Self { filled: 0, sha: None, hashed: 0, buffer: [0; Self::BUFFER] }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        match self.buffer.get_mut(self.filled..).and_then(|room| room.get_mut(..bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.filled += bytes.len();
            }
            None => self.push_beyond(bytes),
        }
    }

    /// Appends what the buffer has no room for. Only full buffers are hashed, so that no block of SHA-256 is copied
    /// once more to be put together.
    #[inline(never)]
    fn push_beyond(&mut self, mut bytes: &[u8]) {
        loop {
            let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
            let (now, later) = bytes.split_at(room.len().min(bytes.len()));
            room.get_mut(..now.len()).unwrap_or_default().copy_from_slice(now);
            self.filled += now.len();
            if later.is_empty() {
                return;
            }
            self.sha.get_or_insert_default().update(self.buffer.as_slice());
            self.hashed += self.filled;
            self.filled = 0;
            bytes = later;
        }
    }

    #[inline]
    fn finish(&mut self) -> (Digest, usize) {
        let rest = self.buffer.get(..self.filled).unwrap_or_default();
        let digest = match &mut self.sha {
            None => Digest::of(rest),
            Some(sha) => {
                sha.update(rest);
                Digest(sha.finalize_reset().into())
            }
        };
        (digest, self.hashed + self.filled)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Out for Hashing {
    #[inline]
    fn push_str(&mut self, text: &str) {
        self.push(text.as_bytes());
    }

    #[inline]
    fn push_ascii(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    #[inline]
    fn push_part(&mut self, text: &str, start: usize, length: usize) {
        if length <= Self::COPIED
            && let Some(room) = self.buffer.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut)
            && let Some(copied) = text.as_bytes().get(start..).and_then(<[u8]>::first_chunk::<{ Self::COPIED }>)
        {
            *room = *copied;
            self.filled += length;
            return;
        }
        self.push(text.as_bytes().get(start..start + length).unwrap_or_default());
    }

    #[inline]
    fn push_key(&mut self, is_first: bool, text: &str, start: usize, length: usize) {
        let comma = usize::from(!is_first);
        if length <= Self::COPIED
            && let Some(room) = self.buffer.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut)
            && let Some(copied) = text.as_bytes().get(start..).and_then(<[u8]>::first_chunk::<{ Self::COPIED }>)
        {
            let room: &mut [u8; Self::COPIED + 2] = room;
            // Where there is no comma to be, the key is written over this one.
            room[0] = b',';
            if let Some(key) = room.get_mut(comma..).and_then(<[u8]>::first_chunk_mut) {
                *key = *copied;
            }
            if let Some(colon) = room.get_mut(comma + length) {
                *colon = b':';
            }
            self.filled += comma + length + 1;
            return;
        }
        if !is_first {
            self.push(b",");
        }
        self.push(text.as_bytes().get(start..start + length).unwrap_or_default());
        self.push(b":");
    }
}

/// In the browser text is held as a whole: what writes it is compiled once then.
#[cfg(target_arch = "wasm32")]
pub(crate) type Hashing = String;

/// Without a branch, so that the loops around it vectorise.
#[cfg(not(target_arch = "wasm32"))]
const fn hex_digit(nibble: u8) -> u8 {
    nibble + b'0' + (nibble > 9) as u8 * (b'a' - b'0' - 10)
}

/// The value of a lower-case hex digit; above 15 for any other byte.
#[cfg(not(target_arch = "wasm32"))]
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_has_one_digest_in_whatever_parts_it_is_written(
            text in "[a-z\u{e9}]{0,80}",
            parts in prop::collection::vec((0..80_usize, 0..80_usize, 0..5_u8), 0..60),
        ) {
            let mut whole = String::new();
            let mut parts_of = Vec::new();
            for (start, length, way) in parts {
                let start = text.floor_char_boundary(start);
                let end = text.floor_char_boundary(start + length);
                parts_of.push((start..end, way));
                match way {
                    0 => whole.push('x'),
                    3 | 4 => {
                        whole.push_str(if way == 3 { "" } else { "," });
                        whole.push_str(text.get(start..end).unwrap());
                        whole.push(':');
                    }
                    _ => whole.push_str(text.get(start..end).unwrap()),
                }
            }
            let (digest, length) = Digest::of_written(|out| {
                for (part, way) in parts_of {
                    match way {
                        0 => out.push_ascii(b"x"),
                        1 => out.push_str(text.get(part).unwrap()),
                        3 | 4 => out.push_key(way == 3, &text, part.start, part.len()),
                        _ => out.push_part(&text, part.start, part.len()),
                    }
                }
            });
            prop_assert_eq!((digest, length), (Digest::of(whole.as_bytes()), whole.len()));
        }
    }

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
