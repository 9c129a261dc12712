//! Refusals of this crate, as problem details (RFC 9457) with a stable `type`.

use std::borrow::Cow;

use crate::reply::{HeaderBlock, Reply};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    HeaderTooLarge,
    BodyTooLarge,
    TooSlow,
    MalformedRequest,
    TooManyConnections,
    QueueFull,
    NoAnswer,
    UnsupportedEncoding,
    HandlerStalled,
    NotReady,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    detail: Cow<'static, str>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        Problem { kind, detail: detail.into() }
    }

    pub(crate) fn malformed(detail: impl Into<Cow<'static, str>>) -> Self {
        Problem::new(Kind::MalformedRequest, detail)
    }

    /// Status, last part of the type, title, and more fields of the header.
    fn facts(&self) -> (u16, &'static str, &'static str, &'static str) {
        match self.kind {
            Kind::HeaderTooLarge => (431, "header-too-large", "The header is too large", ""),
            Kind::BodyTooLarge => (413, "body-too-large", "The body is too large", ""),
            Kind::TooSlow => (408, "too-slow", "The request took too long to arrive", ""),
            Kind::MalformedRequest => (400, "malformed-request", "The request is malformed", ""),
            Kind::TooManyConnections => {
                (503, "too-many-connections", "The server has too many connections", "retry-after: 1\r\n")
            }
            Kind::QueueFull => {
                (503, "queue-full", "The server has too many requests waiting", "retry-after: 1\r\n")
            }
            Kind::NoAnswer => (504, "no-answer", "The request was not answered in time", ""),
            Kind::UnsupportedEncoding => (
                415,
                "unsupported-encoding",
                "The content encoding is not supported",
                "accept-encoding: identity\r\n",
            ),
            Kind::HandlerStalled => (503, "handler-stalled", "The request handler does not respond", ""),
            Kind::NotReady => (503, "not-ready", "The server is not ready", "retry-after: 1\r\n"),
        }
    }

    pub(crate) fn reply(&self) -> Reply {
        let (status, slug, title, fields) = self.facts();
        let detail = self.detail.replace('\\', "\\\\").replace('"', "\\\"");
        let body = format!(
            "{{\"type\":\"/problems/{slug}\",\"title\":\"{title}\",\"status\":{status},\"detail\":\"{detail}\"}}"
        );
        let fields = format!("content-type: application/problem+json\r\n{fields}");
        Reply { status, headers: HeaderBlock::constant(&fields), body: body.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_json() {
        let reply = Problem::malformed("no \"quotes\" without escape").reply();
        assert_eq!(reply.status, 400);
        assert_eq!(
            String::from_utf8(reply.body).as_deref(),
            Ok(concat!(
                r#"{"type":"/problems/malformed-request","title":"The request is malformed","status":400,"#,
                r#""detail":"no \"quotes\" without escape"}"#
            ))
        );
    }

    #[test]
    fn the_fields_of_every_kind_are_valid() {
        use Kind::*;
        for kind in [
            HeaderTooLarge,
            BodyTooLarge,
            TooSlow,
            MalformedRequest,
            TooManyConnections,
            QueueFull,
            NoAnswer,
            UnsupportedEncoding,
            HandlerStalled,
            NotReady,
        ] {
            let reply = Problem::new(kind, "").reply();
            assert!(HeaderBlock::new(reply.headers.as_bytes()).is_ok(), "{kind:?}");
        }
    }
}
