//! A complete request.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::budget::Charge;
use crate::head::Head;

/// A complete request. The head was checked; nothing in it is decoded.
#[derive(Debug)]
pub struct Request {
    /// The head, and the body unless it was chunked.
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: Head,
    /// The decoded body if it was chunked.
    pub(crate) decoded: Option<Vec<u8>>,
    pub(crate) peer: SocketAddr,
    pub(crate) arrived: Instant,
    pub(crate) ticket: u64,
    /// Returns the bytes to the memory limit when the request is dropped.
    pub(crate) _charge: Charge,
}

impl Request {
    /// The number that the reply must name.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    pub fn method(&self) -> &[u8] {
        self.head.method(&self.bytes)
    }

    /// The path as sent, without the query.
    pub fn path(&self) -> &[u8] {
        self.head.path(&self.bytes)
    }

    /// The query as sent, without the question mark; empty if there is none.
    pub fn query(&self) -> &[u8] {
        self.head.query(&self.bytes)
    }

    /// The value of the first field with this name.
    pub fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.headers().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Names and values in the order sent.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.head.fields(&self.bytes)
    }

    pub fn body(&self) -> &[u8] {
        self.decoded.as_deref().unwrap_or_else(|| &self.bytes[self.head.length as usize..])
    }

    /// The address of the client.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The time since the request was complete.
    pub fn age(&self) -> Duration {
        self.arrived.elapsed()
    }
}
