//! Sketches: summaries of a stream in little memory, with a bound on their error.
//!
//! | question | module |
//! |---|---|
//! | quantiles within an error of rank | `kll`, as a component: `quantile_sketch` |
//! | quantiles within a relative error of value | `dd_sketch` |
//! | the distribution of numbers, to draw or to look at | `histogram` |
//! | how often did a key occur? | `count_min`; with negative weights: `count_sketch` |
//! | which keys are frequent? | `space_saving` |
//! | how many distinct keys? | `hyper_log_log`; of unions, intersections and differences: `theta` |
//! | did a key occur? | `bloom` |
//!
//! `role` has the trait of all of them and their verbs when held. `summary` makes a component of each.

pub mod bloom;
pub mod count_min;
pub mod count_sketch;
pub mod dd_sketch;
pub mod histogram;
pub mod hyper_log_log;
pub mod kll;
pub mod quantile_sketch;
pub mod role;
pub mod space_saving;
pub mod summary;
pub mod theta;

use crate::fault::{Fault, Result};
use crate::parameter::{Arguments, Default, Kind, Parameter};

const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: i64::MIN, high: i64::MAX },
    Default::Integer(0),
    "seed of the hash; the same for sketches that are to be merged",
);
const MISSING: Parameter = Parameter::new(
    "missing",
    Kind::Choice(&["refuse", "count"]),
    Default::Text("refuse"),
    "a missing item (None or NaN): an error, or counted apart in missing_weight",
);

/// The memory that a sketch may take when it is built, in bytes.
const MAX_MEMORY: f64 = (1u64 << 30) as f64;

/// Refuse settings that need too much memory.
fn check_memory(arguments: &Arguments<'_>, bytes: f64) -> Result<()> {
    match bytes <= MAX_MEMORY {
        true => Ok(()),
        false => {
            let (who, mega) = (arguments.who, (bytes / f64::from(1 << 20)).ceil());
            Err(Fault::value(format!(
                "{who}: the sketch must fit in 1024 MiB, got parameters that need {mega} MiB"
            )))
        }
    }
}

/// The largest number of rows of counters.
const MAX_ROWS: usize = 64;

/// Odd factors without a relation between them (SplitMix64): with related ones, such as 1 and 3, two keys that share a
/// counter in one row would often share one in the next.
const FACTORS: [u64; MAX_ROWS] = {
    let (mut factors, mut row, mut state) = ([0; MAX_ROWS], 0, 0u64);
    while row < MAX_ROWS {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        factors[row] = (z ^ (z >> 31)) | 1;
        row += 1;
    }
    factors
};

/// The counter of a hash in a row of `width` counters, below 2³²: multiply-shift hashing (Dietzfelbinger et al., 1997).
#[inline(always)]
fn slot(hash: u64, row: usize, width: usize) -> usize {
    (((hash.wrapping_mul(FACTORS[row]) >> 32) * width as u64) >> 32) as usize
}
