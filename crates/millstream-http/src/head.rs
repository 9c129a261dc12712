//! The head of a request: request line, fields, and the framing of the body (RFC 9110, RFC 9112).
//!
//! Ambiguous framing is refused, never repaired: both length fields, repeated length fields, and transfer encodings
//! other than `chunked` can be used to smuggle requests past a proxy.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::problem::{Kind, Problem};

/// Maximum number of fields of a request.
const MAX_FIELDS: usize = 100;

/// How the end of the body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// Positions of the parts of a head in the bytes of its request. Offsets have 32 bits, to save memory of idle
/// connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    method_end: u32,
    path: Range<u32>,
    query: Range<u32>,
    fields: u32,
    /// The length of the head, and so the start of the body.
    pub(crate) length: u32,
    pub(crate) framing: Framing,
    pub(crate) is_http_11: bool,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
}

impl Head {
    /// Parse a head at the start of `bytes`. Returns none if it is not complete yet.
    pub(crate) fn parse(bytes: &[u8], max_bytes: usize) -> Result<Option<Head>, Problem> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut []);
        let config = httparse::ParserConfig::default();
        let length = match config.parse_request_with_uninit_headers(&mut request, bytes, &mut fields) {
            Ok(httparse::Status::Complete(length)) if length <= max_bytes => length,
            Ok(httparse::Status::Partial) if bytes.len() < max_bytes => return Ok(None),
            Ok(_) => {
                let detail = format!("the header must have at most {max_bytes} bytes");
                return Err(Problem::new(Kind::HeaderTooLarge, detail));
            }
            Err(httparse::Error::TooManyHeaders) => {
                let detail = format!("the header must have at most {MAX_FIELDS} fields");
                return Err(Problem::new(Kind::HeaderTooLarge, detail));
            }
            Err(error) => return Err(Problem::malformed(error.to_string())),
        };
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
            return Err(Problem::malformed("the request line is incomplete"));
        };
        let offset = |part: &str| (part.as_ptr() as usize - bytes.as_ptr() as usize) as u32;
        let is_http_11 = minor == 1;
        let declared = Declared::of(request.headers, is_http_11)?;
        let path = path_of(method, target)?;
        let start = offset(target);
        let query_mark = target[path..].find('?').map_or(target.len(), |mark| path + mark);
        Ok(Some(Head {
            method_end: offset(method) + method.len() as u32,
            path: start + path as u32..start + query_mark as u32,
            query: start + (query_mark + 1).min(target.len()) as u32..start + target.len() as u32,
            fields: request.headers.first().map_or(length as u32, |field| offset(field.name)),
            length: length as u32,
            framing: declared.framing,
            is_http_11,
            keep_alive: declared.keep_alive,
            expects_continue: declared.expects_continue,
        }))
    }

    pub(crate) fn method<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        // Empty lines before the request line are allowed; a method contains none.
        bytes[..self.method_end as usize].trim_ascii_start()
    }

    pub(crate) fn path<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.path.start as usize..self.path.end as usize]
    }

    pub(crate) fn query<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.query.start as usize..self.query.end as usize]
    }

    /// Names and values of the fields. They were checked when the head was parsed, so lines are only split here.
    pub(crate) fn fields<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        bytes[self.fields as usize..self.length as usize].split(|&byte| byte == b'\n').filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }
}

/// Where the path starts in a target: `/path`, `http://host/path`, or `*`.
fn path_of(method: &str, target: &str) -> Result<usize, Problem> {
    if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        return Ok(0);
    }
    let after_scheme = ["http://", "https://"].iter().find_map(|scheme| {
        let head = target.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(scheme.len())
    });
    let slash = after_scheme.and_then(|start| target[start..].find('/').map(|slash| start + slash));
    match slash {
        Some(slash) if !target[..slash].contains('?') => Ok(slash),
        _ => Err(Problem::malformed("the target must be a path that starts with /")),
    }
}

/// Framing and connection options from the fields.
struct Declared {
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
}

impl Declared {
    fn of(fields: &[httparse::Header<'_>], is_http_11: bool) -> Result<Declared, Problem> {
        let mut length = None;
        let mut is_chunked = false;
        let mut hosts = 0;
        let mut declared =
            Declared { framing: Framing::Length(0), keep_alive: is_http_11, expects_continue: false };
        for field in fields {
            // Most fields are skipped by the length of their name.
            match field.name.len() {
                4 if field.name.eq_ignore_ascii_case("host") => hosts += 1,
                6 if field.name.eq_ignore_ascii_case("expect") => {
                    declared.expects_continue = is_http_11 && field.value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if field.name.eq_ignore_ascii_case("connection") => {
                    for option in field.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                        if option.eq_ignore_ascii_case(b"close") {
                            declared.keep_alive = false;
                            break;
                        }
                        declared.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if field.name.eq_ignore_ascii_case("content-length") => {
                    let former = length.replace(parse_length(field.value)?);
                    if former.is_some() {
                        return Err(Problem::malformed("duplicate Content-Length"));
                    }
                }
                16 if field.name.eq_ignore_ascii_case("content-encoding") => {
                    let is_plain = field.value.trim_ascii().eq_ignore_ascii_case(b"identity");
                    if !is_plain {
                        let detail = "the body must not be compressed: send it without Content-Encoding";
                        return Err(Problem::new(Kind::UnsupportedEncoding, detail));
                    }
                }
                17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let chunked = field.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                    if !is_http_11 || is_chunked || !chunked {
                        let detail = "Transfer-Encoding must be chunked, once, in HTTP/1.1";
                        return Err(Problem::malformed(detail));
                    }
                    is_chunked = true;
                }
                _ => {}
            }
        }
        if hosts > 1 || (hosts == 0 && is_http_11) {
            return Err(Problem::malformed("an HTTP/1.1 request must have one Host field"));
        }
        declared.framing = match (length, is_chunked) {
            (Some(_), true) => {
                return Err(Problem::malformed("Content-Length and Transfer-Encoding exclude each other"));
            }
            (None, true) => Framing::Chunked,
            (length, false) => Framing::Length(length.unwrap_or(0)),
        };
        Ok(declared)
    }
}

fn parse_length(value: &[u8]) -> Result<u64, Problem> {
    let value = value.trim_ascii();
    // The standard parser would accept a sign.
    let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.map(str::parse) {
        Some(Ok(length)) => Ok(length),
        // Too large for any limit, which is reported as such.
        Some(Err(_)) if !value.is_empty() => Ok(u64::MAX),
        _ => Err(Problem::malformed("Content-Length must be a number of bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunked::Chunked;

    fn parse(text: &str) -> Result<Option<Head>, Problem> {
        Head::parse(text.as_bytes(), 4096)
    }

    fn kind(text: &str) -> Option<Kind> {
        parse(text).err().map(|problem| problem.kind)
    }

    #[test]
    fn parts_are_found() {
        let text = "\r\nPOST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Name:  value \r\nContent-Length: 3\r\n\r\nabc";
        let head = parse(text).expect("well formed").expect("complete");
        let bytes = text.as_bytes();
        assert_eq!(head.method(bytes), b"POST");
        assert_eq!(head.path(bytes), b"/a%20b");
        assert_eq!(head.query(bytes), b"c=d");
        assert_eq!(&bytes[head.length as usize..], b"abc");
        assert_eq!(head.framing, Framing::Length(3));
        assert!(head.keep_alive && head.is_http_11);
        let fields: Vec<_> = head.fields(bytes).collect();
        assert_eq!(fields[1], (&b"X-Name"[..], &b"value"[..]));
        assert_eq!(fields.len(), 3);
    }

    #[test]
    fn every_prefix_is_incomplete() {
        let text = "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Ok(None), "{end}");
        }
        assert!(matches!(parse(text), Ok(Some(_))));
    }

    #[test]
    fn targets() {
        let path = |text: &str| {
            let head = parse(text).expect("well formed").expect("complete");
            let bytes = text.as_bytes();
            format!("{}|{}", String::from_utf8_lossy(head.path(bytes)), String::from_utf8_lossy(head.query(bytes)))
        };
        assert_eq!(path("GET HTTP://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n"), "/p|q");
        assert_eq!(path("GET /? HTTP/1.1\r\nHost: h\r\n\r\n"), "/|");
        assert_eq!(path("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), "*|");
        for target in ["x", "*", "http://h", "http://h?/", "h:80"] {
            assert_eq!(kind(&format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")), Some(Kind::MalformedRequest));
        }
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        let with = |fields: &str| kind(&format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n"));
        for fields in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length: +3\r\n",
            "Content-Length: -3\r\n",
            "Content-Length: 0x3\r\n",
            "Content-Length:\r\n",
            "Content-Length : 3\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "A: b\r\n c\r\n",
            "Host: again\r\n",
        ] {
            assert_eq!(with(fields), Some(Kind::MalformedRequest), "{fields:?}");
        }
        assert_eq!(kind("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), Some(Kind::MalformedRequest));
        assert_eq!(kind("POST / HTTP/1.1\r\n\r\n"), Some(Kind::MalformedRequest));
        assert_eq!(kind("POST / HTTP/2.0\r\nHost: h\r\n\r\n"), Some(Kind::MalformedRequest));
        assert_eq!(with("Content-Encoding: gzip\r\n"), Some(Kind::UnsupportedEncoding));
        assert_eq!(with("Content-Encoding: identity\r\n"), None);
        assert_eq!(with("Transfer-Encoding: Chunked\r\n"), None);
    }

    #[test]
    fn a_length_beyond_64_bits_is_the_largest_length() {
        let text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n";
        assert_eq!(parse(text).expect("well formed").expect("complete").framing, Framing::Length(u64::MAX));
    }

    #[test]
    fn connections_persist_unless_declared_otherwise() {
        let keeps = |version: &str, option: &str| {
            let text = format!("GET / HTTP/{version}\r\nHost: h\r\nConnection: {option}\r\n\r\n");
            parse(&text).expect("well formed").expect("complete").keep_alive
        };
        assert!(keeps("1.1", "te"));
        assert!(!keeps("1.1", "te, Close"));
        assert!(!keeps("1.1", "close, keep-alive"));
        assert!(!keeps("1.0", "te"));
        assert!(keeps("1.0", "Keep-Alive"));
    }

    #[test]
    fn large_heads_are_refused() {
        let long = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}", "a".repeat(5000));
        assert_eq!(kind(&long), Some(Kind::HeaderTooLarge));
        assert_eq!(kind(&format!("{long}\r\n\r\n")), Some(Kind::HeaderTooLarge));
        let many = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS));
        assert_eq!(kind(&many), Some(Kind::HeaderTooLarge));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused() {
        let valid =
            b"POST http://h/p?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let (mut parsed, mut refused) = (0, 0);
        for _ in 0..50_000 {
            let mut bytes = valid.to_vec();
            for _ in 0..=random(3) {
                let place = random(bytes.len());
                match random(4) {
                    0 => bytes[place] = random(256) as u8,
                    1 => bytes[place] = b" \r\n:;/?*,0f"[random(11)],
                    2 => drop(bytes.remove(place)),
                    _ => bytes.insert(place, b" \r\n:;/?*,0f"[random(11)]),
                }
            }
            match Head::parse(&bytes, 4096) {
                Ok(Some(head)) => {
                    parsed += 1;
                    let target = [head.path(&bytes), head.query(&bytes)].concat();
                    assert!(!head.method(&bytes).is_empty() && !target.contains(&b' '));
                    assert!(head.fields(&bytes).count() <= MAX_FIELDS);
                    let mut body = Vec::new();
                    let rest = &bytes[head.length as usize..];
                    // Whether it is refused does not matter here: it must not panic.
                    let _ = Chunked::new(100).decode(rest, &mut body);
                    assert!(body.len() <= 100);
                }
                Ok(None) => {}
                Err(_) => refused += 1,
            }
        }
        assert!(parsed > 10_000 && refused > 10_000, "{parsed} {refused}");
    }
}
