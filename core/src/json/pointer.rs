use std::fmt;

/// A JSON Pointer (RFC 6901): `""` is the whole text, `/rerank/model` a member of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(String);

impl Pointer {
    /// The whole text.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Whether this is the whole text.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names on the way to the value, as keys have them.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.0.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
    }

    /// The container of the value; the whole text has none.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    pub(crate) fn push(&mut self, name: &str) {
        self.0.push('/');
        for character in name.chars() {
            match character {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        let mut child = self.clone();
        child.push(name);
        child
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A pointer under construction on the stack; it costs nothing until an issue asks for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    name: &'p str,
}

impl<'p> Path<'p> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, name: "" };

    pub(crate) const fn member(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), name }
    }

    pub(crate) fn pointer(&self) -> Pointer {
        match self.parent {
            None => Pointer::root(),
            Some(parent) => parent.pointer().child(self.name),
        }
    }
}
