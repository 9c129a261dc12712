//! Latent Dirichlet allocation: topics, which are distributions over words, and documents as mixtures of topics.
//!
//! Hoffman, Blei and Bach (2010), "Online learning for latent Dirichlet allocation", NIPS, algorithm 2. With
//! counts n of the words of a document, the expected topics γ of a document solve
//! ```text
//! φ_wk ∝ exp(E[log θ_k] + E[log β_kw]),   γ_k = α + Σ_w n_w φ_wk                       (equation 5)
//! ```
//! by iteration from γ = 1, and a batch of S documents moves the topics λ with the rate ρ = (τ₀ + t)^−κ:
//! ```text
//! λ_kw ← (1 − ρ) λ_kw + ρ (η + (D / S) Σ_d n_dw φ_dwk)                                  (equation 8)
//! ```
//! where E[log β_kw] = ψ(λ_kw) − ψ(Σ_v λ_kv). D is the number of documents in the stream, or a guess: anything
//! from 1e4 to 1e6 gave equally good topics for streams of 3,000 and of 20,000 documents, while the number so far,
//! which is small at first, gave topics that stayed mixed. A new word starts with λ drawn from a gamma
//! distribution with mean 1 and deviation 0.1, by seed and word, whenever it comes. scikit-learn draws the first γ
//! from that distribution too; here it is 1, so that nothing depends on the order of calls.
//!
//! λ lies word by word: a document touches the topics of its own words only.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::symmetric_eigen::add;
use crate::merging::Merge;
use crate::numeric::digamma::exp_digamma;
use crate::numeric::elementary::{exp, ln};
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::decomposer::{Decomposer, Method, Report, BATCH_SIZE, N_COMPONENTS, SEED};
use super::waiting_rows::{Layout, WaitingRows};

/// Shape of the gamma distribution of the first λ, whose mean is 1.
const SHAPE: f64 = 100.0;

const OPTIONAL_PRIOR: Kind = Kind::Optional(&Kind::Float(Bounds::POSITIVE));

pub static DECLARATION: Declaration = Declaration {
    name: Lda::NAME,
    role: Role::Transformer,
    words: "Topics of documents given as counts of words, with a vocabulary that may grow",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[
        N_COMPONENTS
            .with_default(DefaultValue::Integer(10))
            .with_words("number of topics, and of output features"),
        BATCH_SIZE.with_words("number of documents per update"),
        Parameter::new(
            "doc_topic_prior",
            OPTIONAL_PRIOR,
            DefaultValue::Null,
            "Dirichlet prior of the topics of a document; null for 1 / n_components",
        ),
        Parameter::new(
            "topic_word_prior",
            OPTIONAL_PRIOR,
            DefaultValue::Null,
            "Dirichlet prior of the words of a topic; null for 1 / n_components",
        ),
        Parameter::new(
            "learning_decay",
            Kind::Float(Bounds::new(0.5, false, 1.0, true)),
            DefaultValue::Float(0.7),
            "exponent by which the learning rate falls with the number of batches",
        ),
        Parameter::new(
            "learning_offset",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(10.0),
            "number added to that of batches: larger values lower the weight of the first ones",
        ),
        Parameter::new(
            "total_samples",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1e6),
            "number of documents in the whole stream, or a guess of it",
        ),
        Parameter::new(
            "max_words",
            Kind::Integer { low: 1, high: 10_000_000 },
            DefaultValue::Integer(100_000),
            "maximum size of the vocabulary; a document with more words is refused",
        ),
        SEED.with_words("random seed of the first topics"),
    ],
    build: |arguments| {
        let n_components = arguments.size("n_components")?;
        let prior = |name: &str| Ok(optional(arguments, name)?.unwrap_or(1.0 / n_components as f64));
        Ok(Decomposer::build(Lda {
            n_components,
            batch_size: arguments.size("batch_size")?,
            doc_topic_prior: prior("doc_topic_prior")?,
            topic_word_prior: prior("topic_word_prior")?,
            learning_decay: arguments.float("learning_decay")?,
            learning_offset: arguments.float("learning_offset")?,
            total_samples: arguments.float("total_samples")?,
            max_words: arguments.size("max_words")?,
            seed: arguments.integer("seed")? as u64,
        }))
    },
};

fn optional(arguments: &Arguments<'_>, name: &str) -> Result<Option<f64>> {
    Ok(arguments.value(name)?.as_f64())
}

/// Iterations over a document end when γ changes by less than this on average.
const TOLERANCE: f64 = 1e-3;
const MOST_ITERATIONS: usize = 100;

#[derive(Clone)]
struct Lda {
    n_components: usize,
    batch_size: usize,
    doc_topic_prior: f64,
    topic_word_prior: f64,
    learning_decay: f64,
    learning_offset: f64,
    total_samples: f64,
    max_words: usize,
    seed: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    /// Number of batches.
    batches: u64,
    /// λ, word by word.
    topics: Vec<f64>,
    /// exp(E[log β]), word by word.
    #[serde(skip)]
    expected: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    document: Document,
    sums: Vec<f64>,
}

/// Buffers for a document.
#[derive(Clone, Debug, Default)]
struct Document {
    /// exp(E[log β]) of its words.
    words: Vec<f64>,
    /// n_w / Σ_k exp(…)
    shares: Vec<f64>,
    /// γ and exp(E[log θ]).
    topics: Vec<f64>,
    expected: Vec<f64>,
    next: Vec<f64>,
}

impl Lda {
    fn draw(&self, word: usize, topics: &mut Vec<f64>) {
        let mut random = Random::new(self.seed, word as u64);
        topics.extend((0..self.n_components).map(|_| gamma(SHAPE, &mut random) / SHAPE));
    }

    fn set_expected(&self, fitted: &mut Fitted) {
        Arch::new().dispatch(SetExpected {
            topics: &fitted.topics,
            expected: &mut fitted.expected,
            k: self.n_components,
        });
    }

    /// γ of a document, with the shares of its words.
    fn infer(&self, fitted: &Fitted, indices: &[u32], counts: &[f64], document: &mut Document) {
        let k = self.n_components;
        document.words.clear();
        for &word in indices {
            let start = word as usize * k;
            document.words.extend_from_slice(&fitted.expected[start..start + k]);
        }
        Arch::new().dispatch(Infer { prior: self.doc_topic_prior, k, counts, document });
    }
}

/// exp(E[log β]) of all words. Like `Infer`, compiled for several instruction sets; every operation rounds as IEEE 754
/// says, so the results are the same with all of them.
struct SetExpected<'a> {
    topics: &'a [f64],
    expected: &'a mut Vec<f64>,
    k: usize,
}

impl WithSimd for SetExpected<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let SetExpected { topics, expected, k } = self;
        let mut totals = vec![0.0; k];
        topics.chunks_exact(k).for_each(|word| add(&mut totals, 1.0, word));
        totals.iter_mut().for_each(|total| *total = exp_digamma(*total));
        expected.clear();
        expected.resize(topics.len(), 0.0);
        for (expected, topics) in expected.chunks_exact_mut(k).zip(topics.chunks_exact(k)) {
            for i in 0..k {
                expected[i] = exp_digamma(topics[i]) / totals[i];
            }
        }
    }
}

/// The iteration over one document.
struct Infer<'a> {
    prior: f64,
    k: usize,
    counts: &'a [f64],
    document: &'a mut Document,
}

impl WithSimd for Infer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Infer { prior, k, counts, document } = self;
        let Document { words, shares, topics, expected, next } = document;
        for (numbers, number) in [(&mut *topics, 1.0), (&mut *expected, 0.0), (&mut *next, 0.0)] {
            numbers.clear();
            numbers.resize(k, number);
        }
        shares.clear();
        shares.resize(counts.len(), 0.0);
        let (topics, expected, next) = (&mut topics[..k], &mut expected[..k], &mut next[..k]);
        dirichlet(topics, expected);
        for _ in 0..MOST_ITERATIONS {
            next.fill(0.0);
            for (word, count) in words.chunks_exact(k).zip(counts) {
                add(next, count / (product(expected, word) + f64::EPSILON), word);
            }
            let mut change = 0.0;
            for i in 0..k {
                let new = prior + expected[i] * next[i];
                change += (new - topics[i]).abs();
                topics[i] = new;
            }
            dirichlet(topics, expected);
            if change < TOLERANCE * k as f64 {
                break;
            }
        }
        for ((share, word), count) in shares.iter_mut().zip(words.chunks_exact(k)).zip(counts) {
            *share = count / (product(expected, word) + f64::EPSILON);
        }
    }
}

/// The scalar product in four sums, without a call.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a * b;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// exp(E[log θ]) of a Dirichlet distribution.
#[inline(always)]
fn dirichlet(parameters: &[f64], out: &mut [f64]) {
    let total = 1.0 / exp_digamma(parameters.iter().sum());
    for (out, parameter) in out.iter_mut().zip(parameters) {
        *out = exp_digamma(*parameter) * total;
    }
}

/// From the gamma distribution of this shape and scale 1 (Marsaglia and Tsang, 2000).
fn gamma(shape: f64, random: &mut Random) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.gaussian();
        let root = 1.0 + c * x;
        let v = root * root * root;
        // 1 − u is never 0.
        if root > 0.0 && ln(1.0 - random.unit()) < 0.5 * x * x + d - d * v + d * ln(v) {
            return d * v;
        }
    }
}

impl Method for Lda {
    const NAME: &'static str = "decomposition.LDA";
    const OUTPUT: &'static str = "topic";
    const LAYOUT: Layout = Layout::Sparse;
    const NOT_NEGATIVE: bool = true;
    type Fitted = Fitted;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn most_coordinates(&self) -> usize {
        self.max_words
    }

    fn is_due(&self, _fitted: &Fitted, waiting: usize) -> bool {
        waiting >= self.batch_size
    }

    fn update(
        &self,
        fitted: &Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Fitted,
        work: &mut Work,
    ) -> bool {
        let (k, width) = (self.n_components, absent.len());
        next.topics.clone_from(&fitted.topics);
        (fitted.topics.len() / k..width).for_each(|word| self.draw(word, &mut next.topics));
        match fitted.topics.len() == next.topics.len() {
            true => next.expected.clone_from(&fitted.expected),
            false => self.set_expected(next),
        }
        next.batches = fitted.batches + 1;
        work.sums.clear();
        work.sums.resize(k * width, 0.0);
        for row in 0..rows.len() {
            let indices = rows.indices(row);
            self.infer(next, indices, rows.values(row), &mut work.document);
            for (&word, share) in indices.iter().zip(&work.document.shares) {
                let word = word as usize;
                add(&mut work.sums[word * k..(word + 1) * k], rows.weight(row) * share, &work.document.expected);
            }
        }
        let rate = exp(-self.learning_decay * ln(self.learning_offset + next.batches as f64));
        let factor = self.total_samples / rows.total_weight();
        for ((topic, sum), expected) in next.topics.iter_mut().zip(&work.sums).zip(&next.expected) {
            *topic = (1.0 - rate) * *topic + rate * (self.topic_word_prior + factor * (sum * expected));
        }
        if !all_finite(&next.topics) {
            return false;
        }
        self.set_expected(next);
        all_finite(&next.expected)
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        fitted.batches > 0
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.topics.len() / self.n_components
    }

    fn transform(
        &self,
        fitted: &Fitted,
        indices: &[u32],
        values: &mut [f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let mut take = || scratch.take_numbers();
        let mut document =
            Document { words: take(), shares: take(), topics: take(), expected: take(), next: take() };
        // Counts beyond this are out of the range of what was learned, and would overflow.
        values.iter_mut().for_each(|count| *count = count.min(super::waiting_rows::LARGEST));
        self.infer(fitted, indices, values, &mut document);
        let total: f64 = document.topics.iter().sum();
        out.iter_mut().zip(&document.topics).for_each(|(out, topic)| *out = topic / total);
        let Document { words, shares, topics, expected, next } = document;
        [words, shares, topics, expected, next].into_iter().for_each(|numbers| scratch.give_numbers(numbers));
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let who = Self::NAME;
        let sized = fitted.topics.len().is_multiple_of(self.n_components) && fitted.batches < 1 << 60;
        require(who, sized && (fitted.batches > 0 || fitted.topics.is_empty()), "topics of the wrong length")?;
        let positive = all_finite(&fitted.topics) && fitted.topics.iter().all(|&topic| topic > 0.0);
        require(who, positive, "a topic is not positive")
    }

    fn revive(&self, fitted: &mut Fitted) {
        self.set_expected(fitted);
    }

    fn work_memory(&self, work: &Work) -> usize {
        let Document { words, shares, topics, expected, next } = &work.document;
        [words, shares, topics, expected, next, &work.sums].iter().map(|numbers| 8 * numbers.capacity()).sum()
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        8 * (fitted.topics.capacity() + fitted.expected.capacity())
    }

    fn report(&self, fitted: &Fitted, _rows: &WaitingRows) -> Report {
        let k = self.n_components;
        let topic = |topic: usize| fitted.topics.iter().skip(topic).step_by(k).copied().collect();
        let mut report = Report::default();
        report.numbers.insert("batches".into(), json!(fitted.batches));
        report.vectors.push(("components", (0..k).map(topic).collect()));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// One topic: every word belongs to it, γ = α + n, and the share of a word is its count divided by e^E[log θ]
    /// e^E[log β], where E[log θ] = 0. So the sums are the counts, and with ρ = 11^−1, η = 0.5, D = 4 and one
    /// document (3, 1): λ = (10/11) λ₀ + (1/11) (0.5 + 4 (3, 1)).
    #[test]
    fn one_topic_by_hand() {
        let parameters = json!({
            "n_components": 1, "batch_size": 1, "topic_word_prior": 0.5, "learning_decay": 1.0, "total_samples": 4.0
        });
        let mut lda = transformer(Lda::NAME, parameters);
        assert_eq!(transformed(&*lda, &[3.0, 1.0]), [0.0]);
        learn(&mut *lda, &[&[3.0, 1.0]]);
        let first = |word: u64| gamma(SHAPE, &mut Random::new(1, word)) / SHAPE;
        let mut schema = Schema::default();
        for slot in 0..2 {
            schema.push(&slot.into(), crate::schema::FeatureKind::Number);
        }
        let shown = lda.inspect(&schema);
        let found = ["0", "1"].map(|word| shown["components"][0][word].as_f64().unwrap());
        let expected = [(0, 12.5), (1, 4.5)].map(|(word, sum)| (10.0 * first(word) + sum) / 11.0);
        near(&found, &expected);
        near(&transformed(&*lda, &[3.0, 1.0]), &[1.0]);
    }

    #[test]
    fn gamma_numbers_have_their_mean_and_variance() {
        let mut random = Random::new(2, 0);
        let numbers: Vec<f64> = (0..20_000).map(|_| gamma(SHAPE, &mut random)).collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 20_000.0;
        assert!((mean - 100.0).abs() < 0.4 && (variance - 100.0).abs() < 5.0, "{mean} {variance}");
    }

    #[test]
    fn learning_is_undone() {
        let mut lda = transformer(Lda::NAME, json!({ "n_components": 2, "batch_size": 2 }));
        undoes(&mut *lda, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
