//! `millstream._core.Part`: the base class of compiled components. It owns the lock, and what all of them have in common.
//!
//! Whoever asks takes the lock for reading, whoever changes for writing, so a reader in one thread never sees a half-made
//! update of another. A thread that must wait gives up the GIL first. No Python code runs under the lock: it might use
//! the same component.

use std::sync::{OnceLock, RwLockReadGuard};

use millstream_core::declaration::Role;
use millstream_core::draft::Draft;
use millstream_core::held::{Held, Root};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3::PyClass;
use serde_json::Value as Json;

use crate::any_held::{each_kind, AnyHeld, Factory, Kind};
use crate::dates::{names_of_times, plain_dict};
use crate::dict_batch::DictExample;
use crate::dicts::{read_dict, Keys, Reading};
use crate::errors::{by, raise, shown, OrRaise};
use crate::labels::show_label;
use crate::lock::{Lock, Session, WriteGuard};
use crate::saved::{opened, sealed_bytes};

/// What the lock guards: a component, and the Python objects of its names and labels.
#[derive(Default)]
pub struct Guarded {
    any: Option<AnyHeld>,
    keys: Keys,
    /// Label objects by code, so that predictions need not make new ones.
    labels: Vec<Option<Py<PyAny>>>,
    /// The names of features that may be dates.
    times: Vec<Py<PyAny>>,
}

#[cold]
fn unbuilt(py: Python<'_>, word: &str) -> PyErr {
    raise(py, &Fault::value(format!("this {word} was not built: call super().__init__(…) in its __init__")))
}

impl Guarded {
    #[inline(always)]
    pub fn held<P: Kind>(&self, py: Python<'_>) -> PyResult<&Held<P>> {
        self.any.as_ref().and_then(P::of).ok_or_else(|| unbuilt(py, P::WORD))
    }

    #[inline(always)]
    pub fn held_mut<P: Kind>(&mut self, py: Python<'_>) -> PyResult<&mut Held<P>> {
        self.any.as_mut().and_then(P::of_mut).ok_or_else(|| unbuilt(py, P::WORD))
    }

    /// The component, for threads without the GIL; none if it was not built.
    pub fn held_detached<P: Kind>(&self) -> Option<&Held<P>> {
        self.any.as_ref().and_then(P::of)
    }

    /// After a change: make objects of new names and labels.
    pub fn sync_names(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(any) = &self.any else { return Ok(()) };
        each_kind!(any, held => self.keys.sync_names(py, held.schema()))?;
        let entries = each_kind!(any, held => held.labels().entries());
        self.labels.truncate(entries.len());
        // The first code may have waited for its label; the others are met in order.
        for code in (0..entries.len().min(1)).chain(self.labels.len().max(1)..entries.len()) {
            let label =
                entries[code].as_ref().map(|label| show_label(py, label).map(Bound::unbind)).transpose()?;
            match self.labels.get_mut(code) {
                Some(known) => *known = label,
                None => self.labels.push(label),
            }
        }
        Ok(())
    }

    /// Change the component without the GIL, and make objects of new names and labels before a reader can see it. A
    /// reader that waits for the lock has given up the GIL, so it can be had here.
    pub fn change<P: Kind, R>(&mut self, work: impl FnOnce(&mut Held<P>) -> R) -> Option<R> {
        let held = self.any.as_mut().and_then(P::of_mut)?;
        let before = (held.schema().len(), held.labels().known());
        let result = work(held);
        if (held.schema().len(), held.labels().known()) != before {
            Python::attach(|py| self.sync_names(py)).ok()?;
        }
        Some(result)
    }

    #[inline]
    pub fn read_dict<P: Kind>(&self, dict: &Bound<'_, PyDict>, draft: &mut Draft) -> PyResult<Reading> {
        let py = dict.py();
        let held = self.held::<P>(py)?;
        read_dict(dict, held.schema(), &self.keys, held.missing_is_zero(), draft)
            .map_err(|error| by(py, error, held.title()))
    }

    /// After learning a dict whose names were compared as text: take its key objects.
    #[inline]
    pub fn adopt_keys<P: Kind>(&mut self, dict: &Bound<'_, PyDict>) {
        if let (true, Some(held)) = (self.keys.may_adopt(), self.any.as_ref().and_then(P::of)) {
            self.keys.adopt(dict, held.schema());
        }
    }

    /// Read the result of `plain_dict`.
    pub fn read_plain<P: Kind>(&self, dict: &Bound<'_, PyDict>, draft: &mut Draft) -> PyResult<()> {
        match self.read_dict::<P>(dict, draft)? {
            Reading::ByKey | Reading::ByText => Ok(()),
            Reading::NotPlain => {
                let message = format!("an example cannot be read: {}", shown(dict.as_any()));
                Err(raise(dict.py(), &Fault::wrong_type(message)))
            }
        }
    }

    /// Whether a model will learn all these examples (see `held::Rehearsal`). Runs no Python code.
    pub fn rehearses(&mut self, examples: &[DictExample<'_>], draft: &mut Draft) -> bool {
        let Some(model) = self.any.as_mut().and_then(Root::of_mut) else { return false };
        let missing_is_zero = model.missing_is_zero();
        let Some(mut rehearsal) = model.rehearsal(examples.len()) else { return false };
        examples.iter().all(|(x, y, w)| {
            let reading = read_dict(x, rehearsal.schema(), &self.keys, missing_is_zero, draft);
            matches!(reading, Ok(Reading::ByKey | Reading::ByText)) && rehearsal.admits(draft, y.target(), *w)
        })
    }

    /// The objects of the features' names.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Label objects by code, None for a code without a label yet.
    pub fn labels(&self) -> &[Option<Py<PyAny>>] {
        &self.labels
    }

    pub fn label(&self, py: Python<'_>, class: Option<u32>) -> Py<PyAny> {
        class
            .and_then(|code| self.labels.get(code as usize))
            .and_then(Option::as_ref)
            .map_or_else(|| py.None(), |label| label.clone_ref(py))
    }
}

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct Part {
    lock: Lock<Guarded>,
    /// Fixed when it is built; kept outside the lock, because it tells how to read a target.
    role: OnceLock<Role>,
    factory: Factory,
}

impl Part {
    pub fn of<P: Kind>() -> Self {
        Part { lock: Lock::default(), role: OnceLock::new(), factory: Factory::of::<P>() }
    }

    #[inline(always)]
    pub fn read<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockReadGuard<'a, Guarded>> {
        self.lock.read(py)
    }

    /// For threads without the GIL. None if a writer has it for long.
    pub fn read_detached(&self) -> Option<RwLockReadGuard<'_, Guarded>> {
        self.lock.read_detached()
    }

    /// For threads without the GIL that may wait. None if the component is poisoned.
    pub fn read_blocking(&self) -> Option<RwLockReadGuard<'_, Guarded>> {
        self.lock.read_blocking()
    }

    #[inline(always)]
    pub fn write<'a>(&'a self, py: Python<'_>) -> PyResult<WriteGuard<'a, Guarded>> {
        self.lock.write(py)
    }

    pub fn session<'a>(&'a self, py: Python<'_>) -> PyResult<Session<'a, Guarded>> {
        self.lock.session(py)
    }

    #[inline]
    pub fn role(&self, py: Python<'_>) -> PyResult<Role> {
        self.role.get().copied().ok_or_else(|| unbuilt(py, self.factory.word))
    }

    pub fn install(&self, py: Python<'_>, any: AnyHeld) -> PyResult<()> {
        let role = any.role();
        let times = each_kind!(&any, held => names_of_times(py, held.description()))?;
        let mut guarded = self.write(py)?;
        *guarded = Guarded { any: Some(any), times, ..Guarded::default() };
        guarded.sync_names(py)?;
        let _ = self.role.set(role);
        Ok(())
    }

    /// A dict whose values need no Python code to be read, as this component reads them.
    #[cold]
    pub fn plain_dict<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let py = x.py();
        let times = self.times(py)?;
        plain_dict(x, &times).map_err(|error| self.named(py, error))
    }

    fn times(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        Ok(self.read(py)?.times.iter().map(|name| name.clone_ref(py)).collect())
    }

    /// Prepend the name of the component to an error.
    #[cold]
    pub fn named(&self, py: Python<'_>, error: PyErr) -> PyErr {
        match self.asked(py, |any| Ok(each_kind!(any, held => held.title().to_string()))) {
            Ok(title) => by(py, error, &title),
            Err(broken) => broken,
        }
    }

    fn asked<R>(&self, py: Python<'_>, work: impl FnOnce(&AnyHeld) -> PyResult<R>) -> PyResult<R> {
        work(self.read(py)?.any.as_ref().ok_or_else(|| unbuilt(py, self.factory.word))?)
    }
}

#[pymethods]
impl Part {
    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let any = (self.factory.build)(&read_description(py, description)?).or_raise(py)?;
        self.install(py, any)
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another component of this kind.
    pub fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let Factory { word, load, copy, .. } = self.factory;
        let any = match source.cast::<Part>() {
            Ok(other) => other.get().asked(py, |any| {
                copy(any).ok_or_else(|| {
                    let role = any.role().word();
                    raise(py, &Fault::wrong_type(format!("millstream: a {role} is not a {word}")))
                })
            })?,
            Err(_) => {
                let saved = opened(source)?;
                py.detach(|| load(saved)).or_raise(py)?
            }
        };
        self.install(py, any)
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        self.asked(py, |any| Ok(each_kind!(any, held => held.description().to_string())))
    }

    fn _role(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.role(py)?.word())
    }

    /// The name in messages.
    fn _title(&self, py: Python<'_>) -> PyResult<String> {
        self.asked(py, |any| Ok(each_kind!(any, held => held.title().to_string())))
    }

    /// The names of features that may be dates.
    fn _times(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.times(py)
    }

    /// The state in JSON, in readable form.
    fn _inspect(&self, py: Python<'_>) -> PyResult<String> {
        self.asked(py, |any| Ok(each_kind!(any, held => held.inspect().to_string())))
    }

    /// Labels by code, None for a code without a label yet.
    fn _labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.asked(py, |any| {
            let labels = each_kind!(any, held => held.labels().entries()).iter();
            let labels = labels.map(|label| label.as_ref().map(|label| show_label(py, label)).transpose());
            PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)
        })
    }

    /// The component as versioned, checksummed bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let sealed = self.asked(py, |any| each_kind!(any, held => held.seal()).or_raise(py))?;
        sealed_bytes(py, &sealed)
    }

    /// Merge the same component after another part of the stream; a base that both continued counts once.
    #[pyo3(signature = (other, base = None))]
    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Part>, base: Option<&Bound<'_, Part>>) -> PyResult<()> {
        // Copies, because they may be this very component.
        let copied = |part: &Bound<'_, Part>| part.get().asked(py, |any| Ok(any.clone()));
        let (other, base) = (copied(other)?, base.map(copied).transpose()?);
        let session = self.session(py)?;
        let mut next = self.asked(py, |any| Ok(any.clone()))?;
        py.detach(|| next.merge(&other, base.as_ref())).or_raise(py)?;
        let mut guarded = session.write(py)?;
        guarded.any = Some(next);
        guarded.sync_names(py)
    }

    /// How exactly it can be merged: the word, the component that this is due to, and the rule or the reason.
    fn _merging(&self, py: Python<'_>) -> PyResult<(&'static str, String, &'static str)> {
        let (who, merge) = self.asked(py, |any| Ok(each_kind!(any, held => held.merging())))?;
        Ok((merge.exactness.word(), who, merge.words))
    }

    /// Record the present state as the base of what is learned from now on.
    fn _fork(&self, py: Python<'_>) -> PyResult<()> {
        let mut guarded = self.write(py)?;
        let any = guarded.any.as_mut().ok_or_else(|| unbuilt(py, self.factory.word))?;
        each_kind!(any, held => held.fork()).or_raise(py)
    }

    /// A digest of everything that is saved except for the origin.
    fn _version(&self, py: Python<'_>) -> PyResult<u64> {
        self.asked(py, |any| each_kind!(any, held => held.version()).or_raise(py))
    }

    /// Memory in bytes.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.asked(py, |any| Ok(each_kind!(any, held => held.memory())))
    }
}

/// A class of Python with components of one kind.
pub trait Component: PyClass<BaseType = Part> + Default {
    type Kind: Kind;

    /// An object that is not built yet.
    fn start() -> PyClassInitializer<Self> {
        PyClassInitializer::from(Part::of::<Self::Kind>()).add_subclass(Self::default())
    }
}

/// What the methods of such a class are written with.
pub trait ComponentMethods<P: Kind> {
    fn part(&self) -> &Part;
    /// Ask the component.
    fn ask<R>(&self, work: impl FnOnce(&Held<P>) -> PyResult<R>) -> PyResult<R>;
    /// Change the component in one short step, in which it meets no names.
    fn change<R>(&self, work: impl FnOnce(&mut Held<P>) -> PyResult<R>) -> PyResult<R>;
    /// Change a copy of the component and replace it; after an error nothing changes. Readers do not wait meanwhile.
    fn replace<R>(&self, work: impl FnOnce(&mut Held<P>) -> PyResult<R>) -> PyResult<R>;
}

impl<C: Component> ComponentMethods<C::Kind> for Bound<'_, C> {
    #[inline(always)]
    fn part(&self) -> &Part {
        self.as_super().get()
    }

    #[inline(always)]
    fn ask<R>(&self, work: impl FnOnce(&Held<C::Kind>) -> PyResult<R>) -> PyResult<R> {
        work(self.part().read(self.py())?.held(self.py())?)
    }

    #[inline(always)]
    fn change<R>(&self, work: impl FnOnce(&mut Held<C::Kind>) -> PyResult<R>) -> PyResult<R> {
        work(self.part().write(self.py())?.held_mut(self.py())?)
    }

    fn replace<R>(&self, work: impl FnOnce(&mut Held<C::Kind>) -> PyResult<R>) -> PyResult<R> {
        let py = self.py();
        let session = self.part().session(py)?;
        let mut next = self.ask(|held| Ok(held.clone()))?;
        let result = work(&mut next)?;
        let mut guarded = session.write(py)?;
        *guarded.held_mut(py)? = next;
        guarded.sync_names(py)?;
        Ok(result)
    }
}

/// A description in JSON.
pub fn read_description(py: Python<'_>, description: &str) -> PyResult<Json> {
    serde_json::from_str(description)
        .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))
}
