//! Splits bytes into lines and parses them to rows.

use super::block::Block;

/// A longer line indicates a file without lines.
const LONGEST: usize = 1 << 26;
/// Number of refused lines that are described; the others are only counted.
const MOST_DESCRIBED: usize = 20;

/// A problem of a line and its position, in bytes from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub place: usize,
    pub message: String,
}

impl Problem {
    #[cold]
    pub fn new<T>(place: usize, message: impl Into<String>) -> Result<T, Box<Problem>> {
        Err(Box::new(Problem { place, message: message.into() }))
    }

    /// The problem of a line whose row cannot be closed.
    #[cold]
    pub fn overflow<T>(place: usize, column: u32) -> Result<T, Box<Problem>> {
        Problem::new(place, format!("the values of column {column} must add up to a finite number"))
    }
}

/// A line format.
pub trait Format {
    /// Parse the line `bytes[start..end]` into the block and close its row. The bytes after `end` are the following
    /// lines, which may be read but do not belong to it. After a problem the caller abandons the row.
    fn line(&mut self, bytes: &[u8], start: usize, end: usize, out: &mut Block) -> Result<(), Box<Problem>>;
}

/// A line that could not be read. Lines and columns are counted from 1, columns in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub line: u64,
    pub column: usize,
    pub message: String,
}

/// Parses a file in pieces of any size; the result does not depend on them.
#[derive(Debug)]
pub struct Parser<F> {
    format: F,
    /// Whether unreadable lines are counted; otherwise the first one stops.
    skip: bool,
    /// Whether the bytes start within a file.
    inside: bool,
    /// The start of an incomplete line.
    tail: Vec<u8>,
    /// Lines so far.
    line: u64,
    refusals: Vec<Refusal>,
    refused: u64,
    stopped: bool,
}

impl<F: Format> Parser<F> {
    pub fn new(format: F, skip: bool) -> Self {
        Parser {
            format,
            skip,
            inside: false,
            tail: Vec::new(),
            line: 0,
            refusals: Vec::new(),
            refused: 0,
            stopped: false,
        }
    }

    /// Start within a file; lines are counted from there.
    pub fn inside(mut self) -> Self {
        self.inside = true;
        self
    }

    /// Number of lines so far.
    pub fn lines(&self) -> u64 {
        self.line
    }

    /// The refused lines, of which the first are described.
    pub fn refused(&self) -> (u64, &[Refusal]) {
        (self.refused, &self.refusals)
    }

    /// Take the refused lines and restart their count.
    pub fn take_refused(&mut self) -> (u64, Vec<Refusal>) {
        (std::mem::take(&mut self.refused), std::mem::take(&mut self.refusals))
    }

    /// Whether a refused line has stopped the parser.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    pub fn format(&self) -> &F {
        &self.format
    }

    pub fn format_mut(&mut self) -> &mut F {
        &mut self.format
    }

    /// Parse the next bytes of the file; `last` for the final ones.
    pub fn parse(&mut self, bytes: &[u8], last: bool, out: &mut Block) {
        if self.stopped {
            return;
        }
        let mut bytes = bytes;
        if self.line == 0 && self.tail.is_empty() && !self.inside {
            // The byte order mark of UTF-8, which some editors write.
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        let mut start = 0;
        if !self.tail.is_empty() {
            match memchr::memchr(b'\n', bytes) {
                Some(end) => {
                    let mut line = std::mem::take(&mut self.tail);
                    line.extend_from_slice(&bytes[..end]);
                    self.read(&line, 0, line.len(), out);
                    line.clear();
                    self.tail = line;
                    start = end + 1;
                }
                None => {
                    self.keep(bytes);
                    start = bytes.len();
                }
            }
        }
        while !self.stopped {
            let Some(length) = bytes.get(start..).and_then(|rest| memchr::memchr(b'\n', rest)) else { break };
            self.read(bytes, start, start + length, out);
            start += length + 1;
        }
        if !self.stopped {
            self.keep(bytes.get(start..).unwrap_or_default());
        }
        if last && !self.stopped && !self.tail.is_empty() {
            let line = std::mem::take(&mut self.tail);
            self.read(&line, 0, line.len(), out);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.tail.len() + bytes.len() > LONGEST {
            let message = format!("line longer than {LONGEST} bytes; is this a text file?");
            self.line += 1;
            self.refuse(0, message);
            self.stopped = true;
        } else {
            self.tail.extend_from_slice(bytes);
        }
    }

    fn read(&mut self, bytes: &[u8], start: usize, end: usize, out: &mut Block) {
        self.line += 1;
        let end = if end > start && bytes[end - 1] == b'\r' { end - 1 } else { end };
        if bytes[start..end].iter().all(|&byte| byte == b' ' || byte == b'\t') {
            return;
        }
        if let Err(problem) = self.format.line(bytes, start, end, out) {
            out.abandon();
            self.refuse(problem.place.saturating_sub(start), problem.message);
        }
    }

    fn refuse(&mut self, place: usize, message: String) {
        self.refused += 1;
        if self.refusals.len() < MOST_DESCRIBED {
            self.refusals.push(Refusal { line: self.line, column: place + 1, message });
        }
        self.stopped |= !self.skip;
    }
}

/// The number of line ends (`newline`) in these bytes.
pub fn count_lines(bytes: &[u8], newline: u8) -> usize {
    memchr::memchr_iter(newline, bytes).count()
}

/// An excerpt of a line for a message.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("'{}'", short.escape_debug())
}
