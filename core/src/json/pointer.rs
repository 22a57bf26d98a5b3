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
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut is_escaped = false;
        for character in self.0.chars() {
            let character = match character {
                '/' => {
                    names.push(String::new());
                    continue;
                }
                '~' => {
                    is_escaped = true;
                    continue;
                }
                '0' if is_escaped => '~',
                '1' if is_escaped => '/',
                other => other,
            };
            is_escaped = false;
            if let Some(name) = names.last_mut() {
                name.push(character);
            }
        }
        names
    }

    /// The container of the value; the whole text has none.
    pub(crate) fn parent(&self) -> Option<Self> {
        let end = self.0.bytes().rposition(|byte| byte == b'/')?;
        self.0.get(..end).map(|parent| Self(parent.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_gives_its_names_back() {
        for names in [vec![], vec![""], vec!["a", ""], vec!["", "~1/~0", "~", "/", "\u{1F600}"]] {
            let mut pointer = Pointer::root();
            names.iter().for_each(|name| pointer.push(name));
            assert_eq!(pointer.names(), names, "{pointer}");
            let parent = names.split_last().map(|(_, names)| {
                let mut parent = Pointer::root();
                names.iter().for_each(|name| parent.push(name));
                parent
            });
            assert_eq!(pointer.parent(), parent);
        }
    }
}
