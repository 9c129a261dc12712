//! Requests that are answered on the runtime thread, without the handler: health, readiness, and a shortcut that the
//! owner of the server provides.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::problem::{Kind, Problem};
use crate::reply::{HeaderBlock, Reply};
use crate::request::Request;

/// Answers requests on the runtime thread. An implementation must return within microseconds, and must not wait for
/// a lock that the handler holds.
pub trait Shortcut: Send + Sync {
    /// The reply, or none if the request must be queued for the handler.
    fn answer(&self, request: &Request) -> Option<Reply>;
}

#[derive(Default)]
pub(crate) struct Native {
    rules: RwLock<Rules>,
}

#[derive(Default)]
struct Rules {
    health: Option<Health>,
    ready: Option<(Vec<u8>, bool)>,
    shortcut: Option<Arc<dyn Shortcut>>,
}

struct Health {
    path: Vec<u8>,
    body: Vec<u8>,
    stall: Duration,
}

/// The state that health and readiness depend on.
pub(crate) struct Vitals {
    /// How long the handler has let a request wait.
    pub(crate) waiting: Duration,
    pub(crate) is_draining: bool,
}

impl Native {
    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_health(&self, path: &str, body: &[u8], stall: Duration) {
        self.write().health = Some(Health { path: path.into(), body: body.into(), stall });
    }

    pub(crate) fn set_ready(&self, path: &str, is_ready: bool) {
        self.write().ready = Some((path.into(), is_ready));
    }

    pub(crate) fn set_shortcut(&self, shortcut: Option<Arc<dyn Shortcut>>) {
        // The previous shortcut is dropped after the lock is released.
        let former = std::mem::replace(&mut self.write().shortcut, shortcut);
        drop(former);
    }

    pub(crate) fn answer(&self, request: &Request, vitals: impl FnOnce() -> Vitals) -> Option<Reply> {
        let rules = self.read();
        if let Some(shortcut) = &rules.shortcut {
            let shortcut = shortcut.clone();
            drop(rules);
            return shortcut.answer(request).or_else(|| self.read().answer(request, vitals));
        }
        rules.answer(request, vitals)
    }
}

impl Rules {
    fn answer(&self, request: &Request, vitals: impl FnOnce() -> Vitals) -> Option<Reply> {
        if !matches!(request.method(), b"GET" | b"HEAD") {
            return None;
        }
        let path = request.path();
        if let Some(health) = self.health.as_ref().filter(|health| health.path == path) {
            return Some(health.reply(vitals().waiting));
        }
        let (_, is_ready) = self.ready.as_ref().filter(|(ready, _)| ready == path)?;
        Some(if *is_ready && !vitals().is_draining {
            json(b"{\"ready\":true}".to_vec())
        } else {
            Problem::new(Kind::NotReady, "the server is starting or stopping").reply()
        })
    }
}

impl Health {
    fn reply(&self, waiting: Duration) -> Reply {
        if waiting < self.stall {
            return json(self.body.clone());
        }
        let detail = format!("a request has waited {:.1} seconds for the handler", waiting.as_secs_f64());
        Problem::new(Kind::HandlerStalled, detail).reply()
    }
}

fn json(body: Vec<u8>) -> Reply {
    let headers = HeaderBlock::constant("content-type: application/json\r\ncache-control: no-store\r\n");
    Reply { status: 200, headers, body }
}
