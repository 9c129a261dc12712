//! Pearson's chi-squared statistic of the contingency table of two variables.
//!
//! With o the weight of a cell and e = row · column / n the weight expected of independent variables, χ² = Σ (o − e)² / e.
//! A cell that was never seen adds e, so only the seen ones are visited: χ² = Σ (o − e)² / e + n − Σ e over these.

use serde_json::json;

use super::never_told;
use super::value_counts::ValueCounts;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::merging::Merge;
use crate::numeric::incomplete_gamma::chi_square_tail;
use crate::part::Part;
use crate::schema::Schema;
use crate::statistic::Statistic;

const NAME: &str = "stats.ChiSquared";

pub static CHI_SQUARED: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Chi-squared statistic of two variables",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Statistic(Box::new(ChiSquared { counts: ValueCounts::default() }))),
};

#[derive(Clone)]
struct ChiSquared {
    counts: ValueCounts<2>,
}

/// The sums of the table.
struct Margins {
    rows: ValueCounts<1>,
    columns: ValueCounts<1>,
    total: f64,
}

impl ChiSquared {
    fn margins(&self) -> Margins {
        let (mut rows, mut columns, mut total) = (ValueCounts::default(), ValueCounts::default(), 0.0);
        for &([x, y], w) in self.counts.entries() {
            // There are no more rows or columns than cells, and their sums are at most the total.
            let _ = rows.add(NAME, [x], w);
            let _ = columns.add(NAME, [y], w);
            total += w;
        }
        Margins { rows, columns, total }
    }

    fn value(&self, margins: &Margins) -> f64 {
        let Margins { rows, columns, total } = margins;
        if *total <= 0.0 {
            return f64::NAN;
        }
        let (mut sum, mut seen) = (0.0, 0.0);
        for &([x, y], observed) in self.counts.entries() {
            let expected = rows.weight([x]) * (columns.weight([y]) / total);
            if expected > 0.0 {
                let distance = observed - expected;
                sum += distance * (distance / expected);
                seen += expected;
            }
        }
        let value = sum + (total - seen).max(0.0);
        if value.is_finite() {
            value
        } else {
            f64::NAN
        }
    }
}

impl Part for ChiSquared {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.counts.entries())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.counts = ValueCounts::load(NAME, unpack(NAME, bytes)?)?;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.counts.memory()
    }

    fn inspect(&self, _: &Schema) -> serde_json::Value {
        let margins = self.margins();
        let degrees = margins.rows.len().saturating_sub(1) * margins.columns.len().saturating_sub(1);
        let p_value = if degrees > 0 { chi_square_tail(self.value(&margins), degrees as f64) } else { 1.0 };
        json!({ "degrees_of_freedom": degrees, "p_value": p_value })
    }
}

impl Statistic for ChiSquared {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        self.counts.add(NAME, [x, y], w)
    }

    fn get(&self) -> f64 {
        self.value(&self.margins())
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn is_nominal(&self) -> bool {
        true
    }

    fn recode(&mut self, code: &mut dyn FnMut(f64) -> f64) {
        self.counts.recode(code);
    }

    fn reset(&mut self) {
        self.counts = ValueCounts::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.counts.clone();
        theirs.counts.entries().iter().try_for_each(|&(x, w)| next.add(NAME, x, w))?;
        self.counts = next;
        Ok(())
    }

    fn merge_base(&mut self, base: &[u8]) -> Result<()> {
        let mut base_twin = self.clone();
        base_twin.load(base)?;
        self.counts.subtract(NAME, &base_twin.counts)
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // [[2, 1], [0, 3]]: n = 6, rows 3 and 3, columns 2 and 4, so e = 1, 2, 1, 2 and χ² = 1 + ½ + 1 + ½ = 3.
        let mut statistic = ChiSquared { counts: ValueCounts::default() };
        for (x, y, w) in [(0.0, 0.0, 2.0), (0.0, 1.0, 1.0), (1.0, 1.0, 3.0)] {
            statistic.update(x, y, w).expect("a good pair");
        }
        assert!((statistic.get() - 3.0).abs() < 1e-15);
        assert_eq!(statistic.inspect(&Schema::default())["degrees_of_freedom"], 1);
    }
}
