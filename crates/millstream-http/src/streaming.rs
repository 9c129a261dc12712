//! How a connection writes a streamed reply.

use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::connection::{Connection, Ending, INPUT};
use crate::event_stream::{EventStream, Next};
use crate::reply::{write_head, Form, Length};

/// Tells the sender that the connection is closed, however it ends.
struct Open(Arc<EventStream>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Connection {
    /// Write until the sender ends the stream, the client closes, or the server drains. The connection closes then.
    pub(crate) async fn write_stream(&mut self, stream: Arc<EventStream>, form: Form) -> Result<(), Ending> {
        let open = Open(stream);
        let shared = self.shard.shared.clone();
        shared.counters.streams.increment();
        let is_chunked = form.is_http_11;
        let length = if is_chunked { Length::Chunked } else { Length::UntilClose };
        let mut output = Vec::new();
        write_head(&mut output, open.0.status, &open.0.headers, length, Form { keep_alive: false, ..form });
        let timeout = shared.settings.write_timeout;
        let mut deadline = Instant::now() + timeout;
        let mut sent = 0;
        let mut is_last = form.is_head;
        let Connection { stream, timer, shard, .. } = self;
        poll_fn(|context| loop {
            if shard.closes_idle() {
                open.0.end();
            }
            if is_closed_by_client(stream, context) || (open.0.is_gone() && !is_last) {
                return Poll::Ready(Err(Ending::Lost));
            }
            if sent < output.len() {
                match Pin::new(&mut *stream).poll_write(context, &output[sent..]) {
                    Poll::Ready(Ok(count)) if count > 0 => {
                        shared.counters.bytes_written.add(count);
                        sent += count;
                        deadline = Instant::now() + timeout;
                    }
                    Poll::Ready(_) => return Poll::Ready(Err(Ending::Lost)),
                    Poll::Pending => {
                        open.0.set_writing(output.len() - sent, context.waker());
                        return timer.poll(context, deadline).map(|()| {
                            shared.counters.write_timeouts.increment();
                            Err(Ending::Lost)
                        });
                    }
                }
                continue;
            }
            if is_last {
                return Poll::Ready(Ok(()));
            }
            output.clear();
            sent = 0;
            match open.0.next(context.waker()) {
                Next::Write(data) if is_chunked => {
                    // Writing to a Vec cannot fail.
                    let _ = write!(output, "{:x}\r\n", data.len());
                    output.extend_from_slice(&data);
                    output.extend_from_slice(b"\r\n");
                }
                Next::Write(data) => output = data,
                Next::Finish => {
                    is_last = true;
                    if is_chunked {
                        output.extend_from_slice(b"0\r\n\r\n");
                    }
                }
                Next::Wait => return Poll::Pending,
            }
            deadline = Instant::now() + timeout;
        })
        .await
    }
}

/// Whether the client closed. What it sends during a stream is discarded.
fn is_closed_by_client(stream: &mut TcpStream, context: &mut Context<'_>) -> bool {
    INPUT.with_borrow_mut(|input| loop {
        let mut input = ReadBuf::new(input);
        match Pin::new(&mut *stream).poll_read(context, &mut input) {
            Poll::Ready(Ok(())) if !input.filled().is_empty() => {}
            Poll::Ready(_) => return true,
            Poll::Pending => return false,
        }
    })
}
