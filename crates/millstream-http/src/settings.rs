//! Timeouts and limits of a server.

use std::time::Duration;

/// The longest timeout: a day. Larger values would overflow the arithmetic of deadlines on some platforms.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Timeouts and limits of a server. Each timeout covers one phase of a connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// From the first byte of a request to the end of its header.
    pub header_timeout: Duration,
    /// From the end of the header to the end of the body.
    pub body_timeout: Duration,
    /// Between two requests, and from the connection to the first byte.
    pub idle_timeout: Duration,
    /// For the client to accept a reply, or each 64 KiB of a longer one.
    pub write_timeout: Duration,
    /// From the end of the request to the reply of the handler.
    pub request_timeout: Duration,
    pub max_header_bytes: usize,
    pub max_body_bytes: usize,
    pub max_connections: usize,
    /// Requests that wait for the handler.
    pub max_queue: usize,
    /// Bytes of all requests and replies in memory: partly read, queued, being handled, or partly written.
    pub max_buffered_bytes: usize,
    /// Runtime threads. Each serves its own connections.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            max_header_bytes: 32 << 10,
            max_body_bytes: 16 << 20,
            max_connections: 20_000,
            max_queue: 4096,
            max_buffered_bytes: 512 << 20,
            threads: 1,
        }
    }
}

impl Settings {
    /// A message about the first setting that is out of range.
    pub fn check(&self) -> Result<(), String> {
        let timeouts = [
            ("header_timeout", self.header_timeout),
            ("body_timeout", self.body_timeout),
            ("idle_timeout", self.idle_timeout),
            ("write_timeout", self.write_timeout),
            ("request_timeout", self.request_timeout),
        ];
        for (name, value) in timeouts {
            if value.is_zero() || value > LONGEST {
                let limit = LONGEST.as_secs();
                return Err(format!("{name} must be in (0, {limit}] seconds, got {}", value.as_secs_f64()));
            }
        }
        // Offsets within a request have 32 bits.
        let limits = [
            ("max_header_bytes", self.max_header_bytes, 128, 1 << 20),
            ("max_body_bytes", self.max_body_bytes, 0, 1 << 31),
            ("max_connections", self.max_connections, 1, 1 << 20),
            ("max_queue", self.max_queue, 1, 1 << 24),
            ("max_buffered_bytes", self.max_buffered_bytes, 1 << 16, usize::MAX),
            ("threads", self.threads, 1, 64),
        ];
        for (name, value, least, most) in limits {
            if value < least || value > most {
                return Err(format!("{name} must be in [{least}, {most}], got {value}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn messages_name_the_setting() {
        let settings = Settings { body_timeout: Duration::ZERO, ..Settings::default() };
        assert_eq!(settings.check(), Err("body_timeout must be in (0, 86400] seconds, got 0".into()));
        let settings = Settings { threads: 0, ..Settings::default() };
        assert_eq!(settings.check(), Err("threads must be in [1, 64], got 0".into()));
    }
}
