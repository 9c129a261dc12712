//! The way back to before a batch.
//!
//! A model of millions of weights must not be copied for every small batch. Learners that can (`Part::hold`) keep what
//! they overwrite, and the schema keeps its journal; of any other learner a copy is kept.

use crate::labels::Labels;

use super::Model;

/// What leads back to where `Model::hold` was called.
pub enum Before {
    Copy(Box<Model>),
    Kept { labels: Labels, learned: u64 },
}

impl Model {
    /// From now on keep what it takes to come back. Each `hold` is followed by one `restore` or `release`.
    pub fn hold(&mut self) -> Before {
        if !self.root.part_mut().hold() {
            return Before::Copy(Box::new(self.clone()));
        }
        self.schema.hold();
        Before::Kept { labels: self.labels.clone(), learned: self.learned }
    }

    /// Come back, bit for bit.
    pub fn restore(&mut self, before: Before) {
        match before {
            Before::Copy(model) => *self = *model,
            Before::Kept { labels, learned } => {
                self.labels = labels;
                self.learned = learned;
                self.schema.restore();
                self.root.part_mut().restore();
                self.bind();
            }
        }
    }

    /// Stay, and keep nothing more.
    pub fn release(&mut self, before: Before) {
        if let Before::Kept { .. } = before {
            self.schema.release();
            self.root.part_mut().release();
        }
    }
}
