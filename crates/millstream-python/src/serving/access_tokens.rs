//! Access tokens by their hashes, checked as `Tokens.check` in `python/millstream/serve/tokens.py` does.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// The hash of a token, and its expiry in seconds since 1970.
pub type Grant = ([u8; 32], Option<f64>);

#[derive(Debug, Default)]
pub struct AccessTokens {
    /// Whether requests need a token.
    pub required: bool,
    pub grants: Vec<Grant>,
}

impl AccessTokens {
    /// Whether the value of an `Authorization` header admits a request. False if it is in doubt.
    pub fn admit(&self, authorization: Option<&[u8]>) -> bool {
        if !self.required {
            return true;
        }
        let Some(token) = authorization.and_then(bearer) else { return false };
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (hash, expires) in &self.grants {
            // Every hash is compared in constant time, so that the time does not tell how close a guess was.
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
        let tokens = AccessTokens { required: true, grants };
        for good in ["Bearer ms_new", "bearer  ms_ever ", "BEARER ms_ever"] {
            assert!(tokens.admit(Some(good.as_bytes())), "{good}");
        }
        for bad in
            ["Bearer ms_old", "Bearer ms_eve", "Bearer", "Bearer ", "Basic ms_ever", "ms_ever", "Bearer ms ever"]
        {
            assert!(!tokens.admit(Some(bad.as_bytes())), "{bad}");
        }
        assert!(!tokens.admit(None));
        assert!(AccessTokens::default().admit(None));
    }
}
