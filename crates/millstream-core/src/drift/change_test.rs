//! Code shared by all detectors: a `ChangeTest` processes one number, and becomes here a component with a saved state.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::declaration::Built;
use crate::detector::DriftDetector;
use crate::fault::{Fault, FaultKind, Result};
use crate::held::state::{pack, require, unpack};
use crate::part::Part;
use crate::schema::Schema;

/// Direction of a change of the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    #[default]
    Unknown,
    Up,
    Down,
}

/// The result of the last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub drift: bool,
    /// Drift is likely but not yet significant. Never set together with `drift`.
    pub warning: bool,
    pub direction: Direction,
    /// Count of numbers since the estimated change point; 0 without drift or warning.
    pub since: u64,
}

impl Verdict {
    pub fn drift(direction: Direction, since: u64) -> Self {
        Verdict { drift: true, warning: false, direction, since }
    }

    pub fn warning(direction: Direction, since: u64) -> Self {
        Verdict { drift: false, warning: true, direction, since }
    }

    /// For errors: whether they increased. A decrease is no reason to replace a model.
    pub fn is_worse(self) -> bool {
        self.drift && self.direction != Direction::Down
    }

    /// The same for a warning.
    pub fn may_be_worse(self) -> bool {
        self.warning && self.direction != Direction::Down
    }
}

/// The count of processed numbers, or the index of the rejected one with its fault.
pub type Many = std::result::Result<usize, (usize, Fault)>;

/// A test that processes one number at a time. All memory is in its state, including the last verdict.
pub trait ChangeTest: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether numbers must be in [0, 1], like the errors of a classifier.
    const UNIT_INTERVAL: bool = false;
    type State: Clone + Default + Serialize + DeserializeOwned + Send + Sync;

    /// Process a number, atomically.
    fn update(&self, state: &mut Self::State, x: f64) -> Result<()>;
    /// Process numbers up to the first drift; return their count. After a fault the state is unspecified.
    fn update_many(&self, state: &mut Self::State, numbers: &[f64]) -> Many {
        for (index, &x) in numbers.iter().enumerate() {
            if let Err(fault) = self.update(state, x) {
                return Err((index, fault));
            }
            if Self::verdict(state).drift {
                return Ok(index + 1);
            }
        }
        Ok(numbers.len())
    }
    fn verdict(state: &Self::State) -> Verdict;
    fn estimation(state: &Self::State) -> f64;
    /// Whether the test restarts with the first number after drift.
    fn restarts_after_drift(&self) -> bool {
        true
    }
    /// Restart after drift; may keep the numbers after the change point.
    fn restart(&self, state: &mut Self::State) {
        *state = Self::State::default();
    }
    /// Whether this state is possible with these parameters: the bytes may come from an untrusted source.
    fn is_sound(&self, state: &Self::State) -> bool;
    /// Give no more warnings, if that saves work.
    fn disable_warnings(&mut self) {}
    /// Further values of the state, for display.
    fn inspect(_state: &Self::State) -> Json {
        Json::Null
    }
    /// Heap memory of the state, in bytes.
    fn memory(_state: &Self::State) -> usize {
        0
    }
}

pub fn build<T: ChangeTest>(test: T) -> Built {
    Built::DriftDetector(Box::new(TestDetector { test, state: T::State::default() }))
}

/// The index of the first number for which a condition does not hold, or their count.
#[inline]
pub fn first_not(numbers: &[f64], holds: impl Fn(f64) -> bool) -> usize {
    // Always to the end of a block: a loop with an early exit is not vectorised.
    let good = |block: &&[f64]| block.iter().fold(true, |good, &x| good & holds(x));
    let before = BLOCK * numbers.chunks(BLOCK).take_while(good).count();
    let rest = numbers.get(before..).unwrap_or_default();
    numbers.len().min(before) + rest.iter().position(|&x| !holds(x)).unwrap_or(rest.len())
}

const BLOCK: usize = 64;

/// The fault for a number that a test cannot add to its sums.
pub fn too_large<T: ChangeTest>() -> Fault {
    let words = format!("{}: this number would make the sums overflow; it was skipped", T::NAME);
    Fault::new(FaultKind::Overflow, words)
}

#[derive(Clone)]
struct TestDetector<T: ChangeTest> {
    test: T,
    state: T::State,
}

impl<T: ChangeTest> Part for TestDetector<T> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: T::State = unpack(T::NAME, bytes)?;
        let verdict = T::verdict(&state);
        let sound = !(verdict.drift && verdict.warning) && self.test.is_sound(&state);
        require(T::NAME, sound && T::estimation(&state).is_finite(), "its sums do not fit together")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + T::memory(&self.state)
    }

    fn inspect(&self, _schema: &Schema) -> Json {
        T::inspect(&self.state)
    }
}

impl<T: ChangeTest> TestDetector<T> {
    #[inline]
    fn accepts(x: f64) -> bool {
        if T::UNIT_INTERVAL {
            (0.0..=1.0).contains(&x)
        } else {
            x.is_finite()
        }
    }

    #[cold]
    fn refusal(x: f64) -> Fault {
        let must = match x.is_finite() {
            true => "in [0, 1] (1 for an error, 0 for none)",
            false => "finite",
        };
        Fault::value(format!("{}: a number must be {must}, got {x}", T::NAME))
    }
}

impl<T: ChangeTest> DriftDetector for TestDetector<T> {
    #[inline]
    fn update(&mut self, x: f64) -> Result<()> {
        if !Self::accepts(x) {
            return Err(Self::refusal(x));
        }
        if !(T::verdict(&self.state).drift && self.test.restarts_after_drift()) {
            return self.test.update(&mut self.state, x);
        }
        // Restart after drift, unless the number is rejected.
        let before = self.state.clone();
        self.test.restart(&mut self.state);
        self.test.update(&mut self.state, x).inspect_err(|_| self.state = before)
    }

    fn update_many(&mut self, numbers: &[f64], found: &mut Vec<usize>) -> Many {
        let good = first_not(numbers, Self::accepts);
        let mut done = 0;
        while done < good {
            if T::verdict(&self.state).drift && self.test.restarts_after_drift() {
                self.test.restart(&mut self.state);
            }
            done += self
                .test
                .update_many(&mut self.state, &numbers[done..good])
                .map_err(|(index, fault)| (done + index, fault))?;
            if T::verdict(&self.state).drift {
                found.push(done - 1);
            }
        }
        match numbers.get(good) {
            Some(&bad) => Err((good, Self::refusal(bad))),
            None => Ok(done),
        }
    }

    fn verdict(&self) -> Verdict {
        T::verdict(&self.state)
    }

    fn reset(&mut self) {
        // Nothing is kept, not even the numbers after a change point.
        self.state = T::State::default();
    }

    fn estimation(&self) -> f64 {
        T::estimation(&self.state)
    }

    fn disable_warnings(&mut self) {
        self.test.disable_warnings();
    }

    fn duplicate(&self) -> Box<dyn DriftDetector> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

    pub fn detector(name: &str, parameters: Json) -> Box<dyn DriftDetector> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::DriftDetector(detector)) = registry::build_resolved(&description) else {
            panic!("no detector")
        };
        detector
    }

    /// The indices at which a detector finds drift.
    pub fn found(detector: &mut dyn DriftDetector, numbers: impl IntoIterator<Item = f64>) -> Vec<usize> {
        let mut indices = Vec::new();
        for (index, x) in numbers.into_iter().enumerate() {
            detector.update(x).expect("a good number");
            if detector.verdict().drift {
                indices.push(index);
            }
        }
        indices
    }
}
