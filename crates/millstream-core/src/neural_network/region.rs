//! temporary, until basis has it
use crate::fault::{Fault, Result};
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
pub const BOUNDS: Parameter = Parameter::new("bounds", Kind::Floats(Bounds::ANY), Default::Required, "the least and the greatest value of every input, or of each");
pub const OUTSIDE: Parameter = Parameter::new("outside", Kind::Choice(&["refuse", "clamp", "extrapolate"]), Default::Text("refuse"), "what happens to a value beyond the bounds");
#[derive(Clone, Debug)]
pub enum Region { All(f64, f64), Each(Vec<(f64, f64)>) }
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside { Refuse, Clamp, Extrapolate }
impl Region {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let b = arguments.floats("bounds")?;
        match b.len() { 2 => Ok(Region::All(b[0], b[1])), n if n % 2 == 0 => Ok(Region::Each(b.chunks(2).map(|p| (p[0], p[1])).collect())), _ => Err(Fault::value("bounds")) }
    }
}
pub fn outside(arguments: &Arguments<'_>) -> Result<Outside> {
    Ok(match arguments.text("outside")? { "clamp" => Outside::Clamp, "extrapolate" => Outside::Extrapolate, _ => Outside::Refuse })
}
