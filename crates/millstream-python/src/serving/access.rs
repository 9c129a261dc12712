//! Access control, equivalent to `Tokens.check` in `python/millstream/serve/tokens.py` and `check_origin` in
//! `origin.py`. Doubtful requests are not admitted here; Python checks them.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// The hash of a token, and its expiry in seconds since 1970.
pub type Grant = ([u8; 32], Option<f64>);

#[derive(Debug, Default)]
pub struct Access {
    /// Whether requests need a token.
    pub required: bool,
    pub grants: Vec<Grant>,
    /// Whether a request must name a host of this machine.
    pub checks_host: bool,
}

impl Access {
    /// Whether a request for this host, if any, may be answered.
    pub fn admits_host(&self, host: Option<&[u8]>) -> bool {
        !self.checks_host || host.is_none_or(|host| LOOPBACK.contains(&without_port(host)))
    }

    /// Whether the value of an `Authorization` header admits a request.
    pub fn admits_token(&self, authorization: Option<&[u8]>) -> bool {
        if !self.required {
            return true;
        }
        let Some(token) = authorization.and_then(bearer) else { return false };
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (hash, expires) in &self.grants {
            // Every hash is compared in constant time, so the time reveals nothing about the tokens.
            if hash.iter().zip(&digest).fold(0, |different, (one, other)| different | (one ^ other)) == 0 {
                found = Some(*expires);
            }
        }
        match found {
            Some(Some(expires)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                expires > now.as_secs_f64()
            }
            Some(None) => true,
            None => false,
        }
    }
}

/// The usual loopback names.
const LOOPBACK: [&[u8]; 4] = [b"127.0.0.1", b"localhost", b"[::1]", b""];

fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&byte| byte == b':') {
        Some(colon) if colon > 0 && host[colon + 1..].iter().all(u8::is_ascii_digit) && !host.ends_with(b":") => {
            &host[..colon]
        }
        _ => host,
    }
}

/// The token in `Bearer TOKEN`, of visible ASCII characters.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let space = value.iter().position(|&byte| byte == b' ')?;
    let (kind, token) = (&value[..space], value[space + 1..].trim_ascii());
    let is_valid = kind.eq_ignore_ascii_case(b"bearer") && token.iter().all(u8::is_ascii_graphic);
    (is_valid && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_tokens_are_admitted() {
        let hash = |token: &str| Sha256::digest(token).into();
        let grants = vec![(hash("ms_old"), Some(1.0)), (hash("ms_new"), Some(1e12)), (hash("ms_ever"), None)];
        let tokens = Access { required: true, grants, checks_host: false };
        for good in ["Bearer ms_new", "bearer  ms_ever ", "BEARER ms_ever"] {
            assert!(tokens.admits_token(Some(good.as_bytes())), "{good}");
        }
        for bad in
            ["Bearer ms_old", "Bearer ms_eve", "Bearer", "Bearer ", "Basic ms_ever", "ms_ever", "Bearer ms ever"]
        {
            assert!(!tokens.admits_token(Some(bad.as_bytes())), "{bad}");
        }
        assert!(!tokens.admits_token(None));
        assert!(Access::default().admits_token(None));
    }

    #[test]
    fn only_names_of_this_machine_are_admitted() {
        let access = Access { checks_host: true, ..Access::default() };
        for good in ["127.0.0.1", "127.0.0.1:8000", "localhost:80", "localhost", "[::1]:8000", "[::1]", ""] {
            assert!(access.admits_host(Some(good.as_bytes())), "{good}");
        }
        for bad in ["example.org", "127.0.0.1.example.org", "localhost:8000x", "localhost:", ":8000", "0.0.0.0:80"]
        {
            assert!(!access.admits_host(Some(bad.as_bytes())), "{bad}");
            assert!(Access::default().admits_host(Some(bad.as_bytes())));
        }
        assert!(access.admits_host(None));
    }
}
