//! Reading files, never more of them than is needed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::exit::Failure;

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Other { code: "INPUT_UNREADABLE", message: format!("`{}` cannot be read: {error}", path.display()) }
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    // Elsewhere than on Windows a folder can be opened, and only reading it fails.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unreadable(path, &io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// A file's bytes; of one that is longer than `limit`, one byte more than that, which is enough to refuse it.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    open(path)?.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// A file's lines, one at a time.
pub(crate) struct Lines<'p> {
    path: &'p Path,
    reader: BufReader<Box<dyn Read>>,
    number: u64,
}

/// A line of a file.
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its bytes without the line end; of one that is longer than the limit, one byte more than that.
    pub(crate) bytes: Vec<u8>,
}

impl<'p> Lines<'p> {
    pub(crate) fn open(path: &'p Path) -> Result<Self, Failure> {
        Ok(Self { path, reader: BufReader::new(open(path)?), number: 0 })
    }

    /// The next line that is not blank. The rest of a line that is longer than `limit` is passed over.
    pub(crate) fn next(&mut self, limit: usize) -> Result<Option<Line>, Failure> {
        loop {
            self.number += 1;
            let Some(bytes) = self.line(limit).map_err(|error| unreadable(self.path, &error))? else {
                return Ok(None);
            };
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some(Line { number: self.number, bytes }));
            }
        }
    }

    fn line(&mut self, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut is_at_end = true;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            is_at_end = false;
            let line_end = buffer.iter().position(|byte| *byte == b'\n');
            let (part, used) = match line_end {
                Some(at) => (buffer.get(..at).unwrap_or_default(), at + 1),
                None => (buffer, buffer.len()),
            };
            let room = (limit + 2).saturating_sub(line.len()).min(part.len());
            line.extend_from_slice(part.get(..room).unwrap_or_default());
            self.reader.consume(used);
            if line_end.is_some() {
                break;
            }
        }
        if is_at_end {
            return Ok(None);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8], limit: usize) -> Vec<(u64, Vec<u8>)> {
        let reader: Box<dyn Read> = Box::new(text);
        let mut lines = Lines { path: Path::new("-"), reader: BufReader::with_capacity(3, reader), number: 0 };
        std::iter::from_fn(|| lines.next(limit).unwrap()).map(|line| (line.number, line.bytes)).collect()
    }

    #[test]
    fn lines_end_with_a_line_feed_or_both_or_the_file() {
        let expected = vec![(1, b"one".to_vec()), (3, b"two".to_vec()), (4, b"three".to_vec())];
        assert_eq!(lines(b"one\r\n\ntwo\nthree", 100), expected);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_read() {
        let found = lines(b"0123456789\nnext\n", 4);
        assert!(found[0].1.len() > 4 && found[0].1.len() <= 6, "enough to see that it is too long");
        assert_eq!(found[1], (2, b"next".to_vec()));
    }
}
