//! A statistic over the last `window_size` numbers.
//!
//! The numbers are stored in a ring buffer. If the statistic is invertible, each new number removes the oldest
//! one, and the statistic is recomputed at every full turn of the ring, so that rounding errors do not accumulate.
//! Other statistics are computed from the ring on demand.

use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.Rolling";

pub static ROLLING: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Statistic over a sliding window of numbers",
    parameters: &[
        Parameter::new("statistic", Kind::Part(&[Role::Statistic]), DefaultValue::Required, "the statistic"),
        Parameter::new(
            "window_size",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(1000),
            "number of values in the window",
        ),
    ],
    build: |arguments| {
        let Built::Statistic(statistic) = arguments.part("statistic")? else {
            return Err(arguments.absent("statistic"));
        };
        let spare = statistic.duplicate();
        let size = arguments.size("window_size")?;
        Ok(Built::Statistic(Box::new(Rolling { statistic, spare, size, ring: Vec::new(), next: 0 })))
    },
};

struct Rolling {
    /// Up to date if it is invertible, otherwise empty.
    statistic: Box<dyn Statistic>,
    /// Buffer in which the statistic is recomputed, so that a fault leaves `statistic` unchanged.
    spare: Box<dyn Statistic>,
    size: usize,
    ring: Vec<(f64, f64, f64)>,
    /// Index of the oldest number once the ring is full.
    next: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    ring: Vec<(f64, f64, f64)>,
    next: usize,
    #[serde(with = "serde_bytes")]
    statistic: Vec<u8>,
}

impl Rolling {
    fn add_up(&mut self) {
        self.spare.reset();
        if self.ring.iter().all(|&(x, y, w)| self.spare.update(x, y, w).is_ok()) {
            std::mem::swap(&mut self.statistic, &mut self.spare);
        }
    }
}

impl Part for Rolling {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { ring: self.ring.clone(), next: self.next, statistic: self.statistic.save()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let full = state.ring.len() == self.size;
        require(NAME, state.ring.len() <= self.size, "more numbers than the window holds")?;
        require(NAME, state.next == 0 || (full && state.next < self.size), "an index beyond the window")?;
        let good = |&(x, y, w): &(f64, f64, f64)| x.is_finite() && y.is_finite() && w.is_finite() && w > 0.0;
        require(NAME, state.ring.iter().all(good), "a number is not finite")?;
        let mut statistic = self.statistic.duplicate();
        statistic.load(&state.statistic)?;
        self.statistic = statistic;
        self.ring = state.ring;
        self.next = state.next;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.statistic.memory() + self.spare.memory() + 24 * self.ring.capacity()
    }
}

impl Statistic for Rolling {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(super::never_told(NAME));
        }
        let keeping = self.statistic.invertible();
        if keeping {
            self.statistic.update(x, y, w)?;
        }
        if self.ring.len() < self.size {
            self.ring.push((x, y, w));
            return Ok(());
        }
        let (old_x, old_y, old_w) = std::mem::replace(&mut self.ring[self.next], (x, y, w));
        self.next = (self.next + 1) % self.size;
        if keeping && (self.statistic.update(old_x, old_y, -old_w).is_err() || self.next == 0) {
            self.add_up();
        }
        Ok(())
    }

    fn get(&self) -> f64 {
        if self.statistic.invertible() {
            return self.statistic.get();
        }
        let mut statistic = self.statistic.duplicate();
        let (newer, older) = self.ring.split_at(self.next);
        for &(x, y, w) in older.iter().chain(newer) {
            if statistic.update(x, y, w).is_err() {
                return f64::NAN;
            }
        }
        statistic.get()
    }

    fn takes_pairs(&self) -> bool {
        self.statistic.takes_pairs()
    }

    fn reset(&mut self) {
        self.statistic.reset();
        self.ring.clear();
        self.next = 0;
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(Rolling {
            statistic: self.statistic.duplicate(),
            spare: self.spare.duplicate(),
            size: self.size,
            ring: self.ring.clone(),
            next: self.next,
        })
    }
}
