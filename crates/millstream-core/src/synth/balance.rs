//! Two alternating classes: examples of the other class are discarded.

/// Begins with class 1; the next example that is let through is of the other class.
pub struct Balance {
    in_force: bool,
    wanted: f64,
}

impl Balance {
    pub fn new(in_force: bool) -> Self {
        Balance { in_force, wanted: 1.0 }
    }

    /// Whether an example of class `y` may come now.
    pub fn admits(&mut self, y: f64) -> bool {
        if !self.in_force {
            return true;
        }
        if y != self.wanted {
            return false;
        }
        self.wanted = 1.0 - y;
        true
    }
}
