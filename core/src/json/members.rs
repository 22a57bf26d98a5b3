//! Where the members of a text lie: for whoever has to show an issue in the text.

use std::ops::Range;

use super::Limits;
use super::error::Fault;
use super::lexer::{Lexer, Start};
use super::pointer::Pointer;

/// Where a value lies, in bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The key with its quotes; an element and the whole text have none.
    pub(crate) key: Option<Range<usize>>,
    pub(crate) value: Range<usize>,
}

/// The places of a few members of a text.
pub(crate) struct Members {
    /// The wanted pointers as a tree; the first is the whole text.
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// By name.
    children: Vec<(String, usize)>,
    /// One for each time that the member occurs: a faulty text can repeat a key.
    found: Vec<Found>,
}

/// A container whose end has not been read yet.
struct Open {
    is_object: bool,
    node: Option<usize>,
    index: usize,
    key: Option<Range<usize>>,
    start: usize,
}

impl Members {
    /// Looks for members in a text, as far as it can be read.
    pub(crate) fn of<'p>(text: &str, wanted: impl Iterator<Item = &'p Pointer>) -> Self {
        let mut members = Self { nodes: vec![Node::default()] };
        for pointer in wanted {
            let mut at = 0;
            for name in pointer.names() {
                at = members.node_or_new(at, name);
            }
        }
        // Where the text ends to be JSON, nothing more is found.
        let _ = members.walk(&mut Lexer::new(text));
        members
    }

    /// The occurrences of a member, in the order of the text.
    pub(crate) fn get(&self, pointer: &Pointer) -> &[Found] {
        let mut at = Some(0);
        for name in pointer.names() {
            at = at.and_then(|at| self.child(at, &name));
        }
        at.and_then(|at| self.nodes.get(at)).map(|node| node.found.as_slice()).unwrap_or_default()
    }

    fn child(&self, at: usize, name: &str) -> Option<usize> {
        let children = &self.nodes.get(at)?.children;
        let found = children.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok()?;
        children.get(found).map(|(_, child)| *child)
    }

    fn node_or_new(&mut self, at: usize, name: String) -> usize {
        let next = self.nodes.len();
        let Some(node) = self.nodes.get_mut(at) else {
            return at;
        };
        match node.children.binary_search_by(|(other, _)| other.cmp(&name)) {
            Ok(found) => node.children.get(found).map_or(at, |(_, child)| *child),
            Err(place) => {
                node.children.insert(place, (name, next));
                self.nodes.push(Node::default());
                next
            }
        }
    }

    fn note(&mut self, node: Option<usize>, key: Option<Range<usize>>, value: Range<usize>) {
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
            node.found.push(Found { key, value });
        }
    }

    fn walk(&mut self, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
        let mut open: Vec<Open> = Vec::new();
        let (mut node, mut key) = (Some(0), None);
        loop {
            lexer.peek();
            let start = lexer.offset();
            match lexer.start()? {
                begun @ (Start::Object | Start::Array) => {
                    let is_object = begun == Start::Object;
                    lexer.bump();
                    open.push(Open { is_object, node, index: 0, key: key.take(), start });
                    if open.len() > Limits::ANY.depth {
                        return Ok(());
                    }
                    if !lexer.eat(if is_object { b'}' } else { b']' }) {
                        (node, key) = self.enter_child(lexer, open.last())?;
                        continue;
                    }
                    self.close(lexer, &mut open);
                }
                scalar => {
                    tolerated(match scalar {
                        Start::String => lexer.string().map(drop),
                        Start::Number => lexer.number().and_then(|literal| literal.value()).map(drop),
                        Start::True => lexer.literal("true"),
                        Start::False => lexer.literal("false"),
                        _ => lexer.literal("null"),
                    })?;
                    self.note(node, key.take(), start..lexer.offset());
                }
            }
            loop {
                let Some(innermost) = open.last_mut() else {
                    return Ok(());
                };
                if lexer.eat(b',') {
                    innermost.index += 1;
                    break;
                }
                if !lexer.eat(if innermost.is_object { b'}' } else { b']' }) {
                    return Ok(());
                }
                self.close(lexer, &mut open);
            }
            (node, key) = self.enter_child(lexer, open.last())?;
        }
    }

    /// Reads the key of the next child, if it has one.
    fn enter_child(
        &self,
        lexer: &mut Lexer<'_>,
        container: Option<&Open>,
    ) -> Result<(Option<usize>, Option<Range<usize>>), Fault> {
        let Some(container) = container else {
            return Ok((None, None));
        };
        if !container.is_object {
            let child = container.node.and_then(|node| self.child(node, &container.index.to_string()));
            return Ok((child, None));
        }
        if lexer.peek() != Some(b'"') {
            return Err(lexer.expected("a key"));
        }
        let start = lexer.offset();
        let name = match lexer.string() {
            Ok(name) => name,
            // As the pointers of such keys have it.
            Err(fault) if fault.is_recoverable() => "\u{FFFD}".into(),
            Err(fault) => return Err(fault),
        };
        let key = start..lexer.offset();
        let child = container.node.and_then(|node| self.child(node, &name));
        if lexer.eat(b':') { Ok((child, Some(key))) } else { Err(lexer.expected("`:`")) }
    }

    fn close(&mut self, lexer: &Lexer<'_>, open: &mut Vec<Open>) {
        if let Some(closed) = open.pop() {
            self.note(closed.node, closed.key, closed.start..lexer.offset());
        }
    }
}

/// A refused token is a place all the same, if it was read to its end.
fn tolerated(read: Result<(), Fault>) -> Result<(), Fault> {
    match read {
        Err(fault) if !fault.is_recoverable() => Err(fault),
        _ => Ok(()),
    }
}
