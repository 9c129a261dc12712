//! From joint log likelihoods to a class and probabilities.

use crate::numeric::elementary::exp;
use crate::row::{finite, most, Want};
use crate::task::ClassPrediction;

/// Decide by the logarithms in `out.probabilities`, after the addition of those of the priors. Classes without examples
/// have a prior of minus infinity.
#[inline]
pub fn decide(priors: &[f64], want: Want, out: &mut ClassPrediction) {
    let scores = &mut out.probabilities;
    for (score, &prior) in scores.iter_mut().zip(priors) {
        *score = if prior == f64::NEG_INFINITY { prior } else { finite(*score + prior) };
    }
    out.class = most(scores).filter(|&class| scores[class as usize] > f64::NEG_INFINITY);
    let Some(class) = out.class.filter(|_| want == Want::Probabilities) else { return scores.clear() };
    let best = scores[class as usize];
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - best);
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}
