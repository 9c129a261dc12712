//! The functions of a basis of several inputs: their values, names and matrices.
//!
//! With `combine="tensor"` there is a product for each choice of one function of every input, the first input's running
//! fastest. With "additive" there is 1, and then of each input its functions but the constant. Either way ψ of the whole
//! follows from ψ of the inputs: products of orthonormal functions are orthonormal, and functions of different inputs
//! that are orthogonal to 1 are orthogonal to each other.

use std::sync::Arc;

use super::axis::Axis;
use super::cloud::Cloud;
use super::parameters::Combine;

#[derive(Clone)]
pub enum Functions {
    /// Of one input, for each input or (a single one) for all, to be combined.
    Axes(Arc<Vec<Axis>>, Combine),
    /// Of all inputs together.
    Cloud(Arc<Cloud>),
}

/// The functions of an input.
#[inline]
fn of(axes: &[Axis], input: usize) -> &Axis {
    &axes[if axes.len() > 1 { input } else { 0 }]
}

/// The volume of Ω.
fn volume(axes: &[Axis], inputs: usize) -> f64 {
    (0..inputs).map(|input| of(axes, input).width()).product()
}

impl Functions {
    /// The number of functions of this many inputs; saturates.
    pub fn size(&self, inputs: usize) -> usize {
        match self {
            Functions::Cloud(cloud) => cloud.size(),
            Functions::Axes(axes, combine) => {
                let sizes = (0..inputs).map(|input| of(axes, input).size());
                match combine {
                    Combine::Tensor => sizes.fold(1, usize::saturating_mul),
                    Combine::Additive => sizes.fold(1, |sum, size| sum.saturating_add(size - 1)),
                }
            }
        }
    }

    /// The functions of one input at `x`, where they need no combining.
    #[inline]
    pub fn write_one(&self, x: f64, orthonormal: bool, out: &mut [f64]) -> bool {
        let Functions::Axes(axes, _) = self else { return false };
        match orthonormal {
            true => axes[0].write_orthonormal(x, out),
            false => axes[0].write(x, out),
        }
        true
    }

    /// The functions at `x`; `one` is room for those of one input.
    pub fn write(&self, x: &[f64], orthonormal: bool, out: &mut [f64], one: &mut Vec<f64>) {
        let write_axis = |axis: &Axis, x: f64, one: &mut Vec<f64>| {
            one.clear();
            one.resize(axis.size(), 0.0);
            match orthonormal {
                true => axis.write_orthonormal(x, one),
                false => axis.write(x, one),
            }
        };
        match self {
            Functions::Cloud(cloud) => cloud.write(x, orthonormal, out),
            Functions::Axes(axes, Combine::Tensor) => {
                let mut written = 1;
                out[0] = 1.0;
                for (input, &x) in x.iter().enumerate() {
                    let axis = of(axes, input);
                    write_axis(axis, x, one);
                    let (before, rest) = out.split_at_mut(written);
                    for (factor, block) in one[1..].iter().zip(rest.chunks_exact_mut(written)) {
                        block.iter_mut().zip(&*before).for_each(|(out, before)| *out = factor * before);
                    }
                    before.iter_mut().for_each(|out| *out *= one[0]);
                    written *= axis.size();
                }
            }
            Functions::Axes(axes, Combine::Additive) => {
                let volume = volume(axes, x.len());
                let mut written = 1;
                out[0] = if orthonormal { 1.0 / volume.sqrt() } else { 1.0 };
                for (input, &x) in x.iter().enumerate() {
                    let axis = of(axes, input);
                    write_axis(axis, x, one);
                    let scale = if orthonormal { (axis.width() / volume).sqrt() } else { 1.0 };
                    let block = &mut out[written..written + one.len() - 1];
                    block.iter_mut().zip(&one[1..]).for_each(|(out, psi)| *out = scale * psi);
                    written += block.len();
                }
            }
        }
    }

    /// What the functions of inputs with these names are called.
    pub fn names(&self, inputs: &[String]) -> Vec<String> {
        let mut names = vec![String::from("1")];
        match self {
            Functions::Cloud(cloud) => return (0..cloud.size()).map(|index| format!("rbf{index}")).collect(),
            Functions::Axes(axes, Combine::Tensor) => {
                for (input, called) in inputs.iter().enumerate() {
                    let axis = of(axes, input);
                    let own: Vec<String> = (0..axis.size()).map(|index| axis.name(index, called)).collect();
                    names = own.iter().flat_map(|own| names.iter().map(move |name| product(name, own))).collect();
                }
            }
            Functions::Axes(axes, Combine::Additive) => {
                for (input, called) in inputs.iter().enumerate() {
                    let axis = of(axes, input);
                    names.extend((1..axis.size()).map(|index| axis.name(index, called)));
                }
            }
        }
        names
    }

    /// The coefficients of ψ in φ: a lower triangle by rows.
    pub fn transition(&self, inputs: usize) -> Vec<f64> {
        match self {
            Functions::Cloud(cloud) => cloud.transition(),
            Functions::Axes(axes, Combine::Tensor) => (0..inputs)
                .fold(vec![1.0], |whole, input| kronecker_triangle(&of(axes, input).transition(), &whole)),
            Functions::Axes(axes, Combine::Additive) => sum_transition(axes, inputs, self.size(inputs)),
        }
    }

    /// ∫ φφᵀ, by rows.
    pub fn gram(&self, inputs: usize) -> Vec<f64> {
        match self {
            Functions::Cloud(cloud) => cloud.gram().to_vec(),
            Functions::Axes(axes, Combine::Tensor) => {
                (0..inputs).fold(vec![1.0], |whole, input| kronecker(&of(axes, input).gram(), &whole))
            }
            Functions::Axes(axes, Combine::Additive) => sum_gram(axes, inputs, self.size(inputs)),
        }
    }

    pub fn memory(&self) -> usize {
        match self {
            Functions::Axes(axes, _) => axes.iter().map(Axis::memory).sum(),
            Functions::Cloud(cloud) => cloud.memory(),
        }
    }
}

fn product(a: &str, b: &str) -> String {
    match (a, b) {
        ("1", other) | (other, "1") => other.into(),
        _ => format!("{a}*{b}"),
    }
}

fn sum_transition(axes: &[Axis], inputs: usize, size: usize) -> Vec<f64> {
    let volume = volume(axes, inputs);
    let mut whole = vec![0.0; size * (size + 1) / 2];
    whole[0] = 1.0 / volume.sqrt();
    let mut first = 1;
    for input in 0..inputs {
        let axis = of(axes, input);
        let (own, scale) = (axis.transition(), (axis.width() / volume).sqrt());
        for i in 1..axis.size() {
            let (row, index) = (first + i - 1, i * (i + 1) / 2);
            let start = row * (row + 1) / 2;
            whole[start] = scale * own[index];
            for j in 1..=i {
                whole[start + first + j - 1] = scale * own[index + j];
            }
        }
        first += axis.size() - 1;
    }
    whole
}

fn sum_gram(axes: &[Axis], inputs: usize, size: usize) -> Vec<f64> {
    let volume = volume(axes, inputs);
    // Of each function: its input, its place there, and its mean over Ω.
    let mut functions = vec![(0, 0, 1.0)];
    for input in 0..inputs {
        let axis = of(axes, input);
        let means = axis.integrals().into_iter().map(|integral| integral / axis.width()).enumerate();
        functions.extend(means.skip(1).map(|(index, mean)| (input, index, mean)));
    }
    let grams: Vec<Vec<f64>> = (0..inputs).map(|input| of(axes, input).gram()).collect();
    let mut gram = vec![0.0; size * size];
    for (i, a) in functions.iter().enumerate() {
        for (j, b) in functions.iter().enumerate() {
            let axis = of(axes, a.0);
            gram[i * size + j] = match a.1 > 0 && b.1 > 0 && a.0 == b.0 {
                true => grams[a.0][a.1 * axis.size() + b.1] / axis.width() * volume,
                false => a.2 * b.2 * volume,
            };
        }
    }
    gram
}

/// The Kronecker product of two square matrices, `b` running faster.
fn kronecker(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (n, m) = ((a.len() as f64).sqrt() as usize, (b.len() as f64).sqrt() as usize);
    let size = n * m;
    (0..size * size)
        .map(|at| {
            let (row, column) = (at / size, at % size);
            a[row / m * n + column / m] * b[row % m * m + column % m]
        })
        .collect()
}

/// The same of two lower triangles.
fn kronecker_triangle(a: &[f64], b: &[f64]) -> Vec<f64> {
    let rows = |triangle: &[f64]| ((1.0 + 8.0 * triangle.len() as f64).sqrt() as usize - 1) / 2;
    let (n, m) = (rows(a), rows(b));
    let size = n * m;
    let mut whole = vec![0.0; size * (size + 1) / 2];
    for (i, k) in (0..n).flat_map(|i| (0..=i).map(move |k| (i, k))) {
        let factor = a[i * (i + 1) / 2 + k];
        for (j, l) in (0..m).flat_map(|j| (0..=j).map(move |l| (j, l))) {
            let (row, column) = (i * m + j, k * m + l);
            whole[row * (row + 1) / 2 + column] = factor * b[j * (j + 1) / 2 + l];
        }
    }
    whole
}
