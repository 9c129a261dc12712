//! An HTTP/1.1 server that implements only the protocol. It reads complete requests, within limits of size and time,
//! and puts them in a bounded queue. Another thread takes them from the queue in groups and sends replies back by
//! ticket.
//!
//! The crate uses httparse, the parser of hyper, but not hyper itself. The server must report every
//! refusal as problem+json with a status that the client can read, and hyper 1.12 does not allow that: it removes a
//! `Content-Length` that follows `Transfer-Encoding` before the service sees the request, it closes the connection
//! without a status when the header timeout expires, it applies the same timeout to idle connections, and its own
//! 400 and 431 replies have no body.
//!
//! | file | content |
//! |---|---|
//! | `settings.rs` | timeouts and limits |
//! | `head.rs`, `chunked.rs` | parsing: request line, fields, framing; chunked bodies |
//! | `request.rs`, `queue.rs` | complete requests and their queue |
//! | `reply.rs`, `problem.rs` | replies, and the refusals of this crate |
//! | `connection.rs`, `reading.rs`, `writing.rs`, `streaming.rs` | one connection from accept to close |
//! | `exchange.rs`, `event_stream.rs` | how replies reach the connection that waits for them |
//! | `shard.rs`, `server.rs` | runtime threads; the interface |
//! | `native.rs` | requests that are answered without the queue |
//! | `budget.rs`, `counters.rs`, `open_files.rs` | memory limit, statistics, file descriptors |

mod budget;
mod chunked;
mod connection;
mod counters;
mod event_stream;
mod exchange;
mod head;
mod native;
mod open_files;
mod problem;
mod queue;
mod reading;
mod reply;
mod request;
mod server;
mod settings;
mod shard;
mod streaming;
mod writing;

pub use counters::{Latency, LATENCY_BOUNDS};
pub use native::Shortcut;
pub use reply::{HeaderBlock, Reply};
pub use request::Request;
pub use server::Server;
pub use settings::Settings;
