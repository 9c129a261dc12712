//! How a connection reads a request, within limits of size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

use crate::budget::Charge;
use crate::chunked::Chunked;
use crate::connection::{Connection, Ending, INPUT};
use crate::head::{Framing, Head};
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// The result of waiting for bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Bytes,
    End,
    Deadline,
    Draining,
}

impl Connection {
    /// Append bytes to the buffer as soon as some arrive.
    pub(crate) async fn read_more(&mut self, deadline: Instant, closes_if_idle: bool) -> Result<Input, Ending> {
        let Connection { stream, buffer, timer, shard, .. } = self;
        poll_fn(|context| {
            let read = INPUT.with_borrow_mut(|input| {
                let mut input = ReadBuf::new(input);
                let read = Pin::new(&mut *stream).poll_read(context, &mut input);
                buffer.extend_from_slice(input.filled());
                read.map_ok(|()| input.filled().len())
            });
            match read {
                Poll::Ready(Ok(0)) => Poll::Ready(Ok(Input::End)),
                Poll::Ready(Ok(count)) => {
                    shard.shared.counters.bytes_read.add(count);
                    Poll::Ready(Ok(Input::Bytes))
                }
                Poll::Ready(Err(_)) => Poll::Ready(Err(Ending::Lost)),
                Poll::Pending if closes_if_idle && shard.closes_idle() => Poll::Ready(Ok(Input::Draining)),
                Poll::Pending => timer.poll(context, deadline).map(|()| Ok(Input::Deadline)),
            }
        })
        .await
    }

    pub(crate) async fn read_request(&mut self) -> Result<Request, Ending> {
        let mut charge = Charge::none(&self.shard.shared.budget);
        let head = self.read_head(&mut charge).await?;
        let decoded = match head.framing {
            Framing::Length(length) => {
                self.read_length(&head, length, &mut charge).await?;
                None
            }
            Framing::Chunked => Some(self.read_chunked(&head, &mut charge).await?),
        };
        let end = match (head.framing, &decoded) {
            (Framing::Length(length), None) => head.length as usize + length as usize,
            _ => head.length as usize,
        };
        let rest = self.buffer.split_off(end);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.keep_within(&mut charge, bytes.len() + decoded.as_ref().map_or(0, Vec::len))?;
        let arrived = std::time::Instant::now();
        Ok(Request { bytes, head, decoded, peer: self.peer, arrived, ticket: 0, _charge: charge })
    }

    async fn read_head(&mut self, charge: &mut Charge) -> Result<Head, Ending> {
        let shared = self.shard.shared.clone();
        let settings = &shared.settings;
        let mut header_deadline = None;
        // Bytes that contain no end of a head.
        let mut searched = 0_usize;
        loop {
            let length = self.buffer.len();
            if length > 0 {
                self.set_active(true);
                // The first bytes are parsed at once, so that other protocols are refused at once. Later ones are
                // parsed when the head may be complete: parsing after each byte would take quadratic time.
                let is_due = searched == 0 || length >= settings.max_header_bytes;
                if is_due || has_head_end(&self.buffer[searched.saturating_sub(3)..]) {
                    let head = Head::parse(&self.buffer, settings.max_header_bytes).map_err(Ending::Refused)?;
                    if let Some(head) = head {
                        return Ok(head);
                    }
                }
                searched = length;
                self.keep_within(charge, length)?;
            }
            let deadline = if length == 0 {
                self.idle_since + settings.idle_timeout
            } else {
                *header_deadline.get_or_insert_with(|| Instant::now() + settings.header_timeout)
            };
            let input = self.read_more(deadline, length == 0).await;
            match input.or(if length == 0 { Ok(Input::End) } else { Err(Ending::Lost) })? {
                Input::Bytes => {}
                Input::End if length > 0 => return Err(Ending::Lost),
                Input::End | Input::Draining => return Err(Ending::Quiet),
                Input::Deadline if length == 0 => {
                    shared.counters.idle_timeouts.increment();
                    return Err(Ending::Quiet);
                }
                Input::Deadline => {
                    shared.counters.header_timeouts.increment();
                    return Err(too_slow("header", settings.header_timeout.as_secs_f64()));
                }
            }
        }
    }

    async fn read_length(&mut self, head: &Head, length: u64, charge: &mut Charge) -> Result<(), Ending> {
        let max_bytes = self.shard.shared.settings.max_body_bytes;
        if length > max_bytes as u64 {
            let detail = format!("the body must have at most {max_bytes} bytes, got {length}");
            return Err(Ending::Refused(Problem::new(Kind::BodyTooLarge, detail)));
        }
        let end = head.length as usize + length as usize;
        if self.buffer.len() >= end {
            return Ok(());
        }
        let deadline = self.start_body(head).await?;
        while self.buffer.len() < end {
            self.keep_within(charge, self.buffer.len())?;
            // Doubles the capacity as a Vec does, but not beyond the body. Declared bytes are not reserved before they
            // arrive.
            let present = self.buffer.len();
            self.buffer.reserve_exact((end - present).min(present));
            self.read_body_bytes(deadline).await?;
        }
        Ok(())
    }

    /// The decoded body. The buffer then has the head, and what follows the request.
    async fn read_chunked(&mut self, head: &Head, charge: &mut Charge) -> Result<Vec<u8>, Ending> {
        let start = head.length as usize;
        let mut decoder = Chunked::new(self.shard.shared.settings.max_body_bytes);
        let mut body = Vec::new();
        let mut deadline = None;
        loop {
            let consumed = decoder.decode(&self.buffer[start..], &mut body).map_err(Ending::Refused)?;
            self.buffer.drain(start..start + consumed);
            if decoder.is_done() {
                return Ok(body);
            }
            self.keep_within(charge, self.buffer.len() + body.len())?;
            let deadline = match deadline {
                Some(deadline) => deadline,
                None => *deadline.insert(self.start_body(head).await?),
            };
            self.read_body_bytes(deadline).await?;
        }
    }

    /// Send `100 Continue` if the client waits for it. Returns the deadline of the body.
    async fn start_body(&mut self, head: &Head) -> Result<Instant, Ending> {
        if head.expects_continue && self.buffer.len() == head.length as usize {
            self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        Ok(Instant::now() + self.shard.shared.settings.body_timeout)
    }

    async fn read_body_bytes(&mut self, deadline: Instant) -> Result<(), Ending> {
        match self.read_more(deadline, false).await? {
            Input::Bytes => Ok(()),
            Input::End | Input::Draining => Err(Ending::Lost),
            Input::Deadline => {
                let shared = &self.shard.shared;
                shared.counters.body_timeouts.increment();
                Err(too_slow("body", shared.settings.body_timeout.as_secs_f64()))
            }
        }
    }

    fn keep_within(&self, charge: &mut Charge, bytes: usize) -> Result<(), Ending> {
        if charge.set(bytes) {
            return Ok(());
        }
        let limit = self.shard.shared.settings.max_buffered_bytes;
        let detail = format!("requests and replies in memory would exceed {limit} bytes");
        Err(Ending::Refused(Problem::new(Kind::QueueFull, detail)))
    }
}

fn too_slow(part: &str, seconds: f64) -> Ending {
    Ending::Refused(Problem::new(Kind::TooSlow, format!("the {part} must arrive within {seconds} seconds")))
}

/// Whether an empty line, which ends a head, may be in `bytes`.
fn has_head_end(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        rest = &rest[end + 1..];
        if matches!(rest, [b'\n', ..] | [b'\r', b'\n', ..]) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_an_empty_line() {
        for text in ["a\r\n\r\n", "\n\nb", "a\n\r\n"] {
            assert!(has_head_end(text.as_bytes()), "{text:?}");
        }
        for text in ["", "\r\n", "a\r\nb\r\n", "a\n\rb"] {
            assert!(!has_head_end(text.as_bytes()), "{text:?}");
        }
    }
}
