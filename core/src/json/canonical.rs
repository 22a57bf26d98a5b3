//! Writing canonical text (RFC 8785 section 3.2).

use std::cmp::Ordering;

use super::lexer::plain_length;

/// What canonical text is written to: a string, or a digest that never holds all of it.
pub(crate) trait Out {
    fn push_str(&mut self, text: &str);
    /// Appends characters of ASCII.
    fn push_ascii(&mut self, bytes: &[u8]);
    /// Appends `length` bytes of a text, from `start` on.
    #[inline]
    fn push_part(&mut self, text: &str, start: usize, length: usize) {
        self.push_str(text.get(start..start + length).unwrap_or_default());
    }
    /// Appends a key, which is a part of a text with its quotes: after a comma unless it is the first of its object, and
    /// with a colon after it.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    fn push_key(&mut self, is_first: bool, text: &str, start: usize, length: usize) {
        if !is_first {
            self.push_str(",");
        }
        self.push_part(text, start, length);
        self.push_str(":");
    }
}

impl Out for String {
    #[inline]
    fn push_str(&mut self, text: &str) {
        Self::push_str(self, text);
    }

    #[inline]
    fn push_ascii(&mut self, bytes: &[u8]) {
        self.push_str(std::str::from_utf8(bytes).unwrap_or_default());
    }
}

/// The order of two keys in canonical text: by UTF-16 code units (RFC 8785 section 3.2.3).
///
/// It differs from the order of Rust's strings only where a character above U+FFFF meets one of U+E000 to
/// U+FFFF: the first is a pair of surrogates, and those come before.
///
/// ```
/// use space_profiles_core::json::utf16_order;
/// assert!(utf16_order("\u{1F600}", "\u{E000}").is_lt() && "\u{1F600}" > "\u{E000}");
/// ```
#[inline]
pub fn utf16_order(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    match left.iter().zip(right).find(|(l, r)| l != r) {
        None => left.len().cmp(&right.len()),
        Some((l, r)) => utf16_rank(*l).cmp(&utf16_rank(*r)),
    }
}

/// Orders lead bytes of UTF-8 as their characters' first UTF-16 units are ordered: F0 to F4 (surrogates) come
/// before EE and EF (U+E000 to U+FFFF). Bytes that differ first are both lead bytes or both continuations.
#[inline]
pub(super) const fn utf16_rank(byte: u8) -> u8 {
    match byte {
        // No byte of UTF-8 is above F4.
        0xEE | 0xEF => byte + 0x10,
        _ => byte,
    }
}

/// Appends a string with its quotes and the least escapes (RFC 8785 section 3.2.2.2).
///
/// ```
/// let mut text = String::new();
/// space_profiles_core::json::write_string(&mut text, "a\n\u{e9}");
/// assert_eq!(text, "\"a\\n\u{e9}\"");
/// ```
pub fn write_string(out: &mut String, value: &str) {
    put_string(out, value);
}

/// Appends a string with its quotes and the least escapes.
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub(crate) fn put_string(out: &mut impl Out, value: &str) {
    out.push_str("\"");
    put_characters(out, value);
    out.push_str("\"");
}

/// Appends what stands between the quotes.
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub(crate) fn put_characters(out: &mut impl Out, value: &str) {
    let plain = plain_length(value.as_bytes());
    if plain == value.len() { out.push_str(value) } else { put_escaped(out, value) }
}

#[cold]
fn put_escaped(out: &mut impl Out, value: &str) {
    let mut rest = value;
    loop {
        let length = plain_length(rest.as_bytes());
        // What ends a plain part is ASCII, so both parts are text.
        let (plain, special) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(plain);
        let Some(byte) = special.as_bytes().first() else { return };
        put_escape(out, *byte);
        rest = special.get(1..).unwrap_or_default();
    }
}

#[cold]
fn put_escape(out: &mut impl Out, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0C => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        control => {
            out.push_str("\\u00");
            for digit in [control >> 4, control & 15] {
                out.push_ascii(&[if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }]);
            }
        }
    }
}

/// Appends an integer's ECMAScript text, for integers that a double holds exactly.
pub fn write_integer(out: &mut String, value: u64) {
    put_integer(out, value);
}

/// Appends an integer's ECMAScript text.
pub(crate) fn put_integer(out: &mut impl Out, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut length = 0;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (value % 10) as u8;
        value /= 10;
        length += 1;
        if value == 0 {
            break;
        }
    }
    out.push_ascii(digits.get(digits.len() - length..).unwrap_or_default());
}

/// Appends a number's ECMAScript text. Numbers that were parsed are finite.
#[inline]
pub(crate) fn put_number(out: &mut impl Out, number: f64) {
    // INVARIANT: below 2^53, so the conversions are exact. Minus zero is zero.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let magnitude = number.abs();
    if magnitude < EXACT && magnitude as u64 as f64 == magnitude {
        if number < 0.0 {
            out.push_str("-");
        }
        return put_integer(out, magnitude as u64);
    }
    out.push_str(ryu_js::Buffer::new().format_finite(number));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_utf16_code_units_are(
            left in "[a-b\u{7FF}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}]{0,4}",
            right in "[a-b\u{7FF}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}]{0,4}",
        ) {
            let by_units = left.encode_utf16().cmp(right.encode_utf16());
            prop_assert_eq!(utf16_order(&left, &right), by_units);
        }
    }
}
