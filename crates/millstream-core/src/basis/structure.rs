//! The interface of a structure in one dimension.

/// Where the constant function is among a structure's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// The first function is 1.
    First,
    /// The functions add up to 1.
    Sum,
    /// It is not in the space.
    Absent,
}

pub trait Structure: Send + Sync {
    /// Number of functions.
    fn size(&self) -> usize;
    /// The functions at `x`; `out` is as long as there are functions.
    fn write(&self, x: f64, out: &mut [f64]);
    fn constant(&self) -> Constant;
    /// ∫ φ_i φ_j over the bounds, by rows.
    fn gram(&self) -> Vec<f64>;
    /// ∫ φ_i over the bounds.
    fn integrals(&self) -> Vec<f64>;
    /// An orthonormal basis of the same space at `x`, each function a sum of φ up to its own place, where one is
    /// known in closed form; false if it is not.
    fn write_orthonormal(&self, _x: f64, _out: &mut [f64]) -> bool {
        false
    }
    /// Its coefficients in φ: a lower triangle by rows.
    fn transition(&self) -> Option<Vec<f64>> {
        None
    }
    /// The name of a function of an input of this name; the constant is called 1.
    fn name(&self, index: usize, input: &str) -> String;
    /// What to do where the functions are linearly dependent to the precision of numbers.
    fn remedy(&self) -> &'static str;
    fn memory(&self) -> usize;
}
