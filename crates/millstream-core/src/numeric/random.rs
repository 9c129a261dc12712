//! Randomness from a seed, the same on every platform and in every version.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2021, "Scrambled linear pseudorandom number generators",
//! ACM Transactions on Mathematical Software 47(4)), seeded through SplitMix64 as its authors advise. Gaussian
//! numbers come from the ziggurat of Marsaglia and Tsang (2000, Journal of Statistical Software 5(8)) with 256
//! layers, in Doornik's form, where the layer and the position in it come from different bits.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::numeric::elementary::{exp, ln};

#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
    ziggurat: &'static Ziggurat,
}

impl Random {
    /// `purpose` separates the uses of one seed, so that they draw different numbers.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut mixed = seed ^ purpose.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let state = std::array::from_fn(|_| split_mix(&mut mixed));
        Random { state, ziggurat: ziggurat() }
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in (0, 1), never 0 or 1, with 52 bits: its logarithm is finite and not 0.
    #[inline]
    pub fn open_unit(&mut self) -> f64 {
        open_unit_of(self.bits())
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draw `due` of the numbers from `low` to `high` into `chosen`, ascending, each subset as likely as any other:
    /// Knuth's algorithm S.
    pub fn sample(&mut self, low: usize, high: usize, mut due: usize, chosen: &mut Vec<u32>) {
        for number in low..high {
            if self.unit() * ((high - number) as f64) < due as f64 {
                chosen.push(number as u32);
                due -= 1;
            }
        }
    }

    /// Uniform among 0, …, n - 1, without bias (Lemire, 2019); 0 for n of 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let n = u64::from(n);
        loop {
            let product = (self.bits() >> 32) * n;
            let low = product & 0xffff_ffff;
            if low >= n || low >= (1u64 << 32) % n.max(1) {
                return (product >> 32) as u32;
            }
        }
    }

    /// `below` for larger numbers.
    pub fn below_64(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n.max(1) {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with probability `p`; never for 0, always for 1.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// From the standard normal distribution.
    #[inline]
    pub fn gaussian(&mut self) -> f64 {
        loop {
            let bits = self.bits();
            let layer = (bits & 0xff) as usize;
            let position = (bits >> 11) as f64 * (2.0 / (1u64 << 53) as f64) - 1.0;
            let x = position * self.ziggurat.edges[layer];
            if x.abs() < self.ziggurat.edges[layer + 1] {
                return x;
            }
            if let Some(x) = self.beyond(layer, x) {
                return x;
            }
        }
    }

    /// The rare case: x lies in the wedge of its layer, or in the tail.
    #[cold]
    fn beyond(&mut self, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            return Some(self.tail().copysign(x));
        }
        let (low, high) = (self.ziggurat.heights[layer], self.ziggurat.heights[layer + 1]);
        (low + (high - low) * self.unit() < exp(-0.5 * x * x)).then_some(x)
    }

    fn tail(&mut self) -> f64 {
        loop {
            // 1 - u is never 0.
            let x = -ln(1.0 - self.unit()) / R;
            let y = -ln(1.0 - self.unit());
            if y + y >= x * x {
                return R + x;
            }
        }
    }
}

/// Only the state is saved: the sequence continues after loading.
impl Serialize for Random {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.state.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Random {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let state = <[u64; 4]>::deserialize(deserializer)?;
        match state {
            [0, 0, 0, 0] => Err(serde::de::Error::custom("random: a generator cannot be all zeros")),
            _ => Ok(Random { state, ziggurat: ziggurat() }),
        }
    }
}

/// The middle of the interval of length 2⁻⁵² that the first bits select. With 53 bits, the last one would round to 1.
#[inline]
fn open_unit_of(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where the tail begins, and the area of each of 256 layers.
const R: f64 = 3.654_152_885_361_009;
const V: f64 = 0.004_928_673_233_974_655;

#[derive(Debug)]
struct Ziggurat {
    /// Where each layer ends, falling from the base's to 0, and the density there.
    edges: [f64; 257],
    heights: [f64; 257],
}

fn ziggurat() -> &'static Ziggurat {
    static TABLES: OnceLock<Ziggurat> = OnceLock::new();
    TABLES.get_or_init(|| {
        let density = |x: f64| exp(-0.5 * x * x);
        let mut edges = [0.0; 257];
        edges[0] = V / density(R);
        edges[1] = R;
        for layer in 2..256 {
            let before = edges[layer - 1];
            edges[layer] = (-2.0 * ln(V / before + density(before))).sqrt();
        }
        Ziggurat { edges, heights: edges.map(density) }
    })
}

/// Draws indices by weight with one lookup each (Walker's alias method, in Vose's form of 1991).
pub struct Choice {
    /// The probability of staying at an index, and the alternative index.
    stay: Vec<f64>,
    other: Vec<u32>,
}

impl Choice {
    /// Weights are not negative, and some are positive.
    pub fn new(weights: &[f64]) -> Self {
        let n = weights.len();
        let total: f64 = weights.iter().sum();
        let mut stay: Vec<f64> = weights.iter().map(|w| w * n as f64 / total).collect();
        let mut other: Vec<u32> = (0..n as u32).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&index| stay[index] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            other[low] = high as u32;
            stay[high] -= 1.0 - stay[low];
            if stay[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        for index in small.into_iter().chain(large) {
            stay[index] = 1.0;
        }
        Choice { stay, other }
    }

    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        let scaled = random.unit() * self.stay.len() as f64;
        let index = scaled as usize;
        if scaled - (index as f64) < self.stay[index] {
            index
        } else {
            self.other[index] as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_reference() {
        // The first output of the authors' xoshiro256++ from the state 1, 2, 3, 4: rotl(1 + 4, 23) + 1.
        let mut random = Random { state: [1, 2, 3, 4], ziggurat: ziggurat() };
        assert_eq!(random.bits(), (5u64 << 23) + 1);
        // And the next two, as its authors' C program prints them.
        assert_eq!(random.bits(), 58_720_359);
        assert_eq!(random.bits(), 3_588_806_011_781_223);
        // SplitMix64 of 1234567, as in the reference.
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
    }

    #[test]
    fn an_open_unit_is_never_0_or_1() {
        assert_eq!(open_unit_of(0), 0.5f64.powi(53));
        assert_eq!(open_unit_of(u64::MAX), 1.0 - 0.5f64.powi(53));
        assert!(ln(open_unit_of(u64::MAX)) < 0.0 && ln(open_unit_of(0)).is_finite());
    }

    #[test]
    fn large_numbers_are_drawn_without_bias() {
        let mut random = Random::new(3, 2);
        let n = (1 << 63) + (1 << 62);
        let high = (0..4000).filter(|_| random.below_64(n) >= 1 << 63).count();
        // A third of them, with a deviation of 30.
        assert!((1210..1460).contains(&high), "{high}");
        assert!((0..1000).all(|_| random.below_64(3) < 3));
    }

    #[test]
    fn the_ziggurat_is_closed_and_gaussian() {
        // The last layer ends at 0 with the same area as the others.
        let tables = ziggurat();
        let top = tables.edges[255] * (1.0 - tables.heights[255]);
        assert!((top - V).abs() < 1e-9, "{top}");
        let mut random = Random::new(1, 0);
        let n = 400_000;
        let (mut moments, mut beyond) = ([0.0; 4], 0);
        for _ in 0..n {
            let x = random.gaussian();
            for (power, moment) in moments.iter_mut().enumerate() {
                *moment += x.powi(power as i32 + 1) / f64::from(n);
            }
            beyond += u32::from(x.abs() > R);
        }
        // Mean 0, variance 1, third moment 0, fourth 3; standard errors 1/√n, √2/√n, √15/√n, √96/√n.
        for (moment, (wanted, error)) in moments.iter().zip([(0.0, 1.0), (1.0, 1.42), (0.0, 3.88), (3.0, 9.8)]) {
            assert!((moment - wanted).abs() < 4.0 * error / f64::from(n).sqrt(), "{moments:?}");
        }
        // P(|x| > 3.654) = 2.58e-4, so 103 of them with a deviation of 10.
        assert!((60..150).contains(&beyond), "{beyond}");
    }

    #[test]
    fn choices_have_their_weights() {
        let (choice, mut random) = (Choice::new(&[1.0, 0.0, 5.0, 2.0]), Random::new(7, 1));
        let mut counts = [0_i32; 4];
        for _ in 0..80_000 {
            counts[choice.draw(&mut random)] += 1;
        }
        assert_eq!(counts[1], 0);
        for (count, wanted) in counts.iter().zip([10_000, 0, 50_000, 20_000]) {
            assert!((count - wanted).abs() < 600, "{counts:?}");
        }
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
