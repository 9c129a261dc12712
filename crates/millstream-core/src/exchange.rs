//! The state of a component as a list of 64-bit words, for many models of one form that share one component.
//!
//! A million small models need not be a million components with a dozen vectors each. One component of a form does the
//! work of all: the words of a model are loaded into it, it learns, and the words are stored again. A word list has no
//! names, lengths or pointers, so it is compact, lies in one piece and is copied in a few nanoseconds.

/// The words of a component: what `Part::exchange` visits, in one of three directions.
pub struct Exchange<'a> {
    side: Side<'a>,
    /// Number of words visited so far.
    at: usize,
    /// A hash of the lengths of all vectors visited so far.
    form: u64,
}

enum Side<'a> {
    /// Count the words.
    Measure,
    /// From the component to the words.
    Store(&'a mut [u64]),
    /// From the words to the component.
    Load(&'a [u64]),
}

/// The number of words of a component, and a hash of the lengths of its vectors: components that differ in neither can
/// load each other's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    pub words: usize,
    form: u64,
}

impl<'a> Exchange<'a> {
    pub fn measure() -> Exchange<'static> {
        Exchange { side: Side::Measure, at: 0, form: 0 }
    }

    pub fn store(words: &'a mut [u64]) -> Self {
        Exchange { side: Side::Store(words), at: 0, form: 0 }
    }

    pub fn load(words: &'a [u64]) -> Self {
        Exchange { side: Side::Load(words), at: 0, form: 0 }
    }

    /// What was visited. After `store`, words are valid only if this is the measure of their form.
    pub fn measured(&self) -> Measure {
        Measure { words: self.at, form: self.form }
    }

    /// Whether the component receives words: what follows from them is to be computed again.
    pub fn is_load(&self) -> bool {
        matches!(self.side, Side::Load(_))
    }

    /// A part of the layout that is not a length, such as which of two vectors is in use.
    #[inline]
    pub fn layout(&mut self, variant: usize) {
        // Any odd multiplier mixes; this is the one of FxHash.
        self.form = (self.form.rotate_left(5) ^ variant as u64).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
    }

    #[inline]
    pub fn word(&mut self, word: &mut u64) {
        match &mut self.side {
            Side::Measure => {}
            Side::Store(words) => {
                if let Some(place) = words.get_mut(self.at) {
                    *place = *word;
                }
            }
            Side::Load(words) => {
                if let Some(&stored) = words.get(self.at) {
                    *word = stored;
                }
            }
        }
        self.at += 1;
    }

    #[inline]
    pub fn float(&mut self, number: &mut f64) {
        let mut word = number.to_bits();
        self.word(&mut word);
        *number = f64::from_bits(word);
    }

    #[inline]
    pub fn index(&mut self, number: &mut usize) {
        let mut word = *number as u64;
        self.word(&mut word);
        *number = word as usize;
    }

    #[inline]
    pub fn flag(&mut self, flag: &mut bool) {
        let mut word = u64::from(*flag);
        self.word(&mut word);
        *flag = word != 0;
    }

    /// Numbers whose count is part of the form.
    #[inline]
    pub fn floats(&mut self, numbers: &mut [f64]) {
        let (from, to) = (self.at, self.at + numbers.len());
        match &mut self.side {
            Side::Measure => {}
            Side::Store(words) => {
                if let Some(words) = words.get_mut(from..to) {
                    words.iter_mut().zip(numbers.iter()).for_each(|(word, number)| *word = number.to_bits());
                }
            }
            Side::Load(words) => {
                if let Some(words) = words.get(from..to) {
                    numbers.iter_mut().zip(words).for_each(|(number, &word)| *number = f64::from_bits(word));
                }
            }
        }
        self.at = to;
        self.layout(numbers.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(exchange: &mut Exchange<'_>, weights: &mut [f64], count: &mut usize, started: &mut bool) -> Measure {
        exchange.floats(weights);
        exchange.index(count);
        exchange.flag(started);
        exchange.measured()
    }

    #[test]
    fn words_are_those_of_the_component() {
        let measure = visit(&mut Exchange::measure(), &mut [0.0; 2], &mut 0, &mut false);
        let mut words = [0; 4];
        assert_eq!(measure.words, words.len());
        let stored = visit(&mut Exchange::store(&mut words), &mut [0.5, -0.0], &mut 7, &mut true);
        assert_eq!(stored, measure);
        assert_eq!(words, [0.5_f64.to_bits(), (-0.0_f64).to_bits(), 7, 1]);
        let (mut weights, mut count, mut started) = ([9.0; 2], 0, false);
        visit(&mut Exchange::load(&words), &mut weights, &mut count, &mut started);
        assert_eq!((weights[0], weights[1].to_bits(), count, started), (0.5, (-0.0_f64).to_bits(), 7, true));
    }

    #[test]
    fn another_length_is_another_form() {
        let wide = visit(&mut Exchange::measure(), &mut [0.0; 3], &mut 0, &mut false);
        let mut words = [0; 4];
        let stored = visit(&mut Exchange::store(&mut words), &mut [0.5; 3], &mut 7, &mut true);
        assert_eq!(stored, wide);
        assert_ne!(stored.words, words.len());
        let mut swapped = Exchange::measure();
        swapped.floats(&mut [0.0; 1]);
        swapped.floats(&mut [0.0; 2]);
        let mut other = Exchange::measure();
        other.floats(&mut [0.0; 2]);
        other.floats(&mut [0.0; 1]);
        assert_ne!(swapped.measured(), other.measured());
    }
}
