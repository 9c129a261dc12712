//! Hashed word counts of raw text.
//!
//! Words, columns and signs are those of scikit-learn's `HashingVectorizer`: words of two or more letters, digits
//! or underscores; a column is |h| mod n, h the signed murmur3 of a word; a negative h counts −1, so that words that
//! share a column cancel in the mean (Weinberger et al., 2009, section 3). There is no state between texts.

use super::block::Block;
use super::murmur::murmur3;

/// The norm by which a row is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// No norm.
    None,
    /// The sum of absolute values.
    L1,
    /// The root of the sum of squares.
    L2,
}

#[derive(Clone, Debug)]
pub struct Words {
    pub n_features: u32,
    /// The minimum and maximum number of words of a feature.
    pub ngrams: (usize, usize),
    pub lowercase: bool,
    pub binary: bool,
    pub alternate_sign: bool,
    pub norm: Norm,
    lowered: String,
    places: Vec<(usize, usize)>,
    joined: Vec<u8>,
}

impl Words {
    pub fn new(n_features: u32, ngrams: (usize, usize), lowercase: bool) -> Self {
        Words {
            n_features,
            ngrams,
            lowercase,
            binary: false,
            alternate_sign: true,
            norm: Norm::L2,
            lowered: String::new(),
            places: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Add one text to the block as a row.
    pub fn row(&mut self, text: &str, out: &mut Block) {
        self.row_with_words(text, out, |_, _| {});
    }

    /// The same; `each` receives the column and the words of each feature.
    pub fn row_with_words(&mut self, text: &str, out: &mut Block, mut each: impl FnMut(u32, &[u8])) {
        let mut lowered = std::mem::take(&mut self.lowered);
        let text = if self.lowercase { lower(text, &mut lowered) } else { text };
        self.find(text);
        for size in self.ngrams.0..=self.ngrams.1 {
            for words in self.places.windows(size) {
                let feature = match words {
                    [(from, to)] => &text.as_bytes()[*from..*to],
                    _ => {
                        self.joined.clear();
                        for (place, (from, to)) in words.iter().enumerate() {
                            if place > 0 {
                                self.joined.push(b' ');
                            }
                            self.joined.extend_from_slice(&text.as_bytes()[*from..*to]);
                        }
                        &self.joined
                    }
                };
                let hash = murmur3(feature, 0) as i32;
                let column = hash.unsigned_abs() % self.n_features;
                let sign = if self.alternate_sign && hash < 0 { -1.0 } else { 1.0 };
                each(column, feature);
                out.push(column, sign);
            }
        }
        self.lowered = lowered;
        let counts = out.settle();
        if self.binary {
            counts.fill(1.0);
        }
        let size = match self.norm {
            Norm::None => 1.0,
            Norm::L1 => counts.iter().map(|count| count.abs()).sum(),
            Norm::L2 => counts.iter().map(|count| count * count).sum::<f64>().sqrt(),
        };
        if size > 0.0 {
            counts.iter_mut().for_each(|count| *count /= size);
        }
        let closed = out.close(f64::NAN, 1.0, b"");
        debug_assert!(closed.is_ok(), "counts are finite");
    }

    /// The starts and ends of words of two or more characters.
    fn find(&mut self, text: &str) {
        self.places.clear();
        let mut begin: Option<(usize, usize)> = None;
        for (place, letter) in text.char_indices().chain([(text.len(), ' ')]) {
            let inside = match letter {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
                _ => !letter.is_ascii() && letter.is_alphanumeric(),
            };
            begin = match (inside, begin) {
                (true, None) => Some((place, 1)),
                (true, Some((from, count))) => Some((from, count + 1)),
                (false, Some((from, count))) => {
                    if count >= 2 {
                        self.places.push((from, place));
                    }
                    None
                }
                (false, None) => None,
            };
        }
    }
}

fn lower<'a>(text: &str, out: &'a mut String) -> &'a str {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
    } else {
        // By word, not by letter: a Greek sigma has a special form at the end of a word.
        *out = text.to_lowercase();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_text() {
        let mut words = Words::new(1 << 20, (1, 2), true);
        words.norm = Norm::None;
        words.alternate_sign = false;
        let mut block = Block::default();
        words.row("A cat, the CAT; x_1 \u{c9}t\u{e9}!", &mut block);
        // cat the cat x_1 été: four words, one of them twice, and "cat the", "the cat", "cat x_1", "x_1 été".
        assert_eq!((block.indices.len(), block.values.iter().sum::<f64>()), (8, 9.0));
        words.row("", &mut block);
        words.row("a b c", &mut block);
        assert_eq!(block.starts, [0, 8, 8, 8]);
    }

    #[test]
    fn one_row_by_hand() {
        // murmur3("test") = 0xba6bd213 = −1167338989 as a signed number: column 1167338989 mod 1000 = 989, sign −.
        let mut words = Words::new(1000, (1, 1), true);
        let mut block = Block::default();
        words.row("test TEST", &mut block);
        assert_eq!((block.indices, block.values), (vec![989], vec![-1.0]));
        words.norm = Norm::L1;
        words.binary = true;
        let mut block = Block::default();
        words.row("test other", &mut block);
        assert_eq!(block.values, [0.5, 0.5]);
    }
}
