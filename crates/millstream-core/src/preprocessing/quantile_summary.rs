//! The quantiles of a feature: exact over its last numbers, or within an error bound over all of them.
//!
//! A window is stored twice, in the order of arrival and sorted. A whole stream is summarised by a `Kll` sketch. New numbers
//! wait in a list and enter the sketch together; between these refreshes the quantiles do not change, and reverting a
//! number removes it from the list. A refresh is due when the stream has grown by an eighth, and at the latest after
//! `refresh_interval` numbers. The schedule depends on the count of numbers alone, so that many rows are rows one by one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::{interpolate, quantile_position};
use crate::sketch::kll::{Kll, SortedView};

/// The accuracy of the sketch: ranks are within 1.65 % with probability 0.99.
const K: usize = 200;
/// The stream may grow by this part between refreshes.
const GROWTH: u64 = 8;
/// Larger weights count as this one, so that no realistic stream exceeds the total of a sketch.
const HEAVIEST: f64 = (1u64 << 30) as f64;

/// Which numbers count.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub window_size: Option<usize>,
    pub refresh_interval: usize,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub enum Summary {
    Window { arrived: VecDeque<f64>, sorted: Vec<f64> },
    Stream(Box<Stream>),
}

#[derive(Clone, Debug)]
pub struct Stream {
    sketch: Kll,
    /// Count of numbers in the sketch.
    count: u64,
    /// Numbers that have not entered the sketch.
    waiting: Waiting,
    /// The sketch and the list before the last refresh.
    kept: Option<(Kll, Waiting)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    numbers: Vec<f64>,
    /// Those that are not 1, with the indices of their numbers.
    weights: Vec<(u32, f64)>,
}

/// What reverts the last number.
#[derive(Clone, Copy, Debug)]
pub enum Undo {
    /// The number that has left a window; NaN for none.
    Moved(f64),
    Waiting,
    Refreshed,
}

#[derive(Serialize, Deserialize)]
pub enum Saved {
    Window(Vec<f64>),
    Stream { sketch: Box<Kll>, count: u64, waiting: Waiting },
}

/// What quantiles are read from.
pub enum Sorted<'a> {
    Window(&'a [f64]),
    Stream(SortedView),
}

impl Sorted<'_> {
    /// With linear interpolation between numbers of neighbouring ranks, as NumPy's; NaN without numbers.
    pub fn quantile(&self, q: f64) -> f64 {
        match self {
            Sorted::Window(sorted) => of_sorted(sorted, q),
            Sorted::Stream(view) => view.interpolated(q),
        }
    }
}

/// The quantile of sorted numbers, with linear interpolation; NaN without numbers.
#[inline]
pub fn of_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = quantile_position(q, last as f64);
    let index = (position as usize).min(last);
    interpolate(sorted[index], sorted[(index + 1).min(last)], position - index as f64)
}

impl Scope {
    pub fn summary(&self) -> Summary {
        match self.window_size {
            Some(_) => Summary::Window { arrived: VecDeque::new(), sorted: Vec::new() },
            None => Summary::Stream(Box::new(Stream {
                sketch: Kll::new(K, self.seed),
                count: 0,
                waiting: Waiting::default(),
                kept: None,
            })),
        }
    }

    /// Learn a number. The quantiles have changed unless it waits.
    #[inline]
    pub fn learn(&self, summary: &mut Summary, x: f64, w: f64) -> Undo {
        match summary {
            Summary::Window { arrived, sorted } => {
                let full = arrived.len() >= self.window_size.unwrap_or(1);
                let left = if full { arrived.pop_front() } else { None };
                arrived.push_back(x);
                exchange(sorted, left, Some(x));
                Undo::Moved(left.unwrap_or(f64::NAN))
            }
            Summary::Stream(stream) => {
                if w != 1.0 {
                    stream.waiting.weights.push((stream.waiting.numbers.len() as u32, w));
                }
                stream.waiting.numbers.push(x);
                if (stream.waiting.numbers.len() as u64) < self.due(stream.count) {
                    return Undo::Waiting;
                }
                stream.refresh();
                Undo::Refreshed
            }
        }
    }

    /// Learn numbers that need not be reverted, as one by one; whether the quantiles have changed.
    pub fn learn_column(&self, summary: &mut Summary, xs: &[f64], weights: Option<&[f64]>) -> bool {
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let Summary::Stream(stream) = summary else {
            for (row, &x) in xs.iter().enumerate() {
                self.learn(summary, x, weight(row));
            }
            return !xs.is_empty();
        };
        let (mut learned, mut changed) = (0, false);
        while learned < xs.len() {
            let Waiting { numbers, weights: list } = &mut stream.waiting;
            let room = self.due(stream.count) as usize - numbers.len();
            let now = learned..(learned + room).min(xs.len());
            if weights.is_some() {
                let indices = (numbers.len() as u32..).zip(now.clone());
                list.extend(indices.map(|(index, row)| (index, weight(row))).filter(|(_, w)| *w != 1.0));
            }
            numbers.extend_from_slice(&xs[now.clone()]);
            learned = now.end;
            if now.len() == room {
                stream.enter();
                changed = true;
            }
        }
        changed
    }

    /// The number of waiting numbers at which a refresh is due.
    #[inline]
    fn due(&self, count: u64) -> u64 {
        (count / GROWTH).clamp(1, self.refresh_interval as u64)
    }

    pub fn load(&self, who: &str, saved: Saved) -> Result<Summary> {
        match (saved, self.window_size) {
            (Saved::Window(arrived), Some(size)) => {
                require(who, arrived.len() <= size, "more numbers than the window has")?;
                require(who, arrived.iter().all(|x| x.is_finite()), "a number is not finite")?;
                let mut sorted = arrived.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                Ok(Summary::Window { arrived: arrived.into(), sorted })
            }
            (Saved::Stream { sketch, count, waiting }, None) => {
                let Waiting { numbers, weights } = &waiting;
                require(who, (numbers.len() as u64) < self.due(count), "too many numbers wait")?;
                require(who, numbers.iter().all(|x| x.is_finite()), "a number is not finite")?;
                let good = |&(_, w): &(u32, f64)| w.is_finite() && w > 0.0;
                let ascending = weights.windows(2).all(|pair| pair[0].0 < pair[1].0);
                let inside = weights.last().is_none_or(|&(index, _)| (index as usize) < numbers.len());
                require(who, weights.iter().all(good) && ascending && inside, "a weight is impossible")?;
                let (low, high) = sketch.range();
                let range = sketch.is_empty() || (low.is_finite() && high.is_finite());
                require(who, range && sketch.k() == K, "the sketch is another one")?;
                require(who, count > 0 || sketch.is_empty(), "a count of nothing")?;
                Ok(Summary::Stream(Box::new(Stream { sketch: *sketch, count, waiting, kept: None })))
            }
            _ => require(who, false, "window and stream differ").map(|()| self.summary()),
        }
    }
}

impl Summary {
    /// Revert the last number, bit for bit.
    pub fn undo(&mut self, undo: Undo) {
        match (self, undo) {
            (Summary::Window { arrived, sorted }, Undo::Moved(left)) => {
                let newest = arrived.pop_back();
                let left = (!left.is_nan()).then_some(left);
                if let Some(left) = left {
                    arrived.push_front(left);
                }
                exchange(sorted, newest, left);
            }
            (Summary::Stream(stream), undo) => {
                if let (Undo::Refreshed, Some((sketch, waiting))) = (undo, stream.kept.as_mut()) {
                    stream.count -= waiting.numbers.len() as u64;
                    std::mem::swap(&mut stream.sketch, sketch);
                    std::mem::swap(&mut stream.waiting, waiting);
                }
                let Waiting { numbers, weights } = &mut stream.waiting;
                numbers.pop();
                weights.pop_if(|(index, _)| *index as usize == numbers.len());
            }
            (Summary::Window { .. }, _) => {}
        }
    }

    /// The numbers that quantiles are read from; of a stream, those in the sketch.
    pub fn sorted(&self) -> Sorted<'_> {
        match self {
            Summary::Window { sorted, .. } => Sorted::Window(sorted),
            Summary::Stream(stream) => Sorted::Stream(stream.sketch.sorted()),
        }
    }

    /// Count of these numbers.
    pub fn count(&self) -> u64 {
        match self {
            Summary::Window { sorted, .. } => sorted.len() as u64,
            Summary::Stream(stream) => stream.count,
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Summary::Window { sorted, .. } => sorted.is_empty(),
            Summary::Stream(stream) => stream.sketch.is_empty(),
        }
    }

    pub fn save(&self) -> Saved {
        match self {
            Summary::Window { arrived, .. } => Saved::Window(arrived.iter().copied().collect()),
            Summary::Stream(stream) => Saved::Stream {
                sketch: Box::new(stream.sketch.clone()),
                count: stream.count,
                waiting: stream.waiting.clone(),
            },
        }
    }

    pub fn memory(&self) -> usize {
        match self {
            Summary::Window { arrived, sorted } => (arrived.capacity() + sorted.capacity()) * 8,
            Summary::Stream(stream) => {
                let waiting =
                    |waiting: &Waiting| (waiting.numbers.capacity() + 2 * waiting.weights.capacity()) * 8;
                let kept = |(sketch, list): &(Kll, Waiting)| sketch.memory() + waiting(list);
                std::mem::size_of::<Stream>()
                    + stream.sketch.memory()
                    + waiting(&stream.waiting)
                    + stream.kept.as_ref().map_or(0, kept)
            }
        }
    }
}

impl Stream {
    /// The waiting numbers enter the sketch, and `kept` is what reverts that.
    #[cold]
    fn refresh(&mut self) {
        let Stream { sketch, waiting, kept, .. } = self;
        let (kept_sketch, kept_list) = kept.get_or_insert_with(|| (sketch.clone(), Waiting::default()));
        kept_sketch.clone_from(sketch);
        kept_list.clone_from(waiting);
        self.enter();
    }

    /// The waiting numbers enter the sketch.
    fn enter(&mut self) {
        let Stream { sketch, count, waiting: Waiting { numbers, weights }, .. } = self;
        *count += numbers.len() as u64;
        let mut from = 0;
        for &(index, w) in &*weights {
            let index = index as usize;
            sketch.update_many(&numbers[from..index]);
            if sketch.has_room_for(w.min(HEAVIEST)) {
                sketch.update_weighted(numbers[index], w.min(HEAVIEST));
            }
            from = index + 1;
        }
        sketch.update_many(&numbers[from..]);
        numbers.clear();
        weights.clear();
    }
}

/// Take a number that is there out of a sorted list, and put another in.
fn exchange(sorted: &mut Vec<f64>, out: Option<f64>, new: Option<f64>) {
    let place = |sorted: &[f64], x: f64| sorted.partition_point(|number| number.total_cmp(&x).is_lt());
    match (out, new) {
        (Some(out), Some(new)) => {
            let (from, to) = (place(sorted, out), place(sorted, new));
            // The numbers between the two places move by one.
            if from < to {
                sorted.copy_within(from + 1..to, from);
                sorted[to - 1] = new;
            } else {
                sorted.copy_within(to..from, to + 1);
                sorted[to] = new;
            }
        }
        (Some(out), None) => {
            sorted.remove(place(sorted, out));
        }
        (None, Some(new)) => sorted.insert(place(sorted, new), new),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// 4, 1, 3, 2 in a window of 3: the last three are 1, 2, 3; a quarter of the way from 1 to 3 is 1.5.
    #[test]
    fn a_window_by_hand() {
        let scope = Scope { window_size: Some(3), refresh_interval: 9, seed: 0 };
        let mut summary = scope.summary();
        assert!(summary.sorted().quantile(0.5).is_nan());
        for x in [4.0, 1.0, 3.0, 2.0] {
            scope.learn(&mut summary, x, 1.0);
        }
        let sorted = summary.sorted();
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| sorted.quantile(q)), [1.0, 1.5, 2.0, 2.5, 3.0]);
    }

    #[test]
    fn undo_reverts_any_number() {
        for window_size in [None, Some(1), Some(7)] {
            let scope = Scope { window_size, refresh_interval: 20, seed: 3 };
            let (mut summary, mut random) = (scope.summary(), Random::new(1, 0));
            for row in 0..900u32 {
                let w = [1.0, 1.0, 2.5][row as usize % 3];
                let x = (random.unit() * 20.0).round() - 10.0;
                let before = rmp_serde::to_vec(&summary.save()).unwrap();
                let undo = scope.learn(&mut summary, 3.0 - x, w);
                summary.undo(undo);
                assert!(rmp_serde::to_vec(&summary.save()).unwrap() == before, "{window_size:?} {row}");
                let loaded = scope.load("test", summary.save()).unwrap();
                assert!(rmp_serde::to_vec(&loaded.save()).unwrap() == before, "{window_size:?} {row}");
                scope.learn(&mut summary, x, w);
            }
        }
    }

    #[test]
    fn a_stream_is_refreshed_in_time() {
        let scope = Scope { window_size: None, refresh_interval: 20, seed: 3 };
        let mut summary = scope.summary();
        for row in 0..5000u32 {
            scope.learn(&mut summary, f64::from(row % 100), 1.0);
            let waiting = u64::from(row + 1) - summary.count();
            assert!(waiting < 20 && waiting <= summary.count() / 8, "{row} {waiting}");
        }
        let sorted = summary.sorted();
        assert!((sorted.quantile(0.25) - 24.75).abs() < 2.0 && (sorted.quantile(0.5) - 49.5).abs() < 2.0);
    }
}
