//! Chunked bodies (RFC 9112, section 7.1). Sizes have at most eight digits, lines end with CR LF, and extensions and
//! trailers are read within a limit and ignored.

use crate::problem::{Kind, Problem};

/// Bytes of a size line with its extensions, and of all trailers.
const MAX_LINE: usize = 256;
const MAX_TRAILERS: usize = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data,
    DataEnd,
    Trailers,
    Done,
}

/// A decoder that is fed pieces of any length.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Bytes of the present chunk that are still to come.
    left: usize,
    /// Bytes of trailers so far.
    trailers: usize,
    max_body: usize,
}

impl Chunked {
    pub(crate) fn new(max_body: usize) -> Self {
        Chunked { state: State::Size, left: 0, trailers: 0, max_body }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decode from the start of `input` and append to `body`. Returns the number of bytes consumed; the others must
    /// be presented again with more bytes after them, unless the body is done.
    pub(crate) fn decode(&mut self, input: &[u8], body: &mut Vec<u8>) -> Result<usize, Problem> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match self.state {
                State::Size => {
                    let Some(line) = line_of(rest, MAX_LINE, "the size line of a chunk is too long")? else {
                        break;
                    };
                    consumed += line.len() + 2;
                    self.left = parse_size(line)?;
                    if self.left > self.max_body - body.len() {
                        let detail = format!("the body must have at most {} bytes", self.max_body);
                        return Err(Problem::new(Kind::BodyTooLarge, detail));
                    }
                    self.state = if self.left == 0 { State::Trailers } else { State::Data };
                }
                State::Data => {
                    let taken = self.left.min(rest.len());
                    body.extend_from_slice(&rest[..taken]);
                    consumed += taken;
                    self.left -= taken;
                    if self.left > 0 {
                        break;
                    }
                    self.state = State::DataEnd;
                }
                State::DataEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        consumed += 2;
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => break,
                    _ => return Err(Problem::malformed("a chunk must end with CR LF")),
                },
                State::Trailers => {
                    let limit = MAX_TRAILERS - self.trailers;
                    let Some(line) = line_of(rest, limit, "the trailers are too long")? else { break };
                    consumed += line.len() + 2;
                    self.trailers += line.len() + 2;
                    if line.is_empty() {
                        self.state = State::Done;
                    } else if self.trailers >= MAX_TRAILERS {
                        return Err(Problem::malformed("the trailers are too long"));
                    }
                }
                State::Done => break,
            }
        }
        Ok(consumed)
    }
}

/// The first line, without its end; none if it is not complete.
fn line_of<'a>(bytes: &'a [u8], limit: usize, complaint: &'static str) -> Result<Option<&'a [u8]>, Problem> {
    let seen = &bytes[..bytes.len().min(limit)];
    match seen.iter().position(|&byte| byte == b'\n') {
        Some(end) if end > 0 && seen[end - 1] == b'\r' => Ok(Some(&seen[..end - 1])),
        Some(_) => Err(Problem::malformed("lines of a chunked body must end with CR LF")),
        None if seen.len() == limit => Err(Problem::malformed(complaint)),
        None => Ok(None),
    }
}

fn parse_size(line: &[u8]) -> Result<usize, Problem> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_well_formed =
        (1..=8).contains(&digits) && matches!(line[digits..].trim_ascii_start().first(), None | Some(b';'));
    let size = std::str::from_utf8(&line[..digits]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
    size.filter(|_| is_well_formed)
        .ok_or_else(|| Problem::malformed("the size of a chunk must be one to eight hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feed `text` in pieces of `step` bytes. Returns the body and the bytes that follow it.
    fn decode(text: &str, step: usize) -> Result<Option<(String, String)>, Kind> {
        let mut decoder = Chunked::new(100);
        let (mut body, mut buffer) = (Vec::new(), Vec::new());
        for piece in text.as_bytes().chunks(step) {
            buffer.extend_from_slice(piece);
            let consumed = decoder.decode(&buffer, &mut body).map_err(|problem| problem.kind)?;
            buffer.drain(..consumed);
        }
        let text = |bytes| String::from_utf8(bytes).expect("tests decode text");
        Ok(decoder.is_done().then(|| (text(body), text(buffer))))
    }

    #[test]
    fn pieces_of_any_length_decode_alike() {
        let text = "3\r\nabc\r\nA ; name=\"value\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET /";
        for step in 1..=text.len() {
            let decoded = decode(text, step).expect("well formed");
            assert_eq!(decoded, Some(("abc0123456789".into(), "GET /".into())), "{step}");
        }
        for end in 0..text.len() - "GET /".len() {
            assert_eq!(decode(&text[..end], 7), Ok(None), "{end}");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        let long = format!("1;{}\r\na\r\n", "e".repeat(300));
        let trailers = format!("0\r\n{}\r\n", "T: t\r\n".repeat(3000));
        for text in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "0x1\r\n",
            "1 1\r\n",
            "123456789\r\n",
            "1\na\r\n",
            "1\r\nab\r\n",
            "1\r\na\n",
            &long,
            &trailers,
        ] {
            for step in [1, 3, text.len()] {
                assert_eq!(decode(text, step), Err(Kind::MalformedRequest), "{text:?} {step}");
            }
        }
    }

    #[test]
    fn the_limit_counts_all_chunks() {
        let text = format!("32\r\n{0}\r\n32\r\n{0}\r\n0\r\n\r\n", "a".repeat(50));
        assert!(matches!(decode(&text, 9), Ok(Some(_))));
        let text = format!("32\r\n{0}\r\n33\r\n", "a".repeat(50));
        assert_eq!(decode(&text, 9), Err(Kind::BodyTooLarge));
        assert_eq!(decode("ffffffff\r\n", 10), Err(Kind::BodyTooLarge));
    }
}
