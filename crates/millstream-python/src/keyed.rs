//! One component per key: what all kinds have in common. `keyed_rows` has the verbs of models, and `keyed_values` those of
//! forecasters and drift detectors.

use std::path::PathBuf;
use std::sync::Arc;

use millstream_core::declaration::Role;
use millstream_core::detector::DriftDetector;
use millstream_core::forecaster::Forecaster;
use millstream_core::held::{Held, Root};
use millstream_core::keyed::{self, Header, Limits, OwnedKey, Session, SpillFile};
use millstream_core::labels::Label;
use millstream_core::Fault;
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::any_held::Kind;
use crate::errors::{raise, OrRaise};
use crate::key_column::read_key;
use crate::keyed_rows::Keyed;
use crate::keyed_values::{KeyedDriftDetector, KeyedForecaster};
use crate::labels::show_label;
use crate::part::Part;

/// Keyed components of any kind that can be keyed.
#[derive(Clone)]
pub enum AnyKeyed {
    Model(Arc<keyed::Keyed<Root>>),
    Forecaster(Arc<keyed::Keyed<Box<dyn Forecaster>>>),
    DriftDetector(Arc<keyed::Keyed<Box<dyn DriftDetector>>>),
}

/// Do the same with each kind.
macro_rules! each_keyed {
    ($any:expr, $keyed:ident => $do:expr) => {
        match $any {
            AnyKeyed::Model($keyed) => $do,
            AnyKeyed::Forecaster($keyed) => $do,
            AnyKeyed::DriftDetector($keyed) => $do,
        }
    };
}

/// What the classes of all kinds inherit.
#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct KeyedParts {
    any: AnyKeyed,
}

impl KeyedParts {
    pub fn new(any: AnyKeyed) -> Self {
        KeyedParts { any }
    }
}

/// The arguments of the constructors that are numbers, and the folder of the spill file. `max_keys` and `max_bytes` are 0
/// for none.
pub type Settings = (usize, usize, f64, bool, Option<PathBuf>);

/// Keyed components without keys.
pub fn build<P: Kind>(
    py: Python<'_>,
    template: Held<P>,
    (max_keys, max_bytes, ttl, has_global, spill): Settings,
) -> PyResult<Arc<keyed::Keyed<P>>> {
    let limit = |limit: usize| if limit == 0 { usize::MAX } else { limit };
    let limits = Limits { max_keys: limit(max_keys), max_bytes: limit(max_bytes), ttl };
    let spill = spill.map(|folder| SpillFile::create(&folder)).transpose().or_raise(py)?;
    Ok(Arc::new(keyed::Keyed::new(template, limits, has_global, spill)))
}

/// Facts about many keys, as columns: keys, counts, times, scored predictions, the sums of their errors, and the order in
/// which they learned last.
type Facts<'py> = (
    Bound<'py, PyList>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u64>>,
);

#[pymethods]
impl KeyedParts {
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.len()))
    }

    fn has(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(key) = read_key(value) else { return Ok(false) };
        Ok(value.py().detach(|| each_keyed!(&self.any, keyed => keyed.has(key.key()))))
    }

    #[getter]
    fn memory(&self, py: Python<'_>) -> usize {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.memory()))
    }

    /// Counts of models by what happened to them.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = py.detach(|| each_keyed!(&self.any, keyed => keyed.counters()));
        let dict = PyDict::new(py);
        for (name, count) in [
            ("created", counters.created),
            ("spilled", counters.spilled),
            ("returned", counters.returned),
            ("expired", counters.expired),
            ("dropped", counters.dropped),
        ] {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// Number of models in the spill file, and the size of the file in bytes.
    fn spilled(&self, py: Python<'_>) -> (usize, u64) {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.spilled()))
    }

    /// Number of models whose state is a list of words, and of those with a component each.
    fn layouts(&self, py: Python<'_>) -> (usize, usize) {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.layouts()))
    }

    /// Labels by code, None for a code without a label yet.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let labels = py.detach(|| each_keyed!(&self.any, keyed => keyed.labels().clone()));
        show_labels(py, labels.entries())
    }

    /// Set `model`, which is not built yet, to a copy of the model of a key.
    fn copy_to(&self, py: Python<'_>, key: &Bound<'_, PyAny>, model: &Bound<'_, Part>) -> PyResult<()> {
        let owned = read_key(key)?;
        each_keyed!(&self.any, keyed => match py.detach(|| keyed.get(owned.key())).or_raise(py)? {
            Some(found) => model.get().install(py, Kind::into_any(found)),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        })
    }

    /// Replace or add the model of a key.
    fn put(&self, py: Python<'_>, key: &Bound<'_, PyAny>, model: &Bound<'_, Part>) -> PyResult<()> {
        let key = read_key(key)?;
        each_keyed!(&self.any, keyed => {
            let held = model.get().read(py)?.held(py)?.clone();
            py.detach(|| keyed.put(key.key(), held)).or_raise(py)
        })
    }

    /// Forget a key.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let owned = read_key(key)?;
        match py.detach(|| each_keyed!(&self.any, keyed => keyed.remove(owned.key()))) {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Forget all models that are older than `ttl`.
    fn sweep(&self, py: Python<'_>) {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.sweep()));
    }

    /// Facts about all keys, in ascending order of keys.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Facts<'py>> {
        let all: Vec<(OwnedKey, Header)> = py.detach(|| each_keyed!(&self.any, keyed => keyed.facts_of_all()));
        let keys = PyList::empty(py);
        for (key, _) in &all {
            match key {
                OwnedKey::Int(int) => keys.append(int)?,
                OwnedKey::Text(text) => keys.append(&**text)?,
            }
        }
        let headers = || all.iter().map(|(_, header)| header);
        Ok((
            keys,
            PyArray1::from_iter(py, headers().map(|header| header.count)),
            PyArray1::from_iter(py, headers().map(|header| header.time)),
            PyArray1::from_iter(py, headers().map(|header| u64::from(header.scored))),
            PyArray1::from_iter(py, headers().map(|header| header.errors)),
            PyArray1::from_iter(py, headers().map(|header| header.tick)),
        ))
    }

    /// All models as bytes, with a text that `load` returns.
    fn to_bytes<'py>(&self, py: Python<'py>, note: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            each_keyed!(&self.any, keyed => keyed.save(&keyed.session(), note, &mut bytes)).map(|_| bytes)
        });
        Ok(PyBytes::new(py, &bytes.or_raise(py)?))
    }

    /// The text that was given with saved models.
    #[staticmethod]
    fn note(bytes: &Bound<'_, PyBytes>) -> PyResult<String> {
        keyed::Keyed::<Root>::note(bytes.as_bytes()).or_raise(bytes.py())
    }

    /// Models from bytes, and the text that was given with them. `spill` is a folder.
    #[staticmethod]
    fn load(py: Python<'_>, bytes: &Bound<'_, PyBytes>, spill: Option<PathBuf>) -> PyResult<(Py<Self>, String)> {
        let bytes = bytes.as_bytes();
        let spill = spill.map(|folder| SpillFile::create(&folder)).transpose().or_raise(py)?;
        match keyed::Keyed::<Root>::role(bytes).or_raise(py)? {
            Role::Forecaster => {
                let (keyed, note) = py.detach(|| keyed::Keyed::load(bytes, spill)).or_raise(py)?;
                Ok((Bound::new(py, KeyedForecaster::of(Arc::new(keyed)))?.into_super().unbind(), note))
            }
            Role::DriftDetector => {
                let (keyed, note) = py.detach(|| keyed::Keyed::load(bytes, spill)).or_raise(py)?;
                Ok((Bound::new(py, KeyedDriftDetector::of(Arc::new(keyed)))?.into_super().unbind(), note))
            }
            _ => {
                let (keyed, note) = py.detach(|| keyed::Keyed::load(bytes, spill)).or_raise(py)?;
                Ok((Bound::new(py, Keyed::of(Arc::new(keyed)))?.into_super().unbind(), note))
            }
        }
    }

    /// Apply the bytes of a delta to models that were just loaded; returns the text that was given with them.
    fn apply(&self, py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<String> {
        let bytes = bytes.as_bytes();
        py.detach(|| each_keyed!(&self.any, keyed => keyed.apply(&keyed.session(), bytes))).or_raise(py)
    }

    /// Write all models to a new file, or those that changed since the last dump, and wait until they are on the disk.
    /// Returns the number of models.
    fn dump(&self, py: Python<'_>, path: &str, delta: bool, note: &str) -> PyResult<usize> {
        let written = py.detach(|| each_keyed!(&self.any, keyed => dump_to(keyed, path, delta, note)));
        written.map_err(|fault: Fault| raise(py, &fault))
    }

    /// The next dump must be a full one.
    fn forget_changes(&self, py: Python<'_>) {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.forget_changes(&keyed.session())));
    }

    fn can_dump_delta(&self, py: Python<'_>) -> bool {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.can_dump_delta()))
    }

    /// Set the number that distinguishes its dumps from those of all others.
    fn set_series(&self, py: Python<'_>, series: u64) {
        py.detach(|| each_keyed!(&self.any, keyed => keyed.set_series(series)));
    }

    /// Set `model`, which is not built yet, to a copy of the template.
    fn copy_template(&self, py: Python<'_>, model: &Bound<'_, Part>) -> PyResult<()> {
        each_keyed!(&self.any, keyed => model.get().install(py, Kind::into_any(keyed.template().clone())))
    }

    /// Set `model`, which is not built yet, to a copy of the model that new keys begin with.
    fn copy_prior(&self, py: Python<'_>, model: &Bound<'_, Part>) -> PyResult<()> {
        each_keyed!(&self.any, keyed => model.get().install(py, Kind::into_any(py.detach(|| keyed.prior()))))
    }

    /// Whether new keys begin with a model that learns all examples.
    fn has_global(&self) -> bool {
        each_keyed!(&self.any, keyed => keyed.has_global())
    }

    /// The limits by name, None for none.
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Limits { max_keys, max_bytes, ttl } = each_keyed!(&self.any, keyed => keyed.limits());
        let dict = PyDict::new(py);
        dict.set_item("max_keys", Some(max_keys).filter(|&most| most < usize::MAX))?;
        dict.set_item("max_bytes", Some(max_bytes).filter(|&most| most < usize::MAX))?;
        dict.set_item("ttl", Some(ttl).filter(|&ttl| ttl < f64::INFINITY))?;
        Ok(dict)
    }

    /// The description of the template in JSON.
    fn description(&self) -> String {
        each_keyed!(&self.any, keyed => keyed.template().description().to_string())
    }
}

/// Write all models to a new file, or those that changed, and wait until they are on the disk.
fn dump_to<P: Kind>(
    keyed: &keyed::Keyed<P>,
    path: &str,
    delta: bool,
    note: &str,
) -> millstream_core::Result<usize> {
    let unwritable = |error: std::io::Error| {
        let error = error.to_string();
        Fault::state(format!("compose.Keyed: cannot write {path}: {error}"))
    };
    let session: Session<'_> = keyed.session();
    let file = std::fs::File::create_new(path).map_err(unwritable)?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    let models = keyed.dump(&session, delta, note, &mut out)?;
    let finished = out.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
    finished.inspect_err(|_| keyed.forget_changes(&session)).map_err(unwritable)?;
    Ok(models)
}

pub fn show_labels<'py>(py: Python<'py>, labels: &[Option<Label>]) -> PyResult<Bound<'py, PyList>> {
    let labels = labels.iter().map(|label| label.as_ref().map(|label| show_label(py, label)).transpose());
    PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)
}
