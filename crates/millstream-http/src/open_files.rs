//! The limit on open files. Each connection needs one, and the usual soft limit of 1,024 is too low for a server.

/// File descriptors left to the rest of the process: databases, snapshots, logs.
const RESERVED: u64 = 256;

/// Raise the soft limit of open files to the hard limit. Returns how many connections it allows; none if the system
/// sets no limit.
pub(crate) fn raise_limit() -> Option<usize> {
    #[cfg(unix)]
    {
        use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
        let now = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: now.maximum, maximum: now.maximum };
        // If a sandbox or another process forbids it, the current soft limit applies.
        let limit = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => now.maximum,
            Err(_) => now.current,
        };
        limit.map(connections_within)
    }
    #[cfg(not(unix))]
    None
}

fn connections_within(open_files: u64) -> usize {
    usize::try_from(open_files - RESERVED.min(open_files / 2)).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_descriptors_are_reserved() {
        assert_eq!(connections_within(20_000), 19_744);
        assert_eq!(connections_within(100), 50);
        assert_eq!(connections_within(0), 1);
    }
}
