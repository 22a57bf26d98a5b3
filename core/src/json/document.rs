//! A JSON value as a tree that borrows from its text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::Limits;
use super::canonical::{Out, put_number, put_string, utf16_order, utf16_rank};
use super::error::{Fault, JsonCode, JsonError};
use super::lexer::{Lexer, Start};
use super::number::Literal;
use super::pointer::Pointer;
use super::reader::{Irregular, Source, Token};
use super::sorting::sort;
use crate::digest::Digest;

/// A hostile text can hold a fault in every few bytes; a report of the first hundred says enough.
const REPORTED_FAULTS: usize = 100;

/// A fault names its place, and a place can be as long as the text: so many bytes of places are enough.
const REPORTED_PLACES: usize = 64 << 10;

/// A parsed JSON text. Every object's members are in canonical order.
///
/// The children of a container lie side by side in one vector and name places of the text, so that a tree costs a
/// handful of allocations however many values it has, and neither parsing, writing nor dropping recurses.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    /// What the strings with escapes say, one behind the other.
    decoded: String,
    entries: Vec<Entry>,
    root: Node,
}

/// A member of an object, or an element of an array (which has no key).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The first eight bytes of the key, by which most keys are told apart.
    rank: u64,
    key: Span,
    pub(crate) node: Node,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    /// A number whose canonical text is the one that the text has.
    Literal(Span),
    String(Span),
    Array(Children),
    Object(Children),
    /// A token that was refused; only in a document that comes with faults.
    Refused,
}

/// Where a string is: in the text as it is, or decoded. One word, as all parts of an entry are, so that entries are
/// copied word by word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span(u64);

impl Span {
    /// Of an element of an array, which has no key.
    const NONE: Self = Self(0);
    const DECODED: u64 = 1 << 63;

    #[inline]
    const fn of_text(start: usize, length: usize) -> Self {
        Self((start as u64) << 32 | length as u64)
    }

    const fn of_decoded(start: usize, length: usize) -> Self {
        Self(Self::DECODED | (start as u64) << 32 | length as u64)
    }

    #[inline]
    const fn is_decoded(self) -> bool {
        self.0 & Self::DECODED != 0
    }

    #[inline]
    const fn start(self) -> usize {
        ((self.0 & !Self::DECODED) >> 32) as usize
    }

    #[inline]
    const fn length(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    const fn range(self) -> Range<usize> {
        self.start()..self.start() + self.length()
    }
}

/// Where the children of a container are among the entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Children(u64);

impl Children {
    const fn new(range: Range<usize>) -> Self {
        Self((range.start as u64) << 32 | range.end as u64)
    }

    const fn range(self) -> Range<usize> {
        (self.0 >> 32) as usize..self.0 as u32 as usize
    }
}

/// Places are kept in 31 bits. A text has fewer values than bytes, and what is decoded is shorter than it is written.
const LONGEST_TEXT: usize = (1 << 31) - 1;

/// A container whose end has not been read yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    is_object: bool,
    /// Where its children begin among the pending entries.
    first: usize,
    /// Its own key in the container around it.
    key: Key,
}

/// A key and its rank.
#[derive(Debug, Clone, Copy)]
struct Key {
    rank: u64,
    span: Span,
}

impl Key {
    const NONE: Self = Self { rank: 0, span: Span::NONE };
}

impl<'a> Document<'a> {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// The first fault of the text. Size is checked before anything else.
    pub fn parse(text: &'a [u8], limits: Limits) -> Result<Self, JsonError> {
        let (document, faults) = Self::parse_reporting(text, limits, 1);
        match (faults.into_iter().next(), document) {
            (None, Some(document)) => Ok(document),
            (Some(fault), _) => Err(fault),
            // INVARIANT: a text without faults has a document.
            (None, None) => Err(Fault::new(JsonCode::Invalid, 0, "expected a JSON value").at(Pointer::root())),
        }
    }

    /// Parses a text as far as it can be understood and tells every fault (the first hundred of them).
    pub(crate) fn parse_all(text: &'a [u8], limits: Limits) -> (Option<Self>, Vec<JsonError>) {
        Self::parse_reporting(text, limits, REPORTED_FAULTS)
    }

    fn parse_reporting(text: &'a [u8], limits: Limits, most_faults: usize) -> (Option<Self>, Vec<JsonError>) {
        let text = match checked_text(text, limits) {
            Ok(text) => text,
            Err(error) => return (None, vec![error]),
        };
        let mut parser = Parser {
            text,
            lexer: Lexer::new(text),
            limits,
            open: Vec::new(),
            key: Key::NONE,
            pending: Vec::new(),
            decoded: String::new(),
            entries: Vec::new(),
            faults: Vec::new(),
            most_faults,
            places: 0,
            is_full: false,
        };
        match parser.value() {
            Ok(root) => {
                (Some(Self { text, decoded: parser.decoded, entries: parser.entries, root }), parser.faults)
            }
            Err(fault) => {
                parser.report(fault);
                (None, parser.faults)
            }
        }
    }

    pub(crate) const fn root(&self) -> &Node {
        &self.root
    }

    /// The children of a container; members in canonical order.
    pub(crate) fn children(&self, children: Children) -> &[Entry] {
        self.entries.get(children.range()).unwrap_or_default()
    }

    /// The key of a member.
    pub(crate) fn key(&self, entry: &Entry) -> &str {
        self.string(entry.key)
    }

    fn string(&self, span: Span) -> &str {
        string(self.text, &self.decoded, span)
    }

    /// The member `name` of an object, if `node` is one and has it.
    pub(crate) fn member(&self, node: &Node, name: &str) -> Option<&Node> {
        let Node::Object(children) = node else {
            return None;
        };
        let members = self.children(*children);
        let found = members.binary_search_by(|entry| utf16_order(self.key(entry), name)).ok()?;
        members.get(found).map(|entry| &entry.node)
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.root).chain(self.entries.iter().map(|entry| &entry.node))
    }

    /// Every two keys that follow each other in an object, in canonical order.
    pub(crate) fn neighbouring_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let objects = self.nodes().filter_map(|node| match node {
            Node::Object(children) => Some(self.children(*children)),
            _ => None,
        });
        objects.flat_map(|members| {
            members.iter().zip(members.iter().skip(1)).map(|(one, next)| (self.key(one), self.key(next)))
        })
    }

    /// Whether the text is an object.
    pub fn is_object(&self) -> bool {
        matches!(self.root, Node::Object(_))
    }

    /// The RFC 8785 canonical text.
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        self.write(&self.root, &mut out);
        out
    }

    /// The canonical text of a part.
    pub(crate) fn canonical_of(&self, node: &Node) -> String {
        let mut out = String::new();
        self.write(node, &mut out);
        out
    }

    /// The digest of the canonical text, and the length of that text in bytes.
    pub(crate) fn digest(&self) -> (Digest, usize) {
        Digest::of_written(|out| self.write(&self.root, out))
    }

    /// The text with the members of every object in another order than RFC 8785's; members that compare equal
    /// stay in canonical order.
    #[cfg(feature = "legacy-key-order")]
    pub(crate) fn text_ordered_by(&self, order: &dyn Fn(&str, &str) -> Ordering) -> String {
        let mut entries = self.entries.clone();
        for node in self.nodes() {
            if let Node::Object(children) = node {
                let members = entries.get_mut(children.range()).unwrap_or_default();
                members.sort_by(|left, right| order(self.key(left), self.key(right)));
            }
        }
        Document { text: self.text, decoded: self.decoded.clone(), entries, root: self.root }.canonical()
    }

    fn write(&self, node: &Node, out: &mut impl Out) {
        let mut outer: Vec<Writing<'_>> = Vec::new();
        let Some(mut innermost) = self.begin(node, out) else { return };
        loop {
            if let Some(entry) = innermost.rest.next() {
                let is_first = std::mem::replace(&mut innermost.is_first, false);
                if innermost.is_object {
                    self.write_key(entry.key, is_first, out);
                } else if !is_first {
                    out.push_str(",");
                }
                if let Some(begun) = self.begin(&entry.node, out) {
                    outer.push(std::mem::replace(&mut innermost, begun));
                }
                continue;
            }
            out.push_str(if innermost.is_object { "}" } else { "]" });
            match outer.pop() {
                Some(container) => innermost = container,
                None => return,
            }
        }
    }

    /// Writes a scalar, or the beginning of a container.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn begin<'d>(&'d self, node: &Node, out: &mut impl Out) -> Option<Writing<'d>> {
        let (children, is_object) = match *node {
            Node::Array(children) => (children, false),
            Node::Object(children) => (children, true),
            Node::String(span) => {
                self.write_string(span, out);
                return None;
            }
            Node::Literal(span) => {
                out.push_part(self.text, span.start(), span.length());
                return None;
            }
            Node::Number(number) => {
                put_number(out, number);
                return None;
            }
            Node::Bool(value) => {
                out.push_str(if value { "true" } else { "false" });
                return None;
            }
            Node::Null | Node::Refused => {
                out.push_str("null");
                return None;
            }
        };
        out.push_str(if is_object { "{" } else { "[" });
        Some(Writing { rest: self.children(children).iter(), is_object, is_first: true })
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn write_key(&self, key: Span, is_first: bool, out: &mut impl Out) {
        #[cfg(not(target_arch = "wasm32"))]
        if !key.is_decoded() {
            return out.push_key(is_first, self.text, key.start() - 1, key.length() + 2);
        }
        if !is_first {
            out.push_str(",");
        }
        self.write_string(key, out);
        out.push_str(":");
    }

    /// A string that the text holds as it is, is canonical with the quotes around it.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn write_string(&self, string: Span, out: &mut impl Out) {
        if string.is_decoded() {
            put_string(out, self.string(string));
        } else {
            out.push_part(self.text, string.start() - 1, string.length() + 2);
        }
    }
}

#[inline]
fn string<'t>(text: &'t str, decoded: &'t str, span: Span) -> &'t str {
    let from = if span.is_decoded() { decoded } else { text };
    from.get(span.range()).unwrap_or_default()
}

/// A container of which some children have been written.
struct Writing<'d> {
    rest: std::slice::Iter<'d, Entry>,
    is_object: bool,
    is_first: bool,
}

/// Size, encoding and byte order mark: what is checked before the first token.
pub(super) fn checked_text(text: &[u8], limits: Limits) -> Result<&str, JsonError> {
    let most = limits.bytes.min(LONGEST_TEXT);
    if text.len() > most {
        return Err(JsonError::too_large(text.len(), most));
    }
    if text.starts_with("\u{FEFF}".as_bytes()) {
        return Err(Fault::new(
            JsonCode::Bom,
            0,
            "expected JSON without a byte order mark, found EF BB BF; save the file as plain UTF-8",
        )
        .at(Pointer::root()));
    }
    std::str::from_utf8(text).map_err(|error| {
        Fault::new(
            JsonCode::InvalidUtf8,
            error.valid_up_to(),
            format!("expected UTF-8, found other bytes at offset {}", error.valid_up_to()),
        )
        .at(Pointer::root())
    })
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    limits: Limits,
    open: Vec<Open>,
    /// The key of the value that comes next.
    key: Key,
    pending: Vec<Entry>,
    decoded: String,
    entries: Vec<Entry>,
    faults: Vec<JsonError>,
    most_faults: usize,
    /// The bytes of the places of the faults so far.
    places: usize,
    /// Enough has been noted; the fault that ended the reading is among it.
    is_full: bool,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Node, Fault> {
        loop {
            if self.scalar_or_open()? || self.closes_at_once() {
                // A value is complete: close what ends here, and go on with the next member or element.
                loop {
                    let Some(innermost) = self.open.last() else {
                        self.lexer.finish()?;
                        return Ok(self.pending.pop().map_or(Node::Null, |entry| entry.node));
                    };
                    let (is_object, closing) = if innermost.is_object { (true, b'}') } else { (false, b']') };
                    if self.lexer.eat(b',') {
                        break;
                    }
                    if !self.lexer.eat(closing) {
                        return Err(self.lexer.expected(if is_object { "`,` or `}`" } else { "`,` or `]`" }));
                    }
                    self.close()?;
                }
            }
            self.key()?;
        }
    }

    /// Reads a scalar, or else (false) opens a container.
    #[inline]
    fn scalar_or_open(&mut self) -> Result<bool, Fault> {
        let read = match self.lexer.start()? {
            Start::Object => return self.open(true),
            Start::Array => return self.open(false),
            Start::String => self.string().map(|span| self.push(Node::String(span))),
            Start::Number => self.number(),
            Start::True => self.lexer.literal("true").map(|()| self.push(Node::Bool(true))),
            Start::False => self.lexer.literal("false").map(|()| self.push(Node::Bool(false))),
            Start::Null => self.lexer.literal("null").map(|()| self.push(Node::Null)),
        };
        if let Err(fault) = read {
            let pointer = self.pointer(string(self.text, &self.decoded, self.key.span));
            self.go_on_after(fault, pointer)?;
            self.push(Node::Refused);
        }
        Ok(true)
    }

    #[inline]
    fn push(&mut self, node: Node) {
        self.pending.push(Entry { rank: self.key.rank, key: self.key.span, node });
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn string(&mut self) -> Result<Span, Fault> {
        if let Some(plain) = self.lexer.plain_span() {
            return Ok(Span::of_text(plain.start, plain.len()));
        }
        let start = self.decoded.len();
        self.lexer.escaped_string(&mut self.decoded)?;
        Ok(Span::of_decoded(start, self.decoded.len() - start))
    }

    #[inline]
    fn number(&mut self) -> Result<(), Fault> {
        let literal = self.lexer.number()?;
        if literal.is_canonical() {
            self.push(Node::Literal(Span::of_text(literal.offset, literal.text.len())));
        } else {
            let number = literal.value()?;
            self.push(Node::Number(number));
        }
        Ok(())
    }

    fn open(&mut self, is_object: bool) -> Result<bool, Fault> {
        if self.open.len() >= self.limits.depth {
            return Err(Fault::new(
                JsonCode::TooDeep,
                self.lexer.offset(),
                format!("expected at most {} arrays and objects inside each other, found more", self.limits.depth),
            ));
        }
        self.lexer.bump();
        self.open.push(Open { is_object, first: self.pending.len(), key: self.key });
        Ok(false)
    }

    /// Whether the container that was just opened is empty; it is closed then.
    fn closes_at_once(&mut self) -> bool {
        let Some(innermost) = self.open.last() else {
            return false;
        };
        let closing = if innermost.is_object { b'}' } else { b']' };
        self.lexer.eat(closing) && self.close().is_ok()
    }

    /// The key before the next member; nothing before an element.
    #[inline]
    fn key(&mut self) -> Result<(), Fault> {
        if !self.open.last().is_some_and(|open| open.is_object) {
            self.key = Key::NONE;
            return Ok(());
        }
        if self.lexer.peek() != Some(b'"') {
            return Err(self.lexer.expected("a key in double quotes"));
        }
        let span = match self.string() {
            Ok(span) => span,
            Err(fault) => {
                let pointer = self.pointer("\u{FFFD}");
                self.go_on_after(fault, pointer)?;
                let start = self.decoded.len();
                self.decoded.push(char::REPLACEMENT_CHARACTER);
                Span::of_decoded(start, self.decoded.len() - start)
            }
        };
        self.key = Key { rank: rank(self.text, &self.decoded, span), span };
        if self.lexer.eat(b':') { Ok(()) } else { Err(self.lexer.expected("`:`")) }
    }

    /// Sorts the children of the innermost container and moves them to their place.
    fn close(&mut self) -> Result<(), Fault> {
        let Some(Open { is_object, first, key }) = self.open.last().copied() else {
            return Ok(());
        };
        let start = self.entries.len();
        if is_object && !is_ranked(self.pending.get(first..).unwrap_or_default()) && !self.place_few(first) {
            self.sort(first)?;
        }
        if self.entries.len() == start {
            // They are in order where they are.
            self.entries.extend_from_slice(self.pending.get(first..).unwrap_or_default());
        }
        self.pending.truncate(first);
        self.open.pop();
        let children = Children::new(start..self.entries.len());
        self.key = key;
        self.push(if is_object { Node::Object(children) } else { Node::Array(children) });
        Ok(())
    }

    /// Moves the pending members from `first` on to their places, if they are few and no two have the same rank; else
    /// nothing is moved.
    ///
    /// How many ranks are lower is counted for each: unlike in a sort no branch depends on the keys, which no processor
    /// foresees. Of two members with the same rank one is lost, and the places are not in strict order then.
    #[cfg(not(target_arch = "wasm32"))]
    fn place_few(&mut self, first: usize) -> bool {
        const FEW: usize = 16;
        let members = self.pending.get(first..).unwrap_or_default();
        if members.len() > FEW {
            return false;
        }
        let start = self.entries.len();
        self.entries.extend_from_slice(members);
        let places = self.entries.get_mut(start..).unwrap_or_default();
        for member in members {
            let lower = members.iter().filter(|other| other.rank < member.rank).count();
            if let Some(place) = places.get_mut(lower) {
                *place = *member;
            }
        }
        let is_placed = is_ranked(places);
        if !is_placed {
            self.entries.truncate(start);
        }
        is_placed
    }

    /// In the browser a sort is all there is: what counts there is size.
    #[cfg(target_arch = "wasm32")]
    fn place_few(&mut self, _first: usize) -> bool {
        false
    }

    /// Sorts the pending members from `first` on by all of their keys.
    fn sort(&mut self, first: usize) -> Result<(), Fault> {
        let (text, decoded) = (self.text, self.decoded.as_str());
        let order = |one: &Entry, other: &Entry| key_order(text, decoded, one, other);
        let members = self.pending.get_mut(first..).unwrap_or_default();
        sort(members, order);
        if !members.is_sorted_by(|one, other| order(one, other).is_lt()) {
            self.refuse_repeated_keys(first)?;
        }
        Ok(())
    }

    #[cold]
    fn refuse_repeated_keys(&mut self, first: usize) -> Result<(), Fault> {
        for at in first + 1..self.pending.len() {
            let (Some(before), Some(member)) = (self.pending.get(at - 1), self.pending.get(at)) else { continue };
            let key = string(self.text, &self.decoded, member.key);
            if before.rank != member.rank || string(self.text, &self.decoded, before.key) != key {
                continue;
            }
            let pointer = self.container_pointer().child(key);
            let message = "expected each key once in an object, found one twice";
            self.go_on_after(Fault::new(JsonCode::DuplicateKey, self.lexer.offset(), message), pointer)?;
        }
        Ok(())
    }

    /// Notes a fault after which reading can go on, unless enough have been noted; any other ends it.
    fn go_on_after(&mut self, fault: Fault, pointer: Pointer) -> Result<(), Fault> {
        if !fault.is_recoverable() {
            return Err(fault);
        }
        self.places += pointer.as_str().len();
        self.faults.push(fault.clone().at(pointer));
        self.is_full = self.faults.len() >= self.most_faults || self.places > REPORTED_PLACES;
        if self.is_full { Err(fault) } else { Ok(()) }
    }

    /// Notes the fault that ended the reading.
    fn report(&mut self, fault: Fault) {
        if !self.is_full {
            let pointer = self.container_pointer();
            self.faults.push(fault.at(pointer));
        }
    }

    /// The pointer of the innermost open container. INVARIANT: an array's finished elements are the pending
    /// entries from its first one to the first one of the container opened inside it.
    fn container_pointer(&self) -> Pointer {
        let mut pointer = Pointer::root();
        for (outer, inner) in self.open.iter().zip(self.open.iter().skip(1)) {
            if outer.is_object {
                pointer.push(string(self.text, &self.decoded, inner.key.span));
            } else {
                pointer.push(&(inner.first - outer.first).to_string());
            }
        }
        pointer
    }

    /// The pointer of the value about to be read.
    fn pointer(&self, key: &str) -> Pointer {
        let container = self.container_pointer();
        match self.open.last() {
            None => container,
            Some(open) if open.is_object => container.child(key),
            Some(open) => container.child(&(self.pending.len() - open.first).to_string()),
        }
    }
}

/// The first eight bytes of a key as one number, by which keys are in canonical order unless it is the same. No key has
/// U+0000, so shorter ones come before longer ones.
#[inline]
fn rank(text: &str, decoded: &str, key: Span) -> u64 {
    const BEYOND_ASCII: u64 = (u64::MAX / 255) << 7;
    let from = if key.is_decoded() { decoded } else { text };
    // What follows the key is read with it and cut off, where there is as much.
    let rank = if let Some(eight) = from.as_bytes().get(key.start()..).and_then(<[u8]>::first_chunk) {
        let beyond = u64::MAX.checked_shr(8 * key.length() as u32).unwrap_or(0);
        u64::from_be_bytes(*eight) & !beyond
    } else {
        let mut eight = [0; 8];
        for (place, byte) in eight.iter_mut().zip(from.as_bytes().get(key.range()).unwrap_or_default()) {
            *place = *byte;
        }
        u64::from_be_bytes(eight)
    };
    // The order of ASCII is the order of its bytes.
    if rank & BEYOND_ASCII == 0 { rank } else { u64::from_be_bytes(rank.to_be_bytes().map(utf16_rank)) }
}

/// [`utf16_order`] of two keys.
#[inline]
fn key_order(text: &str, decoded: &str, one: &Entry, other: &Entry) -> Ordering {
    if one.rank != other.rank {
        return one.rank.cmp(&other.rank);
    }
    utf16_order(string(text, decoded, one.key), string(text, decoded, other.key))
}

/// Whether members are in canonical order by their ranks alone, each of which is another then.
fn is_ranked(members: &[Entry]) -> bool {
    members.is_sorted_by(|one, other| one.rank < other.rank)
}

/// A document read as the rules read a text.
pub(crate) struct DocumentSource<'d, 'a> {
    document: &'d Document<'a>,
    next: Option<&'d Node>,
    open: Vec<std::slice::Iter<'d, Entry>>,
}

impl<'d, 'a> DocumentSource<'d, 'a> {
    pub(crate) fn new(document: &'d Document<'a>, node: &'d Node) -> Self {
        Self { document, next: Some(node), open: Vec::new() }
    }

    fn advance(&mut self) -> Option<&'d Entry> {
        let entry = self.open.last_mut()?.next();
        match entry {
            Some(entry) => self.next = Some(&entry.node),
            None => drop(self.open.pop()),
        }
        entry
    }
}

impl<'d> Source<'d> for DocumentSource<'d, '_> {
    fn token(&mut self) -> Result<Token<'d>, Irregular> {
        Ok(match self.next.take().copied() {
            None | Some(Node::Null) => Token::Null,
            Some(Node::Bool(value)) => Token::Bool(value),
            Some(Node::Number(value)) => Token::Number(value),
            Some(Node::Literal(span)) => Token::Number(Literal::canonical_value(self.document.string(span))),
            Some(Node::String(span)) => Token::String(Cow::Borrowed(self.document.string(span))),
            Some(Node::Refused) => Token::Refused,
            Some(Node::Array(children)) => {
                self.open.push(self.document.children(children).iter());
                Token::Array
            }
            Some(Node::Object(children)) => {
                self.open.push(self.document.children(children).iter());
                Token::Object
            }
        })
    }

    fn member(&mut self) -> Result<Option<Cow<'d, str>>, Irregular> {
        Ok(self.advance().map(|entry| Cow::Borrowed(self.document.key(entry))))
    }

    fn element(&mut self) -> Result<bool, Irregular> {
        Ok(self.advance().is_some())
    }

    fn skip(&mut self) -> Result<(), Irregular> {
        self.next = None;
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Irregular> {
        self.open.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_members_and_many_are_in_canonical_order(
            keys in prop::collection::btree_set(
                "[a-c\u{E9}\u{E000}\u{FFFF}\u{10000}]{0,3}|samestart[a-c\u{E000}\u{10000}]{0,2}",
                0..40,
            ).prop_map(Vec::from_iter).prop_shuffle(),
        ) {
            let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":0")).collect();
            let text = format!("{{{}}}", members.join(","));
            let mut keys = keys;
            keys.sort_by_key(|key| key.encode_utf16().collect::<Vec<u16>>());
            let document = Document::parse(text.as_bytes(), Limits::ANY).unwrap();
            let Node::Object(children) = *document.root() else { panic!("an object") };
            let found: Vec<&str> = document.children(children).iter().map(|entry| document.key(entry)).collect();
            prop_assert_eq!(found, keys);
        }
    }

    #[test]
    fn a_key_that_comes_twice_is_refused_among_few_and_among_many() {
        for count in [2, 3, 16, 17, 40] {
            let members: Vec<String> =
                (0..count).rev().map(|at| format!("\"k{}\":{at}", at / 2 + at % 2 * 50)).collect();
            let twice = format!("{{{},\"k0\":0}}", members.join(","));
            let (document, faults) = Document::parse_all(twice.as_bytes(), Limits::ANY);
            let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
            assert_eq!((places, document.is_some()), (vec!["/k0"], true), "{twice}");
        }
    }
}
