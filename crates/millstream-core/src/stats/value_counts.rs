//! Weights of distinct values, in order of first appearance.

use rustc_hash::FxHashMap;

use crate::fault::{Fault, Result};
use crate::held::state::require;

/// The largest number of distinct values: a typo, such as counting measurements, must not fill the memory.
pub const MOST: usize = 1 << 20;

/// Weights by value; a value is one number, or a pair.
#[derive(Clone, Debug, Default)]
pub struct ValueCounts<const N: usize> {
    entries: Vec<([f64; N], f64)>,
    index: FxHashMap<[u64; N], u32>,
}

/// Equal numbers have equal keys: 0 and −0 too.
fn key<const N: usize>(value: [f64; N]) -> [u64; N] {
    value.map(|x| (x + 0.0).to_bits())
}

impl<const N: usize> ValueCounts<N> {
    pub fn entries(&self) -> &[([f64; N], f64)] {
        &self.entries
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn knows(&self, value: [f64; N]) -> bool {
        self.index.contains_key(&key(value))
    }

    /// The weight of a value.
    pub fn weight(&self, value: [f64; N]) -> f64 {
        self.index.get(&key(value)).map_or(0.0, |&at| self.entries[at as usize].1)
    }

    /// Add weight to a value.
    pub fn add(&mut self, who: &str, value: [f64; N], w: f64) -> Result<()> {
        let next = self.entries.len();
        let at = match self.index.get(&key(value)) {
            Some(&at) => at as usize,
            None if next >= MOST => {
                return Err(Fault::value(format!("{who}: there are more than {MOST} distinct values")));
            }
            None => next,
        };
        let weight = self.entries.get(at).map_or(0.0, |entry| entry.1) + w;
        if weight.is_nan() || weight > 1e300 {
            return Err(super::overflow(who));
        }
        if at == next {
            self.entries.push((value, 0.0));
            self.index.insert(key(value), at as u32);
        }
        self.entries[at].1 = weight;
        Ok(())
    }

    /// Subtract weights that were added before, up to rounding.
    pub fn subtract(&mut self, who: &str, other: &Self) -> Result<()> {
        for &(value, w) in &other.entries {
            self.add(who, value, -w)?;
        }
        self.entries.retain(|entry| entry.1 > 1e-12);
        self.index = Self::indexed(&self.entries);
        Ok(())
    }

    pub fn scale(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| entry.1 *= factor);
    }

    /// Replace each number by another.
    pub fn recode(&mut self, code: &mut dyn FnMut(f64) -> f64) {
        for (value, _) in &mut self.entries {
            *value = value.map(&mut *code);
        }
        self.index = Self::indexed(&self.entries);
    }

    fn indexed(entries: &[([f64; N], f64)]) -> FxHashMap<[u64; N], u32> {
        entries.iter().enumerate().map(|(at, (value, _))| (key(*value), at as u32)).collect()
    }

    /// From saved entries.
    pub fn load(who: &str, entries: Vec<([f64; N], f64)>) -> Result<Self> {
        let sound = |(value, w): &([f64; N], f64)| {
            value.iter().all(|x| x.is_finite()) && w.is_finite() && (0.0..=1e300).contains(w)
        };
        require(who, entries.len() <= MOST && entries.iter().all(sound), "a count is not finite")?;
        let index = Self::indexed(&entries);
        require(who, index.len() == entries.len(), "a value is listed twice")?;
        Ok(ValueCounts { entries, index })
    }

    pub fn memory(&self) -> usize {
        self.entries.capacity() * std::mem::size_of::<([f64; N], f64)>() + self.index.capacity() * (8 * N + 5)
    }
}
