//! The metrics at one point of the curve.
//!
//! The positive class may be decided later. A metric whose positive class is undecided is therefore stored for
//! each class, so that the whole curve uses the class that is positive at its end.

/// With more classes than this, a point stores only the value for the class that is positive at that point.
pub const MOST_OPEN: usize = 32;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Each metric over the whole stream and over the window.
    pub now: Vec<(f64, f64)>,
    /// For metrics whose positive class is undecided, the same by class code, with a last entry for a class yet to
    /// come; empty for others.
    pub by_class: Vec<Vec<(f64, f64)>>,
}

impl Values {
    /// All metrics over the whole stream, then all over the window, for the positive class of each by its code.
    pub fn of<'a>(&'a self, positive: &'a [u32]) -> impl Iterator<Item = f64> + 'a {
        let found = move |place: usize| {
            let code = positive.get(place).map_or(usize::MAX, |&code| code as usize);
            let by_class = self.by_class.get(place).and_then(|values| values.get(code).or(values.last()));
            by_class.or(self.now.get(place)).copied().unwrap_or_default()
        };
        let places = 0..self.now.len();
        places.clone().map(move |place| found(place).0).chain(places.map(move |place| found(place).1))
    }
}
