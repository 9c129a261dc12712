//! Parameters and prior probabilities that the naive Bayes models of counts share.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::numeric::elementary::ln;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

pub const ALPHA: Parameter = Parameter::new(
    "alpha",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(1.0),
    "additive smoothing: added to each count; less than 1e-10 counts as 1e-10",
);
pub const FIT_PRIOR: Parameter = Parameter::new(
    "fit_prior",
    Kind::Boolean,
    DefaultValue::Boolean(true),
    "whether classes have the prior probabilities of their frequencies; if false, equal ones",
);
pub const CLASS_PRIOR: Parameter = Parameter::new(
    "class_prior",
    Kind::Optional(&Kind::Floats(Bounds::POSITIVE)),
    DefaultValue::Null,
    "prior probabilities of the classes in the order of `classes`, instead of fitted ones; null to fit them",
);

/// The examples of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSums {
    /// The sum of weights.
    pub count: f64,
    /// The sum of weighted counts.
    pub total: f64,
}

/// The logarithms of prior probabilities.
#[derive(Clone, Debug)]
pub struct ClassPrior {
    fit: bool,
    given: Vec<f64>,
    /// By class, but for a constant: of the given priors or of the fitted ones.
    pub logarithms: Vec<f64>,
}

impl ClassPrior {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let given = match arguments.value("class_prior")?.is_null() {
            true => Vec::new(),
            false => arguments.floats("class_prior")?,
        };
        let fit = arguments.boolean("fit_prior")?;
        // The logarithm of a subnormal number is not needed.
        let given = given.into_iter().map(|prior| ln(prior.max(f64::MIN_POSITIVE))).collect();
        Ok(ClassPrior { fit, given, logarithms: Vec::new() })
    }

    /// Equal priors.
    pub fn uniform() -> Self {
        ClassPrior { fit: false, given: Vec::new(), logarithms: Vec::new() }
    }

    /// Whether every class has a prior, whichever classes come.
    pub fn is_open(&self) -> bool {
        self.given.is_empty()
    }

    pub fn check(&self, who: &str, y: u32) -> Result<()> {
        if self.given.is_empty() || (y as usize) < self.given.len() {
            return Ok(());
        }
        let given = self.given.len();
        Err(Fault::value(format!(
            "{who}: class_prior must have a number for each class, got {given} and more classes"
        )))
    }

    /// Follow a change of a class's count.
    #[inline]
    pub fn settle(&mut self, classes: &[ClassSums], y: usize) {
        self.logarithms.resize(classes.len(), f64::NEG_INFINITY);
        self.logarithms[y] = match (classes[y].count > 0.0, self.given.get(y)) {
            (false, _) => f64::NEG_INFINITY,
            (true, Some(&given)) => given,
            (true, None) if self.fit => ln(classes[y].count.max(f64::MIN_POSITIVE)),
            (true, None) => 0.0,
        };
    }

    pub fn rebuild(&mut self, classes: &[ClassSums]) {
        self.logarithms.clear();
        (0..classes.len()).for_each(|y| self.settle(classes, y));
    }

    /// The logarithm of what the priors of all classes with examples add up to.
    pub fn normalizer(&self) -> f64 {
        let most = self.logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.logarithms.iter().map(|prior| crate::numeric::elementary::exp(prior - most)).sum();
        if self.given.is_empty() && sum > 0.0 {
            most + ln(sum)
        } else {
            0.0
        }
    }
}

/// The sums after an example, or none if one is not finite.
pub fn added(classes: &[ClassSums], y: usize, w: f64, quantity: f64) -> Option<ClassSums> {
    let before = classes.get(y).copied().unwrap_or_default();
    let after = ClassSums { count: before.count + w, total: before.total + w * quantity };
    let others = classes.iter().enumerate().filter(|(code, _)| *code != y);
    let all = others.fold(after, |all, (_, class)| ClassSums {
        count: all.count + class.count,
        total: all.total + class.total,
    });
    (all.count.is_finite() && all.total.is_finite()).then_some(after)
}

pub fn validate(classes: &[ClassSums], who: &str) -> Result<()> {
    let sound = |number: f64| number.is_finite() && number >= 0.0;
    for class in classes {
        require(who, sound(class.count) && sound(class.total), "a sum is negative or not finite")?;
        require(who, class.count > 0.0 || class.total == 0.0, "a class without examples")?;
    }
    let all = added(classes, classes.len(), 0.0, 0.0);
    require(who, all.is_some(), "a sum is negative or not finite")
}
