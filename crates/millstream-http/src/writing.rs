//! How a connection writes a reply, and how it closes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::Instant;

use crate::budget::Charge;
use crate::connection::{Connection, Ending, OUTPUT};
use crate::reading::Input;
use crate::reply::{has_no_body, write_head, Form, Length, Reply};

/// Bodies up to this size are copied after their head and written with one system call.
const JOINED_BYTES: usize = 32 << 10;
/// A client must accept this many bytes, or the rest of the reply, within the write timeout. A limit for the whole
/// reply would cut long replies; a limit for any progress would let a client read one byte at a time.
const PIECE_BYTES: usize = 64 << 10;
/// What a client may still send after a refusal, and for how long.
const LINGER_BYTES: usize = 8 << 20;
const LINGER_TIME: Duration = Duration::from_secs(2);

impl Connection {
    pub(crate) async fn write_reply(&mut self, reply: Reply, form: Form) -> Result<(), Ending> {
        let body = if form.is_head || has_no_body(reply.status) { &[][..] } else { &reply.body[..] };
        let rest = OUTPUT.with_borrow_mut(|output| {
            output.clear();
            write_head(output, reply.status, &reply.headers, Length::Known(reply.body.len()), form);
            if body.len() <= JOINED_BYTES {
                output.extend_from_slice(body);
            }
            let sent = match self.stream.try_write(output) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(_) => return Err(Ending::Lost),
            };
            self.shard.shared.counters.bytes_written.add(sent);
            Ok((sent < output.len()).then(|| output[sent..].to_vec()))
        })?;
        if let Some(rest) = rest {
            self.write_all(&rest).await?;
        }
        if body.len() > JOINED_BYTES {
            self.write_all(body).await?;
        }
        Ok(())
    }

    pub(crate) async fn write_all(&mut self, data: &[u8]) -> Result<(), Ending> {
        let shared = self.shard.shared.clone();
        let mut charge = Charge::none(&shared.budget);
        if !charge.set(data.len()) {
            shared.counters.queue_full.increment();
            return Err(Ending::Lost);
        }
        let timeout = shared.settings.write_timeout;
        let mut deadline = Instant::now() + timeout;
        let (mut sent, mut piece) = (0, 0);
        let Connection { stream, timer, .. } = self;
        poll_fn(|context| loop {
            if sent == data.len() {
                return Poll::Ready(Ok(()));
            }
            match Pin::new(&mut *stream).poll_write(context, &data[sent..]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    shared.counters.bytes_written.add(count);
                    sent += count;
                    if sent - piece >= PIECE_BYTES {
                        piece = sent;
                        deadline = Instant::now() + timeout;
                    }
                }
                Poll::Ready(_) => return Poll::Ready(Err(Ending::Lost)),
                Poll::Pending => {
                    return timer.poll(context, deadline).map(|()| {
                        shared.counters.write_timeouts.increment();
                        Err(Ending::Lost)
                    });
                }
            }
        })
        .await
    }

    /// Close for writing, then discard what the client still sends. Closing with unread bytes would reset the
    /// connection, and the client could lose the reply.
    pub(crate) async fn linger(&mut self) {
        self.set_active(false);
        if poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context)).await.is_err() {
            return;
        }
        let deadline = Instant::now() + LINGER_TIME;
        let mut discarded = 0;
        while discarded < LINGER_BYTES {
            self.buffer.clear();
            match self.read_more(deadline, false).await {
                Ok(Input::Bytes) => discarded += self.buffer.len(),
                _ => return,
            }
        }
    }
}
