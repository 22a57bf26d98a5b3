//! What the rules of all snapshots share: reading a field, and saying what is wrong with it.

use std::borrow::Cow;

use crate::json::{Document, Irregular, Limits, Path, Source, Token, number_text};
use crate::report::{DocumentKind, Issue, IssueCode};
use crate::text::{
    is_control, is_invisible, is_printable_ascii, is_trimmed, is_white_space, trim, utf16_length, write_shown,
};

/// A field as it was read: `None` where an issue was reported instead.
pub(crate) type Read<T> = Result<Option<T>, Irregular>;

/// The longest model name, plugin id or provider, in UTF-16 code units.
pub(crate) const LONGEST_IDENTIFIER: usize = 256;

/// Which members a text must have, and how its identifiers are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Revision and vector space id must be there; else they may be filled in.
    pub(crate) is_complete: bool,
    /// An embedding's dimension must be there; else its absence is a warning.
    pub(crate) needs_dimension: bool,
    /// White space at the ends of identifiers is cut off; else it is refused.
    pub(crate) trims: bool,
}

impl Form {
    /// What `validate` accepts.
    pub(crate) const SNAPSHOT: Self = Self { is_complete: true, needs_dimension: false, trims: false };
    /// What `propose` accepts.
    pub(crate) const PROPOSAL: Self = Self { needs_dimension: true, ..Self::SNAPSHOT };
    /// What is filled in before it is proposed.
    pub(crate) const DRAFT: Self = Self { is_complete: false, ..Self::PROPOSAL };
    /// What a manifest may hold.
    pub(crate) const LEGACY: Self = Self { trims: true, ..Self::SNAPSHOT };
}

/// The rules at work on one text: what it must be, and the issues found so far.
pub(crate) struct Rules {
    pub(crate) document: DocumentKind,
    pub(crate) form: Form,
    pub(crate) issues: Vec<Issue>,
}

impl Rules {
    pub(crate) const fn new(document: DocumentKind, form: Form) -> Self {
        Self { document, form, issues: Vec::new() }
    }

    /// A text as a document, and the rules with its faults as JSON; no document where it cannot be understood.
    pub(crate) fn of_text(kind: DocumentKind, text: &[u8]) -> (Option<Document<'_>>, Self) {
        let (document, faults) = Document::parse_all(text, Limits::ANY);
        let mut rules = Self::new(kind, Form::SNAPSHOT);
        rules.issues.extend(faults.into_iter().map(|fault| Issue::of_json(kind, fault)));
        (document, rules)
    }

    /// A member that only a complete text must have: `None` where an issue was reported.
    #[allow(clippy::option_option, reason = "absent and unreadable are two things here")]
    pub(crate) fn required_when_complete<T>(&mut self, slot: Slot<T>, path: &Path<'_>) -> Option<Option<T>> {
        if self.form.is_complete { slot.required(self, path).map(Some) } else { slot.optional() }
    }

    #[cold]
    pub(crate) fn issue(&mut self, path: &Path<'_>, code: IssueCode, message: impl Into<String>) {
        self.issues.push(Issue {
            document: self.document,
            pointer: path.pointer(),
            code,
            message: message.into(),
        });
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.issues.iter().any(Issue::is_error)
    }

    /// Says that a value has another type than wanted, and passes over it.
    #[cold]
    pub(crate) fn wrong_type<'a, T>(
        &mut self,
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        wanted: &str,
        token: &Token<'_>,
    ) -> Read<T> {
        let found = match token {
            // Whoever refused the token has reported it.
            Token::Refused => return Ok(None),
            Token::Null => "null; leave an optional field out instead",
            Token::Bool(_) => "a boolean",
            Token::Number(_) => "a number",
            Token::String(_) => "a string",
            Token::Array => "an array",
            Token::Object => "an object",
        };
        if matches!(token, Token::Array | Token::Object) {
            source.leave()?;
        }
        self.issue(path, IssueCode::WrongType, format!("expected {wanted}, found {found}"));
        Ok(None)
    }

    #[cold]
    fn not_an_integer(&mut self, path: &Path<'_>, number: f64, largest: u32) {
        let found = number_text(number).unwrap_or_default();
        if number.fract() == 0.0 {
            let message = format!("expected an integer from 1 to {largest}, found {found}");
            self.issue(path, IssueCode::OutOfRange, message);
        } else {
            self.issue(path, IssueCode::WrongType, format!("expected an integer, found {found}"));
        }
    }

    /// Reports a member that the product does not know. Its value is not echoed: it may be a credential.
    #[cold]
    pub(crate) fn unknown<'a>(
        &mut self,
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        key: &str,
    ) -> Result<(), Irregular> {
        source.skip()?;
        self.issue(&path.member(key), IssueCode::UnknownField, "expected no such field here; remove it");
        Ok(())
    }
}

/// A member that is looked for while an object is read.
pub(crate) enum Slot<T> {
    Missing,
    Read(Option<T>),
}

impl<T> Slot<T> {
    /// Reads the member; a second one of the same key is passed over (its document reports it).
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(crate) fn fill<'a, S: Source<'a>>(
        &mut self,
        source: &mut S,
        read: impl FnOnce(&mut S) -> Read<T>,
    ) -> Result<(), Irregular> {
        if matches!(self, Self::Read(_)) {
            return source.skip();
        }
        *self = Self::Read(read(source)?);
        Ok(())
    }

    /// What was read, which is not there any more then.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Missing)
    }

    /// The value of a member that must be there.
    #[inline]
    pub(crate) fn required(self, rules: &mut Rules, path: &Path<'_>) -> Option<T> {
        match self {
            Self::Read(value) => value,
            Self::Missing => {
                rules.issue(path, IssueCode::MissingField, "expected this field, found none");
                None
            }
        }
    }

    /// The value of a member that may be absent: `None` where an issue was reported.
    #[inline]
    #[allow(clippy::option_option, reason = "absent and unreadable are two things here")]
    pub(crate) fn optional(self) -> Option<Option<T>> {
        match self {
            Self::Read(Some(value)) => Some(Some(value)),
            Self::Read(None) => None,
            Self::Missing => Some(None),
        }
    }
}

impl<'a> Slot<Cow<'a, str>> {
    /// Reads a name of a model, plugin or provider. It goes straight to its place: to hand it from call to call would
    /// cost more than to check it.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(crate) fn fill_identifier(
        &mut self,
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        rules: &mut Rules,
    ) -> Result<(), Irregular> {
        if matches!(self, Self::Read(_)) {
            return source.skip();
        }
        // Almost every name is one that the scan for its end has checked.
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(name) = source.plain_name(LONGEST_IDENTIFIER) {
            *self = Self::Read(Some(Cow::Borrowed(name)));
            return Ok(());
        }
        match source.token()? {
            Token::String(Cow::Borrowed(text)) => {
                let text = if rules.form.trims { trim(text) } else { text };
                *self = if check_identifier(text, path, rules, LONGEST_IDENTIFIER) {
                    Self::Read(Some(Cow::Borrowed(text)))
                } else {
                    Self::Read(None)
                };
            }
            Token::String(Cow::Owned(text)) => {
                let text = if rules.form.trims { trim(&text).to_owned() } else { text };
                let is_valid = check_identifier(&text, path, rules, LONGEST_IDENTIFIER);
                *self = Self::Read(is_valid.then_some(Cow::Owned(text)));
            }
            other => *self = Self::Read(rules.wrong_type(source, path, "a string", &other)?),
        }
        Ok(())
    }
}

/// Begins an object.
#[inline]
pub(crate) fn object<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Result<bool, Irregular> {
    match source.token()? {
        Token::Object => Ok(true),
        other => rules.wrong_type::<()>(source, path, "an object", &other).map(|_| false),
    }
}

#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(crate) fn string<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<Cow<'a, str>> {
    match source.token()? {
        Token::String(text) => Ok(Some(text)),
        other => rules.wrong_type(source, path, "a string", &other),
    }
}

pub(crate) fn boolean<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<bool> {
    match source.token()? {
        Token::Bool(value) => Ok(Some(value)),
        other => rules.wrong_type(source, path, "`true` or `false`", &other),
    }
}

/// A number with an integral value, however it is spelled, from 1 to `largest`.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(crate) fn integer<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
    largest: u32,
) -> Read<u32> {
    let number = match source.short_integer() {
        Some(integer) if (1..=largest).contains(&integer) => return Ok(Some(integer)),
        Some(integer) => f64::from(integer),
        None => match source.token()? {
            Token::Number(number) => number,
            other => return rules.wrong_type(source, path, "an integer", &other),
        },
    };
    // INVARIANT: within 32 bits, so that the conversions are exact for an integral number.
    if (1.0..=f64::from(largest)).contains(&number) && f64::from(number as u32) == number {
        return Ok(Some(number as u32));
    }
    rules.not_an_integer(path, number, largest);
    Ok(None)
}

/// A number from 0 to 1.
pub(crate) fn fraction<'a>(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<f64> {
    match source.token()? {
        Token::Number(number) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
        Token::Number(number) => {
            rules.issue(
                path,
                IssueCode::OutOfRange,
                format!("expected a number from 0 to 1, found {}", number_text(number).unwrap_or_default()),
            );
            Ok(None)
        }
        other => rules.wrong_type(source, path, "a number", &other),
    }
}

/// One of a few words.
pub(crate) fn choice<'a, T: Copy>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
    choices: &[(&str, T)],
) -> Read<T> {
    let Some(text) = string(source, path, rules)? else {
        return Ok(None);
    };
    let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    if chosen.is_none() {
        rules.issue(path, IssueCode::BadFormat, unknown_choice(choices.iter().map(|(word, _)| *word), &text));
    }
    Ok(chosen)
}

#[cold]
fn unknown_choice<'w>(words: impl Iterator<Item = &'w str>, text: &str) -> String {
    let mut message = String::from("expected ");
    for (at, word) in words.enumerate() {
        message.push_str(if at == 0 { "`" } else { " or `" });
        message.push_str(word);
        message.push('`');
    }
    message.push_str(", found ");
    message.push_str(&excerpt(text));
    message
}

/// The rules of an identifier; `longest` is in UTF-16 code units.
#[inline]
pub(crate) fn check_identifier(text: &str, path: &Path<'_>, rules: &mut Rules, longest: usize) -> bool {
    let bytes = text.as_bytes();
    (is_trimmed(bytes) && bytes.len() <= longest && is_printable_ascii(bytes))
        || check_unusual_identifier(text, path, rules, longest)
}

#[cold]
fn check_unusual_identifier(text: &str, path: &Path<'_>, rules: &mut Rules, longest: usize) -> bool {
    let faults_before = rules.issues.len();
    if text.is_empty() {
        rules.issue(path, IssueCode::Empty, "expected a name, found an empty text");
    }
    let length = utf16_length(text);
    if length > longest {
        rules.issue(
            path,
            IssueCode::TooLong,
            format!("expected at most {longest} UTF-16 code units, found {length}"),
        );
    }
    if let Some(control) = text.chars().find(|character| is_control(*character)) {
        rules.issue(
            path,
            IssueCode::ControlCharacter,
            format!("expected no control characters, found U+{:04X}", u32::from(control)),
        );
    }
    if text.starts_with(is_white_space) || text.ends_with(is_white_space) {
        rules.issue(path, IssueCode::OuterWhiteSpace, "expected no white space at the ends; remove it");
    }
    let is_valid = rules.issues.len() == faults_before;
    if let Some(invisible) = text.chars().find(|character| is_invisible(*character)) {
        rules.issue(
            path,
            IssueCode::InvisibleCharacter,
            format!("the name holds the invisible character U+{:04X}; is it meant?", u32::from(invisible)),
        );
    }
    is_valid
}

/// As much of a user's text as a message should repeat.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown = String::from("`");
    for (at, character) in text.chars().enumerate() {
        if at == SHOWN {
            shown.push('…');
            break;
        }
        write_shown(&mut shown, character);
    }
    shown.push('`');
    shown
}
