//! Reading a text token by token, without building anything.

use std::borrow::Cow;

use super::Limits;
use super::document::checked_text;
use super::lexer::{Lexer, Start};

/// One token, as the snapshot rules look at it.
#[derive(Debug)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    Number(f64),
    String(Cow<'a, str>),
    /// What follows are elements, until [`Source::element`] says no.
    Array,
    /// What follows are members, until [`Source::member`] says none.
    Object,
    /// A token that is not JSON and was reported as such.
    Refused,
}

/// The text is not what the fast way of reading can tell precisely: it is to be read as a document instead.
#[derive(Debug)]
pub(crate) struct Irregular;

/// A key, and which of the members of a table it names.
pub(crate) type Named<'a, M> = (Cow<'a, str>, Option<M>);

#[inline]
fn named<'a, M: Copy>(key: Cow<'a, str>, members: &[(&'static str, M)]) -> Named<'a, M> {
    let member = members.iter().find(|(name, _)| *name == key).map(|(_, member)| *member);
    (key, member)
}

/// [`Source::member`], and which of `members` its key names.
#[inline(always)]
pub(crate) fn member_of<'a, M: Copy>(
    source: &mut impl Source<'a>,
    members: &[(&'static str, M)],
) -> Result<Option<Named<'a, M>>, Irregular> {
    #[cfg(not(target_arch = "wasm32"))]
    return source.member_of(members);
    #[cfg(target_arch = "wasm32")]
    Ok(source.member()?.map(|key| named(key, members)))
}

/// Where the rules get their tokens: a text as it is read, or a document.
pub(crate) trait Source<'a> {
    /// The next value, or the beginning of it.
    fn token(&mut self) -> Result<Token<'a>, Irregular>;
    /// The key of the next member of the object that was begun, or its end.
    fn member(&mut self) -> Result<Option<Cow<'a, str>>, Irregular>;
    /// The key of the next member of the object that was begun, and which of `members` it names; or its end.
    #[cfg(not(target_arch = "wasm32"))]
    fn member_of<M: Copy>(&mut self, members: &[(&'static str, M)]) -> Result<Option<Named<'a, M>>, Irregular> {
        Ok(self.member()?.map(|key| named(key, members)))
    }
    /// Whether the array that was begun has another element.
    fn element(&mut self) -> Result<bool, Irregular>;
    /// The next value, if it is a number that is a short row of digits and nothing else. Of any other nothing is read.
    fn short_integer(&mut self) -> Option<u32> {
        None
    }
    /// The next value, if it is a string of up to `longest` characters of printable ASCII, none at its ends a space. Of
    /// any other nothing is read.
    #[cfg(not(target_arch = "wasm32"))]
    fn plain_name(&mut self, _longest: usize) -> Option<&'a str> {
        None
    }
    /// What `read` makes of the next value, if it is a string of as many bytes as `read` takes. Of any other nothing is
    /// read. INVARIANT: `read` refuses quotes, backslashes and control characters.
    #[cfg(not(target_arch = "wasm32"))]
    fn fixed_string<const N: usize, T>(&mut self, _read: impl FnOnce(&[u8; N]) -> Option<T>) -> Option<T> {
        None
    }
    /// Passes over the next value, whatever it is.
    fn skip(&mut self) -> Result<(), Irregular>;
    /// Passes over the rest of the array or object that was begun.
    fn leave(&mut self) -> Result<(), Irregular>;
}

impl<'a, S: Source<'a> + ?Sized> Source<'a> for &mut S {
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn token(&mut self) -> Result<Token<'a>, Irregular> {
        (**self).token()
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn member(&mut self) -> Result<Option<Cow<'a, str>>, Irregular> {
        (**self).member()
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn short_integer(&mut self) -> Option<u32> {
        (**self).short_integer()
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn member_of<M: Copy>(&mut self, members: &[(&'static str, M)]) -> Result<Option<Named<'a, M>>, Irregular> {
        (**self).member_of(members)
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn plain_name(&mut self, longest: usize) -> Option<&'a str> {
        (**self).plain_name(longest)
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn fixed_string<const N: usize, T>(&mut self, read: impl FnOnce(&[u8; N]) -> Option<T>) -> Option<T> {
        (**self).fixed_string(read)
    }

    fn element(&mut self) -> Result<bool, Irregular> {
        (**self).element()
    }

    fn skip(&mut self) -> Result<(), Irregular> {
        (**self).skip()
    }

    fn leave(&mut self) -> Result<(), Irregular> {
        (**self).leave()
    }
}

/// What the rules are compiled for: on servers each kind of source on its own, which is fastest.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) const fn shared<S>(source: &mut S) -> &mut S {
    source
}

/// A reader as the rules are compiled for it.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type SharedReader<'s, 'a> = &'s mut Reader<'a>;
/// A reader as the rules are compiled for it.
#[cfg(target_arch = "wasm32")]
pub(crate) type SharedReader<'s, 'a> = &'s mut (dyn Source<'a> + 's);

/// What the rules are compiled for: in the browser all sources at once, which is smallest.
#[cfg(target_arch = "wasm32")]
pub(crate) fn shared<'s, 'a>(source: &'s mut (dyn Source<'a> + 's)) -> &'s mut (dyn Source<'a> + 's) {
    source
}

/// Reads a well-formed text. Whatever needs a precise answer (a fault, an unknown member to pass over) or more than the
/// text itself (a string with escapes) is `Irregular` to it, so that the usual case pays for none of that.
pub(crate) struct Reader<'a> {
    lexer: Lexer<'a>,
    /// Whether the innermost container has had no child yet.
    first: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [u8], limits: Limits) -> Result<Self, Irregular> {
        let text = checked_text(text, limits).map_err(|_| Irregular)?;
        Ok(Self { lexer: Lexer::new(text), first: false })
    }

    /// Whether nothing but white space is left.
    pub(crate) fn is_finished(&mut self) -> bool {
        self.lexer.peek().is_none()
    }

    /// Whether the container goes on: past the comma if it does, past `closing` if not.
    #[inline]
    fn goes_on(&mut self, closing: u8) -> Result<bool, Irregular> {
        let first = std::mem::replace(&mut self.first, false);
        match self.lexer.peek() {
            Some(byte) if byte == closing => {
                self.lexer.bump();
                Ok(false)
            }
            Some(b',') if !first => {
                self.lexer.bump();
                Ok(true)
            }
            Some(_) if first => Ok(true),
            _ => Err(Irregular),
        }
    }
}

impl<'a> Source<'a> for Reader<'a> {
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn token(&mut self) -> Result<Token<'a>, Irregular> {
        let read = match self.lexer.start() {
            Err(fault) => Err(fault),
            Ok(Start::String) => {
                return self.lexer.plain_string().map(|text| Token::String(Cow::Borrowed(text))).ok_or(Irregular);
            }
            Ok(Start::Number) => self.lexer.number().and_then(|literal| literal.value()).map(Token::Number),
            Ok(Start::True) => self.lexer.literal("true").map(|()| Token::Bool(true)),
            Ok(Start::False) => self.lexer.literal("false").map(|()| Token::Bool(false)),
            Ok(Start::Null) => self.lexer.literal("null").map(|()| Token::Null),
            Ok(container @ (Start::Object | Start::Array)) => {
                self.lexer.bump();
                self.first = true;
                return Ok(if container == Start::Object { Token::Object } else { Token::Array });
            }
        };
        read.map_err(|_| Irregular)
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn member(&mut self) -> Result<Option<Cow<'a, str>>, Irregular> {
        if !self.goes_on(b'}')? {
            return Ok(None);
        }
        if self.lexer.peek() != Some(b'"') {
            return Err(Irregular);
        }
        let key = self.lexer.plain_string().ok_or(Irregular)?;
        if self.lexer.eat(b':') { Ok(Some(Cow::Borrowed(key))) } else { Err(Irregular) }
    }

    /// The keys are compared where they are: of one that is not in the table not even the end is looked for, since
    /// whoever reads would have to pass over its value.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn member_of<M: Copy>(&mut self, members: &[(&'static str, M)]) -> Result<Option<Named<'a, M>>, Irregular> {
        if !self.goes_on(b'}')? {
            return Ok(None);
        }
        self.lexer.peek();
        let (name, member) = self.lexer.name_of(members).ok_or(Irregular)?;
        if self.lexer.eat(b':') { Ok(Some((Cow::Borrowed(name), Some(member)))) } else { Err(Irregular) }
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn short_integer(&mut self) -> Option<u32> {
        self.lexer.peek();
        self.lexer.short_integer()
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn plain_name(&mut self, longest: usize) -> Option<&'a str> {
        if self.lexer.peek() == Some(b'"') { self.lexer.plain_name(longest) } else { None }
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    fn fixed_string<const N: usize, T>(&mut self, read: impl FnOnce(&[u8; N]) -> Option<T>) -> Option<T> {
        if self.lexer.peek() == Some(b'"') { self.lexer.fixed_string(read) } else { None }
    }

    fn element(&mut self) -> Result<bool, Irregular> {
        self.goes_on(b']')
    }

    fn skip(&mut self) -> Result<(), Irregular> {
        Err(Irregular)
    }

    fn leave(&mut self) -> Result<(), Irregular> {
        Err(Irregular)
    }
}
