//! Shortcuts: replies on the runtime thread.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use millstream_http::{HeaderBlock, Reply, Request, Server, Settings, Shortcut};

/// Answers requests to one path with their body.
struct Echo(&'static [u8]);

impl Shortcut for Echo {
    fn answer(&self, request: &Request) -> Option<Reply> {
        let headers = HeaderBlock::new(b"content-type: text/plain\r\n").ok()?;
        (request.path() == self.0).then(|| Reply { status: 200, headers, body: request.body().to_vec() })
    }
}

/// Send requests and read until the server closes.
fn ask(server: &Server, requests: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.write_all(requests.as_bytes()).expect("the server reads");
    let mut replies = String::new();
    stream.read_to_string(&mut replies).expect("replies are text");
    replies
}

fn post(path: &str, body: &str, more: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: h\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_shortcut_answers_or_leaves_the_request_to_the_queue() {
    let server = Server::bind("127.0.0.1", 0, Settings::default()).expect("a port is free");
    server.set_shortcut(Some(Arc::new(Echo(b"/short"))));
    let last = "Connection: close\r\n";
    let replies = ask(&server, &(post("/short", "one", "") + &post("/short", "two", last)));
    assert_eq!(replies.matches("HTTP/1.1 200 OK").count(), 2);
    assert!(replies.find("one") < replies.find("two") && replies.ends_with("two"), "{replies}");
    assert!(server.take(1, Duration::ZERO).is_empty());

    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&server, &post("/long", "three", last)));
        let requests = server.take(10, Duration::from_secs(10));
        assert_eq!(requests[0].body(), b"three");
        let headers = HeaderBlock::new(b"").expect("no lines");
        let reply = Reply { status: 404, headers, body: Vec::new() };
        server.answer(requests.iter().map(|request| (request.ticket(), reply.clone())).collect());
        assert!(asked.join().expect("no panic").starts_with("HTTP/1.1 404 Not Found\r\n"));
    });

    server.set_shortcut(Some(Arc::new(Echo(b"/long"))));
    assert!(ask(&server, &post("/long", "four", last)).ends_with("four"));
    let stats = server.stats();
    let stat = |wanted| stats.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    assert_eq!((stat("native"), stat("queued"), stat("requests")), (Some(3), Some(1), Some(4)));
    assert!(server.drain(Duration::from_secs(5)));
}

#[test]
fn a_shortcut_can_be_removed_while_requests_come() {
    let server = Server::bind("127.0.0.1", 0, Settings::default()).expect("a port is free");
    server.set_health("/healthz", b"{}", Duration::from_secs(10));
    server.set_shortcut(Some(Arc::new(Echo(b"/healthz"))));
    let get = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert!(ask(&server, get).ends_with("\r\n\r\n"));
    server.set_shortcut(None);
    assert!(ask(&server, get).ends_with("\r\n\r\n{}"));
}
