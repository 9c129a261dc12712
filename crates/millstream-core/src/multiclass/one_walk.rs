//! One-vs-rest classifiers with linear members: one walk over a row for all classes.
//!
//! See `AdaptiveTable`; the members are the same as if each had learned the rows alone.

use crate::batch::Batch;
use crate::learner::Learner;
use crate::linear_model::{AdaptiveScore, AdaptiveTable, TableRows};
use crate::task::Classes;

/// Copying members into a table and back takes as long as about two rows.
const FEWEST_ROWS: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct OneWalk {
    table: AdaptiveTable,
    rows: TableRows,
    /// Of asked rows, which differ where a transformer before them learns.
    asked: TableRows,
    votes: Vec<f64>,
}

impl OneWalk {
    /// Read the rows of a batch; false if they are better learned by one member after the other.
    pub fn read(&mut self, batch: &Batch<'_, Classes>) -> bool {
        if batch.len() < FEWEST_ROWS || !self.rows.read(&batch.rows) {
            return false;
        }
        match &batch.asked {
            // The columns of both must be in the table: of dense rows they are.
            Some(asked) => {
                self.rows.columns().is_none() && self.asked.read(asked) && self.asked.columns().is_none()
            }
            None => true,
        }
    }

    /// Learn the rows that were read, of known classes, with all members; `then` receives the probability of each member's
    /// class, for each row. Returns the number of learned rows: fewer if the next one cannot be learned, 0 if the members
    /// do not allow it.
    pub fn step<'m>(
        &mut self,
        members: impl Iterator<Item = (u32, &'m mut (dyn Learner<Classes> + 'static))>,
        batch: &Batch<'_, Classes>,
        mut then: impl FnMut(&[f64]),
    ) -> usize {
        let OneWalk { table, rows, asked, votes } = self;
        let (mut codes, mut scores): (Vec<u32>, Vec<AdaptiveScore<'_>>) = (Vec::new(), Vec::new());
        for (code, member) in members {
            let Some(score) = member.adaptive_score() else { return 0 };
            codes.push(code);
            scores.push(score);
        }
        let Some(first) = scores.first() else { return 0 };
        let (width, loss) = (first.width, first.settings.loss);
        let fit = rows.fit(width) && (batch.asked.is_none() || asked.fit(width));
        if !fit || !table.gather(&scores, rows.columns()) {
            return 0;
        }
        let mut done = 0;
        for (at, &truth) in batch.truths.iter().enumerate() {
            let (row, w) = (rows.row(&batch.rows, at), batch.weight(at));
            votes.clear();
            if let Some(other) = &batch.asked {
                votes.extend(table.score(asked.row(other, at)).iter().map(|&score| loss.probability(score)));
            }
            let scored = table.score(row);
            if batch.asked.is_none() {
                votes.extend(scored.iter().map(|&score| loss.probability(score)));
            }
            let example = |index: usize| (if codes[index] == truth { 1.0 } else { -1.0 }, w);
            if w != 0.0 && !table.step(row, example) {
                break;
            }
            then(votes);
            done += 1;
        }
        table.scatter(&mut scores, rows.columns());
        done
    }

    pub fn memory(&self) -> usize {
        self.table.memory() + self.rows.memory() + self.asked.memory() + 8 * self.votes.capacity()
    }
}
