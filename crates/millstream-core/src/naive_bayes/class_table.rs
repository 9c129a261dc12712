//! The statistics of all classes, and which class fits an example best.
//!
//! A value that a class cannot have (see `class_statistics`) makes the class impossible while another class
//! is possible. If all are impossible, those with the fewest impossible values compete by the rest, and by
//! their prior alone if nothing is left: the limit of a density ε → 0 for unseen values.
//!
//! The class alone needs no exponential, and learning takes one logarithm.

use crate::fault::Result;
use crate::row::{Row, Scratch, Sparse, Want};
use crate::task::ClassPrediction;

use super::class_statistics::{ClassStatistics, Estimate, Fit, SavedClass, SPARSE_WIDTH};
use super::gaussians::{Gaussians, Pairs, Step};
use super::sparse_class_table::SparseClassTable;

const NOT_PLAIN: usize = usize::MAX;

#[derive(Clone, Debug)]
pub struct ClassTable {
    /// By code; a class without examples has count 0.
    pub classes: Vec<ClassStatistics>,
    /// The width of rows without missing values, if every class has seen only such.
    plain_width: usize,
    /// The number of distinct values of each nominal slot.
    values: Vec<u32>,
}

/// Where new moments are written before they replace the old ones; many tables may share one.
#[derive(Clone, Debug, Default)]
pub struct Spare {
    gaussians: Gaussians,
    sparse: SparseClassTable,
}

impl Default for ClassTable {
    fn default() -> Self {
        ClassTable { classes: Vec::new(), plain_width: NOT_PLAIN, values: Vec::new() }
    }
}

/// Compare the fits of all classes that have examples.
#[inline(always)]
fn decide(
    classes: &[ClassStatistics],
    want: Want,
    out: &mut ClassPrediction,
    fit: impl Fn(usize, &ClassStatistics) -> Fit,
) {
    out.clear();
    let mut best = Fit { impossible: u32::MAX, logarithm: f64::NEG_INFINITY };
    for (code, class) in classes.iter().enumerate() {
        let fit = if class.prior() > 0.0 { fit(code, class) } else { Fit { impossible: u32::MAX, ..best } };
        let fewer = fit.impossible < best.impossible;
        if want == Want::Probabilities {
            if fewer {
                out.probabilities.fill(f64::NEG_INFINITY);
            }
            let competes = fit.impossible <= best.impossible && class.prior() > 0.0;
            out.probabilities.push(if competes { fit.logarithm } else { f64::NEG_INFINITY });
        }
        if fewer || (fit.impossible == best.impossible && fit.logarithm > best.logarithm) {
            best = fit;
            out.class = Some(code as u32);
        }
    }
    if want == Want::Probabilities && out.class.is_some() {
        let mut sum = 0.0;
        for number in &mut out.probabilities {
            *number = (*number - best.logarithm).exp();
            sum += *number;
        }
        for number in &mut out.probabilities {
            *number /= sum;
        }
    }
}

impl ClassTable {
    /// Derive the rest from the classes.
    fn survey(&mut self) {
        self.values.clear();
        let mut widths = self.classes.iter().filter(|class| class.count > 0.0).map(ClassStatistics::plain_width);
        let first = widths.next().flatten();
        self.plain_width = first.filter(|_| widths.all(|width| width == first)).unwrap_or(NOT_PLAIN);
        for class in &self.classes {
            class.count_distinct(&mut self.values);
        }
    }

    /// Learn a wide sparse row as it is; none if the class has seen other rows.
    fn learn_sparse(
        &mut self,
        x: Sparse<'_>,
        y: u32,
        w: f64,
        estimate: Estimate,
        spare: &mut Spare,
    ) -> Option<bool> {
        let (known, code) = (self.classes.len(), y as usize);
        let suits = |class: &ClassStatistics| class.count == 0.0 || class.plain_width() == Some(x.width);
        if x.width < SPARSE_WIDTH || !self.classes.get(code).is_none_or(suits) {
            return None;
        }
        if known <= code {
            self.classes.reserve_exact(code + 1 - self.classes.len());
            self.classes.resize(code + 1, ClassStatistics::default());
        }
        let settled = x.width == self.plain_width && self.classes[code].count > 0.0;
        if !self.classes[code].learn_sparse(x, w, estimate, &mut spare.sparse) {
            self.classes.truncate(known);
            return Some(false);
        }
        // The others too, or predictions would go on looking at every column.
        let others = self.classes.iter_mut().filter(|class| class.count > 0.0);
        others.filter(|class| class.plain_width() == Some(x.width)).for_each(ClassStatistics::make_sparse);
        if !settled {
            self.survey();
        }
        Some(true)
    }

    /// Predict a wide sparse row as it is; false if a class has seen other rows.
    fn predict_sparse(&self, x: Sparse<'_>, want: Want, out: &mut ClassPrediction) -> bool {
        let sparse = |class: &ClassStatistics| class.count == 0.0 || class.is_sparse();
        let suits = x.width == self.plain_width && self.classes.iter().all(sparse);
        if suits {
            let never = Fit { impossible: u32::MAX, logarithm: f64::NEG_INFINITY };
            decide(&self.classes, want, out, |_, class| class.fit_sparse(x).unwrap_or(never));
        }
        suits
    }

    /// Learn a row that is not sparse. False if it would overflow; then nothing has changed.
    #[inline]
    pub fn learn_dense(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        estimate: Estimate,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool {
        let known = self.classes.len();
        let code = y as usize;
        if let Some(class) = self.classes.get_mut(code) {
            class.write_out();
        }
        if let (Row::Plain(values), Some(class)) = (x, self.classes.get_mut(code)) {
            if values.len() == self.plain_width && class.count > 0.0 {
                return class.learn_plain(values, w, estimate, &mut spare.gaussians);
            }
        }
        if known <= code {
            self.classes.reserve_exact(code + 1 - known);
            self.classes.reserve_exact(code + 1 - self.classes.len());
            self.classes.resize(code + 1, ClassStatistics::default());
        }
        let class = &mut self.classes[code];
        let learned = match x {
            Row::Plain(values) if class.count == 0.0 || class.plain_width() == Some(values.len()) => {
                class.learn_plain(values, w, estimate, &mut spare.gaussians)
            }
            _ => class.learn_present(x, w, estimate, scratch),
        };
        if !learned {
            self.classes.truncate(known);
            return false;
        }
        self.survey();
        true
    }

    /// Predict and learn in one pass over the row's own class, where nothing is missing, new or constant.
    /// None where that does not suit, and whether it was learned.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub fn step_plain(
        &mut self,
        x: &[f64],
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        estimate: Estimate,
        spare: &mut Spare,
    ) -> Option<bool> {
        let code = y as usize;
        let class = self.classes.get_mut(code).filter(|class| class.count > 0.0)?;
        let n = class.count + w;
        let step = Step::new(w, n, estimate.ddof);
        if x.len() != self.plain_width || !class.is_smooth(step) {
            return None;
        }
        let pairs = Pairs::new(x);
        let (own, learned) = class.fit_and_learn(x, &pairs, n, step, &mut spare.gaussians);
        decide(
            &self.classes,
            want,
            out,
            |other, class| if other == code { own } else { class.fit_plain(x, &pairs) },
        );
        Some(learned)
    }

    /// Predict a row that is not sparse.
    #[inline]
    pub fn predict_dense(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, alpha: f64) {
        match x {
            Row::Plain(values) if values.len() == self.plain_width => {
                let pairs = Pairs::new(values);
                decide(&self.classes, want, out, |_, class| class.fit_plain(values, &pairs));
            }
            _ => decide(&self.classes, want, out, |_, class| class.fit_present(x, alpha, &self.values)),
        }
    }

    pub fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, alpha: f64, scratch: &mut Scratch) {
        let Row::Sparse(sparse) = x else { return self.predict_dense(x, want, out, alpha) };
        if self.predict_sparse(sparse, want, out) {
            return;
        }
        let mut dense = scratch.take_numbers();
        self.predict_dense(x.dense(&mut dense), want, out, alpha);
        scratch.give_numbers(dense);
    }

    /// False if it would overflow; then nothing has changed.
    pub fn learn(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        estimate: Estimate,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool {
        let Row::Sparse(sparse) = x else { return self.learn_dense(x, y, w, estimate, spare, scratch) };
        if let Some(learned) = self.learn_sparse(sparse, y, w, estimate, spare) {
            return learned;
        }
        let mut dense = scratch.take_numbers();
        let learned = self.learn_dense(x.dense(&mut dense), y, w, estimate, spare, scratch);
        scratch.give_numbers(dense);
        learned
    }

    /// Whether all sums are up to `largest`, and all means moderate.
    pub fn is_roomy(&self, largest: f64) -> bool {
        self.classes.iter().all(|class| class.is_roomy(largest))
    }

    pub fn saved(&self) -> Vec<SavedClass> {
        self.classes.iter().map(ClassStatistics::saved).collect()
    }

    /// Check what was saved and derive the rest.
    pub fn restored(classes: Vec<SavedClass>, who: &str, estimate: Estimate) -> Result<Self> {
        let restored = classes.into_iter().map(|saved| ClassStatistics::restored(saved, who, estimate));
        let mut table = ClassTable { classes: restored.collect::<Result<_>>()?, ..Self::default() };
        table.survey();
        Ok(table)
    }

    /// Bytes held beside the table itself.
    pub fn memory(&self) -> usize {
        self.classes.iter().map(ClassStatistics::memory).sum::<usize>() + 4 * self.values.len()
    }
}

impl Spare {
    pub fn memory(&self) -> usize {
        self.gaussians.memory() + self.sparse.memory()
    }
}
