//! Replies, and how their header is written.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Fields that the server writes itself.
const RESERVED: [&[u8]; 4] = [b"connection", b"content-length", b"date", b"transfer-encoding"];

/// Checked lines of a header, each `name: value` with a line end (CR, LF). Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderBlock(Arc<[u8]>);

impl HeaderBlock {
    /// Check lines that come from outside this crate.
    pub fn new(lines: &[u8]) -> Result<Self, String> {
        let mut rest = lines;
        while !rest.is_empty() {
            let end = rest.windows(2).position(|pair| pair == b"\r\n").ok_or("must end with CR LF")?;
            let line = &rest[..end];
            let colon = line.iter().position(|&byte| byte == b':').ok_or("must have a colon in each line")?;
            let (name, value) = (&line[..colon], &line[colon + 1..]);
            if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
                return Err("must have names of letters, digits and hyphens".into());
            }
            if !value.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f)) {
                return Err("must have no control characters in values".into());
            }
            if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
                return Err(format!("must not contain {}", String::from_utf8_lossy(name)));
            }
            rest = &rest[end + 2..];
        }
        Ok(HeaderBlock(lines.into()))
    }

    /// Lines written in this crate.
    pub(crate) fn constant(lines: &str) -> Self {
        HeaderBlock(lines.as_bytes().into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[derive(Clone, Debug)]
pub struct Reply {
    /// From 200 to 599.
    pub status: u16,
    pub headers: HeaderBlock,
    pub body: Vec<u8>,
}

/// What the request says about the form of its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) is_head: bool,
    pub(crate) is_http_11: bool,
    pub(crate) keep_alive: bool,
}

impl Form {
    /// For a refusal before the request was understood.
    pub(crate) fn closing() -> Self {
        Form { is_head: false, is_http_11: true, keep_alive: false }
    }
}

/// How the client finds the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Known(usize),
    Chunked,
    UntilClose,
}

pub(crate) fn has_no_body(status: u16) -> bool {
    status == 204 || status == 304
}

/// Append the status line and the fields.
pub(crate) fn write_head(out: &mut Vec<u8>, status: u16, fields: &HeaderBlock, length: Length, form: Form) {
    out.extend_from_slice(b"HTTP/1.1 ");
    write_number(out, status.into());
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(fields.as_bytes());
    match length {
        _ if has_no_body(status) => {}
        Length::Known(bytes) => {
            out.extend_from_slice(b"content-length: ");
            write_number(out, bytes);
            out.extend_from_slice(b"\r\n");
        }
        Length::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Length::UntilClose => {}
    }
    if !form.keep_alive {
        out.extend_from_slice(b"connection: close\r\n");
    } else if !form.is_http_11 {
        out.extend_from_slice(b"connection: keep-alive\r\n");
    }
    write_date(out);
    out.extend_from_slice(b"\r\n");
}

fn write_number(out: &mut Vec<u8>, number: usize) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{number}");
}

/// The date changes once a second and takes longer to format than the rest of the header.
fn write_date(out: &mut Vec<u8>) {
    thread_local!(static LINE: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    LINE.with_borrow_mut(|(second, line)| {
        if *second != now {
            *second = now;
            *line = format!("date: {}\r\n", httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now)));
        }
        out.extend_from_slice(line.as_bytes());
    });
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_header_are_checked() {
        assert!(HeaderBlock::new(b"").is_ok());
        assert!(HeaderBlock::new(b"content-type: text/plain\r\nx-a: \xc3\xa4\r\n").is_ok());
        for lines in [
            &b"content-type: text/plain"[..],
            b"\r\n",
            b"a: b\r\n\r\nbody",
            b"a: b\nc: d\r\n",
            b": b\r\n",
            b"a b: c\r\n",
            b"a: \0\r\n",
            b"Content-Length: 3\r\n",
            b"transfer-encoding: chunked\r\n",
        ] {
            assert!(HeaderBlock::new(lines).is_err(), "{:?}", String::from_utf8_lossy(lines));
        }
    }

    fn head(status: u16, length: Length, form: Form) -> String {
        let mut out = Vec::new();
        write_head(&mut out, status, &HeaderBlock::constant("a: b\r\n"), length, form);
        String::from_utf8(out).expect("a header is text")
    }

    #[test]
    fn the_end_of_the_body_and_of_the_connection_is_declared() {
        let form = Form { is_head: false, is_http_11: true, keep_alive: true };
        let written = head(200, Length::Known(12), form);
        assert!(written.starts_with("HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 12\r\ndate: "), "{written}");
        assert!(written.ends_with(" GMT\r\n\r\n"), "{written}");
        assert!(!written.contains("connection"));
        assert!(!head(204, Length::Known(0), form).contains("content-length"));
        assert!(head(200, Length::Chunked, form).contains("transfer-encoding: chunked\r\n"));
        let old = Form { is_http_11: false, ..form };
        assert!(head(200, Length::Known(1), old).contains("connection: keep-alive\r\n"));
        assert!(head(200, Length::Known(1), Form::closing()).contains("connection: close\r\n"));
    }
}
