//! Where issues lie in the text they are about, counted as editors in a browser count.

use std::ops::Range;

use crate::json::{Document, JsonCode, JsonError, Limits, Members, Pointer};
use crate::report::{Issue, IssueCode};

/// A part of a text. All counts are in UTF-16 code units, as in JavaScript and its editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Where it begins, from the start of the text.
    pub start: usize,
    /// Where it ends; what is here does not belong to it any more.
    pub end: usize,
    /// The line of its beginning, from 1; lines end with U+000A.
    pub line: usize,
    /// The column of its beginning, from 1.
    pub column: usize,
}

/// The places of the issues that a text was reported to have.
///
/// An unknown field is its key, a fault of JSON as much as is wrong, any other issue its value. A missing member
/// is where it would be: the opening brace of the object that lacks it. An issue of a text that is too large, or
/// is not UTF-8, has no place.
///
/// ```
/// use space_profiles_core::{Kind, places, snapshot::validate};
/// let text = b"{\n  \"topK\": 101}";
/// let report = validate(Kind::Retrieval, text);
/// let at = report.issues.iter().position(|issue| issue.pointer.as_str() == "/topK").unwrap();
/// let place = places(text, &report.issues)[at].unwrap();
/// assert_eq!((place.line, place.column, place.start..place.end), (2, 11, 12..15));
/// ```
pub fn places(text: &[u8], issues: &[Issue]) -> Vec<Option<Place>> {
    let is_json = |issue: &Issue| matches!(issue.code, IssueCode::Json(_));
    // Issues do not carry offsets. The faults of a text come in the order in which they were reported.
    let faults = if issues.iter().any(is_json) { Document::parse_all(text, Limits::ANY).1 } else { Vec::new() };
    let mut faults = faults.into_iter();
    let wanted = issues.iter().map(|issue| match issue.code {
        IssueCode::Json(code) => Wanted::Fault(code, faults.next().map(|fault| fault.offset), &issue.pointer),
        IssueCode::UnknownField => Wanted::Key(&issue.pointer),
        _ => Wanted::Value(&issue.pointer),
    });
    places_of(text, &wanted.collect::<Vec<_>>())
}

/// The place of the fault because of which a text was refused.
pub fn place_of_fault(text: &[u8], error: &JsonError) -> Option<Place> {
    places_of(text, &[Wanted::Fault(error.code, Some(error.offset), &error.pointer)]).into_iter().next().flatten()
}

enum Wanted<'p> {
    Key(&'p Pointer),
    Value(&'p Pointer),
    Fault(JsonCode, Option<usize>, &'p Pointer),
}

fn places_of(text: &[u8], wanted: &[Wanted<'_>]) -> Vec<Option<Place>> {
    let Ok(text) = std::str::from_utf8(text) else {
        return vec![None; wanted.len()];
    };
    let members = Members::of(
        text,
        wanted.iter().filter_map(|wanted| match wanted {
            Wanted::Key(pointer) | Wanted::Value(pointer) | Wanted::Fault(JsonCode::DuplicateKey, _, pointer) => {
                Some(*pointer)
            }
            Wanted::Fault(..) => None,
        }),
    );
    // Of a key that occurs several times, the second fault is about its third occurrence.
    let repeats = |at: usize, pointer: &Pointer| {
        let before = wanted.iter().take(at);
        1 + before
            .filter(|other| matches!(other, Wanted::Fault(JsonCode::DuplicateKey, _, it) if *it == pointer))
            .count()
    };
    let range_of = |(at, wanted): (usize, &Wanted<'_>)| -> Option<Range<usize>> {
        match wanted {
            Wanted::Key(pointer) => {
                let found = members.get(pointer).first()?;
                Some(found.key.clone().unwrap_or_else(|| found.value.clone()))
            }
            Wanted::Value(pointer) => match members.get(pointer).first() {
                Some(found) => Some(found.value.clone()),
                None => {
                    let parents = std::iter::successors(pointer.parent(), Pointer::parent);
                    let container = parents.filter_map(|parent| members.get(&parent).first()).next()?.value.start;
                    Some(container..container + 1)
                }
            },
            Wanted::Fault(JsonCode::DuplicateKey, offset, pointer) => {
                let found = members.get(pointer).get(repeats(at, pointer)).and_then(|found| found.key.clone());
                found.or_else(|| offset.map(|offset| fault_range(text, JsonCode::DuplicateKey, offset)))
            }
            Wanted::Fault(JsonCode::TooLarge, ..) => None,
            Wanted::Fault(code, offset, _) => offset.map(|offset| fault_range(text, *code, offset)),
        }
    };
    let counts = Counts::of(text);
    let place = |range: Range<usize>| {
        let (begin, end) = (counts.at(range.start), counts.at(range.end));
        Place { start: begin.units, end: end.units, line: begin.line, column: begin.column }
    };
    wanted.iter().enumerate().map(|wanted| range_of(wanted).map(place)).collect()
}

/// As much of a text as is wrong at an offset.
fn fault_range(text: &str, code: JsonCode, offset: usize) -> Range<usize> {
    let rest = text.get(offset..).unwrap_or_default();
    let length = match code {
        JsonCode::LoneSurrogate | JsonCode::NulCharacter => "\\u0000".len().min(rest.len()),
        JsonCode::NumberOutOfRange | JsonCode::UnsafeInteger => rest
            .find(|character: char| !matches!(character, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len()),
        _ => rest.chars().next().map_or(0, char::len_utf8),
    };
    offset..offset + length
}

#[derive(Clone, Copy)]
struct Count {
    offset: usize,
    units: usize,
    line: usize,
    column: usize,
}

impl Count {
    fn add(&mut self, text: &str) {
        self.offset += text.len();
        for character in text.chars() {
            self.units += character.len_utf16();
            self.column += character.len_utf16();
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            }
        }
    }
}

/// Counts at every so many bytes of a text, so that no part is counted again for each of many issues.
struct Counts<'a> {
    text: &'a str,
    every: Vec<Count>,
}

impl<'a> Counts<'a> {
    const STEP: usize = 256;

    fn of(text: &'a str) -> Self {
        let mut count = Count { offset: 0, units: 0, line: 1, column: 1 };
        let mut every = vec![count];
        while count.offset < text.len() {
            let end = text.floor_char_boundary(count.offset + Self::STEP);
            count.add(text.get(count.offset..end).unwrap_or_default());
            every.push(count);
        }
        Self { text, every }
    }

    fn at(&self, offset: usize) -> Count {
        let before = self.every.partition_point(|count| count.offset <= offset).saturating_sub(1);
        let mut count =
            self.every.get(before).copied().unwrap_or(Count { offset: 0, units: 0, line: 1, column: 1 });
        count.add(self.text.get(count.offset..offset).unwrap_or_default());
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Kind;
    use crate::snapshot::validate;

    fn shown(kind: Kind, text: &str) -> Vec<(String, String, usize, usize)> {
        let report = validate(kind, text.as_bytes());
        let units: Vec<u16> = text.encode_utf16().collect();
        let places = places(text.as_bytes(), &report.issues);
        report
            .issues
            .iter()
            .zip(places)
            .map(|(issue, place)| {
                let place = place.unwrap_or_else(|| panic!("{issue} has no place"));
                let marked = String::from_utf16_lossy(&units[place.start..place.end]);
                (format!("{} {}", issue.code.as_str(), issue.pointer), marked, place.line, place.column)
            })
            .collect()
    }

    #[track_caller]
    fn assert_shown(kind: Kind, text: &str, wanted: &[(&str, &str, usize, usize)]) {
        let all = shown(kind, text);
        for (issue, marked, line, column) in wanted {
            let wanted = ((*issue).to_owned(), (*marked).to_owned(), *line, *column);
            assert!(all.contains(&wanted), "expected {wanted:?}, found {all:#?}");
        }
    }

    #[test]
    fn values_unknown_keys_and_missing_members_have_their_places() {
        let text = "{\"\u{1F600}\": 1,\n \"topK\": 0, \"rerank\":\n{ \"enabled\" : true, \"a/b\":{\"x\":[1]}},\
                    \"scoreThreshold\":{\"enabled\":\"no\"}}";
        assert_shown(
            Kind::Retrieval,
            text,
            &[
                ("UNKNOWN_FIELD /\u{1F600}", "\"\u{1F600}\"", 1, 2),
                ("OUT_OF_RANGE /topK", "0", 2, 10),
                ("REQUIRED_WHEN_ENABLED /rerank/model", "{", 3, 1),
                ("UNKNOWN_FIELD /rerank/a~1b", "\"a/b\"", 3, 21),
                ("WRONG_TYPE /scoreThreshold/enabled", "\"no\"", 3, 66),
                ("MISSING_FIELD /defaultMode", "{", 1, 1),
            ],
        );
    }

    #[test]
    fn faults_of_json_are_shown_where_they_are() {
        let text = "{\"a\":[{\"\u{1F600}\":\"x\\ud800y\"}],\"b\":-1e999,\"c\":9007199254740993 ,\"b\":1,\"\\u0000\":0, \"b\":2}";
        assert_shown(
            Kind::Embedding,
            text,
            &[
                ("JSON_LONE_SURROGATE /a/0/\u{1F600}", "\\ud800", 1, 15),
                ("JSON_NUMBER_OUT_OF_RANGE /b", "-1e999", 1, 30),
                ("JSON_UNSAFE_INTEGER /c", "9007199254740993", 1, 41),
                ("JSON_DUPLICATE_KEY /b", "\"b\"", 1, 59),
                ("JSON_DUPLICATE_KEY /b", "\"b\"", 1, 77),
                ("JSON_NUL_CHARACTER /\u{FFFD}", "\\u0000", 1, 66),
            ],
        );
        assert_shown(Kind::Embedding, "\n\n {\"a\" 1}", &[("JSON_INVALID ", "1", 3, 7)]);
        assert_shown(Kind::Embedding, "{\"a\":", &[("JSON_INVALID ", "", 1, 6)]);
        assert_shown(Kind::Embedding, "{}\u{1F600}", &[("JSON_TRAILING_DATA ", "\u{1F600}", 1, 3)]);
        assert_shown(Kind::Embedding, "\u{FEFF}{}", &[("JSON_BOM ", "\u{FEFF}", 1, 1)]);
        let deep = "[".repeat(65);
        assert_eq!(shown(Kind::Embedding, &deep)[0].3, 65);
    }

    #[test]
    fn a_message_names_the_line_and_the_column_that_are_told() {
        for text in
            ["{\"\u{1F600}\": x}", "{\"\u{1F600}\n\": 1}", "[1,\n \"\u{10FFFF}\u{E9}\" 2]", "{}\n\"\u{1F600}\" x"]
        {
            let report = validate(Kind::Embedding, text.as_bytes());
            let place = places(text.as_bytes(), &report.issues)[0].unwrap();
            let told = format!("in line {}, column {}", place.line, place.column);
            assert!(report.issues[0].message.ends_with(&told), "{} is {told}", report.issues[0].message);
        }
    }

    #[test]
    fn what_is_not_text_or_too_large_has_no_place() {
        for text in [b"\"\xFF\"".to_vec(), vec![b' '; (64 << 10) + 1]] {
            let report = validate(Kind::Embedding, &text);
            assert_eq!(places(&text, &report.issues), [None]);
        }
    }
}
