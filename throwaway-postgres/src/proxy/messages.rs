//! The messages of Postgres' protocol 3, as far as the proxy tells them apart (Postgres manual, chapter 55).

use std::collections::HashSet;
use std::io::{self, Read};

/// Ends a statement of the extended protocol.
pub(super) const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
pub(super) const READY_FOR_QUERY: u8 = b'Z';

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_ENCRYPTION_REQUEST: u32 = 80_877_104;

/// What a client sends first.
pub(super) enum First {
    WantsEncryption,
    Cancels(Vec<u8>),
    Starts(Vec<u8>),
}

pub(super) fn read_first(stream: &mut impl Read) -> io::Result<First> {
    let message = read_counted(stream, Vec::new())?;
    let code = message.get(4..8).and_then(|code| code.try_into().ok()).map(u32::from_be_bytes);
    Ok(match code {
        Some(SSL_REQUEST | GSS_ENCRYPTION_REQUEST) => First::WantsEncryption,
        Some(CANCEL_REQUEST) => First::Cancels(message),
        _ => First::Starts(message),
    })
}

/// A message after the first: its kind and all of its bytes.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn read(stream: &mut impl Read) -> io::Result<Message> {
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    Ok(Message { kind: u8::from_be_bytes(kind), bytes: read_counted(stream, kind.into())? })
}

/// Appends a length, which counts itself, and as many bytes as it says.
fn read_counted(stream: &mut impl Read, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    bytes.extend(length);
    let rest = u64::from(u32::from_be_bytes(length).saturating_sub(4));
    if stream.take(rest).read_to_end(&mut bytes)? as u64 == rest {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

impl Message {
    /// The first two of the strings that a `Parse`, `Bind` or `Execute` begins with.
    fn strings(&self) -> (&[u8], &[u8]) {
        let mut strings = self.bytes.get(5..).unwrap_or_default().split(|&byte| byte == 0);
        (strings.next().unwrap_or_default(), strings.next().unwrap_or_default())
    }
}

/// What the proxy passes on, or not, as a whole.
pub(super) struct Unit {
    pub(super) bytes: Vec<u8>,
    /// How many times the server will say that it is ready for the next query.
    pub(super) answers: u64,
    pub(super) statement: Option<Statement>,
}

pub(super) struct Statement {
    pub(super) is_commit: bool,
}

/// Gathers a client's messages into units.
#[derive(Default)]
pub(super) struct Units {
    held: Vec<u8>,
    executes: bool,
    commits: bool,
    /// The names of the prepared statements, and of the portals, that are commits.
    commit_statements: HashSet<Vec<u8>>,
    commit_portals: HashSet<Vec<u8>>,
}

impl Units {
    /// Takes a message, and answers a unit if it is the last of one.
    pub(super) fn add(&mut self, message: Message) -> Option<Unit> {
        let mut answers = 0;
        let (first, second) = message.strings();
        let holds = match message.kind {
            b'P' => {
                remember(&mut self.commit_statements, first, is_commit(second));
                true
            }
            b'B' => {
                let commits = self.commit_statements.contains(second);
                remember(&mut self.commit_portals, first, commits);
                true
            }
            b'E' => {
                self.executes = true;
                self.commits |= self.commit_portals.contains(first);
                true
            }
            // Describe, Close.
            b'D' | b'C' => true,
            b'Q' => {
                self.executes = true;
                self.commits |= is_commit(first);
                answers = 1;
                false
            }
            // Sync, a function call.
            b'S' | b'F' => {
                answers = 1;
                false
            }
            // Flush, a password, data to copy, the end.
            _ => false,
        };
        self.held.extend(message.bytes);
        if holds {
            return None;
        }
        let statement = std::mem::take(&mut self.executes).then_some(Statement { is_commit: self.commits });
        self.commits = false;
        Some(Unit { bytes: std::mem::take(&mut self.held), answers, statement })
    }
}

fn remember(names: &mut HashSet<Vec<u8>>, name: &[u8], is_commit: bool) {
    if is_commit {
        names.insert(name.to_owned());
    } else {
        names.remove(name);
    }
}

fn is_commit(text: &[u8]) -> bool {
    const WORD: &[u8] = b"commit";
    let text = text.trim_ascii_start();
    text.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD))
        && !text.get(WORD.len()).is_some_and(|&next| next.is_ascii_alphanumeric() || next == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Message {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        read(&mut [&[kind], &length[..], body].concat().as_slice()).unwrap()
    }

    #[test]
    fn a_commit_is_told_by_its_first_word() {
        for commit in ["commit", " COMMIT", "\nCommit;", "commit and chain"] {
            assert!(is_commit(commit.as_bytes()), "{commit}");
        }
        for other in ["", "comm", "committed", "commit_all()", "insert into t values (1); commit", "rollback"] {
            assert!(!is_commit(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn preparing_is_no_statement_and_executing_is_one() {
        let mut units = Units::default();
        assert!(units.add(message(b'P', b"s1\0CoMMiT\0\0\0")).is_none());
        assert!(units.add(message(b'D', b"Ss1\0")).is_none());
        let preparing = units.add(message(b'S', b"")).unwrap();
        assert!(preparing.statement.is_none());
        assert_eq!(preparing.answers, 1);

        assert!(units.add(message(b'B', b"\0s1\0\0\0\0\0\0\0")).is_none());
        assert!(units.add(message(b'E', b"\0\0\0\0\0")).is_none());
        let executing = units.add(message(b'S', b"")).unwrap();
        assert!(executing.statement.unwrap().is_commit);
        assert!(executing.bytes.ends_with(&SYNC));

        units.add(message(b'P', b"s1\0select 1\0\0\0"));
        units.add(message(b'B', b"\0s1\0\0\0\0\0\0\0"));
        units.add(message(b'E', b"\0\0\0\0\0"));
        let flushed = units.add(message(b'H', b"")).unwrap();
        assert!(!flushed.statement.unwrap().is_commit);
        assert_eq!(flushed.answers, 0);
        assert!(units.add(message(b'S', b"")).unwrap().statement.is_none());
    }

    #[test]
    fn a_message_that_breaks_off_is_an_error() {
        assert!(read(&mut [b'Q', 0, 0, 0, 9, b'x'].as_slice()).is_err());
    }
}
