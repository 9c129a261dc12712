//! Adaptive steps of several scores on the same rows, in one walk over each row.
//!
//! One-vs-rest classifiers and regressors of costs have a score for each class, and all of them learn the same rows. Here
//! the numbers of all scores lie beside each other by coordinate (w, a and m of `Adaptive`), so that a vector register
//! steps several scores at once. Each score has the operations of `Adaptive::propose` in the same order: results are
//! bit-identical. A row changes all scores or none.
//!
//! Scores are copied in for a batch of rows and copied back afterwards. Only square-root rates without penalties are
//! supported, which is what nearly all models have.

mod lanes;
mod row_buffers;

use pulp::Arch;

use lanes::{Looking, Moving, Scoring};
use row_buffers::RowBuffers;

use super::adaptive::{State, LEAST};
use super::Example;
use crate::losses::Loss;
use crate::optim::Features;
use crate::row::finite;

/// The number of scores is rounded up to a multiple of this: the width of the widest register in use.
const LANES: usize = 4;

/// What scores of one table have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableSettings {
    pub loss: Loss,
    pub rate: f64,
    pub clip: f64,
    /// The initial intercept, if there is one.
    pub intercept: Option<f64>,
}

/// A score that may be stepped in a table.
pub struct AdaptiveScore<'a> {
    pub settings: TableSettings,
    /// Number of coordinates.
    pub width: usize,
    /// Number of steps.
    pub t: &'a mut f64,
    pub state: &'a mut State,
}

/// One row: values and the place in the table of each.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a> {
    pub places: &'a [u32],
    pub x: &'a [f64],
}

#[derive(Clone, Debug, Default)]
pub struct AdaptiveTable {
    arch: Arch,
    settings: Option<TableSettings>,
    scores: usize,
    /// `scores`, rounded up.
    stride: usize,
    /// By place and score, with the intercept at the last place: weights, sums of squared gradients, largest values.
    w: Vec<f64>,
    a: Vec<f64>,
    m: Vec<f64>,
    /// The least of `m` at each place.
    least: Vec<f64>,
    /// N and T of `Adaptive`, by score.
    squares: Vec<f64>,
    total: Vec<f64>,
    t: Vec<f64>,
    row: RowBuffers,
}

impl AdaptiveTable {
    /// Copy scores into the table, with the coordinates in `columns`, or all of them; false if they cannot be stepped
    /// together.
    pub fn gather(&mut self, scores: &[AdaptiveScore<'_>], columns: Option<&[u32]>) -> bool {
        let Some(first) = scores.first() else { return false };
        if scores.iter().any(|score| score.settings != first.settings || score.width != first.width) {
            return false;
        }
        let places = columns.map_or(first.width, <[u32]>::len);
        self.settings = Some(first.settings);
        (self.scores, self.stride) = (scores.len(), scores.len().next_multiple_of(LANES));
        let (stride, length) = (self.stride, (places + 1) * self.stride);
        // Scores that only fill a register never move.
        for (numbers, start) in [(&mut self.w, 0.0), (&mut self.a, 1.0), (&mut self.m, 1.0)] {
            numbers.clear();
            numbers.resize(length, start);
        }
        for numbers in [&mut self.squares, &mut self.total, &mut self.t] {
            numbers.clear();
            numbers.resize(stride, 1.0);
        }
        for (index, score) in scores.iter().enumerate() {
            let cells = score.state.cells();
            let mut put = |place: usize, [w, a, m]: [f64; 3]| {
                let at = place * stride + index;
                (self.w[at], self.a[at], self.m[at]) = (w, a, m);
            };
            for place in 0..places {
                put(place, cells.cell(columns.map_or(place, |columns| columns[place] as usize)));
            }
            put(places, cells.constant);
            [self.squares[index], self.total[index]] = score.state.sums();
            self.t[index] = *score.t;
        }
        let least = |m: &[f64]| m[..scores.len()].iter().copied().fold(f64::INFINITY, f64::min);
        self.least.clear();
        self.least.extend(self.m.chunks_exact(stride).map(least));
        self.row.fit(stride);
        true
    }

    /// Copy the scores back. They and the columns are those of `gather`.
    pub fn scatter(&self, scores: &mut [AdaptiveScore<'_>], columns: Option<&[u32]>) {
        let places = self.least.len() - 1;
        for (index, score) in scores.iter_mut().enumerate() {
            *score.t = self.t[index];
            score.state.set_sums([self.squares[index], self.total[index]]);
            let cell = |place: usize| {
                let at = place * self.stride + index;
                [self.w[at], self.a[at], self.m[at]]
            };
            score.state.cells_mut().overwrite(columns, (0..places).map(cell), cell(places));
        }
    }

    /// The scores of a row.
    pub fn score(&mut self, row: TableRow<'_>) -> &[f64] {
        let Some(settings) = self.settings else { return &[] };
        self.arch.dispatch(Scoring { table: self, row });
        for score in &mut self.row.scores[..self.scores] {
            *score = finite(*score + settings.intercept.unwrap_or(0.0));
        }
        &self.row.scores[..self.scores]
    }

    /// One step of all scores whose weight is not 0, from the scores that `score` computed last, which must be those of
    /// this row. False, without any change, if a step would overflow. `examples` gives the target and weight of a score.
    pub fn step(&mut self, row: TableRow<'_>, example: impl Fn(usize) -> (f64, f64)) -> bool {
        let Some(settings) = self.settings else { return false };
        let mut any = false;
        for index in 0..self.scores {
            let (y, w) = example(index);
            let buffers = &mut self.row;
            let slope = settings.loss.slope(y, buffers.scores[index]).clamp(-settings.clip, settings.clip);
            buffers.slopes[index] = slope;
            buffers.pulls[index] = w * slope * slope;
            any |= buffers.pulls[index] != 0.0;
        }
        if any {
            self.select(row, settings.intercept.is_some());
            self.grow_maxima();
            self.arch.dispatch(Looking { table: self });
            self.find_lengths(settings, &example);
            self.arch.dispatch(Moving { table: self });
            if (0..self.scores).any(|index| self.row.moves(index) && self.row.unsound[index] != 0.0) {
                self.shrink_maxima();
                return false;
            }
            self.commit(&example);
        }
        for index in 0..self.scores {
            self.t[index] += if example(index).1 == 0.0 { 0.0 } else { 1.0 };
        }
        true
    }

    /// The features that count, and the intercept.
    fn select(&mut self, row: TableRow<'_>, intercept: bool) {
        let buffers = &mut self.row;
        buffers.places.clear();
        buffers.x.clear();
        for (&place, &x) in row.places.iter().zip(row.x) {
            if x.abs() >= LEAST {
                buffers.places.push(place);
                buffers.x.push(x);
            }
        }
        if intercept {
            buffers.places.push(self.least.len() as u32 - 1);
            buffers.x.push(1.0);
        }
        let length = buffers.x.len() * self.stride;
        for numbers in [&mut buffers.q, &mut buffers.fallen, &mut buffers.next_w, &mut buffers.next_a] {
            numbers.resize(length.max(numbers.len()), 0.0);
        }
    }

    /// At a new maximum a weight shrinks, so that its contribution to the score stays the same.
    fn grow_maxima(&mut self) {
        let buffers = &mut self.row;
        buffers.grown.clear();
        buffers.before.clear();
        for (&place, &x) in buffers.places.iter().zip(&buffers.x) {
            let (size, at) = (x.abs(), place as usize);
            if size <= self.least[at] {
                continue;
            }
            let lanes = at * self.stride..(at + 1) * self.stride;
            let [w, a, m] = [&mut self.w, &mut self.a, &mut self.m].map(|numbers| &mut numbers[lanes.clone()]);
            buffers.grown.push(place);
            for numbers in [&*w, &*a, &*m] {
                buffers.before.extend_from_slice(numbers);
            }
            let mut least = f64::INFINITY;
            for index in 0..self.scores {
                if size > m[index] && buffers.pulls[index] != 0.0 {
                    let ratio = m[index] / size;
                    w[index] *= ratio;
                    a[index] *= ratio * ratio;
                    m[index] = size;
                }
                least = least.min(m[index]);
            }
            self.least[at] = least;
        }
    }

    /// Undo `grow_maxima`.
    fn shrink_maxima(&mut self) {
        let stride = self.stride;
        for (&place, before) in self.row.grown.iter().zip(self.row.before.chunks_exact(3 * stride)) {
            let at = place as usize;
            let lanes = at * stride..(at + 1) * stride;
            self.w[lanes.clone()].copy_from_slice(&before[..stride]);
            self.a[lanes.clone()].copy_from_slice(&before[stride..2 * stride]);
            self.m[lanes].copy_from_slice(&before[2 * stride..]);
            self.least[at] = before[2 * stride..][..self.scores].iter().copied().fold(f64::INFINITY, f64::min);
        }
    }

    /// How far each score follows its loss, per unit of each feature.
    fn find_lengths(&mut self, settings: TableSettings, example: &impl Fn(usize) -> (f64, f64)) {
        let buffers = &mut self.row;
        for index in 0..self.scores {
            if !buffers.moves(index) {
                buffers.alongs[index] = 0.0;
                continue;
            }
            let (y, w) = example(index);
            let (squares, total) = (self.squares[index] + w * buffers.norms[index], self.total[index] + w);
            let common = (total / squares).sqrt();
            let reach = buffers.reaches[index] * common;
            let step = Example {
                features: Features::Dense(&[]),
                intercept: settings.intercept.is_some(),
                w,
                slope: buffers.slopes[index],
                gradient: 0.0,
                t: 1.0,
                y,
                score: buffers.scores[index],
                loss: settings.loss,
                clip: settings.clip,
            };
            let along = step.flow(settings.rate * w * reach) / reach * common;
            buffers.alongs[index] = along;
            buffers.squares[index] = squares;
            buffers.unsound[index] += squares * 0.0 + total * 0.0 + along * 0.0;
        }
    }

    fn commit(&mut self, example: &impl Fn(usize) -> (f64, f64)) {
        let (stride, buffers) = (self.stride, &self.row);
        let all = (0..self.scores).all(|index| buffers.moves(index));
        let next = buffers.next_w.chunks_exact(stride).zip(buffers.next_a.chunks_exact(stride));
        for (&place, (next_w, next_a)) in buffers.places.iter().zip(next) {
            let lanes = place as usize * stride..(place as usize + 1) * stride;
            let (w, a) = (&mut self.w[lanes.clone()], &mut self.a[lanes]);
            if all {
                w.copy_from_slice(next_w);
                a.copy_from_slice(next_a);
                continue;
            }
            for index in (0..self.scores).filter(|&index| buffers.moves(index)) {
                (w[index], a[index]) = (next_w[index], next_a[index]);
            }
        }
        for index in (0..self.scores).filter(|&index| buffers.moves(index)) {
            self.squares[index] = buffers.squares[index];
            self.total[index] += example(index).1;
        }
    }

    pub fn memory(&self) -> usize {
        let numbers = [&self.w, &self.a, &self.m, &self.least, &self.squares, &self.total, &self.t];
        8 * numbers.into_iter().map(Vec::capacity).sum::<usize>() + self.row.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::adaptive::Adaptive;
    use super::super::tests::engine;
    use super::super::FullVector;
    use super::*;
    use crate::linear_model::Engine as _;
    use crate::optim::Penalty;
    use crate::row::{Row, Scratch};

    fn score_of(loss: Loss) -> FullVector<Adaptive> {
        engine(Adaptive::new(0.5, 0.5, Penalty::default()), loss, true)
    }

    #[test]
    fn a_step_by_hand() {
        let mut model = engine(Adaptive::new(0.5, 0.5, Penalty::default()), Loss::Squared, false);
        // The width comes with the first row; a row of zeros moves nothing.
        model.learn(Row::Plain(&[0.0]), 1.0, 1.0, &mut Scratch::default()).unwrap();
        let (mut table, row) = (AdaptiveTable::default(), TableRow { places: &[0], x: &[2.0] });
        let mut scores = [model.adaptive_score().unwrap()];
        assert!(table.gather(&scores, None));
        assert_eq!(table.score(row), [0.0]);
        assert!(table.step(row, |_| (1.0, 1.0)));
        table.scatter(&mut scores, None);
        // As in `adaptive`: x = 2, y = 1, z = 0 has c = 0.5 and τ = 0.25, and the score becomes 1 − e^−0.5.
        let z = 1.0 - (-0.5f64).exp();
        assert!((model.score(Row::Plain(&[2.0]), &mut Scratch::default()) - z).abs() < 1e-15);
    }

    #[test]
    fn steps_together_are_steps_alone() {
        let mut scratch = Scratch::default();
        for loss in [Loss::Logistic, Loss::Hinge { margin: 1.0 }, Loss::Squared] {
            let mut alone: Vec<_> = (0..5).map(|_| score_of(loss)).collect();
            for (place, model) in alone.iter_mut().enumerate() {
                model.learn(Row::Plain(&[1.0, 0.0, place as f64]), 1.0, 1.0, &mut scratch).unwrap();
            }
            let mut together = alone.clone();
            let mut table = AdaptiveTable::default();
            let mut scores: Vec<_> = together.iter_mut().map(|model| model.adaptive_score().unwrap()).collect();
            assert!(table.gather(&scores, None));
            for step in 0..200usize {
                let x = [0, 1, 2]
                    .map(|place| ((step * 7 + place * 3) % 11) as f64 * 1.5f64.powi(step as i32 / 20) - 3.0);
                let row = TableRow { places: &[0, 1, 2], x: &x };
                // Some scores do not learn, some have reached their margin.
                let example = |index: usize| {
                    (if (step + index).is_multiple_of(3) { 1.0 } else { -1.0 }, ((step * index) % 4) as f64)
                };
                let before = table.score(row).to_vec();
                assert!(table.step(row, example));
                for (index, model) in alone.iter_mut().enumerate() {
                    assert_eq!(model.score(Row::Plain(&x), &mut scratch).to_bits(), before[index].to_bits());
                    let (y, w) = example(index);
                    if w > 0.0 {
                        model.learn(Row::Plain(&x), y, w, &mut scratch).unwrap();
                    }
                }
            }
            // A step that overflows changes nothing.
            let row = TableRow { places: &[0, 1, 2], x: &[1e9, 1.0, 1.0] };
            table.score(row);
            assert!(
                !table.step(row, |index| (-3.0, if index == 4 { 1e308 } else { 1.0 })) || loss != Loss::Squared
            );
            if loss == Loss::Squared {
                table.scatter(&mut scores, None);
                for (alone, together) in alone.iter().zip(&together) {
                    assert_eq!(alone.save().unwrap(), together.save().unwrap());
                }
            }
        }
    }
}
