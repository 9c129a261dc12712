//! The quantile sketch of Karnin, Lang and Liberty (2016, "Optimal quantile approximation in streams", FOCS): compactors
//! of geometrically falling capacity above a sampler.
//!
//! A *compactor* at level h holds items that stand for 2ʰ items each. A full compactor sorts its items and passes every
//! other one, starting at the first or second by a coin, to the next level, where it stands for twice as many. The top
//! compactor holds `k` items and each one below 2/3 of the one above it (section 3 of the paper). Compactors that would
//! hold fewer than 8 items are replaced by a *sampler* (section 4), which passes one random item of each run of 2ᵇ
//! items to the lowest compactor, of level b = `base`.
//!
//! Four details are choices of this file:
//! * Compactors share one buffer, and a compactor is emptied only if the whole buffer is full (the lazy form in
//!   section 5). This uses the memory better than the bound of each compactor does.
//! * The second of two consecutive compactions of a level uses the other offset than the first. Each is fair, and their
//!   errors cancel in part (Ivkin et al., 2019, "Streaming quantiles algorithms with small space and update time").
//! * The sampler is a tournament: at each level below `base` at most one item waits, and two items of one level are
//!   replaced by one of them. The coins of all levels are drawn once for each run, so that the winner of a whole run is
//!   the item whose index has these bits: a batch of a million items reads 2ᵇ items for one random number. The unfinished
//!   run stays in the state as one waiting item for each binary digit of its length, so that no item is ever dropped from
//!   the count, and ranks of short streams are exact.
//! * A weight is a sum of powers of two, and an item enters at each of these levels. Fractions are resolved to 2⁻²⁰, and
//!   rounded at random beyond that, without bias.
//!
//! The same items in the same order with the same seed give the same bits, one by one or many at a time.

use serde::{Deserialize, Serialize};

use crate::numeric::random::Random;
use crate::numeric::{interpolate, quantile_position};

/// Binary digits of the fraction of a weight: level -20 is the lowest.
const FRACTION: u32 = 20;
/// The capacity of the smallest compactor; a sampler replaces smaller ones.
const SMALLEST: usize = 8;
pub const MIN_K: usize = 8;
pub const MAX_K: usize = 65_535;
/// Total weights below this one are exact.
pub const MAX_WEIGHT: f64 = (1u64 << 60) as f64;

const PURPOSE: u64 = 0x6b6c_6c5f_636f_696e;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Kll {
    k: usize,
    /// The level of the lowest compactor; the sampler passes one of 2^base items to it.
    base: u32,
    /// The items of all compactors, the lowest first, behind free space. All but the lowest are sorted.
    items: Box<[f64]>,
    /// Where each compactor begins; the last one ends with `items`.
    starts: Vec<usize>,
    /// The capacities of compactors, from the top.
    capacities: Box<[usize]>,
    /// The item that waits at a level below `base`, if the bit of the level is set; the index is level + `FRACTION`.
    waiting: Vec<f64>,
    occupied: u128,
    /// The coins of the current run: the bit of a level decides between its two items.
    coins: u64,
    /// The offset of the last compaction of each level, and whether the next one must use the other.
    offsets: u64,
    owed: u64,
    min: f64,
    max: f64,
    random: Random,
}

impl Kll {
    /// `k` is raised to `MIN_K` or lowered to `MAX_K`.
    pub fn new(k: usize, seed: u64) -> Self {
        let k = k.clamp(MIN_K, MAX_K);
        let mut random = Random::new(seed, PURPOSE);
        let capacities = capacities(k);
        Kll {
            k,
            base: 0,
            items: vec![0.0; capacities[0]].into(),
            starts: vec![capacities[0]],
            capacities,
            waiting: Vec::new(),
            occupied: 0,
            coins: random.bits(),
            offsets: 0,
            owed: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            random,
        }
    }

    pub fn k(&self) -> usize {
        self.k
    }

    pub fn is_empty(&self) -> bool {
        self.min > self.max
    }

    /// The smallest and the largest item, exactly; infinite in the wrong order while it is empty.
    pub fn range(&self) -> (f64, f64) {
        (self.min, self.max)
    }

    /// Whether no item was ever replaced by another: then all ranks are exact.
    pub fn is_exact(&self) -> bool {
        self.base == 0 && self.occupied == 0 && self.end(0) == self.items.len()
    }

    /// Number of items it holds.
    pub fn retained(&self) -> usize {
        self.items.len() - self.starts[0] + self.occupied.count_ones() as usize
    }

    /// The sum of weights, with fractions resolved to 2⁻²⁰: the number of items, exactly, if all weights were 1.
    pub fn weight(&self) -> f64 {
        self.units() as f64 / f64::from(1u32 << FRACTION)
    }

    /// The sum of weights in units of 2⁻²⁰. Neither the sampler nor a compaction changes it.
    fn units(&self) -> u128 {
        let weighed = |level: usize| ((self.level(level).len() as u128) << self.base) << level;
        let compactors: u128 = (0..self.starts.len()).map(weighed).sum();
        (compactors << FRACTION) + self.occupied
    }

    /// Whether `weight` can be added. A caller that adds weight 1 to fewer than 2⁶⁰ items need not ask.
    pub fn has_room_for(&self, weight: f64) -> bool {
        self.weight() + weight < MAX_WEIGHT
    }

    /// Memory in bytes, buffers included.
    pub fn memory(&self) -> usize {
        let words = self.items.len() + self.starts.capacity() + self.capacities.len() + self.waiting.capacity();
        std::mem::size_of::<Self>() + words * 8
    }

    /// Add an item of weight 1. NaN is the caller's fault; -0 counts as 0.
    #[inline]
    pub fn update(&mut self, x: f64) {
        let x = x + 0.0;
        self.min = if x < self.min { x } else { self.min };
        self.max = if x > self.max { x } else { self.max };
        match self.base {
            0 => self.push(x),
            _ => self.enter(0, x),
        }
    }

    /// Add an item of a weight that is positive and finite; see `has_room_for`.
    pub fn update_weighted(&mut self, x: f64, weight: f64) {
        if weight == 1.0 {
            return self.update(x);
        }
        let scaled = weight.min(MAX_WEIGHT) * f64::from(1u32 << FRACTION);
        let mut units = scaled as u128;
        let rest = scaled - units as f64;
        if rest > 0.0 && self.random.unit() < rest {
            units += 1;
        }
        if units == 0 {
            return;
        }
        let x = x + 0.0;
        (self.min, self.max) = (self.min.min(x), self.max.max(x));
        while units > 0 {
            let level = units.trailing_zeros();
            self.enter(level as i32 - FRACTION as i32, x);
            units &= units - 1;
        }
    }

    /// Add items of weight 1, bit for bit as one by one.
    pub fn update_many(&mut self, xs: &[f64]) {
        for block in xs.chunks(1024) {
            let (low, high) = extremes(block);
            self.min = if low < self.min { low + 0.0 } else { self.min };
            self.max = if high > self.max { high + 0.0 } else { self.max };
        }
        let mut rest = xs;
        while !rest.is_empty() {
            if self.base == 0 {
                // Items that fit before the next compaction are copied as `push` would place them, from behind.
                let (now, later) = rest.split_at(self.starts[0].min(rest.len()));
                let start = self.starts[0] - now.len();
                for (slot, &x) in self.items[start..self.starts[0]].iter_mut().rev().zip(now) {
                    *slot = x + 0.0;
                }
                self.starts[0] = start;
                if start == 0 {
                    self.compact();
                }
                rest = later;
            } else {
                // The longest run that the sampler may take at once: aligned with the items that wait.
                let aligned = (self.occupied >> FRACTION).trailing_zeros().min(self.base);
                let level = aligned.min(rest.len().ilog2());
                let (run, later) = rest.split_at(1 << level);
                let winner = run[(self.coins & ((1 << level) - 1)) as usize] + 0.0;
                if level == self.base {
                    self.coins = self.random.bits();
                    self.push(winner);
                } else {
                    self.enter(level as i32, winner);
                }
                rest = later;
            }
        }
    }

    /// Add an item at a level: to its compactor, or to the tournament below.
    fn enter(&mut self, mut level: i32, mut x: f64) {
        while level < self.base as i32 {
            let index = (level + FRACTION as i32) as usize;
            let bit = 1u128 << index;
            if self.waiting.len() <= index {
                self.waiting.resize(index + 1, 0.0);
            }
            if self.occupied & bit == 0 {
                self.occupied |= bit;
                self.waiting[index] = x;
                return;
            }
            self.occupied ^= bit;
            // Negative levels use the last bits. The later item wins if the coin is 1, as an index with this bit set.
            if (self.coins >> (level as u32 % 64)) & 1 == 0 {
                x = self.waiting[index];
            }
            level += 1;
            if level == self.base as i32 && self.base > 0 {
                self.coins = self.random.bits();
            }
        }
        match level - self.base as i32 {
            0 => self.push(x),
            above => self.insert(above as usize, x),
        }
    }

    /// Add an item to the lowest compactor.
    #[inline]
    fn push(&mut self, x: f64) {
        self.starts[0] -= 1;
        self.items[self.starts[0]] = x;
        if self.starts[0] == 0 {
            self.compact();
        }
    }

    /// Add an item to a compactor above the lowest, which need not exist yet.
    fn insert(&mut self, mut level: usize, x: f64) {
        while self.starts.len() <= level && self.starts.len() < self.capacities.len() {
            self.add_level();
        }
        while level >= self.capacities.len() {
            self.raise();
            level -= 1;
        }
        let place = self.starts[level] + self.level(level).partition_point(|&item| item <= x);
        self.items.copy_within(self.starts[0]..place, self.starts[0] - 1);
        self.items[place - 1] = x;
        for start in &mut self.starts[..=level] {
            *start -= 1;
        }
        if self.starts[0] == 0 {
            self.compact();
        }
    }

    fn end(&self, level: usize) -> usize {
        self.starts.get(level + 1).copied().unwrap_or(self.items.len())
    }

    fn level(&self, level: usize) -> &[f64] {
        &self.items[self.starts[level]..self.end(level)]
    }

    fn capacity(&self, level: usize) -> usize {
        self.capacities[self.starts.len() - 1 - level]
    }

    /// Make room in a full buffer: halve the lowest compactor that has reached its capacity.
    #[cold]
    fn compact(&mut self) {
        while self.starts[0] == 0 {
            let levels = self.starts.len();
            let full = |&level: &usize| self.level(level).len() >= self.capacity(level);
            // The capacities add up to the buffer, so one of them is reached.
            match (0..levels).find(full) {
                Some(level) if level + 1 < levels => self.halve(level),
                _ if levels < self.capacities.len() => self.add_level(),
                _ => self.raise(),
            }
        }
    }

    /// Another compactor on top. The buffer grows by the capacity of the smallest one.
    fn add_level(&mut self) {
        let more = self.capacities[self.starts.len()];
        let mut items = vec![0.0; self.items.len() + more];
        items[more..].copy_from_slice(&self.items);
        self.items = items.into();
        for start in &mut self.starts {
            *start += more;
        }
        self.starts.push(self.items.len());
    }

    /// Another compactor on top, in place of the lowest one, whose level becomes one of the sampler.
    fn raise(&mut self) {
        self.halve(0);
        let rest = self.level(0).first().copied();
        self.starts[0] = self.end(0);
        self.starts.remove(0);
        self.starts.push(self.items.len());
        let index = (self.base + FRACTION) as usize;
        self.base += 1;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, 0.0);
        }
        if let Some(rest) = rest {
            self.waiting[index] = rest;
            self.occupied |= 1u128 << index;
        }
    }

    /// Pass every other item of a compactor to the next one, which exists. Of an odd number one item stays.
    fn halve(&mut self, level: usize) {
        let (start, end, next_end) = (self.starts[level], self.end(level), self.end(level + 1));
        if level == 0 {
            self.items[start..end].sort_unstable_by(f64::total_cmp);
        }
        let pairs = (end - start) / 2;
        if pairs == 0 {
            return;
        }
        let kept = (end - start) % 2;
        let offset = self.offset(level);
        // The winners come to the end of their compactor, next to the items that they join.
        for pair in (0..pairs).rev() {
            self.items[end - pairs + pair] = self.items[start + kept + 2 * pair + offset];
        }
        merge_neighbours(&mut self.items[end - pairs..next_end], pairs);
        self.starts[level + 1] = end - pairs;
        // The item that stays, and all compactors below, close the gap.
        self.items.copy_within(self.starts[0]..start + kept, self.starts[0] + pairs);
        for start in &mut self.starts[..=level] {
            *start += pairs;
        }
    }

    /// 0 or 1 for the next compaction of a level.
    fn offset(&mut self, level: usize) -> usize {
        let bit = 1u64 << ((self.base as usize + level) % 64);
        if self.owed & bit == 0 {
            let drawn = if self.random.bits() >> 63 == 1 { bit } else { 0 };
            self.offsets = (self.offsets & !bit) | drawn;
        } else {
            self.offsets ^= bit;
        }
        self.owed ^= bit;
        usize::from(self.offsets & bit != 0)
    }

    /// Add the items of another sketch with the same `k`; the seeds may differ. Random numbers continue those of this one.
    /// The total weight must stay below `MAX_WEIGHT`.
    pub fn merge(&mut self, other: &Kll) {
        if other.base > self.base {
            let mut higher = other.clone();
            higher.random = self.random.clone();
            let lower = std::mem::replace(self, higher);
            return self.merge(&lower);
        }
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        for (index, &x) in other.waiting.iter().enumerate() {
            if other.occupied & (1u128 << index) != 0 {
                self.enter(index as i32 - FRACTION as i32, x);
            }
        }
        for level in 0..other.starts.len() {
            for &x in other.level(level) {
                self.enter((other.base as usize + level) as i32, x);
            }
        }
    }

    /// Write the sorted items with their weights into `view`, whose buffers are reused.
    pub fn sort_into(&self, view: &mut SortedView) {
        view.entries.clear();
        for (index, &x) in self.waiting.iter().enumerate() {
            if self.occupied & (1u128 << index) != 0 {
                view.entries.push((x, power(index as i32 - FRACTION as i32)));
            }
        }
        for level in 0..self.starts.len() {
            let weight = power((self.base as usize + level) as i32);
            view.entries.extend(self.level(level).iter().map(|&x| (x, weight)));
        }
        // A stable sort merges the compactors, which are sorted, several times faster than it would sort their items.
        view.entries.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut total = 0.0;
        for entry in &mut view.entries {
            // Multiples of 2⁻²⁰ below 2⁶⁰ lose their last digits beyond 2³³; in sum, less than one item in 2⁵³.
            total += entry.1;
            entry.1 = total;
        }
        (view.min, view.max) = (self.min, self.max);
    }

    /// A new sorted view. Keep it, or refresh it with `sort_into`, to ask for several quantiles.
    pub fn sorted(&self) -> SortedView {
        let mut view = SortedView::default();
        self.sort_into(&mut view);
        view
    }

    /// The smallest item whose rank is at least `q`; NaN while the sketch is empty.
    pub fn quantile(&self, q: f64) -> f64 {
        self.sorted().quantile(q)
    }

    /// The fraction of the weight of items that are at most `x`; NaN while the sketch is empty.
    pub fn rank(&self, x: f64) -> f64 {
        self.sorted().rank(x)
    }
}

/// 2^exponent for small exponents.
fn power(exponent: i32) -> f64 {
    match exponent >= 0 {
        true => (1u64 << exponent) as f64,
        false => 1.0 / (1u64 << -exponent) as f64,
    }
}

/// The capacities from the top: k, 2k/3, 4k/9, … down to `SMALLEST`, at least two.
fn capacities(k: usize) -> Box<[usize]> {
    let mut capacities = vec![k];
    let mut exact = k as f64;
    loop {
        exact *= 2.0 / 3.0;
        let rounded = exact.ceil() as usize;
        if exact < SMALLEST as f64 && capacities.len() > 1 {
            return capacities.into();
        }
        capacities.push(rounded.max(2));
    }
}

/// The smallest and the largest number, in lanes that compilers vectorise.
fn extremes(xs: &[f64]) -> (f64, f64) {
    let mut lows = [f64::INFINITY; 8];
    let mut highs = [f64::NEG_INFINITY; 8];
    let chunks = xs.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for ((low, high), &x) in lows.iter_mut().zip(&mut highs).zip(chunk) {
            *low = if x < *low { x } else { *low };
            *high = if x > *high { x } else { *high };
        }
    }
    for &x in rest {
        lows[0] = if x < lows[0] { x } else { lows[0] };
        highs[0] = if x > highs[0] { x } else { highs[0] };
    }
    (lows.into_iter().fold(f64::INFINITY, f64::min), highs.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// Merge two sorted neighbours, of which the first has `first` items, in place.
fn merge_neighbours(items: &mut [f64], first: usize) {
    let mut held = [0.0; 256];
    if first > held.len() {
        items.sort_by(f64::total_cmp);
        return;
    }
    held[..first].copy_from_slice(&items[..first]);
    let (mut ours, mut theirs) = (0, first);
    for slot in 0..items.len() {
        if ours == first {
            return;
        }
        if theirs < items.len() && items[theirs] < held[ours] {
            items[slot] = items[theirs];
            theirs += 1;
        } else {
            items[slot] = held[ours];
            ours += 1;
        }
    }
}

/// The items of a sketch in order, for many questions at little cost.
#[derive(Clone, Debug)]
pub struct SortedView {
    /// Items and the weight up to and including each.
    entries: Vec<(f64, f64)>,
    min: f64,
    max: f64,
}

impl Default for SortedView {
    fn default() -> Self {
        SortedView { entries: Vec::new(), min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl SortedView {
    pub fn weight(&self) -> f64 {
        self.entries.last().map_or(0.0, |entry| entry.1)
    }

    /// The smallest item whose rank is at least `q`: the minimum for 0, the maximum for 1. NaN while there are none.
    pub fn quantile(&self, q: f64) -> f64 {
        if self.entries.is_empty() || q.is_nan() {
            return f64::NAN;
        }
        if q <= 0.0 {
            return self.min;
        }
        let wanted = q * self.weight();
        let index = self.entries.partition_point(|entry| entry.1 < wanted);
        match self.entries.get(index) {
            Some(entry) if q < 1.0 => entry.0,
            _ => self.max,
        }
    }

    /// The quantile with linear interpolation between items of neighbouring ranks, as NumPy's. NaN while there are none.
    pub fn interpolated(&self, q: f64) -> f64 {
        if self.entries.is_empty() || q.is_nan() {
            return f64::NAN;
        }
        if q <= 0.0 || q >= 1.0 {
            return if q <= 0.0 { self.min } else { self.max };
        }
        let rank = quantile_position(q, (self.weight() - 1.0).max(0.0));
        let item = |rank: f64| {
            let index = self.entries.partition_point(|entry| entry.1 <= rank);
            self.entries[index.min(self.entries.len() - 1)].0
        };
        let (low, high) = (item(rank.floor()), item(rank.floor() + 1.0));
        interpolate(low, high, rank - rank.floor())
    }

    /// The fraction of the weight of items that are at most `x`. NaN while there are none.
    pub fn rank(&self, x: f64) -> f64 {
        if self.entries.is_empty() || x.is_nan() {
            return f64::NAN;
        }
        if x >= self.max {
            return 1.0;
        }
        let index = self.entries.partition_point(|entry| entry.0 <= x);
        if index == 0 || x < self.min {
            return 0.0;
        }
        self.entries[index - 1].1 / self.weight()
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.entries.capacity() * std::mem::size_of::<(f64, f64)>()
    }
}

/// The form in files.
#[derive(Serialize, Deserialize)]
struct Saved {
    k: usize,
    base: u32,
    levels: Vec<Vec<f64>>,
    /// Levels and items of the sampler.
    waiting: Vec<(i32, f64)>,
    coins: u64,
    offsets: u64,
    owed: u64,
    min: f64,
    max: f64,
    random: Random,
}

impl From<Kll> for Saved {
    fn from(sketch: Kll) -> Self {
        let waits = |index: &usize| sketch.occupied & (1u128 << index) != 0;
        let waiting = (0..sketch.waiting.len()).filter(waits);
        Saved {
            k: sketch.k,
            base: sketch.base,
            levels: (0..sketch.starts.len()).map(|level| sketch.level(level).to_vec()).collect(),
            waiting: waiting.map(|index| (index as i32 - FRACTION as i32, sketch.waiting[index])).collect(),
            coins: sketch.coins,
            offsets: sketch.offsets,
            owed: sketch.owed,
            min: sketch.min,
            max: sketch.max,
            random: sketch.random,
        }
    }
}

impl TryFrom<Saved> for Kll {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, &'static str> {
        if !(MIN_K..=MAX_K).contains(&saved.k) {
            return Err("k is out of range");
        }
        let mut sketch = Kll::new(saved.k, 0);
        if saved.levels.is_empty() || saved.levels.len() > sketch.capacities.len() {
            return Err("the number of compactors is impossible");
        }
        if saved.base > 0 && saved.levels.len() < sketch.capacities.len() || saved.base > 60 {
            return Err("the level of the sampler is impossible");
        }
        let held: usize = saved.levels.iter().map(Vec::len).sum();
        let room: usize = sketch.capacities[..saved.levels.len()].iter().sum();
        if held >= room {
            return Err("the compactors hold too many items");
        }
        if !saved.levels[1..].iter().all(|level| level.is_sorted()) {
            return Err("a compactor is not sorted");
        }
        let in_range = |x: &f64| (saved.min..=saved.max).contains(x);
        let items = saved.levels.iter().flatten().chain(saved.waiting.iter().map(|(_, x)| x));
        if !items.clone().all(in_range) || (items.clone().next().is_none() && saved.min <= saved.max) {
            return Err("an item is outside the range of the stream");
        }
        let lowest = -(FRACTION as i32);
        let valid = |level: i32| (lowest..saved.base as i32).contains(&level);
        let ascending = saved.waiting.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ascending || !saved.waiting.iter().all(|&(level, _)| valid(level)) {
            return Err("the sampler is inconsistent");
        }
        let mut items = vec![0.0; room - held];
        sketch.starts.clear();
        for level in &saved.levels {
            sketch.starts.push(items.len());
            items.extend(level);
        }
        sketch.items = items.into();
        if let Some(&(highest, _)) = saved.waiting.last() {
            sketch.waiting = vec![0.0; (highest - lowest) as usize + 1];
        }
        for &(level, x) in &saved.waiting {
            let index = (level - lowest) as usize;
            sketch.waiting[index] = x;
            sketch.occupied |= 1u128 << index;
        }
        let Saved { base, coins, offsets, owed, min, max, random, .. } = saved;
        let sketch = Kll { base, coins, offsets, owed, min, max, random, ..sketch };
        match sketch.weight() < MAX_WEIGHT {
            true => Ok(sketch),
            false => Err("the total weight is out of range"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::state::{pack, unpack};

    fn bytes(sketch: &Kll) -> Vec<u8> {
        pack(sketch).expect("finite numbers")
    }

    /// The largest difference of ranks at 99 items of 0, …, n - 1.
    fn largest_error(sketch: &Kll, n: usize) -> f64 {
        let view = sketch.sorted();
        let error = |step: usize| (view.rank((step * n / 100) as f64 - 1.0) - step as f64 / 100.0).abs();
        (1..100).map(error).fold(0.0, f64::max)
    }

    fn shuffled(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 1);
        let mut xs: Vec<f64> = (0..n).map(|x| x as f64).collect();
        for end in (1..n).rev() {
            xs.swap(end, random.below(end as u32 + 1) as usize);
        }
        xs
    }

    #[test]
    fn one_compaction_by_hand() {
        // k = 8: capacities 8 and 6, as 8 · 2/3 = 5.3 is rounded up, and no third one. The first 7 items stay as they
        // are. The eighth fills the buffer of 8, and a second compactor makes room for 6 more. The 14th fills it again:
        // the lowest compactor (capacity 6) has 14 items 1, …, 14, and passes the odd or the even ones, with weight 2.
        let mut sketch = Kll::new(8, 1);
        for x in [14.0, 3.0, 1.0, 7.0, 5.0, 2.0, 6.0, 4.0, 8.0, 10.0, 13.0, 12.0, 9.0] {
            sketch.update(x);
        }
        assert_eq!((sketch.retained(), sketch.quantile(0.5), sketch.rank(7.0)), (13, 7.0, 7.0 / 13.0));
        sketch.update(11.0);
        assert_eq!(sketch.level(0), &[] as &[f64]);
        let odd = sketch.level(1)[0] == 1.0;
        let wanted: Vec<f64> = (0..7).map(|pair| f64::from(2 * pair + if odd { 1 } else { 2 })).collect();
        assert_eq!(sketch.level(1), wanted);
        // The rank of 7 is 8/14 or 6/14; the extremes stay exact.
        assert_eq!(sketch.rank(7.0), if odd { 8.0 } else { 6.0 } / 14.0);
        assert_eq!((sketch.quantile(0.0), sketch.quantile(1.0), sketch.weight()), (1.0, 14.0, 14.0));
    }

    #[test]
    fn the_sampler_keeps_the_unfinished_run() {
        // Two compactors of 8 and 6: from level 1 on, the sampler runs. Each item is counted at once.
        let mut sketch = Kll::new(8, 3);
        for n in 1..5000 {
            sketch.update(f64::from(n % 97));
            assert_eq!(sketch.weight(), f64::from(n));
        }
        assert!(sketch.base > 3 && sketch.retained() < 14 + sketch.base as usize, "{sketch:?}");
    }

    #[test]
    fn many_items_are_items_one_by_one() {
        let xs: Vec<f64> = shuffled(60_000, 4).into_iter().map(|x| x * 0.5 - 1000.0).collect();
        for k in [8, 20, 200] {
            let (mut one, mut many) = (Kll::new(k, 5), Kll::new(k, 5));
            xs.iter().for_each(|&x| one.update(x));
            let mut rest = &xs[..];
            for size in [1, 3, 700, 0, 5, 20_000, 64, 39_000].into_iter().chain(std::iter::repeat(100)) {
                let (now, later) = rest.split_at(size.min(rest.len()));
                many.update_many(now);
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            assert_eq!(bytes(&one), bytes(&many), "k = {k}");
            let again: Kll = unpack("kll", &bytes(&one)).expect("just saved");
            assert_eq!(bytes(&again), bytes(&one));
        }
    }

    #[test]
    fn ranks_are_within_the_bound_of_the_reference() {
        // The published bound of Apache DataSketches for k = 200: all ranks within 0.0165, with probability 0.99.
        let n = 100_000;
        let mut orders = vec![shuffled(n, 1), (0..n).map(|x| x as f64).collect()];
        orders.push(orders[1].iter().rev().copied().collect());
        for (seed, xs) in orders.iter().cycle().take(30).enumerate() {
            let mut sketch = Kll::new(200, seed as u64);
            sketch.update_many(xs);
            assert!(largest_error(&sketch, n) < 0.0165, "seed {seed}: {}", largest_error(&sketch, n));
        }
    }

    #[test]
    fn merging_a_tree_of_parts_stays_within_the_bound() {
        let n = 128_000;
        for (seed, xs) in [shuffled(n, 2), (0..n).map(|x| x as f64).collect()].iter().enumerate() {
            let mut parts: Vec<Kll> = (0..64).map(|part| Kll::new(200, seed as u64 * 64 + part)).collect();
            // Parts of unequal size: the merge must align their levels.
            let mut rest = &xs[..];
            for (part, sketch) in parts.iter_mut().enumerate() {
                let size = if part == 63 { rest.len() } else { [10, 3000, 700, 4000][part % 4] };
                let (now, later) = rest.split_at(size.min(rest.len()));
                sketch.update_many(now);
                rest = later;
            }
            while parts.len() > 1 {
                let halves: Vec<Kll> = parts
                    .chunks(2)
                    .map(|pair| {
                        let mut merged = pair[0].clone();
                        merged.merge(&pair[1]);
                        merged
                    })
                    .collect();
                parts = halves;
            }
            assert_eq!(parts[0].weight(), n as f64);
            assert!(largest_error(&parts[0], n) < 0.0165, "{}", largest_error(&parts[0], n));
            let again: Kll = unpack("kll", &bytes(&parts[0])).expect("just saved");
            assert_eq!(bytes(&again), bytes(&parts[0]));
        }
    }

    #[test]
    fn weights_count_as_repetitions() {
        // The item x has weight x/100, so the median of 1, …, 1000 by weight is 708: 708 · 709 ≥ 1000 · 1001 / 2.
        let mut sketch = Kll::new(200, 6);
        for &x in &shuffled(1000, 3) {
            sketch.update_weighted(x + 1.0, (x + 1.0) / 100.0);
        }
        assert!((sketch.weight() - 5005.0).abs() < 0.01, "{}", sketch.weight());
        assert!((sketch.rank(708.0) - 0.5015).abs() < 0.0165, "{}", sketch.rank(708.0));
        // One heavy item among light ones; fractions beyond the resolution keep their sum on average.
        let mut sketch = Kll::new(200, 6);
        sketch.update_weighted(1.0, 1e15);
        (0..1000).for_each(|_| sketch.update_weighted(2.0, 1e-7));
        assert_eq!(sketch.quantile(0.99), 1.0);
        assert!((sketch.weight() - 1e15).abs() < 1.0 && !sketch.has_room_for(1.1525e18));
        let again: Kll = unpack("kll", &bytes(&sketch)).expect("just saved");
        assert_eq!(bytes(&again), bytes(&sketch));
    }

    #[test]
    fn memory_stays_bounded() {
        // After 2³⁰ items there are 22 more levels below the compactors than after 2⁸, one item each at most.
        let mut sketch = Kll::new(200, 7);
        let block: Vec<f64> = shuffled(1 << 16, 5);
        (0..16).for_each(|_| sketch.update_many(&block));
        for _ in 20..30 {
            let other = sketch.clone();
            sketch.merge(&other);
        }
        assert_eq!(sketch.weight(), (1u64 << 30) as f64);
        assert!(sketch.memory() < 8000, "{}", sketch.memory());
        assert!(largest_error(&sketch, 1 << 16) < 0.0165, "{}", largest_error(&sketch, 1 << 16));
    }

    #[test]
    fn forged_states_are_refused() {
        let mut sketch = Kll::new(8, 1);
        (0..500).for_each(|x| sketch.update(f64::from(x)));
        let forge = |change: &dyn Fn(&mut Saved)| {
            let mut saved = Saved::from(sketch.clone());
            change(&mut saved);
            Kll::try_from(saved).is_err()
        };
        assert!(!forge(&|_| {}));
        assert!(forge(&|saved| saved.k = 1 << 40));
        assert!(forge(&|saved| saved.base = 61));
        assert!(forge(&|saved| saved.levels.push(Vec::new())));
        assert!(forge(&|saved| saved.levels[0] = vec![1.0; 14]));
        assert!(forge(&|saved| saved.levels[1] = vec![2.0, 1.0]));
        assert!(forge(&|saved| saved.levels[0] = vec![f64::NAN]));
        assert!(forge(&|saved| saved.waiting = vec![(saved.base as i32, 1.0)]));
        assert!(forge(&|saved| saved.waiting = vec![(0, 1.0), (0, 1.0)]));
    }
}
