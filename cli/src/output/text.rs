//! Pieces of text for people.

use space_profiles_core::Timestamp;

/// To the second, which is what people compare.
pub(crate) fn time(moment: Timestamp) -> String {
    let text = moment.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => text,
    }
}

/// Enough of a digest, or of an id that ends with one, to tell it from others.
pub(crate) fn short(digest: impl ToString) -> String {
    let digest = digest.to_string();
    let hex = digest.rsplit_once(':').map_or(digest.as_str(), |(_, hex)| hex);
    let start: String = hex.chars().take(12).collect();
    format!("{start}…")
}

/// Text that somebody stored, without what could steer a terminal. Line ends stay.
pub(crate) fn plain(text: impl AsRef<str>) -> String {
    let is_harmless = |character: char| character == '\n' || !character.is_control();
    let mut plain = String::with_capacity(text.as_ref().len());
    for character in text.as_ref().chars() {
        match is_harmless(character) {
            true => plain.push(character),
            false => plain.extend(character.escape_unicode()),
        }
    }
    plain
}

/// Stored text, each of its lines set in.
pub(crate) fn indented(text: &str) -> String {
    let lines: Vec<String> = plain(text).lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_cannot_steer_a_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{9b}c\rd\ne é"), "a\\u{1b}[2Jb\\u{9b}c\\u{d}d\ne é");
    }

    #[test]
    fn a_digest_is_shortened_with_or_without_its_prefix() {
        assert_eq!(short("0123456789abcdef"), "0123456789ab…");
        assert_eq!(short("embedding-space-sha256:0123456789abcdef"), "0123456789ab…");
    }

    #[test]
    fn a_time_is_told_to_the_second() {
        let moment: Timestamp = "2026-07-14T14:00:00.9+02:00".parse().unwrap();
        assert_eq!(time(moment), "2026-07-14 12:00:00Z");
    }
}
