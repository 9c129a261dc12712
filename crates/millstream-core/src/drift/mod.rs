//! Detectors of change in a stream of numbers. `Watch` puts name and saved state around one.

mod page_hinkley;
mod watch;

pub use page_hinkley::PAGE_HINKLEY;
pub use watch::Watch;
