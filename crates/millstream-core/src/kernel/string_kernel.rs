//! String kernels: the number of pieces that two strings have in common.
//!
//! * spectrum (Leslie, Eskin and Noble, 2002, "The spectrum kernel"): pieces are runs of `length` characters, and the
//!   kernel is the sum of products of their counts.
//! * subsequence (Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, 2002, "Text classification using string
//!   kernels", JMLR 2): pieces are any `length` characters in order, and each occurrence weighs decay^(the length of text
//!   that it stretches over), so that gaps count but cost. By the recursion of section 3, in |s| · |t| · length steps.
//!
//! Normalised, k(s, t) / √(k(s, s) k(t, t)), so that the values do not grow with the length of the strings; a string
//! that is too short to have a piece has the value 0.
//!
//! Strings do not reach a native learner: a row has the code of a nominal value, and a new string has none. Learners
//! with this kernel are therefore in Python and store the strings of their points; the kernel itself is here.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::kernels::Kernel;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StringKernel {
    length: usize,
    /// None for runs without gaps.
    decay: Option<f64>,
}

pub static STRING: Declaration = Declaration {
    name: "kernel.String",
    role: Role::Kernel,
    words: "String kernel: substrings or subsequences that two strings have in common",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "length",
            Kind::Integer { low: 1, high: 100 },
            Default::Integer(3),
            "length of a piece, in characters",
        ),
        Parameter::new(
            "pieces",
            Kind::Choice(&["spectrum", "subsequence"]),
            Default::Text("spectrum"),
            "pieces to count: substrings, or subsequences with gaps",
        ),
        Parameter::new(
            "decay",
            Kind::Float(Bounds::FRACTION),
            Default::Float(0.5),
            "for 'subsequence': weight per character that a piece spans",
        ),
        Parameter::new(
            "normalized",
            Kind::Boolean,
            Default::Boolean(true),
            "whether to normalise, so that k(s, s) = 1",
        ),
        Parameter::new(
            "feature",
            Kind::Optional(&Kind::Text),
            Default::Null,
            "name of the string feature; None for the only string feature of a row",
        ),
    ],
    build: |arguments| {
        let decay = arguments.float("decay")?;
        Ok(Built::Kernel(Kernel::String(StringKernel {
            length: arguments.size("length")?,
            decay: (arguments.text("pieces")? == "subsequence").then_some(decay),
        })))
    },
};

impl StringKernel {
    /// k(s, t) before it is normalised.
    pub fn raw(&self, s: &str, t: &str) -> f64 {
        let (s, t): (Vec<char>, Vec<char>) = (s.chars().collect(), t.chars().collect());
        match self.decay {
            None => spectrum(&s, &t, self.length),
            Some(decay) => subsequences(&s, &t, self.length, decay),
        }
    }
}

/// Σ over runs of the product of their counts, by merging the sorted runs of both.
fn spectrum(s: &[char], t: &[char], length: usize) -> f64 {
    let sorted = |text: &'_ [char]| {
        let mut starts: Vec<usize> = (0..(text.len() + 1).saturating_sub(length)).collect();
        starts.sort_unstable_by(|&a, &b| text[a..a + length].cmp(&text[b..b + length]));
        starts
    };
    let (a, b) = (sorted(s), sorted(t));
    let count = |text: &[char], starts: &[usize], run: &[char]| {
        starts.iter().take_while(|&&start| text[start..start + length] == *run).count()
    };
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        let (x, y) = (&s[a[i]..a[i] + length], &t[b[j]..b[j] + length]);
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                let (m, n) = (count(s, &a[i..], x), count(t, &b[j..], y));
                sum += m as f64 * n as f64;
                i += m;
                j += n;
            }
        }
    }
    sum
}

/// Lodhi et al., section 3: K′ᵢ(s, t) weighs common pieces of i characters by how far they are from the ends, and
/// K″ᵢ is its sum along t. One layer is `(|s| + 1) × (|t| + 1)`, and only two are kept.
fn subsequences(s: &[char], t: &[char], length: usize, decay: f64) -> f64 {
    let width = t.len() + 1;
    let mut layer = vec![1.0; (s.len() + 1) * width];
    let square = decay * decay;
    for piece in 1..length {
        let mut next = vec![0.0; layer.len()];
        for i in piece..=s.len() {
            let mut along = 0.0;
            for j in piece..=t.len() {
                let both = if s[i - 1] == t[j - 1] { square * layer[(i - 1) * width + j - 1] } else { 0.0 };
                along = decay * along + both;
                next[i * width + j] = decay * next[(i - 1) * width + j] + along;
            }
        }
        layer = next;
    }
    let mut sum = 0.0;
    for i in length..=s.len() {
        for j in length..=t.len() {
            if s[i - 1] == t[j - 1] {
                sum += square * layer[(i - 1) * width + j - 1];
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lodhi et al., section 2: of "cat" and "car" with pieces of two characters only "ca" is common, λ² in each:
    /// k = λ⁴, and k(cat, cat) = 2 λ⁴ + λ⁶ (ca, at without a gap, ct with one).
    #[test]
    fn cat_and_car_by_hand() {
        let kernel = StringKernel { length: 2, decay: Some(0.5) };
        assert_eq!(kernel.raw("cat", "car"), 0.5f64.powi(4));
        assert_eq!(kernel.raw("cat", "cat"), 2.0 * 0.5f64.powi(4) + 0.5f64.powi(6));
        assert_eq!(kernel.raw("c", "c"), 0.0);
    }

    /// "abab" has ab twice and ba once, "babab" each twice: 2 · 2 + 1 · 2.
    #[test]
    fn runs_by_hand() {
        let kernel = StringKernel { length: 2, decay: None };
        assert_eq!(kernel.raw("abab", "babab"), 6.0);
        assert_eq!((kernel.raw("", "ab"), kernel.raw("a", "a"), kernel.raw("äöä", "äö")), (0.0, 0.0, 1.0));
    }

    /// All subsequences of three characters, counted one by one.
    #[test]
    fn the_recursion_is_the_definition() {
        let (s, t, decay) = ("banana", "bandana", 0.7f64);
        let pieces = |text: &str| {
            let text: Vec<char> = text.chars().collect();
            let mut found = Vec::new();
            for i in 0..text.len() {
                for j in i + 1..text.len() {
                    for k in j + 1..text.len() {
                        found.push(([text[i], text[j], text[k]], decay.powi((k - i + 1) as i32)));
                    }
                }
            }
            found
        };
        let mut wanted = 0.0;
        for (x, a) in pieces(s) {
            wanted += pieces(t).iter().filter(|(y, _)| *y == x).map(|(_, b)| a * b).sum::<f64>();
        }
        let kernel = StringKernel { length: 3, decay: Some(decay) };
        assert!((kernel.raw(s, t) - wanted).abs() < 1e-12);
    }
}
