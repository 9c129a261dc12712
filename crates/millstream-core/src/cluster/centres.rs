//! The centres of clusters: the mean of the rows of each, coordinate by coordinate.
//!
//! Squared distances are sums of squared differences. The form |x|² − 2 x·c + |c|² would need fewer operations, but cancels
//! for data that lie far from 0. Eight centres lie next to each other, so that their distances to a row are computed in
//! vector registers.
//!
//! While every row has a number for every coordinate, each coordinate of a centre has the weight of the centre. From the
//! first missing value on, the weights are kept by coordinate, and distances are partial (`coordinate_rows`).

use crate::cluster::coordinate_rows::{partial_distance, widen_row};
use crate::linear_model::Coordinates;

/// Number of centres that lie next to each other.
const LANES: usize = 8;
/// Number of coordinates after which a block of centres that are all too far away is left.
const STRIDE: usize = 8;
/// Largest number of blocks whose first coordinates are compared first.
const MOST_BLOCKS: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Centres {
    len: usize,
    width: usize,
    /// By block of centres, coordinate and centre within the block. Places of absent centres are infinite, so that these
    /// are never nearest. NaN where a centre has no value.
    blocks: Vec<f64>,
    /// Weight of the rows of each centre.
    weights: Vec<f64>,
    /// By centre and coordinate; empty while all are the weight of the centre.
    coordinate_weights: Vec<f64>,
    /// Whether a centre has no value for a coordinate.
    has_gaps: bool,
}

/// The nearest centre with its squared distance, and the squared distance of the second nearest; infinite if there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub cluster: usize,
    pub distance: f64,
    pub next_distance: f64,
}

const NOTHING: Nearest = Nearest { cluster: 0, distance: f64::INFINITY, next_distance: f64::INFINITY };

impl Nearest {
    #[inline(always)]
    fn offer(&mut self, cluster: usize, distance: f64) {
        let closer = distance < self.distance;
        let second = if closer { self.distance } else { distance };
        self.next_distance = self.next_distance.min(second);
        self.cluster = if closer { cluster } else { self.cluster };
        self.distance = if closer { distance } else { self.distance };
    }
}

impl Centres {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub fn coordinate_weights(&self) -> &[f64] {
        &self.coordinate_weights
    }

    #[inline(always)]
    fn place(&self, cluster: usize, coordinate: usize) -> usize {
        (cluster / LANES * self.width + coordinate) * LANES + cluster % LANES
    }

    #[inline]
    pub fn value(&self, cluster: usize, coordinate: usize) -> f64 {
        self.blocks[self.place(cluster, coordinate)]
    }

    /// Copy a centre.
    pub fn copy_to(&self, cluster: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend((0..self.width).map(|coordinate| self.value(cluster, coordinate)));
    }

    /// Add a centre at a row with a weight.
    pub fn push(&mut self, row: &[f64], weight: f64) {
        if self.width == 0 {
            self.width = row.len();
        }
        if self.len.is_multiple_of(LANES) {
            self.blocks.resize(self.blocks.len() + self.width * LANES, f64::INFINITY);
        }
        self.len += 1;
        self.weights.push(weight);
        if !self.coordinate_weights.is_empty() {
            self.coordinate_weights.resize(self.len * self.width, 0.0);
        }
        self.replace(self.len - 1, row, weight);
    }

    /// Move a centre to a row, with a new weight.
    pub fn replace(&mut self, cluster: usize, row: &[f64], weight: f64) {
        if row.iter().any(|x| x.is_nan()) {
            self.separate_weights();
            self.has_gaps = true;
        }
        self.weights[cluster] = weight;
        for (coordinate, &x) in row.iter().enumerate() {
            let place = self.place(cluster, coordinate);
            self.blocks[place] = x;
            if let Some(own) = self.coordinate_weights.get_mut(cluster * self.width + coordinate) {
                *own = if x.is_nan() { 0.0 } else { weight };
            }
        }
    }

    /// Remove a centre; the last one gets its index.
    pub fn remove(&mut self, cluster: usize) {
        let last = self.len - 1;
        if last == 0 {
            *self = Centres::default();
            return;
        }
        for coordinate in 0..self.width {
            let (to, from) = (self.place(cluster, coordinate), self.place(last, coordinate));
            self.blocks[to] = self.blocks[from];
            self.blocks[from] = f64::INFINITY;
        }
        self.weights.swap_remove(cluster);
        if !self.coordinate_weights.is_empty() {
            self.coordinate_weights.copy_within(last * self.width..(last + 1) * self.width, cluster * self.width);
            self.coordinate_weights.truncate(last * self.width);
        }
        self.len = last;
        self.blocks.truncate(last.div_ceil(LANES) * self.width * LANES);
        self.has_gaps = self.blocks.iter().any(|x| x.is_nan());
    }

    /// Keep weights by coordinate from now on.
    pub fn separate_weights(&mut self) {
        if self.coordinate_weights.is_empty() {
            let width = self.width;
            let all = self.weights.iter().flat_map(|&weight| std::iter::repeat_n(weight, width));
            self.coordinate_weights = all.collect();
        }
    }

    /// Restore weights by coordinate; false if their number is wrong.
    pub fn set_coordinate_weights(&mut self, weights: Vec<f64>) -> bool {
        let fits = weights.is_empty() || weights.len() == self.len * self.width;
        if fits {
            self.coordinate_weights = weights;
            self.has_gaps = self.blocks.iter().any(|x| x.is_nan());
        }
        fits && !(self.has_gaps && self.coordinate_weights.is_empty())
    }

    /// Add the coordinates that rows have gained. Centres have no value for a new feature, and 0 for a new value of a
    /// nominal feature that they have.
    pub fn widen(&mut self, coordinates: &Coordinates) {
        if self.len == 0 || coordinates.width() == self.width {
            return;
        }
        self.separate_weights();
        let (before, width) = (self.width, coordinates.width());
        let mut wider = Centres { width, coordinate_weights: Vec::new(), ..Centres::default() };
        let mut row = Vec::new();
        let mut weights = Vec::with_capacity(self.len * width);
        for cluster in 0..self.len {
            self.copy_to(cluster, &mut row);
            widen_row(coordinates, &mut row);
            wider.push(&row, self.weights[cluster]);
            let own = &self.coordinate_weights[cluster * before..(cluster + 1) * before];
            weights.extend_from_slice(own);
            weights.resize((cluster + 1) * width, 0.0);
            let own = &mut weights[cluster * width..];
            // All rows with a nominal feature had the value 0 at its new coordinates.
            coordinates.each_slot(|_, _, places| {
                let known = places.iter().find(|&&place| place < before).map_or(0.0, |&place| own[place]);
                places.iter().filter(|&&place| place >= before).for_each(|&place| own[place] = known);
            });
        }
        wider.coordinate_weights = weights;
        wider.has_gaps = wider.blocks.iter().any(|x| x.is_nan());
        *self = wider;
    }

    /// The centre nearest to a row of the full width, the first in a tie; the distance of the second nearest is not
    /// computed. None if they share no coordinate, or if there is no centre.
    #[inline(always)]
    pub fn nearest(&self, x: &[f64], complete: bool) -> Option<Nearest> {
        if !complete || self.has_gaps || self.len == 0 {
            return self.nearest_shared(x);
        }
        match self.width > 2 * STRIDE && (3..=MOST_BLOCKS).contains(&(self.len.div_ceil(LANES))) {
            true => Some(self.nearest_of_many(x)),
            false => Some(self.nearest_of_few(x)),
        }
    }

    #[inline(always)]
    fn nearest_of_few(&self, x: &[f64]) -> Nearest {
        if self.len <= LANES {
            return nearest_of_block(x, &self.blocks);
        }
        let mut best = NOTHING;
        for (index, block) in self.blocks.chunks_exact(self.width * LANES).enumerate() {
            offer_block(x, block, [0.0; LANES], index, &mut best);
        }
        best
    }

    /// The first coordinates of all centres are compared first. The block that is nearest by them bounds the distance from
    /// above, so that most of the others are left early.
    fn nearest_of_many(&self, x: &[f64]) -> Nearest {
        let size = self.width * LANES;
        let (x, rest) = x.split_at(STRIDE);
        let (mut partial, mut lows) = ([[0.0; LANES]; MOST_BLOCKS], [0.0; MOST_BLOCKS]);
        let (mut first, mut closest) = (0, f64::INFINITY);
        let kept = partial.iter_mut().zip(&mut lows);
        for (index, (block, (partial, low))) in self.blocks.chunks_exact(size).zip(kept).enumerate() {
            // A local array stays in registers.
            let mut sums = [0.0; LANES];
            add_squares(x, block, &mut sums);
            (*partial, *low) = (sums, least(&sums));
            if *low < closest {
                (first, closest) = (index, *low);
            }
        }
        let mut best = NOTHING;
        let start = &self.blocks[first * size + STRIDE * LANES..(first + 1) * size];
        offer_block(rest, start, partial[first], first, &mut best);
        for (index, block) in self.blocks.chunks_exact(size).enumerate() {
            if index != first && lows[index] <= best.distance {
                offer_block(rest, &block[STRIDE * LANES..], partial[index], index, &mut best);
            }
        }
        best
    }

    /// The same with the distance of the second nearest.
    pub fn two_nearest(&self, x: &[f64], complete: bool) -> Option<Nearest> {
        if !complete || self.has_gaps || self.len == 0 {
            return self.nearest_shared(x);
        }
        let mut best = NOTHING;
        for (index, block) in self.blocks.chunks_exact(self.width * LANES).enumerate() {
            let mut sums = [0.0; LANES];
            add_squares(x, block, &mut sums);
            for (lane, &sum) in sums.iter().enumerate().take(self.len - (index * LANES).min(self.len)) {
                best.offer(index * LANES + lane, sum);
            }
        }
        Some(best)
    }

    /// The squared distance of each centre to a row of the full width; infinite for one that shares no coordinate with it.
    #[inline]
    pub fn distances(&self, x: &[f64], complete: bool, out: &mut Vec<f64>) {
        out.clear();
        if !complete || self.has_gaps || self.len == 0 {
            for cluster in 0..self.len {
                let centre = self.blocks[self.place(cluster, 0)..].iter().step_by(LANES).take(self.width);
                out.push(partial_distance(x, centre).unwrap_or(f64::INFINITY));
            }
            return;
        }
        for block in self.blocks.chunks_exact(self.width * LANES) {
            let mut sums = [0.0; LANES];
            add_squares(x, block, &mut sums);
            out.extend_from_slice(&sums);
        }
        out.truncate(self.len);
    }

    /// The nearest centres by partial distances.
    #[cold]
    fn nearest_shared(&self, x: &[f64]) -> Option<Nearest> {
        let mut best = NOTHING;
        let mut any = false;
        for cluster in 0..self.len {
            let start = self.place(cluster, 0);
            let centre = self.blocks[start..].iter().step_by(LANES).take(self.width);
            if let Some(distance) = partial_distance(x, centre) {
                best.offer(cluster, distance);
                any = true;
            }
        }
        any.then_some(best)
    }

    /// Move a centre towards a row; `rate` is the fraction of the way.
    #[inline(always)]
    pub fn approach(&mut self, cluster: usize, x: &[f64], rate: f64) {
        let (block, lane) = (cluster / LANES * self.width * LANES, cluster % LANES);
        for (centres, &x) in self.blocks[block..].as_chunks_mut::<LANES>().0.iter_mut().zip(x) {
            centres[lane] += rate * (x - centres[lane]);
        }
    }

    /// Move a centre towards a row, or away from it if the rate is negative, to at most ± `limit`. A coordinate that the
    /// row lacks stays; one that the centre lacks becomes that of a row it moves towards.
    #[inline]
    pub fn step(&mut self, cluster: usize, x: &[f64], complete: bool, rate: f64, limit: f64) {
        let (block, lane) = (cluster / LANES * self.width * LANES, cluster % LANES);
        let centres = self.blocks[block..].as_chunks_mut::<LANES>().0.iter_mut().zip(x);
        if complete && !self.has_gaps {
            for (centres, &x) in centres {
                centres[lane] = (centres[lane] + rate * (x - centres[lane])).clamp(-limit, limit);
            }
            return;
        }
        for (centres, &x) in centres.filter(|(centres, x)| !x.is_nan() && !centres[lane].is_nan()) {
            centres[lane] = (centres[lane] + rate * (x - centres[lane])).clamp(-limit, limit);
        }
        if rate > 0.0 {
            self.fill(cluster, x);
        }
    }

    /// Take the coordinates that a centre lacks from a row.
    pub fn fill(&mut self, cluster: usize, x: &[f64]) {
        if !self.has_gaps {
            return;
        }
        let start = self.place(cluster, 0);
        let mut filled = false;
        for (centre, &x) in self.blocks[start..].iter_mut().step_by(LANES).zip(x) {
            if centre.is_nan() && !x.is_nan() {
                (*centre, filled) = (x, true);
            }
        }
        if filled {
            self.has_gaps = self.blocks.iter().any(|x| x.is_nan());
        }
    }

    /// Move a centre by a multiple of some differences, to at most ± `limit`.
    pub fn shift_within(&mut self, cluster: usize, differences: &[f64], rate: f64, limit: f64) {
        let start = self.place(cluster, 0);
        for (centre, &difference) in self.blocks[start..].iter_mut().step_by(LANES).zip(differences) {
            *centre = (*centre + rate * difference).clamp(-limit, limit);
        }
    }

    /// The differences of a row from a centre, 0 where one of them has no value; returns the factor that scales their
    /// squares to all coordinates.
    pub fn differences(&self, cluster: usize, x: &[f64], out: &mut Vec<f64>) -> f64 {
        out.clear();
        let (block, lane) = (cluster / LANES * self.width * LANES, cluster % LANES);
        let centres = self.blocks[block..].as_chunks::<LANES>().0.iter();
        out.extend(x.iter().zip(centres).map(|(x, centres)| x - centres[lane]));
        let missing = out.iter().filter(|x| x.is_nan()).count();
        if missing == 0 {
            return 1.0;
        }
        out.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        match out.len() - missing {
            0 => f64::INFINITY,
            shared => out.len() as f64 / shared as f64,
        }
    }

    /// Move a centre by a multiple of some differences.
    pub fn shift(&mut self, cluster: usize, differences: &[f64], rate: f64) {
        let start = self.place(cluster, 0);
        for (centre, &difference) in self.blocks[start..].iter_mut().step_by(LANES).zip(differences) {
            *centre += rate * difference;
        }
    }

    /// Add w times the differences of a row from a centre.
    #[inline(always)]
    pub fn add_differences(&self, cluster: usize, x: &[f64], w: f64, sums: &mut [f64]) {
        let (block, lane) = (cluster / LANES * self.width * LANES, cluster % LANES);
        for ((sum, &x), centres) in sums.iter_mut().zip(x).zip(self.blocks[block..].as_chunks::<LANES>().0) {
            *sum += w * (x - centres[lane]);
        }
    }

    /// Add to the weight of a centre; returns the new weight.
    #[inline]
    pub fn add_weight(&mut self, cluster: usize, w: f64) -> f64 {
        self.weights[cluster] += w;
        self.weights[cluster]
    }

    /// Whether all coordinates of a centre have its weight.
    #[inline]
    pub fn has_even_weights(&self) -> bool {
        self.coordinate_weights.is_empty()
    }

    /// Move each coordinate of a centre: `moved` returns the new value and weight of a coordinate from its value and weight.
    pub fn move_each(&mut self, cluster: usize, moved: impl Fn(usize, f64, f64) -> (f64, f64)) {
        self.separate_weights();
        for coordinate in 0..self.width {
            let place = self.place(cluster, coordinate);
            let own = &mut self.coordinate_weights[cluster * self.width + coordinate];
            (self.blocks[place], *own) = moved(coordinate, self.blocks[place], *own);
        }
        if self.has_gaps {
            self.has_gaps = self.blocks.iter().any(|x| x.is_nan());
        }
    }

    /// Multiply all weights.
    pub fn scale_weights(&mut self, factor: f64) {
        self.weights.iter_mut().chain(&mut self.coordinate_weights).for_each(|weight| *weight *= factor);
    }

    pub fn memory(&self) -> usize {
        8 * (self.blocks.capacity() + self.weights.capacity() + self.coordinate_weights.capacity())
    }
}

/// Add the squared differences of some coordinates of a row and of a block of centres.
#[inline(always)]
fn add_squares(x: &[f64], block: &[f64], sums: &mut [f64; LANES]) {
    for (&x, centres) in x.iter().zip(block.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let difference = x - centres[lane];
            sums[lane] += difference * difference;
        }
    }
}

fn least(sums: &[f64; LANES]) -> f64 {
    sums.iter().fold(f64::INFINITY, |least, &sum| if sum < least { sum } else { least })
}

/// The nearest centre of a single block, the first in a tie.
#[inline(always)]
fn nearest_of_block(x: &[f64], block: &[f64]) -> Nearest {
    let mut sums = [0.0; LANES];
    add_squares(x, block, &mut sums);
    let lesser = |a: f64, b: f64| if b < a { b } else { a };
    let fours: [f64; 4] = std::array::from_fn(|lane| lesser(sums[lane], sums[lane + 4]));
    let distance = lesser(lesser(fours[0], fours[1]), lesser(fours[2], fours[3]));
    // One bit for each centre at this distance.
    let mut bits = 0u32;
    for (lane, &sum) in sums.iter().enumerate() {
        bits |= u32::from(sum == distance) << lane;
    }
    Nearest { cluster: bits.trailing_zeros() as usize % LANES, distance, next_distance: f64::INFINITY }
}

/// Add the remaining coordinates of a row to the sums of a block, and compare them with the best so far, in any order of
/// blocks. Sums only grow, so the block is left once all are larger.
#[inline(always)]
fn offer_block(x: &[f64], block: &[f64], mut sums: [f64; LANES], index: usize, best: &mut Nearest) {
    let (whole, rest) = x.as_chunks::<STRIDE>();
    let mut from = 0;
    for x in whole {
        add_squares(x, &block[from..from + STRIDE * LANES], &mut sums);
        from += STRIDE * LANES;
        if least(&sums) > best.distance {
            return;
        }
    }
    add_squares(rest, &block[from..], &mut sums);
    for (lane, &sum) in sums.iter().enumerate() {
        let cluster = index * LANES + lane;
        // The first in a tie.
        let closer = sum < best.distance || (sum == best.distance && cluster < best.cluster);
        best.cluster = if closer { cluster } else { best.cluster };
        best.distance = if closer { sum } else { best.distance };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// Centres (0, 0) and (6, 8), and the row (3, 1): squared distances 10 and 9 + 49 = 58.
    #[test]
    fn distances_worked_by_hand() {
        let mut centres = Centres::default();
        centres.push(&[0.0, 0.0], 1.0);
        centres.push(&[6.0, 8.0], 1.0);
        let found = centres.two_nearest(&[3.0, 1.0], true).unwrap();
        assert_eq!(found, Nearest { cluster: 0, distance: 10.0, next_distance: 58.0 });
        centres.approach(1, &[3.0, 1.0], 0.5);
        assert_eq!((centres.value(1, 0), centres.value(1, 1)), (4.5, 4.5));
    }

    /// Of equal distances the first centre counts, also where a later block is searched first.
    #[test]
    fn ties_go_to_the_first_centre() {
        let mut centres = Centres::default();
        for cluster in 0..40 {
            let mut row = [0.0; 20];
            // Centres 3 and 30 are equally far from 0, and 30 is nearer by the first coordinates.
            row[if cluster == 30 { 19 } else { 0 }] = if cluster == 3 || cluster == 30 { 1.0 } else { 5.0 };
            centres.push(&row, 1.0);
        }
        assert_eq!(centres.nearest(&[0.0; 20], true).unwrap().cluster, 3);
    }

    /// The blocked search finds what a plain loop finds, for any number of centres and coordinates.
    #[test]
    fn the_search_is_exhaustive() {
        let mut random = Random::new(1, 2);
        for (len, width) in [(1, 1), (3, 5), (8, 16), (9, 17), (17, 17), (20, 40), (65, 33), (520, 19)] {
            let mut centres = Centres::default();
            let rows: Vec<Vec<f64>> = (0..len).map(|_| (0..width).map(|_| random.gaussian()).collect()).collect();
            rows.iter().for_each(|row| centres.push(row, 1.0));
            for _ in 0..50 {
                let x: Vec<f64> = (0..width).map(|_| random.gaussian()).collect();
                let mut distances: Vec<f64> =
                    rows.iter().map(|row| row.iter().zip(&x).map(|(c, x)| (x - c) * (x - c)).sum()).collect();
                let found = centres.nearest(&x, true).unwrap();
                assert_eq!(distances[found.cluster], found.distance);
                let both = centres.two_nearest(&x, true).unwrap();
                assert_eq!((both.cluster, both.distance), (found.cluster, found.distance));
                distances.sort_unstable_by(f64::total_cmp);
                assert_eq!(distances[0], found.distance);
                assert_eq!(distances.get(1).copied().unwrap_or(f64::INFINITY), both.next_distance);
                assert_eq!(centres.nearest_of_few(&x), found);
                let shared = centres.nearest_shared(&x).unwrap();
                assert_eq!((shared.cluster, shared.distance), (both.cluster, both.distance));
            }
        }
    }
}
