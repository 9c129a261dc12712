//! Buffers for one row of an `AdaptiveTable`.

/// Buffers for one row.
#[derive(Clone, Debug, Default)]
pub(super) struct RowBuffers {
    /// Features that count, the intercept included.
    pub(super) places: Vec<u32>,
    pub(super) x: Vec<f64>,
    /// By score.
    pub(super) scores: Vec<f64>,
    pub(super) slopes: Vec<f64>,
    pub(super) pulls: Vec<f64>,
    pub(super) reaches: Vec<f64>,
    pub(super) norms: Vec<f64>,
    pub(super) alongs: Vec<f64>,
    /// Not 0 where a number became infinite.
    pub(super) unsound: Vec<f64>,
    pub(super) squares: Vec<f64>,
    /// By feature and score: q, √a and the next weight and sum.
    pub(super) q: Vec<f64>,
    pub(super) fallen: Vec<f64>,
    pub(super) next_w: Vec<f64>,
    pub(super) next_a: Vec<f64>,
    /// Places whose maxima grew, with the numbers before.
    pub(super) grown: Vec<u32>,
    pub(super) before: Vec<f64>,
}

impl RowBuffers {
    pub(super) fn fit(&mut self, stride: usize) {
        let by_score = [
            &mut self.scores,
            &mut self.slopes,
            &mut self.pulls,
            &mut self.reaches,
            &mut self.norms,
            &mut self.alongs,
            &mut self.unsound,
            &mut self.squares,
        ];
        for numbers in by_score {
            numbers.clear();
            numbers.resize(stride, 0.0);
        }
    }

    /// Whether a score takes a step: its gradient is not 0, nor are all features beside their maxima.
    #[inline]
    pub(super) fn moves(&self, index: usize) -> bool {
        self.pulls[index] != 0.0 && self.norms[index] != 0.0
    }

    pub(super) fn memory(&self) -> usize {
        let by_score = [&self.scores, &self.slopes, &self.pulls, &self.reaches, &self.norms, &self.alongs];
        let by_feature = [&self.q, &self.fallen, &self.next_w, &self.next_a, &self.before, &self.x];
        let numbers = by_score.into_iter().chain(by_feature).chain([&self.unsound, &self.squares]);
        8 * numbers.map(Vec::capacity).sum::<usize>() + 4 * (self.places.capacity() + self.grown.capacity())
    }
}
