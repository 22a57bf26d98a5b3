//! A JSON value as a tree that borrows from its text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::Limits;
use super::canonical::{utf16_order, write_number, write_string};
use super::error::{Fault, JsonCode, JsonError};
use super::lexer::{Lexer, Start};
use super::pointer::Pointer;
use super::reader::{Irregular, Source, Token};
use super::sorting::sort;

/// A hostile text can hold a fault in every few bytes; a report of the first hundred says enough.
const REPORTED_FAULTS: usize = 100;

/// A fault names its place, and a place can be as long as the text: so many bytes of places are enough.
const REPORTED_PLACES: usize = 64 << 10;

/// A parsed JSON text. Every object's members are in canonical order.
///
/// The children of a container lie side by side in one vector, so that a tree costs a handful of allocations
/// however many values it has, and neither parsing, writing nor dropping recurses.
#[derive(Debug)]
pub struct Document<'a> {
    entries: Vec<Entry<'a>>,
    root: Node<'a>,
}

/// A member of an object, or an element of an array (which has no key).
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) node: Node<'a>,
}

#[derive(Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Number(f64),
    String(Cow<'a, str>),
    Array(Range<usize>),
    Object(Range<usize>),
    /// A token that was refused; only in a document that comes with faults.
    Refused,
}

/// An order of keys other than RFC 8785's.
type KeyComparison<'o> = &'o dyn Fn(&str, &str) -> Ordering;

/// A container whose end has not been read yet.
struct Open<'a> {
    is_object: bool,
    /// Where its children begin among the pending entries.
    first: usize,
    /// Its own key in the container around it.
    key: Cow<'a, str>,
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
            lexer: Lexer::new(text),
            limits,
            open: Vec::new(),
            pending: Vec::new(),
            entries: Vec::new(),
            faults: Vec::new(),
            most_faults,
            places: 0,
            is_full: false,
        };
        match parser.value() {
            Ok(root) => (Some(Self { entries: parser.entries, root }), parser.faults),
            Err(fault) => {
                parser.report(fault);
                (None, parser.faults)
            }
        }
    }

    pub(crate) const fn root(&self) -> &Node<'a> {
        &self.root
    }

    /// The children of a container; members in canonical order.
    pub(crate) fn children(&self, range: &Range<usize>) -> &[Entry<'a>] {
        self.entries.get(range.clone()).unwrap_or_default()
    }

    /// The member `name` of an object, if `node` is one and has it.
    pub(crate) fn member(&self, node: &Node<'a>, name: &str) -> Option<&Node<'a>> {
        let Node::Object(range) = node else {
            return None;
        };
        let members = self.children(range);
        let found = members.binary_search_by(|entry| utf16_order(&entry.key, name)).ok()?;
        members.get(found).map(|entry| &entry.node)
    }

    /// Every two keys that follow each other in an object, in canonical order.
    pub(crate) fn neighbouring_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let nodes = std::iter::once(&self.root).chain(self.entries.iter().map(|entry| &entry.node));
        let objects = nodes.filter_map(|node| match node {
            Node::Object(range) => Some(self.children(range)),
            _ => None,
        });
        objects.flat_map(|members| {
            members.iter().zip(members.iter().skip(1)).map(|(one, next)| (one.key.as_ref(), next.key.as_ref()))
        })
    }

    /// Whether the text is an object.
    pub fn is_object(&self) -> bool {
        matches!(self.root, Node::Object(_))
    }

    /// The RFC 8785 canonical text.
    pub fn canonical(&self) -> String {
        self.write(&self.root, None)
    }

    /// The canonical text of a part.
    pub(crate) fn canonical_of(&self, node: &Node<'a>) -> String {
        self.write(node, None)
    }

    /// The text with the members of every object in another order than RFC 8785's; members that compare equal
    /// stay in canonical order.
    #[cfg(feature = "legacy-key-order")]
    pub(crate) fn text_ordered_by(&self, order: KeyComparison<'_>) -> String {
        self.write(&self.root, Some(order))
    }

    fn write(&self, node: &Node<'a>, order: Option<KeyComparison<'_>>) -> String {
        // A part may be small however large the document is.
        let capacity = if std::ptr::eq(node, &self.root) { 64 + self.entries.len() * 16 } else { 0 };
        let mut out = String::with_capacity(capacity);
        let mut open: Vec<Writing<'_, 'a>> = Vec::new();
        let mut next = Some(node);
        loop {
            match next.take() {
                Some(Node::Array(range)) => {
                    out.push('[');
                    open.push(Writing::new(self.children(range), false, order));
                }
                Some(Node::Object(range)) => {
                    out.push('{');
                    open.push(Writing::new(self.children(range), true, order));
                }
                Some(scalar) => write_scalar(&mut out, scalar),
                None => {}
            }
            let Some(container) = open.last_mut() else {
                return out;
            };
            match container.next() {
                Some(entry) => {
                    if container.written > 1 {
                        out.push(',');
                    }
                    if container.is_object {
                        write_string(&mut out, &entry.key);
                        out.push(':');
                    }
                    next = Some(&entry.node);
                }
                None => {
                    out.push(if container.is_object { '}' } else { ']' });
                    open.pop();
                }
            }
        }
    }
}

/// A container of which some children have been written.
struct Writing<'d, 'a> {
    children: &'d [Entry<'a>],
    /// Positions in another order, where one was asked for.
    reordered: Option<Vec<usize>>,
    is_object: bool,
    written: usize,
}

impl<'d, 'a> Writing<'d, 'a> {
    fn new(children: &'d [Entry<'a>], is_object: bool, order: Option<KeyComparison<'_>>) -> Self {
        let reordered = order.filter(|_| is_object).map(|order| {
            let key = |at: &usize| children.get(*at).map_or("", |entry| entry.key.as_ref());
            let mut positions: Vec<usize> = (0..children.len()).collect();
            positions.sort_by(|left, right| order(key(left), key(right)));
            positions
        });
        Self { children, reordered, is_object, written: 0 }
    }

    fn next(&mut self) -> Option<&'d Entry<'a>> {
        let position = match &self.reordered {
            None => self.written,
            Some(positions) => *positions.get(self.written)?,
        };
        self.written += 1;
        self.children.get(position)
    }
}

fn write_scalar(out: &mut String, node: &Node<'_>) {
    match node {
        Node::Bool(true) => out.push_str("true"),
        Node::Bool(false) => out.push_str("false"),
        Node::Number(number) => write_number(out, *number),
        Node::String(value) => write_string(out, value),
        Node::Null | Node::Refused | Node::Array(_) | Node::Object(_) => out.push_str("null"),
    }
}

/// Size, encoding and byte order mark: what is checked before the first token.
pub(super) fn checked_text(text: &[u8], limits: Limits) -> Result<&str, JsonError> {
    if text.len() > limits.bytes {
        return Err(JsonError::too_large(text.len(), limits.bytes));
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
    lexer: Lexer<'a>,
    limits: Limits,
    open: Vec<Open<'a>>,
    pending: Vec<Entry<'a>>,
    entries: Vec<Entry<'a>>,
    faults: Vec<JsonError>,
    most_faults: usize,
    /// The bytes of the places of the faults so far.
    places: usize,
    /// Enough has been noted; the fault that ended the reading is among it.
    is_full: bool,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Result<Node<'a>, Fault> {
        let mut key = Cow::Borrowed("");
        loop {
            if let Some(scalar) = self.open_or_scalar(&mut key)? {
                self.pending.push(Entry { key: std::mem::take(&mut key), node: scalar });
            } else if !self.closes_at_once() {
                key = self.key()?;
                continue;
            }
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
            key = self.key()?;
        }
    }

    /// Reads a scalar, or opens a container (`None`).
    fn open_or_scalar(&mut self, key: &mut Cow<'a, str>) -> Result<Option<Node<'a>>, Fault> {
        let read = match self.lexer.start()? {
            Start::Object => return self.open(true, key),
            Start::Array => return self.open(false, key),
            Start::String => self.lexer.string().map(Node::String),
            Start::Number => self.lexer.number().map(Node::Number),
            Start::True => self.lexer.literal("true").map(|()| Node::Bool(true)),
            Start::False => self.lexer.literal("false").map(|()| Node::Bool(false)),
            Start::Null => self.lexer.literal("null").map(|()| Node::Null),
        };
        match read {
            Ok(node) => Ok(Some(node)),
            Err(fault) => {
                let pointer = self.pointer(key);
                self.go_on_after(fault, pointer)?;
                Ok(Some(Node::Refused))
            }
        }
    }

    fn open(&mut self, is_object: bool, key: &mut Cow<'a, str>) -> Result<Option<Node<'a>>, Fault> {
        if self.open.len() >= self.limits.depth {
            return Err(Fault::new(
                JsonCode::TooDeep,
                self.lexer.offset(),
                format!("expected at most {} arrays and objects inside each other, found more", self.limits.depth),
            ));
        }
        self.lexer.bump();
        self.open.push(Open { is_object, first: self.pending.len(), key: std::mem::take(key) });
        Ok(None)
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
    fn key(&mut self) -> Result<Cow<'a, str>, Fault> {
        if !self.open.last().is_some_and(|open| open.is_object) {
            return Ok(Cow::Borrowed(""));
        }
        if self.lexer.peek() != Some(b'"') {
            return Err(self.lexer.expected("a key in double quotes"));
        }
        let key = match self.lexer.string() {
            Ok(key) => key,
            Err(fault) => {
                let pointer = self.pointer("\u{FFFD}");
                self.go_on_after(fault, pointer)?;
                Cow::Borrowed("\u{FFFD}")
            }
        };
        if self.lexer.eat(b':') { Ok(key) } else { Err(self.lexer.expected("`:`")) }
    }

    /// Sorts the children of the innermost container and moves them to their place.
    fn close(&mut self) -> Result<(), Fault> {
        let Some(container) = self.open.last() else {
            return Ok(());
        };
        let (first, is_object) = (container.first, container.is_object);
        let children = self.pending.get_mut(first..).unwrap_or_default();
        if is_object && !children.is_sorted_by(|a, b| utf16_order(&a.key, &b.key).is_lt()) {
            sort(children);
            self.refuse_repeated_keys(first)?;
        }
        let start = self.entries.len();
        self.entries.extend(self.pending.drain(first..));
        let range = start..self.entries.len();
        let node = if is_object { Node::Object(range) } else { Node::Array(range) };
        let key = self.open.pop().map(|container| container.key).unwrap_or_default();
        self.pending.push(Entry { key, node });
        Ok(())
    }

    fn refuse_repeated_keys(&mut self, first: usize) -> Result<(), Fault> {
        let members = self.pending.get(first..).unwrap_or_default();
        let repeated: Vec<Cow<'a, str>> = members
            .iter()
            .zip(members.iter().skip(1))
            .filter(|(one, next)| one.key == next.key)
            .map(|(_, next)| next.key.clone())
            .take(REPORTED_FAULTS)
            .collect();
        for key in repeated {
            let pointer = self.container_pointer().child(&key);
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
                pointer.push(&inner.key);
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

/// A document read as the rules read a text.
pub(crate) struct DocumentSource<'d, 'a> {
    document: &'d Document<'a>,
    next: Option<&'d Node<'a>>,
    open: Vec<std::slice::Iter<'d, Entry<'a>>>,
}

impl<'d, 'a> DocumentSource<'d, 'a> {
    pub(crate) fn new(document: &'d Document<'a>, node: &'d Node<'a>) -> Self {
        Self { document, next: Some(node), open: Vec::new() }
    }

    fn advance(&mut self) -> Option<&'d Entry<'a>> {
        let entry = self.open.last_mut()?.next();
        match entry {
            Some(entry) => self.next = Some(&entry.node),
            None => drop(self.open.pop()),
        }
        entry
    }
}

impl<'d, 'a> Source<'d> for DocumentSource<'d, 'a> {
    fn token(&mut self) -> Result<Token<'d>, Irregular> {
        Ok(match self.next.take() {
            None | Some(Node::Null) => Token::Null,
            Some(Node::Bool(value)) => Token::Bool(*value),
            Some(Node::Number(value)) => Token::Number(*value),
            Some(Node::String(value)) => Token::String(Cow::Borrowed(value.as_ref())),
            Some(Node::Refused) => Token::Refused,
            Some(Node::Array(range)) => {
                self.open.push(self.document.children(range).iter());
                Token::Array
            }
            Some(Node::Object(range)) => {
                self.open.push(self.document.children(range).iter());
                Token::Object
            }
        })
    }

    fn member(&mut self) -> Result<Option<Cow<'d, str>>, Irregular> {
        Ok(self.advance().map(|entry| Cow::Borrowed(entry.key.as_ref())))
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
