//! Regression: the truth and the prediction are numbers.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Task for Numbers {
    const ROLE: Role = Role::Regressor;
    type Truth = f64;
    number_predictions!();

    fn check(target: Target<'_>, _labels: &Labels, _abilities: &Abilities) -> Result<()> {
        match target {
            Target::Number(y) if y.is_finite() => Ok(()),
            Target::Number(y) => Err(Fault::value(format!("the target must be finite, got {y}"))),
            Target::Class(label) => {
                Err(Fault::wrong_type(format!("the target must be a number, got the label {label}")))
            }
            Target::None => Err(Fault::wrong_type("the target is missing")),
        }
    }

    fn admit(target: Target<'_>, labels: &mut Labels) -> f64 {
        Self::known(target, labels).unwrap_or_default()
    }

    #[inline]
    fn known(target: Target<'_>, _labels: &Labels) -> Option<f64> {
        match target {
            Target::Number(y) if y.is_finite() => Some(y),
            _ => None,
        }
    }

    fn known_truths<'a>(
        targets: Targets<'a>,
        from: usize,
        to: usize,
        _labels: &Labels,
        _truths: &'a mut Truths,
    ) -> &'a [f64] {
        let Targets::Numbers(numbers) = targets else { return &[] };
        let numbers = &numbers[from..to];
        match crate::row::all_finite(numbers) {
            true => numbers,
            false => &numbers[..numbers.iter().take_while(|number| number.is_finite()).count()],
        }
    }

    fn truth(truth: f64) -> Truth {
        Truth::Number(truth)
    }

    fn is_moderate(truth: f64) -> bool {
        truth.abs() <= MODERATE
    }

    #[inline]
    fn error(prediction: &f64, truth: f64) -> Option<f64> {
        Some(bounded((prediction - truth).abs()))
    }

    fn outcomes<'a>(truths: &'a [f64], predictions: &'a Vec<f64>) -> Outcomes<'a> {
        Outcomes::Numbers { truths, predictions }
    }

    fn build(learner: Box<dyn Learner<Self>>) -> Built {
        Built::Regressor(learner)
    }

    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>> {
        match built {
            Built::Regressor(learner) => Some(learner),
            _ => None,
        }
    }
}
