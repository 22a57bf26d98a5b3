//! What the product calls white space, a control character and a length.

/// White space as ECMAScript defines it (ECMA-262 sections 12.2 and 12.3): it has U+FEFF and lacks U+0085.
pub(crate) const fn is_white_space(character: char) -> bool {
    matches!(
        character,
        '\u{9}'..='\u{D}'
            | ' '
            | '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202F}'
            | '\u{205F}'
            | '\u{3000}'
            | '\u{FEFF}'
    )
}

/// Below U+0020, or U+007F.
pub(crate) const fn is_control(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{1F}' | '\u{7F}')
}

/// Characters that a person does not see and that are let through with a warning: C1 controls, zero-width
/// characters and direction marks.
pub(crate) const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9F}'
            | '\u{61C}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2069}'
            | '\u{FEFF}'
    )
}

/// Whether there are bytes, and none at either end is a space.
pub(crate) const fn is_trimmed(bytes: &[u8]) -> bool {
    !matches!((bytes.first(), bytes.last()), (None | Some(b' '), _) | (_, Some(b' ')))
}

/// Whether all bytes are from U+0020 to U+007E, eight at once.
#[inline]
pub(crate) fn is_printable_ascii(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The high bit of a byte is set if it is above U+007E, or below U+0020; of bytes beside such a one it may be.
    let unprintable = |eight: [u8; 8]| {
        let word = u64::from_le_bytes(eight);
        (word | word.wrapping_add(ONES) | word.wrapping_sub(ONES * 0x20)) & HIGH
    };
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().all(|byte| (0x20..0x7F).contains(byte));
    };
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().fold(unprintable(*last), |found, word| found | unprintable(*word)) == 0
}

/// Appends a character as messages show it: one that nobody sees, or that would do something to a terminal, is
/// escaped.
pub(crate) fn write_shown(out: &mut String, character: char) {
    let is_hidden = is_control(character)
        || is_invisible(character)
        || (is_white_space(character) && character != ' ')
        // Private use, variation selectors, interlinear and other format characters, tags.
        || matches!(
            character,
            '\u{AD}' | '\u{E000}'..='\u{F8FF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..
        );
    match character {
        '\n' => out.push_str("\\n"),
        '\\' => out.push_str("\\\\"),
        _ if is_hidden => {
            out.push_str("\\u{");
            let code = u32::from(character);
            let digits = (code.checked_ilog2().unwrap_or(0) / 4 + 1) as usize;
            for at in (0..digits).rev() {
                out.extend(char::from_digit(code >> (at * 4) & 15, 16));
            }
            out.push('}');
        }
        _ => out.push(character),
    }
}

/// The length in UTF-16 code units: the strictest of the three counts in play (JavaScript counts units,
/// Postgres code points), so what is accepted fits every store.
pub(crate) fn utf16_length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The text without white space at its ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_white_space)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn printable_ascii_is_known_eight_bytes_at_once(bytes in prop::collection::vec(0x1E..=0x81_u8, 0..20)) {
            prop_assert_eq!(is_printable_ascii(&bytes), bytes.iter().all(|byte| (0x20..0x7F).contains(byte)));
        }

        #[test]
        fn one_byte_among_printable_ones_is_found(at in 0..20_usize, length in 0..20_usize, byte in any::<u8>()) {
            let mut bytes = vec![b'a'; length];
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            prop_assert_eq!(is_printable_ascii(&bytes), at >= length || (0x20..0x7F).contains(&byte));
        }
    }

    #[test]
    fn what_nobody_sees_is_shown_as_an_escape() {
        let mut shown = String::new();
        "a\u{e9} \u{1F600}`\"\n\\\0\u{7f}\u{202e}\u{feff}\u{e0041}"
            .chars()
            .for_each(|one| write_shown(&mut shown, one));
        assert_eq!(shown, "a\u{e9} \u{1F600}`\"\\n\\\\\\u{0}\\u{7f}\\u{202e}\\u{feff}\\u{e0041}");
    }
}
