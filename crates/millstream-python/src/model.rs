//! `millstream._core.Model`: predicts, learns and transforms rows. One example at a time: `model_one`; many: `model_many`.

use millstream_core::held::Root;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::any_held::Kind;
use crate::dicts::names;
use crate::errors::OrRaise;
use crate::part::{Component, ComponentMethods, Part};
use crate::targets::{read_number, Weight};
use crate::values::DriftDetector;
use crate::{dict_batch, model_many, model_one};

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Model;

impl Component for Model {
    type Kind = Root;
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Adopt the state of another model of the same description.
    fn _copy_from(slf: &Bound<'_, Self>, other: &Bound<'_, Model>) -> PyResult<()> {
        slf.part()._load(slf.py(), other.as_any())
    }

    /// Become a copy of a step of a pipeline or of a component of a union.
    fn _copy_member(slf: &Bound<'_, Self>, other: &Bound<'_, Model>, place: usize) -> PyResult<()> {
        let member = other.ask(|model| model.member(place).or_raise(slf.py()))?;
        slf.part().install(slf.py(), Root::into_any(member))
    }

    /// A copy of the detector that a parameter describes, as it is now.
    fn _detector<'py>(slf: &Bound<'py, Self>, parameter: &str) -> PyResult<Bound<'py, DriftDetector>> {
        let py = slf.py();
        let inner = slf.ask(|model| model.detector(parameter).or_raise(py))?;
        let detector = Bound::new(py, DriftDetector::start())?;
        detector.part().install(py, Kind::into_any(inner))?;
        Ok(detector)
    }

    /// Revert the last example that a transformer learned.
    fn _undo(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut guarded = slf.part().write(slf.py())?;
        guarded.held_mut::<Root>(slf.py())?.undo().or_raise(slf.py())?;
        guarded.sync_names(slf.py())
    }

    /// Whether the end of a task of its stream means anything to the model.
    fn _ends_tasks(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|model| Ok(model.ends_tasks()))
    }

    /// Tell a continual learner that a task of its stream has ended.
    fn _end_task(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut guarded = slf.part().write(slf.py())?;
        guarded.held_mut::<Root>(slf.py())?.end_task().or_raise(slf.py())
    }

    /// Number of learned examples.
    #[getter]
    fn learned(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|model| Ok(model.count()))
    }

    /// The known features, in order of appearance.
    #[getter]
    fn features<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        slf.ask(|model| names(slf.py(), model.schema(), usize::MAX))
    }

    /// Number of features that were dropped because the model has 100,000 already, since it was made or loaded.
    #[getter]
    fn dropped(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|model| Ok(model.schema().beyond_limits().0))
    }

    /// Number of strings that were learned as "other" because their feature has 100,000 already, since the model was
    /// made or loaded.
    #[getter]
    fn folded(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|model| Ok(model.schema().beyond_limits().1))
    }

    /// Number of known features, whether all are numbered, and the names of the first.
    fn _knows<'py>(slf: &Bound<'py, Self>, most: usize) -> PyResult<(usize, bool, Bound<'py, PyList>)> {
        slf.ask(|model| {
            let schema = model.schema();
            Ok((schema.len(), schema.only_numbered(), names(slf.py(), schema, most)?))
        })
    }

    /// The known classes, by code.
    #[getter]
    fn classes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let guarded = slf.part().read(slf.py())?;
        let known = guarded.labels().iter().flatten().map(|label| label.clone_ref(slf.py()));
        PyList::new(slf.py(), known)
    }

    /// The largest number of classes; None for no limit.
    #[getter]
    fn max_classes(slf: &Bound<'_, Self>) -> PyResult<Option<usize>> {
        slf.ask(|model| Ok(model.max_classes()))
    }

    /// The few numbers of `_inspect` that properties read, in JSON.
    fn _scalars(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.ask(|model| Ok(model.scalars().to_string()))
    }

    /// The verbs that it has beyond those of its role.
    fn _optional_verbs(slf: &Bound<'_, Self>) -> PyResult<Vec<&'static str>> {
        slf.ask(|model| Ok(model.optional_verbs()))
    }

    /// The integral of the products of a basis's functions of so many inputs.
    #[pyo3(signature = (inputs=None))]
    fn _gram<'py>(slf: &Bound<'py, Self>, inputs: Option<usize>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let gram = slf.ask(|model| model.gram(inputs).or_raise(slf.py()))?;
        let size = (gram.len() as f64).sqrt() as usize;
        gram.into_pyarray(slf.py()).reshape([size, size])
    }

    /// Learn one example.
    #[pyo3(signature = (x, y=None, w=Weight::ONE), text_signature = "($self, x, y=None, w=1.0)")]
    fn learn_one(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
    ) -> PyResult<()> {
        model_one::learn(slf.part(), x, y, w)
    }

    /// Predict the class or the number for one example, or whether it is an anomaly.
    fn predict_one(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        model_one::predict(slf.part(), x)
    }

    /// The probability of each class for one example.
    fn predict_proba_one<'py>(slf: &Bound<'py, Self>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        model_one::predict_proba(slf.part(), x)
    }

    /// The cluster of one example (-1 for none), and the distances to its centre and to that of the next cluster.
    fn _predict_cluster(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<(i64, f64, f64)> {
        model_one::predict_cluster(slf.part(), x)
    }

    /// The score of an anomaly detector, or the signed distance to the decision boundary, if there is one.
    fn score_one(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        model_one::score(slf.part(), x)
    }

    /// Whether a score is that of an anomaly, for anomaly filters.
    fn _classify(slf: &Bound<'_, Self>, score: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = slf.py();
        let score = read_number(score, "the score").map_err(|error| slf.part().named(py, error))?;
        slf.ask(|model| model.classify(score).or_raise(py))
    }

    /// Which rows are anomalies, for anomaly filters.
    fn _classify_many<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        model_many::classify(slf.part(), rows)
    }

    /// Two numbers between which the target lies with probability `coverage`, for learners that predict intervals.
    #[pyo3(signature = (x, coverage=0.9))]
    fn predict_interval_one(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, coverage: f64) -> PyResult<(f64, f64)> {
        model_one::predict_interval(slf.part(), x, coverage)
    }

    /// The stored examples that are nearest to one: (distance, age, features, target, weight) of each.
    #[pyo3(signature = (x, n_neighbors=None))]
    fn _kneighbors_one<'py>(
        slf: &Bound<'py, Self>,
        x: &Bound<'py, PyAny>,
        n_neighbors: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        model_one::kneighbors(slf.part(), x, n_neighbors)
    }

    /// Transform one example.
    fn transform_one<'py>(slf: &Bound<'py, Self>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        model_one::transform(slf.part(), x)
    }

    /// Predict one example, then learn it. Returns the prediction.
    #[pyo3(
        signature = (x, y=None, w=Weight::ONE, *, proba=false),
        text_signature = "($self, x, y=None, w=1.0, *, proba=False)"
    )]
    fn step_one(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
        proba: bool,
    ) -> PyResult<Py<PyAny>> {
        model_one::step(slf.part(), x, y, w, proba)
    }

    /// Learn rows, predicting each first if `predict` is "class" or "proba".
    /// Returns (predictions or None, skipped rows as [(row, message)]).
    #[pyo3(signature = (rows, y, w, predict, on_error))]
    fn _run_many(
        slf: &Bound<'_, Self>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        predict: Option<&str>,
        on_error: &str,
    ) -> PyResult<(Option<Py<PyAny>>, Vec<(usize, String)>)> {
        model_many::run(slf.part(), rows, y, w, predict, on_error)
    }

    /// Learn examples (x, y, w), predicting each first if `predict` is "class" or "proba"; gives the predictions. None, and
    /// no change, if one of them is refused or reading it would run Python code.
    fn _run_dicts<'py>(
        slf: &Bound<'py, Self>,
        examples: &Bound<'py, PyList>,
        predict: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        dict_batch::run(slf.part(), examples, predict)
    }

    /// Learn rows in mini-batches of `size`; those before a bad one stay learned, of that one nothing is.
    fn _learn_batches(
        slf: &Bound<'_, Self>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        size: usize,
    ) -> PyResult<()> {
        model_many::learn_batches(slf.part(), rows, y, w, size)
    }

    /// The model's own loss over rows: (Σ w · loss, Σ w), or None if it has none.
    fn _risk(
        slf: &Bound<'_, Self>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(f64, f64)>> {
        model_many::risk(slf.part(), rows, y, w)
    }

    /// Predict rows: numbers, class codes, probabilities by class code, or clusters, with distances if `proba` is set.
    fn _predict_many(slf: &Bound<'_, Self>, rows: &Bound<'_, PyAny>, proba: bool) -> PyResult<Py<PyAny>> {
        model_many::predict(slf.part(), rows, proba)
    }

    /// Intervals for rows: a matrix of lower and upper.
    fn _predict_interval_many<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        model_many::predict_interval(slf.part(), rows, coverage)
    }

    /// Transform rows: (names, matrix, {column: categories of a nominal one}), or (starts, indices, values, width) of
    /// sparse rows.
    fn _transform_many<'py>(slf: &Bound<'py, Self>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        model_many::transform(slf.part(), rows)
    }
}
