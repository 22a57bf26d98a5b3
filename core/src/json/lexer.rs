//! The tokens of a JSON text (RFC 8259), each checked on its own.

use std::borrow::Cow;
use std::ops::Range;

use super::error::{Fault, JsonCode};
use super::number::{Form, Literal};
use crate::rules::excerpt;
#[cfg(not(target_arch = "wasm32"))]
use crate::text::is_trimmed;
use crate::text::utf16_length;

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// What a value begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Consumes the byte that [`Self::peek`] answered.
    pub(super) const fn bump(&mut self) {
        self.at += 1;
    }

    /// Consumes `wanted` if it comes next.
    #[inline]
    pub(super) fn eat(&mut self, wanted: u8) -> bool {
        let found = self.byte(self.at) == Some(wanted) || self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    #[inline]
    pub(super) fn start(&mut self) -> Result<Start, Fault> {
        Ok(match self.peek() {
            Some(b'"') => Start::String,
            Some(b'{') => Start::Object,
            Some(b'[') => Start::Array,
            Some(b'-' | b'0'..=b'9') => Start::Number,
            Some(b't') => Start::True,
            Some(b'f') => Start::False,
            Some(b'n') => Start::Null,
            _ => return Err(self.expected("a JSON value")),
        })
    }

    pub(super) fn literal(&mut self, wanted: &'static str) -> Result<(), Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(wanted.as_bytes()) {
            return Err(self.expected(&format!("`{wanted}`")));
        }
        self.at += wanted.len();
        Ok(())
    }

    /// A number as the text has it; its first byte comes next.
    pub(super) fn number(&mut self) -> Result<Literal<'a>, Fault> {
        let start = self.at;
        if self.byte(self.at) == Some(b'-') {
            self.at += 1;
        }
        match self.byte(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.expected("a digit")),
        }
        if matches!(self.byte(self.at), Some(b'0'..=b'9')) {
            return Err(self.expected("a number without leading zeros"));
        }
        let mut form = Form::Integer;
        if self.byte(self.at) == Some(b'.') {
            self.at += 1;
            self.some_digits("a digit after the decimal point")?;
            form = Form::Fraction;
        }
        if matches!(self.byte(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("a digit in the exponent")?;
            form = Form::Exponent;
        }
        Ok(Literal { text: self.text.get(start..self.at).unwrap_or_default(), form, offset: start })
    }

    /// A number that is a short row of digits and nothing else; of any other nothing is consumed.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn short_integer(&mut self) -> Option<u32> {
        // That many digits fit the type.
        const SHORT: usize = 9;
        let mut at = self.at;
        let mut value = 0;
        while let Some(digit @ b'0'..=b'9') = self.byte(at) {
            if at - self.at == SHORT {
                return None;
            }
            value = value * 10 + u32::from(digit - b'0');
            at += 1;
        }
        // A zero first would be a fault, or a fraction.
        if self.byte(self.at) == Some(b'0') || matches!(self.byte(at), Some(b'.' | b'e' | b'E')) || at == self.at {
            return None;
        }
        self.at = at;
        Some(value)
    }

    fn digits(&mut self) {
        while matches!(self.byte(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, wanted: &str) -> Result<(), Fault> {
        let before = self.at;
        self.digits();
        if self.at == before { Err(self.expected(wanted)) } else { Ok(()) }
    }

    /// A string; its opening quote comes next. A string with a refused character is consumed all the same.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        if let Some(plain) = self.plain_string() {
            return Ok(Cow::Borrowed(plain));
        }
        let mut value = String::new();
        self.escaped_string(&mut value).map(|()| Cow::Owned(value))
    }

    /// A string that the text holds as it is; its opening quote comes next. Of any other nothing is consumed.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn plain_string(&mut self) -> Option<&'a str> {
        self.plain_span().and_then(|span| self.text.get(span))
    }

    /// Where such a string is, without its quotes.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn plain_span(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        let rest = self.text.as_bytes().get(start..)?;
        let length = plain_length(rest);
        if rest.get(length) != Some(&b'"') {
            return None;
        }
        self.at += length + 2;
        Some(start..start + length)
    }

    /// A string of up to `longest` characters of printable ASCII, none at its ends a space, that the text holds as it
    /// is; its opening quote comes next. Of any other nothing is consumed.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn plain_name(&mut self, longest: usize) -> Option<&'a str> {
        let (_, rest) = self.text.split_at_checked(self.at + 1)?;
        let length = printable_length(rest.as_bytes())?;
        let (name, after) = rest.split_at_checked(length)?;
        if !is_trimmed(name.as_bytes()) || length > longest || !after.starts_with('"') {
            return None;
        }
        self.at += length + 2;
        Some(name)
    }

    /// Which of `names` comes next, as a string that the text holds as it is; it is consumed then.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn name_of<M: Copy>(&mut self, names: &[(&'static str, M)]) -> Option<(&'static str, M)> {
        let rest = self.text.as_bytes().get(self.at..)?.strip_prefix(b"\"")?;
        // The closing quote first: it tells most names apart.
        let is_next = |name: &str| rest.get(name.len()) == Some(&b'"') && rest.starts_with(name.as_bytes());
        let (name, meaning) = names.iter().copied().find(|(name, _)| is_next(name))?;
        self.at += name.len() + 2;
        Some((name, meaning))
    }

    /// What `read` makes of a string of as many bytes as it takes; the opening quote comes next. Of any other nothing is
    /// consumed. INVARIANT: `read` refuses quotes, backslashes and control characters.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn fixed_string<const N: usize, T>(
        &mut self,
        read: impl FnOnce(&[u8; N]) -> Option<T>,
    ) -> Option<T> {
        let (characters, after) = self.text.as_bytes().get(self.at + 1..)?.split_first_chunk()?;
        if after.first() != Some(&b'"') {
            return None;
        }
        let value = read(characters)?;
        self.at += N + 2;
        Some(value)
    }

    /// Skips to the next quote, backslash, control character or the end.
    #[inline]
    fn plain_characters(&mut self) {
        self.at += plain_length(self.text.as_bytes().get(self.at..).unwrap_or_default());
    }

    /// Appends what a string says to `value`; its opening quote comes next.
    #[cold]
    pub(super) fn escaped_string(&mut self, value: &mut String) -> Result<(), Fault> {
        self.at += 1;
        let mut refused = None;
        loop {
            match self.byte(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return match refused {
                        Some(fault) => Err(fault),
                        None => Ok(()),
                    };
                }
                Some(b'\\') => match self.escape() {
                    Ok(character) => value.push(character),
                    Err(fault) if fault.is_recoverable() => {
                        value.push(char::REPLACEMENT_CHARACTER);
                        refused.get_or_insert(fault);
                    }
                    Err(fault) => return Err(fault),
                },
                Some(0..0x20) => {
                    return Err(self.expected("control characters in a string to be written as escapes"));
                }
                Some(_) => {
                    let from = self.at;
                    self.plain_characters();
                    value.push_str(self.text.get(from..self.at).unwrap_or_default());
                }
                None => return Err(self.expected("a closing `\"`")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 1;
        let character = match self.byte(self.at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => {
                return Err(self.expected("one of the escapes `\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u`"));
            }
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Fault> {
        self.at += 1;
        let unit = self.four_hex_digits()?;
        let lone = || {
            Fault::new(
                JsonCode::LoneSurrogate,
                start,
                format!("expected a whole surrogate pair, found only `\\u{unit:04x}`"),
            )
        };
        match unit {
            0 => Err(Fault::new(
                JsonCode::NulCharacter,
                start,
                "expected no U+0000, found `\\u0000`, which Postgres jsonb cannot store",
            )),
            0xD800..=0xDBFF => {
                let after = self.at;
                if self.byte(after) == Some(b'\\') && self.byte(after + 1) == Some(b'u') {
                    self.at += 2;
                    let low = self.four_hex_digits()?;
                    if let Some(Ok(character)) = char::decode_utf16([unit, low]).next() {
                        return Ok(character);
                    }
                    // The second escape is a character of its own.
                    self.at = after;
                }
                Err(lone())
            }
            _ => char::from_u32(u32::from(unit)).ok_or_else(lone),
        }
    }

    fn four_hex_digits(&mut self) -> Result<u16, Fault> {
        let mut unit = 0_u16;
        for _ in 0..4 {
            let digit = self.byte(self.at).and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.expected("four hex digits after `\\u`"));
            };
            unit = unit << 4 | digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }

    /// A syntax fault at the current place.
    #[cold]
    pub(super) fn expected(&self, wanted: &str) -> Fault {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = match rest.chars().next() {
            None => "the end of the text".to_owned(),
            Some(character) => excerpt(character.encode_utf8(&mut [0; 4])),
        };
        let (line, column) = line_and_column(self.text, self.at);
        Fault::new(
            JsonCode::Invalid,
            self.at,
            format!("expected {wanted}, found {found} in line {line}, column {column}"),
        )
    }

    /// What follows a finished value must be white space.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() {
            return Ok(());
        }
        Err(self.expected("nothing after the JSON value").with_code(JsonCode::TrailingData))
    }
}

/// How many bytes come before the first quote, backslash or control character: what a string can hold as it is,
/// in a text as in canonical form.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((eight, after)) = rest.split_first_chunk() {
        let special = special_bytes(u64::from_le_bytes(*eight));
        if special != 0 {
            return bytes.len() - rest.len() + special.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    // The last word once more reaches the rest; what it has seen before is plain.
    if let Some(last) = bytes.last_chunk() {
        let special = special_bytes(u64::from_le_bytes(*last));
        return if special == 0 { bytes.len() } else { bytes.len() - 8 + special.trailing_zeros() as usize / 8 };
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    bytes.iter().position(is_special).unwrap_or(bytes.len())
}

/// The same, if all of those bytes are printable ASCII.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
fn printable_length(bytes: &[u8]) -> Option<usize> {
    // Has the high bit of a byte set that is above U+007E; of bytes beside such a one it may be set. What is below
    // U+0020 ends the plain part anyway.
    let mut seen = 0;
    let mut rest = bytes;
    while let Some((eight, after)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*eight);
        let special = special_bytes(word);
        if special != 0 {
            let plain_bits = special.trailing_zeros() & !7;
            let plain = word & !(u64::MAX << plain_bits);
            let is_printable = (seen | plain | plain.wrapping_add(ONES)) & HIGH == 0;
            return is_printable.then_some(bytes.len() - rest.len() + plain_bits as usize / 8);
        }
        seen |= word | word.wrapping_add(ONES);
        rest = after;
    }
    let is_printable = |byte: &u8| matches!(byte, b' '..=b'~' if *byte != b'"' && *byte != b'\\');
    let length = bytes.len() - rest.len() + rest.iter().position(|byte| !is_printable(byte)).unwrap_or(rest.len());
    (seen & HIGH == 0).then_some(length)
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// Has the high bit of each byte set that is a quote, a backslash or below U+0020; bits above the lowest such
/// byte may be wrong (borrows), so only the lowest is to be used.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    // Of a byte below 128, subtracting as much as this sets the high bit only if it was less.
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control) & !word & HIGH
}

/// The line and the column of a byte offset, both from 1; columns count UTF-16 code units, as places do.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.bytes().rposition(|byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    (line, 1 + utf16_length(before.get(line_start..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plain_name_is_one_that_no_rule_has_to_look_at(
            text in "[ -~]{0,20}|[a-c\\\\\"\u{1F}\u{7F}\u{80}\u{E9} ]{0,20}",
            after in "[}, a-c\u{E9}\"]{0,9}",
            longest in 0..20_usize,
        ) {
            let quoted = format!("\"{text}\"{after}");
            let mut lexer = Lexer::new(&quoted);
            let name = lexer.plain_name(longest);
            let found = quoted.get(1..).and_then(|rest| rest.split('"').next()).unwrap();
            let is_plain = found.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\');
            let is_name = is_plain && !found.is_empty() && found.trim_matches(' ') == found && found.len() <= longest;
            prop_assert_eq!(name, is_name.then_some(found));
            prop_assert_eq!(lexer.offset(), if is_name { found.len() + 2 } else { 0 });
        }
    }
}
