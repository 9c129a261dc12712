//! Combines votes into class probabilities: the fraction of votes for each class, weighted by the trust in each member.
//! Unlearned members have no vote; while none has one, the class frequencies so far are predicted.

use crate::fault::Result;
use crate::held::state::require;
use crate::row::{bounded, most, Want};
use crate::task::{ClassPrediction, Classes, Task};

use super::combined::Combine;

#[derive(Clone, Default)]
pub struct VoteShares {
    /// The weight of each class so far, by code.
    classes: Vec<f64>,
}

impl Combine<Classes> for VoteShares {
    fn stride(&self, truths: &[u32]) -> usize {
        let largest = truths.iter().max().map_or(0, |&code| code as usize + 1);
        Classes::votes_per_row(self.classes.len()).max(largest)
    }

    fn combine<'v>(
        &self,
        votes: impl Iterator<Item = &'v [f64]>,
        trust: &[f64],
        want: Want,
        out: &mut ClassPrediction,
        _numbers: &mut Vec<f64>,
    ) {
        out.clear();
        let totals = &mut out.probabilities;
        totals.resize(Classes::votes_per_row(self.classes.len()), 0.0);
        for (votes, trust) in votes.zip(trust) {
            for (total, vote) in totals.iter_mut().zip(votes) {
                *total += vote * trust;
            }
        }
        let mut sum: f64 = totals.iter().sum();
        if sum == 0.0 || !sum.is_finite() {
            let largest = self.classes.iter().fold(0.0, |a: f64, &b| a.max(b));
            if largest == 0.0 {
                out.clear();
                return;
            }
            totals.fill(0.0);
            totals.iter_mut().zip(&self.classes).for_each(|(total, weight)| *total = weight / largest);
            sum = totals.iter().sum();
        }
        out.class = most(totals);
        match want {
            Want::Class => totals.clear(),
            Want::Probabilities => totals.iter_mut().for_each(|total| *total /= sum),
        }
    }

    fn count(&mut self, truth: u32, w: f64) {
        let code = truth as usize;
        if code >= self.classes.len() {
            self.classes.resize(code + 1, 0.0);
        }
        self.classes[code] = bounded(self.classes[code] + w);
    }

    fn save(&self) -> Option<Vec<f64>> {
        Some(self.classes.clone())
    }

    fn load(&mut self, who: &str, classes: Option<Vec<f64>>) -> Result<()> {
        let classes = classes.unwrap_or_default();
        let sound = classes.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        require(who, sound, "a class weight is not finite or is negative")?;
        self.classes = classes;
        Ok(())
    }

    fn memory(&self) -> usize {
        8 * self.classes.capacity()
    }
}
