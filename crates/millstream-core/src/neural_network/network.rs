//! One hidden layer of tanh units and a linear output, with the gradient of the output with respect to the parameters:
//!
//! ```text
//! f(x) = c + Σₖ vₖ aₖ,  aₖ = tanh(bₖ + Σⱼ wⱼₖ xⱼ)
//! ∂f/∂c = 1,  ∂f/∂vₖ = aₖ,  ∂f/∂bₖ = sₖ = vₖ (1 − aₖ²),  ∂f/∂wⱼₖ = sₖ xⱼ
//! ```
//! Parameters lie in one vector: c, all v, all b, then all wⱼ of each coordinate in turn, so that a new coordinate adds
//! to its end. Initially c and v are 0, so the network predicts 0; b and w are uniform in [−1, 1], and
//! those of a coordinate depend on the seed and on the coordinate alone.

use serde_json::{Map, Value as Json};

use crate::linear_model::Coordinates;
use crate::numeric::elementary::tanh;
use crate::numeric::random::Random;
use crate::optim::Features;
use crate::parameter::{Default, Kind, Parameter};
use crate::row::Value;
use crate::schema::{FeatureKind, Schema};

pub const HIDDEN_UNITS: Parameter = Parameter::new(
    "hidden_units",
    Kind::Integer { low: 1, high: 4096 },
    Default::Integer(16),
    "number of hidden tanh units",
);
pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    Default::Integer(0),
    "random seed of the initial weights",
);

/// The weights of a first layer by feature, and by value of a nominal one; `row` has those of a coordinate.
pub fn rows_by_feature(coordinates: &Coordinates, schema: &Schema, row: impl Fn(u32) -> Json) -> Json {
    let mut found = Map::new();
    for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
        if *kind == FeatureKind::Nominal {
            let values = schema.values(slot);
            let by_value = (0..values.len() as u32).filter_map(|code| {
                let coordinate = coordinates.of(slot, Value::Nominal(Some(code)))?;
                Some((values.text(code)?.to_string(), row(coordinate)))
            });
            found.insert(name.text(), Json::Object(by_value.collect()));
        } else if let Some(coordinate) = coordinates.of(slot, Value::Number(0.0)) {
            found.insert(name.text(), row(coordinate));
        }
    }
    Json::Object(found)
}

#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub hidden: usize,
    pub seed: u64,
}

impl Network {
    /// Number of parameters for `width` coordinates.
    pub fn size(&self, width: usize) -> usize {
        1 + self.hidden * (2 + width)
    }

    /// Append the initial parameters, up to those of `width` coordinates.
    pub fn begin(&self, width: usize, parameters: &mut Vec<f64>) {
        let hidden = self.hidden;
        if parameters.is_empty() {
            parameters.resize(1 + hidden, 0.0);
            self.draw(0, parameters);
        }
        let known = (parameters.len() - 1) / hidden - 2;
        for coordinate in known..width {
            self.draw(coordinate as u64 + 1, parameters);
        }
    }

    fn draw(&self, purpose: u64, parameters: &mut Vec<f64>) {
        let mut random = Random::new(self.seed, purpose);
        parameters.extend((0..self.hidden).map(|_| random.between(-1.0, 1.0)));
    }

    /// f(x), and the a in `activations`. A coordinate without parameters is ignored.
    #[inline]
    pub fn forward(&self, parameters: &[f64], x: Features<'_>, activations: &mut Vec<f64>) -> f64 {
        let hidden = self.hidden;
        let (head, weights) = parameters.split_at(1 + 2 * hidden);
        activations.clear();
        activations.extend_from_slice(&head[1 + hidden..]);
        let mut add = |w: &[f64], x: f64| {
            for (a, w) in activations.iter_mut().zip(w) {
                *a += w * x;
            }
        };
        match x {
            Features::Dense(values) => {
                weights.chunks_exact(hidden).zip(values).for_each(|(w, &x)| add(w, x));
            }
            Features::Sparse(indices, values) => {
                for (&index, &x) in indices.iter().zip(values) {
                    let start = index as usize * hidden;
                    if let Some(w) = weights.get(start..start + hidden) {
                        add(w, x);
                    }
                }
            }
        }
        activations.iter_mut().for_each(|a| *a = tanh(*a));
        head[0] + activations.iter().zip(&head[1..]).map(|(a, v)| a * v).sum::<f64>()
    }

    /// ∂f/∂θ by all parameters of the coordinates in a dense `x`, from the activations of `forward`.
    #[inline]
    pub fn gradient(&self, parameters: &[f64], x: &[f64], activations: &[f64], out: &mut [f64]) {
        let hidden = self.hidden;
        let (head, rest) = out.split_at_mut(1 + 2 * hidden);
        self.head_gradient(parameters, activations, head);
        let slopes = &head[1 + hidden..];
        for (out, &x) in rest.chunks_exact_mut(hidden).zip(x) {
            for (out, s) in out.iter_mut().zip(slopes) {
                *out = s * x;
            }
        }
    }

    /// The same of a sparse `x`: the parameters that it reaches, ascending, and the gradient by them.
    pub fn sparse_gradient(
        &self,
        parameters: &[f64],
        (indices, values): (&[u32], &[f64]),
        activations: &[f64],
        (out_indices, out): (&mut Vec<u32>, &mut Vec<f64>),
    ) {
        let hidden = self.hidden;
        let head = 1 + 2 * hidden;
        out_indices.clear();
        out_indices.extend(0..head as u32);
        out.clear();
        out.resize(head, 0.0);
        self.head_gradient(parameters, activations, out);
        for (&index, &x) in indices.iter().zip(values) {
            let start = head + index as usize * hidden;
            if start + hidden <= parameters.len() {
                out_indices.extend((start..start + hidden).map(|index| index as u32));
                for k in 0..hidden {
                    out.push(out[1 + hidden + k] * x);
                }
            }
        }
    }

    fn head_gradient(&self, parameters: &[f64], activations: &[f64], head: &mut [f64]) {
        let hidden = self.hidden;
        head[0] = 1.0;
        head[1..1 + hidden].copy_from_slice(activations);
        for ((s, a), v) in head[1 + hidden..].iter_mut().zip(activations).zip(&parameters[1..]) {
            *s = v * (1.0 - a * a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> (Network, Vec<f64>) {
        let network = Network { hidden: 3, seed: 5 };
        let mut parameters = Vec::new();
        network.begin(2, &mut parameters);
        // An output layer that is not 0, so that every parameter has a gradient.
        for (index, v) in parameters[..4].iter_mut().enumerate() {
            *v = 0.5 - 0.3 * index as f64;
        }
        (network, parameters)
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (network, mut parameters) = network();
        let (x, mut activations) = ([0.7, -1.3], Vec::new());
        let mut gradient = vec![0.0; parameters.len()];
        network.forward(&parameters, Features::Dense(&x), &mut activations);
        network.gradient(&parameters, &x, &activations, &mut gradient);
        for index in 0..parameters.len() {
            let (kept, h) = (parameters[index], 1e-6);
            parameters[index] = kept + h;
            let above = network.forward(&parameters, Features::Dense(&x), &mut activations);
            parameters[index] = kept - h;
            let below = network.forward(&parameters, Features::Dense(&x), &mut activations);
            parameters[index] = kept;
            let numeric = (above - below) / (2.0 * h);
            assert!((numeric - gradient[index]).abs() < 1e-9, "{index}: {numeric}, not {}", gradient[index]);
        }
    }

    #[test]
    fn a_sparse_gradient_is_the_dense_one() {
        let (network, parameters) = network();
        let (mut activations, mut dense) = (Vec::new(), vec![0.0; parameters.len()]);
        let x = [0.0, -1.3];
        let said = network.forward(&parameters, Features::Dense(&x), &mut activations);
        network.gradient(&parameters, &x, &activations, &mut dense);
        let listed = (&[1u32, 9][..], &[-1.3, 4.0][..]);
        let again = network.forward(&parameters, Features::Sparse(listed.0, listed.1), &mut activations);
        assert_eq!(said, again);
        let (mut indices, mut sparse) = (Vec::new(), Vec::new());
        network.sparse_gradient(&parameters, listed, &activations, (&mut indices, &mut sparse));
        for (index, value) in dense.iter().enumerate() {
            let found = indices.iter().position(|&p| p as usize == index).map_or(0.0, |at| sparse[at]);
            assert_eq!(found, *value);
        }
    }

    #[test]
    fn weights_of_a_coordinate_do_not_depend_on_when_it_came() {
        let network = Network { hidden: 4, seed: 9 };
        let (mut at_once, mut in_turn) = (Vec::new(), Vec::new());
        network.begin(3, &mut at_once);
        (0..=3).for_each(|width| network.begin(width, &mut in_turn));
        assert_eq!(at_once, in_turn);
        assert_eq!(at_once.len(), network.size(3));
    }
}
