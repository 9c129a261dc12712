//! `millstream._core.Prequential`: the state of one evaluation of one or more models, fed chunk by chunk.
//!
//! Native models predict, are scored and learn here without the GIL, each in a thread of its own. Models written
//! in Python run in a Python loop; only the scoring is done here, so that both give the same result.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use millstream_core::declaration::{Built, Role};
use millstream_core::detector::DriftDetector;
use millstream_core::evaluate::calibration::Bin;
use millstream_core::evaluate::metric_set::{ClusterOutcome, MetricSet, Scored};
use millstream_core::evaluate::scores::{CurveSpacing, Probe, Scores, MOST_CLASSES};
use millstream_core::evaluate::{stopped, Arrival, Evaluation, LabelledChunk};
use millstream_core::held::{self, Root};
use millstream_core::labels::{Label, Labels};
use millstream_core::registry;
use millstream_core::row::{Scratch, Want};
use millstream_core::table::Table;
use millstream_core::task::ClassPrediction;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::borrowed_rows::{read_integers, read_numbers, BorrowedRows};
use crate::errors::{raise, OrRaise};
use crate::labels::{read_label, show_label};
use crate::lock::{Blocks, Session};
use crate::model::Model;
use crate::model_many::broken;
use crate::outcomes::Metric;
use crate::part::{read_description, ComponentMethods, Guarded, Part};
use crate::targets::{check_length, ManyTargets};

/// The time between checks for Ctrl-C, and the largest and the initial number of rows between them.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);
const LONGEST_STRIDE: usize = 1 << 16;
const FIRST_STRIDE: usize = 1 << 10;
/// Time between updates of the progress bar: each may recompute a rolling metric over its window.
const BETWEEN_TICKS: Duration = Duration::from_millis(100);

struct Run {
    model: Option<Py<Part>>,
    evaluation: Evaluation,
    /// The classes of a model written in Python.
    known: Labels,
    scratch: Scratch,
    /// Seconds spent in the loop of this model.
    busy: f64,
}

/// Status of a run for the progress bar, see `Prequential::status`.
type Status = (Option<f64>, usize, Option<u64>, usize);
/// Whether the bins are those of the positive class, that class, and for each bin: rows, weight, predicted,
/// observed.
type Binned<'py> = (bool, Option<Py<PyAny>>, Bound<'py, PyArray2<f64>>);
type Recorded<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);
type Confusion<'py> = (Bound<'py, PyList>, Bound<'py, PyArray2<f64>>);

impl Run {
    fn labels(&self, py: Python<'_>) -> PyResult<Labels> {
        match &self.model {
            Some(model) => Ok(model.get().read(py)?.held::<Root>(py)?.labels().clone()),
            None => Ok(self.known.clone()),
        }
    }

    /// The bins of the calibration, if the model predicted probabilities.
    fn calibration<'py>(&self, py: Python<'py>) -> PyResult<Option<Binned<'py>>> {
        let Some(found) = self.evaluation.scores().calibration() else { return Ok(None) };
        let labels = self.labels(py)?;
        let class = found.positive(&labels);
        let bins = found.bins(class.as_ref().map(|class| class.code));
        let positive = class.map(|class| Ok::<_, PyErr>(show_label(py, &class.label)?.unbind())).transpose()?;
        let row = |bin: &Bin| vec![bin.rows as f64, bin.weight, bin.predicted, bin.observed];
        let rows: Vec<Vec<f64>> = bins.iter().map(row).collect();
        let empty = bins.iter().all(|bin| bin.rows == 0);
        Ok(if empty { None } else { Some((found.is_of_positive(), positive, PyArray2::from_vec2(py, &rows)?)) })
    }

    /// The labels and the cells of the confusion matrix, if there are not too many classes. The matrix is indexed
    /// by the codes of the model, some of which may not have a label yet.
    fn confusion<'py>(&self, py: Python<'py>) -> PyResult<Option<Confusion<'py>>> {
        let Some(found) = self.evaluation.scores().confusion() else { return Ok(None) };
        let labels = self.labels(py)?;
        let known: Vec<usize> = (0..labels.len()).filter(|&code| labels.get(code as u32).is_some()).collect();
        if known.len() > MOST_CLASSES {
            return Ok(None);
        }
        let names = PyList::empty(py);
        for &code in &known {
            names.append(labels.get(code as u32).map(|label| show_label(py, label)).transpose()?)?;
        }
        let cell = |truth: usize, predicted: usize| found.get(truth).and_then(|row| row.get(predicted)).copied();
        let rows: Vec<Vec<f64>> = known
            .iter()
            .map(|&truth| known.iter().map(|&predicted| cell(truth, predicted).unwrap_or(0.0)).collect())
            .collect();
        let cells = match rows.is_empty() {
            true => PyArray2::zeros(py, [0, 0], false),
            false => PyArray2::from_vec2(py, &rows)?,
        };
        Ok(Some((names, cells)))
    }
}

/// The codes of the labels of so many clusters are looked up once.
const MOST_CACHED: usize = 1 << 16;

#[pyclass(module = "millstream._core")]
pub struct Prequential {
    runs: Vec<Run>,
    started: Instant,
    /// When the progress bar was last updated, and the number of rows since then.
    shown: Instant,
    unshown: usize,
    /// Rows between checks for Ctrl-C, adapted to the slowest model.
    stride: usize,
}

/// Clock and memory of a model written in Python.
struct PythonProbe<'a, 'py> {
    started: Instant,
    model: &'a Bound<'py, PyAny>,
    waiting: usize,
}

impl Probe for PythonProbe<'_, '_> {
    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn memory(&self) -> usize {
        self.model.getattr("memory").and_then(|memory| memory.extract()).unwrap_or(0)
    }

    fn waiting(&self) -> usize {
        self.waiting
    }
}

fn times(py: Python<'_>, array: Option<&Bound<'_, PyAny>>, height: usize) -> PyResult<Option<Vec<i64>>> {
    let Some(array) = array.filter(|array| !array.is_none()) else { return Ok(None) };
    let times = read_integers(array)
        .ok_or_else(|| raise(py, &Fault::wrong_type("times must be integers at this point; this is a bug")))?;
    check_length(py, "time", Some(times.len()), height)?;
    Ok(Some(times))
}

#[pymethods]
impl Prequential {
    #[new]
    fn new() -> Self {
        Prequential {
            runs: Vec::new(),
            started: Instant::now(),
            shown: Instant::now(),
            unshown: 0,
            stride: FIRST_STRIDE,
        }
    }

    /// Add a model (None for one written in Python) with its metrics and an optional drift detector. `scored` is "classes",
    /// "numbers" or "clusters".
    #[pyo3(signature = (model, metrics, detector, *, scored, window, warmup, every, doubling, delay, timed, skip))]
    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        py: Python<'_>,
        model: Option<Py<Model>>,
        metrics: Vec<Py<Metric>>,
        detector: Option<String>,
        scored: &str,
        window: usize,
        warmup: u64,
        every: u64,
        doubling: bool,
        delay: u64,
        timed: bool,
        skip: bool,
    ) -> PyResult<()> {
        let metrics = metrics.iter().map(|metric| metric.bind(py).ask(|held| Ok(held.clone())));
        let metrics = metrics.collect::<PyResult<Vec<_>>>()?;
        let detector = detector.map(|detector| take_detector(py, &detector)).transpose()?;
        let scored = match scored {
            "numbers" => Scored::Numbers,
            "clusters" => Scored::Clusters,
            _ => Scored::Classes,
        };
        let metric_set = MetricSet::new(metrics, scored, window, every).or_raise(py)?;
        let every = if doubling { CurveSpacing::Doubling(every) } else { CurveSpacing::Rows(every) };
        let arrival = match (timed, delay) {
            (true, _) => Arrival::Timed,
            (false, 0) => Arrival::AtOnce,
            (false, delay) => Arrival::AfterRows(delay),
        };
        let evaluation = Evaluation::new(Scores::new(metric_set, detector, warmup, every), arrival, skip);
        let model = model.map(|model| model.into_bound(py).into_super().unbind());
        self.runs.push(Run {
            model,
            evaluation,
            known: Labels::default(),
            scratch: Scratch::default(),
            busy: 0.0,
        });
        Ok(())
    }

    /// Start the clock.
    fn start(&mut self) {
        self.started = Instant::now();
    }

    /// Whether some metric of a run needs probabilities.
    fn wants_probabilities(&self, run: usize) -> bool {
        self.runs[run].evaluation.scores().want() == Want::Probabilities
    }

    /// Process the next rows; `tick(rows, status)` is called from time to time with the progress.
    #[pyo3(signature = (rows, y, w, now, due, threads, tick))]
    #[allow(clippy::too_many_arguments)]
    fn feed(
        &mut self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        due: Option<&Bound<'_, PyAny>>,
        threads: usize,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let borrowed = BorrowedRows::new(rows)?;
        let table = borrowed.table();
        let height = table.height();
        let role = self.role(py)?;
        let targets = ManyTargets::read(py, role, y)?;
        check_length(py, "y", targets.len(), height)?;
        let weights = w.filter(|w| !w.is_none()).map(read_numbers).transpose()?;
        check_length(py, "w", weights.as_ref().map(Vec::len), height)?;
        // Weights of 1 are equivalent to no weights, with which rows are scored in blocks.
        let weights = weights.filter(|weights| weights.iter().any(|&w| w != 1.0));
        let now = times(py, now, height)?;
        let due = times(py, due, height)?;
        let before = self.runs.first().map_or(0, |run| run.evaluation.rows());
        let mut from = 0;
        while from < height {
            let to = (from + self.stride).min(height);
            let started = Instant::now();
            let chunk = LabelledChunk {
                table: &table,
                from,
                to,
                targets: targets.targets(),
                weights: weights.as_deref(),
                times: now.as_deref().zip(due.as_deref()),
            };
            let failed = self.each(py, threads, &|evaluation, blocks, scratch, clock| {
                let mut from = chunk.from;
                while from < chunk.to {
                    let to = (from + blocks.rows()).min(chunk.to);
                    let part = LabelledChunk { from, to, ..chunk };
                    with_model(blocks, to - from, |model| evaluation.feed(model, &part, scratch, clock))?;
                    from = to;
                }
                Ok(())
            })?;
            if let Some((title, fault)) = failed {
                let row = fault.row().unwrap_or(0) as u64;
                let explained = match row.checked_sub(before) {
                    Some(place) if targets.is_bad(place as usize) => {
                        stopped(row, &targets.explain(fault, place as usize, &title))
                    }
                    _ => fault,
                };
                return Err(raise(py, &explained));
            }
            if let Some(tick) = tick {
                self.unshown += to - from;
                if self.shown.elapsed() >= BETWEEN_TICKS {
                    let rows = std::mem::take(&mut self.unshown);
                    let status = self.status(0);
                    tick.call1((rows, status))?;
                    self.shown = Instant::now();
                }
            }
            py.check_signals()?;
            let taken = started.elapsed().max(Duration::from_nanos(1));
            let fit = (to - from) as f64 * (BETWEEN_SIGNALS.as_secs_f64() / taken.as_secs_f64());
            if to - from == self.stride || fit < self.stride as f64 {
                self.stride = (fit as usize).clamp(1, 2 * self.stride).min(LONGEST_STRIDE);
            }
            from = to;
        }
        Ok(())
    }

    /// The status of a run: first metric over the window, number of drifts, row of the last one, and number of
    /// rows whose labels have not arrived.
    fn status(&mut self, run: usize) -> Status {
        let Some(run) = self.runs.get_mut(run) else { return (None, 0, None, 0) };
        let waiting = run.evaluation.waiting();
        let scores = run.evaluation.scores_mut();
        let recent = scores.recent().ok().flatten();
        (recent, scores.marks().len(), scores.marks().last().copied(), waiting)
    }

    /// The row of the last point of the curve.
    fn last_point(&self, run: usize) -> u64 {
        self.runs[run].evaluation.scores().curve().last().map_or(0, |point| point.rows)
    }

    /// Copy the state of the metrics of a run to the given metrics.
    fn copy_metrics(&self, py: Python<'_>, run: usize, metrics: Vec<Py<Metric>>) -> PyResult<()> {
        let scored = self.runs[run].evaluation.scores().metric_set().metrics();
        scored.iter().zip(metrics).try_for_each(|(scored, metric)| {
            metric.bind(py).change(|held| {
                *held = scored.clone();
                Ok(())
            })
        })
    }

    /// End the stream.
    fn finish(&mut self, py: Python<'_>, threads: usize) -> PyResult<()> {
        let failed = self.each(py, threads, &|evaluation, blocks, scratch, clock| {
            with_model(blocks, 1, |model| evaluation.finish(model, scratch, clock))
        })?;
        failed.map_or(Ok(()), |(_, fault)| Err(raise(py, &fault)))
    }

    /// Stop the run: nothing more is learned, and the curves end here.
    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        let failed = self.each(py, 1, &|evaluation, blocks, _, clock| {
            with_model(blocks, 1, |model| evaluation.stop(model, clock))
        })?;
        failed.map_or(Ok(()), |(_, fault)| Err(raise(py, &fault)))
    }

    /// Rows of the stream so far.
    fn rows(&self, run: usize) -> u64 {
        self.runs[run].evaluation.rows()
    }

    /// Keep each prediction of all runs until `predictions` fetches it.
    fn keep_predictions(&mut self) {
        self.runs.iter_mut().for_each(|run| run.evaluation.keep_predictions());
    }

    /// The predictions of a run since the last call: class codes (-1 for none), numbers (NaN for none) and the
    /// probabilities of the predicted classes.
    fn predictions<'py>(&mut self, py: Python<'py>, run: usize) -> Recorded<'py> {
        let predictions = self.runs[run].evaluation.predictions();
        (
            predictions.classes.into_pyarray(py),
            predictions.numbers.into_pyarray(py),
            predictions.probabilities.into_pyarray(py),
        )
    }

    /// Skip a row that could not be read.
    fn unreadable(&mut self, py: Python<'_>, message: &str) -> PyResult<()> {
        for run in &mut self.runs {
            run.evaluation.unreadable(Fault::value(message)).or_raise(py)?;
        }
        Ok(())
    }

    /// Score a prediction of a model written in Python.
    #[pyo3(signature = (run, model, row, y, predicted, probabilities, w, waiting))]
    #[allow(clippy::too_many_arguments)]
    fn observe(
        &mut self,
        py: Python<'_>,
        run: usize,
        model: &Bound<'_, PyAny>,
        row: u64,
        y: &Bound<'_, PyAny>,
        predicted: &Bound<'_, PyAny>,
        probabilities: Option<&Bound<'_, PyDict>>,
        w: f64,
        waiting: usize,
    ) -> PyResult<()> {
        let probe = PythonProbe { started: self.started, model, waiting };
        let run = &mut self.runs[run];
        let scores = run.evaluation.scores_mut();
        if scores.metric_set().scores_numbers() {
            let number = if predicted.is_none() { f64::NAN } else { predicted.extract()? };
            return scores.number(row, y.extract()?, number, w, &probe).or_raise(py);
        }
        let mut prediction = ClassPrediction::default();
        if let Some(probabilities) = probabilities {
            for (label, probability) in probabilities.iter() {
                let code = run.known.intern(&read_label(&label)?) as usize;
                if prediction.probabilities.len() <= code {
                    prediction.probabilities.resize(code + 1, 0.0);
                }
                prediction.probabilities[code] = probability.extract()?;
            }
        }
        if !predicted.is_none() {
            prediction.class = Some(run.known.intern(&read_label(predicted)?));
        }
        let truth = run.known.intern(&read_label(y)?);
        scores.class(row, &run.known, truth, &prediction, w, &probe).or_raise(py)
    }

    /// Compare scores of an anomaly detector for consecutive rows with their labels, given as indices into
    /// distinct ones. A score is the probability of an anomaly.
    #[pyo3(signature = (run, model, row, labels, indices, anomaly_scores, w))]
    #[allow(clippy::too_many_arguments)]
    fn observe_scores(
        &mut self,
        py: Python<'_>,
        run: usize,
        model: &Bound<'_, PyAny>,
        row: u64,
        labels: Vec<Bound<'_, PyAny>>,
        indices: Vec<usize>,
        anomaly_scores: &Bound<'_, PyAny>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let probe = PythonProbe { started: self.started, model, waiting: 0 };
        let run = &mut self.runs[run];
        let [normal, anomaly] = [false, true].map(|class| run.known.intern(&Label::Bool(class)));
        let labels = labels.iter().map(|label| Ok(run.known.intern(&read_label(label)?)));
        let truths = labels.collect::<PyResult<Vec<u32>>>()?;
        let anomaly_scores = read_numbers(anomaly_scores)?;
        let weights = w.map(read_numbers).transpose()?;
        check_length(py, "y", Some(indices.len()), anomaly_scores.len())?;
        check_length(py, "w", weights.as_ref().map(Vec::len), anomaly_scores.len())?;
        let mut prediction = ClassPrediction::default();
        prediction.probabilities.resize(normal.max(anomaly) as usize + 1, 0.0);
        for (place, (&index, &score)) in indices.iter().zip(&anomaly_scores).enumerate() {
            let Some(&truth) = truths.get(index) else { break };
            prediction.probabilities[normal as usize] = 1.0 - score;
            prediction.probabilities[anomaly as usize] = score;
            prediction.class = Some(if score >= 0.5 { anomaly } else { normal });
            let w = weights.as_ref().map_or(1.0, |weights| weights[place]);
            let scores = run.evaluation.scores_mut();
            scores.class(row + place as u64, &run.known, truth, &prediction, w, &probe).or_raise(py)?;
        }
        Ok(())
    }

    /// Score the clusters of consecutive rows: −1 for none, with the distances to the centres of this and the next cluster as
    /// two columns if they are known, and with true labels as indices into distinct ones, negative for none.
    #[pyo3(signature = (run, model, row, labels, indices, clusters, distances, w))]
    #[allow(clippy::too_many_arguments)]
    fn observe_clusters(
        &mut self,
        py: Python<'_>,
        run: usize,
        model: &Bound<'_, PyAny>,
        row: u64,
        labels: Vec<Bound<'_, PyAny>>,
        indices: Option<Vec<i64>>,
        clusters: Vec<i64>,
        distances: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let probe = PythonProbe { started: self.started, model, waiting: 0 };
        let run = &mut self.runs[run];
        let labels = labels.iter().map(|label| Ok(run.known.intern(&read_label(label)?)));
        let truths = labels.collect::<PyResult<Vec<u32>>>()?;
        let distances = match &distances {
            Some((own, next)) => Some((read_numbers(own)?, read_numbers(next)?)),
            None => None,
        };
        let weights = w.map(read_numbers).transpose()?;
        check_length(py, "y", indices.as_ref().map(Vec::len), clusters.len())?;
        check_length(py, "w", weights.as_ref().map(Vec::len), clusters.len())?;
        check_length(
            py,
            "distances",
            distances.as_ref().map(|(own, next)| own.len().min(next.len())),
            clusters.len(),
        )?;
        let mut codes: Vec<Option<u32>> = Vec::new();
        for (place, &cluster) in clusters.iter().enumerate() {
            let outcome = usize::try_from(cluster).ok().map(|index| {
                let known = codes.get(index).copied().flatten();
                let code = known.unwrap_or_else(|| {
                    let code = run.known.intern(&Label::Int(cluster));
                    if index < MOST_CACHED {
                        codes.resize(codes.len().max(index + 1), None);
                        codes[index] = Some(code);
                    }
                    code
                });
                let truth = indices.as_ref().and_then(|indices| usize::try_from(indices[place]).ok());
                ClusterOutcome {
                    truth: truth.and_then(|index| truths.get(index).copied()),
                    cluster: code,
                    distances: distances.as_ref().map(|(own, next)| (own[place], next[place])),
                }
            });
            let w = weights.as_ref().map_or(1.0, |weights| weights[place]);
            let scores = run.evaluation.scores_mut();
            scores.cluster(row + place as u64, &run.known, outcome, w, &probe).or_raise(py)?;
        }
        Ok(())
    }

    /// Skip a row that a model written in Python could not process.
    fn skip_row(&mut self, run: usize, row: u64, message: &str) {
        self.runs[run].evaluation.scores_mut().skip_row(row, Fault::value(message));
    }

    /// End the stream of a model written in Python.
    fn finish_scores(&mut self, py: Python<'_>, run: usize, model: &Bound<'_, PyAny>) -> PyResult<()> {
        let probe = PythonProbe { started: self.started, model, waiting: 0 };
        self.runs[run].busy = self.started.elapsed().as_secs_f64();
        self.runs[run].evaluation.scores_mut().finish(&probe).or_raise(py)
    }

    /// The result of a run, as plain data.
    fn result<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let run = &self.runs[run];
        let scores = run.evaluation.scores();
        let curve = scores.curve();
        let result = PyDict::new(py);
        let width = 2 * scores.metric_set().metrics().len();
        let positive = scores.metric_set().positive_codes();
        let values: Vec<f64> = curve.iter().flat_map(|point| point.values.of(&positive)).collect();
        result.set_item("rows", curve.iter().map(|point| point.rows).collect::<Vec<_>>().into_pyarray(py))?;
        result
            .set_item("seconds", curve.iter().map(|point| point.seconds).collect::<Vec<_>>().into_pyarray(py))?;
        result.set_item(
            "memory",
            curve.iter().map(|point| point.memory as u64).collect::<Vec<_>>().into_pyarray(py),
        )?;
        result.set_item(
            "waiting",
            curve.iter().map(|point| point.waiting as u64).collect::<Vec<_>>().into_pyarray(py),
        )?;
        result.set_item("values", values.into_pyarray(py).reshape([curve.len(), width])?)?;
        result.set_item("drifts", scores.marks().to_vec())?;
        result.set_item("confusion", run.confusion(py)?)?;
        result.set_item("calibration", run.calibration(py)?)?;
        let pairs: Vec<Vec<f64>> =
            scores.sample().pairs().iter().map(|pair| vec![pair.row as f64, pair.truth, pair.predicted]).collect();
        let sample = if pairs.is_empty() { None } else { Some(PyArray2::from_vec2(py, &pairs)?) };
        result.set_item("sample", sample)?;
        let counts = scores.counts();
        result.set_item("scored", counts.scored)?;
        result.set_item("warmup", counts.warmup)?;
        result.set_item("unanswered", counts.unanswered)?;
        result.set_item("skipped", counts.skipped)?;
        result.set_item("arrived", scores.rows())?;
        result.set_item("busy", run.busy)?;
        let refusals: Vec<(u64, String)> =
            scores.refusals().iter().map(|(row, fault)| (*row, fault.message().to_string())).collect();
        result.set_item("refusals", refusals)?;
        Ok(result)
    }

    /// The number of rows whose labels have not arrived, and the bytes held by the evaluation.
    fn waiting(&self, run: usize) -> (usize, usize) {
        (self.runs[run].evaluation.waiting(), self.runs[run].evaluation.memory())
    }
}

type Work<'a> = dyn Fn(
        &mut Evaluation,
        &mut Blocks<'_, Guarded>,
        &mut Scratch,
        &(dyn Fn() -> f64 + Sync),
    ) -> millstream_core::Result<()>
    + Sync
    + 'a;

impl Prequential {
    fn role(&self, py: Python<'_>) -> PyResult<Role> {
        match self.runs.first().and_then(|run| run.model.as_ref()) {
            Some(model) => Ok(model.get().read(py)?.held::<Root>(py)?.role()),
            None => Ok(Role::Classifier),
        }
    }

    /// Run `work` for each model, on several threads.
    fn each(&mut self, py: Python<'_>, threads: usize, work: &Work<'_>) -> PyResult<Option<(String, Fault)>> {
        let models: Vec<Py<Part>> =
            self.runs.iter().filter_map(|run| run.model.as_ref().map(|model| model.clone_ref(py))).collect();
        // Evaluations in different threads must open their sessions in the same order.
        let mut order: Vec<usize> = (0..models.len()).collect();
        order.sort_by_key(|&place| models[place].as_ptr() as usize);
        let mut sessions: Vec<Option<Session<'_, Guarded>>> = models.iter().map(|_| None).collect();
        for place in order {
            sessions[place] = Some(models[place].get().session(py)?);
        }
        let mut faults: Vec<Option<Fault>> = models.iter().map(|_| None).collect();
        let runs = self.runs.iter_mut().filter(|run| run.model.is_some());
        let blocks = sessions.iter_mut().flatten().map(|session| &mut session.blocks);
        let jobs: Vec<_> = runs.zip(blocks).zip(&mut faults).collect();
        py.detach(|| {
            let workers = threads.clamp(1, jobs.len().max(1));
            let jobs = Mutex::new(jobs.into_iter());
            let labour = || loop {
                let Some(((run, blocks), fault)) = jobs.lock().ok().and_then(|mut jobs| jobs.next()) else {
                    return;
                };
                // The seconds of a model exclude reading and the other models.
                let (begun, before) = (Instant::now(), run.busy);
                let clock = || before + begun.elapsed().as_secs_f64();
                *fault = work(&mut run.evaluation, blocks, &mut run.scratch, &clock).err();
                run.busy += begun.elapsed().as_secs_f64();
            };
            std::thread::scope(|scope| {
                for _ in 1..workers {
                    scope.spawn(labour);
                }
                labour();
            });
        });
        drop(sessions);
        for model in &models {
            model.get().write(py)?.sync_names(py)?;
        }
        for (model, fault) in models.iter().zip(faults) {
            if let Some(fault) = fault {
                return Ok(Some((model.get().read(py)?.held::<Root>(py)?.title().to_string(), fault)));
            }
        }
        Ok(None)
    }
}

/// Run `work` on a locked model, as one block of `rows` rows.
fn with_model(
    blocks: &mut Blocks<'_, Guarded>,
    rows: usize,
    work: impl FnOnce(&mut held::Model) -> millstream_core::Result<()>,
) -> millstream_core::Result<()> {
    let done = blocks.block(rows, |guarded| guarded.change::<Root, _>(work)).flatten();
    done.unwrap_or_else(|| Err(broken()))
}

fn take_detector(py: Python<'_>, description: &str) -> PyResult<Box<dyn DriftDetector>> {
    let description = registry::resolve(&read_description(py, description)?).or_raise(py)?;
    match registry::build_resolved(&description).or_raise(py)? {
        Built::DriftDetector(detector) => Ok(detector),
        _ => Err(raise(py, &Fault::wrong_type("detector must be a drift detector"))),
    }
}
