//! Reaction to drift: a drift detector for each class receives the errors on its rows. Where they rise, the prototypes of the
//! class are removed, and those of the class that its latest row was confused with. Both start again from their next rows, as
//! new classes do. Prototypes of the second class would stay where the first one is now, and errors that are there from the
//! start do not rise again.
//!
//! Raab, Heusinger and Schleif (2020, "Reactive soft prototype computing for concept drift streams", Neurocomputing 416)
//! replace prototypes when a test on features finds drift. Here the errors are tested, class by class, so that classes that
//! did not change keep their prototypes.

use serde_bytes::ByteBuf;

use crate::ensemble::bagged::Detector;
use crate::fault::{Fault, Result};

#[derive(Clone)]
pub struct Reaction {
    /// A detector without values, for new classes and after a drift.
    unused: Detector,
    /// By class; none before its first error.
    by_class: Vec<Option<Detector>>,
    /// How often errors have risen.
    pub drifts: u64,
}

impl Reaction {
    pub fn new(detector: Detector) -> Self {
        Reaction { unused: detector.without_warnings(), by_class: Vec::new(), drifts: 0 }
    }

    /// Receive the error on a row of a class; true if the errors of the class have risen.
    pub fn drifts(&mut self, class: u32, error: f64) -> bool {
        let class = class as usize;
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, None);
        }
        let Detector(detector) = self.by_class[class].get_or_insert_with(|| self.unused.clone());
        // A detector that refuses the number skips it.
        if detector.update(error).is_err() || !detector.verdict().is_worse() {
            return false;
        }
        self.drifts = self.drifts.saturating_add(1);
        true
    }

    /// Remove the errors of a class.
    pub fn forget(&mut self, class: u32) {
        if let Some(detector) = self.by_class.get_mut(class as usize) {
            *detector = None;
        }
    }

    pub fn save(&self) -> Result<(Vec<Option<ByteBuf>>, u64)> {
        let saved = |detector: &Option<Detector>| match detector {
            Some(Detector(detector)) => Ok(Some(ByteBuf::from(detector.save()?))),
            None => Ok(None),
        };
        Ok((self.by_class.iter().map(saved).collect::<Result<_>>()?, self.drifts))
    }

    pub fn load(&self, saved: Vec<Option<ByteBuf>>, drifts: u64, most: usize) -> Result<Self> {
        if saved.len() > most {
            return Err(Fault::state("the saved state is not valid: there are too many detectors"));
        }
        let restored = |bytes: &Option<ByteBuf>| match bytes {
            Some(bytes) => {
                let mut detector = self.unused.clone();
                detector.0.load(bytes)?;
                Ok(Some(detector))
            }
            None => Ok(None),
        };
        let by_class = saved.iter().map(restored).collect::<Result<_>>()?;
        Ok(Reaction { unused: self.unused.clone(), by_class, drifts })
    }

    pub fn memory(&self) -> usize {
        let of = |Detector(detector): &Detector| detector.memory();
        let detectors: usize = self.by_class.iter().flatten().map(of).sum();
        detectors + of(&self.unused) + self.by_class.capacity() * std::mem::size_of::<Option<Detector>>()
    }
}
