//! The door between Python and the core: `millstream._core`. It knows roles, not learners, and so does not
//! grow when learners are added.

mod errors;
mod labels;
mod model;
mod rows;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::model::Model;

    /// The registry in JSON: names, roles, words, parameters.
    #[pyfunction]
    fn catalogue() -> String {
        millstream_core::registry::catalogue().to_string()
    }

    /// The canonical form of a description, both in JSON.
    #[pyfunction]
    fn resolve(py: Python<'_>, description: &str) -> PyResult<String> {
        use crate::errors::{raise, OrRaise};
        let description = serde_json::from_str(description).map_err(|error| {
            raise(py, &millstream_core::Fault::value(format!("millstream: not a description: {error}")))
        })?;
        Ok(millstream_core::registry::resolve(&description).or_raise(py)?.to_string())
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
