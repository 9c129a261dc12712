//! Predicting and learning one example.
//!
//! Learning is atomic for the schema and labels too: features, nominal values and classes introduced by a refused example
//! are rolled back.

use crate::batch::MODERATE;
use crate::declaration::Role;
use crate::fault::{Fault, Result, Shown};
use crate::labels::LabelsMark;
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::task::{Anomalies, Answer, Classes, Numbers, Target, Task, Truth};

use super::root::{for_task, Root, RootTask};
use super::{Holdable, Model, Source};

impl Model {
    pub fn predict<S: Source>(
        &self,
        source: &mut S,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        for_task!(self.part, T => self.predict_row::<T>(x, want, answer, scratch),
            transformer => Err(self.cannot("predict")))
    }

    #[inline]
    fn predict_row<T: RootTask>(
        &self,
        x: Row<'_>,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let prediction = T::prediction(answer);
        T::learner(&self.part)?.predict(x, want, prediction, scratch);
        T::keep_known(prediction, self.labels.known_classes(), want);
        Ok(())
    }

    /// The signed distance to the decision boundary, or the score of an anomaly detector.
    pub fn score<S: Source>(&self, source: &mut S, scratch: &mut Scratch) -> Result<f64> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        if self.role() == Role::AnomalyDetector {
            let mut answer = Answer::default();
            self.predict_row::<Anomalies>(x, Want::Class, &mut answer, scratch)?;
            return Ok(answer.number);
        }
        let function = for_task!(self.part, T => T::learner(&self.part)?.decision_function(), transformer => None);
        function.and_then(|function| function.score(x, scratch)).ok_or_else(|| self.cannot("score"))
    }

    /// Two numbers between which the target lies with probability `coverage`.
    pub fn interval<S: Source>(&self, source: &mut S, coverage: f64, scratch: &mut Scratch) -> Result<(f64, f64)> {
        if !(coverage > 0.0 && coverage < 1.0) {
            return Err(Fault::value(format!("{}: coverage must be in (0, 1), got {coverage}", self.title)));
        }
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        if self.role() != Role::Regressor {
            return Err(self.cannot("predict an interval"));
        }
        let interval = for_task!(self.part, T => T::learner(&self.part)?.interval(), transformer => None);
        interval.and_then(|interval| interval.interval(x, coverage, scratch)).ok_or_else(|| {
            Fault::wrong_type(format!(
                "{}: does not predict intervals; linear_model.BayesianLinearRegression does",
                self.title
            ))
        })
    }

    /// Visit the stored examples that are nearest to a row: distance, age, row, target and weight.
    pub fn neighbors<S: Source>(
        &self,
        source: &mut S,
        most: Option<usize>,
        scratch: &mut Scratch,
        then: &mut dyn FnMut(f64, usize, Row<'_>, Truth, f64),
    ) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        for_task!(self.part, T => {
            let neighbors = T::learner(&self.part)?.neighbors();
            let neighbors = neighbors.ok_or_else(|| self.cannot("find neighbours"))?;
            neighbors.nearest(x, most, scratch, &mut |found| {
                then(found.distance, found.age, found.row, found.target(), found.weight);
            });
            Ok(())
        }, transformer => Err(self.cannot("find neighbours")))
    }

    pub fn transform<S: Source>(&self, source: &mut S, out: &mut RowBuffer, scratch: &mut Scratch) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        let transformer = self.part.estimator.transformer().ok_or_else(|| self.cannot("transform"))?;
        transformer.transform(x, out, scratch);
        Ok(())
    }

    /// Learn one example, or leave everything as it was.
    pub fn learn<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for_task!(self.part,
            T => self.admit::<T, S>(source, target, w, |root, x, y| T::learner_mut(root)?.learn(x, y, w, scratch)),
            transformer => self.learn_transformer(source, target, w, scratch))
    }

    pub(super) fn learn_transformer<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check_weight(w)?;
        let mark = self.labels.mark();
        let y = match target {
            Target::Number(number) if self.part.abilities.uses_target && w > 0.0 => {
                self.check_target::<Numbers>(target)?;
                Truth::Number(number)
            }
            Target::Class(_) if self.part.abilities.uses_target && w > 0.0 => {
                self.check_target::<Classes>(target)?;
                Truth::Class(Classes::admit(target, &mut self.labels))
            }
            Target::None | Target::Number(_) | Target::Class(_) => Truth::None,
        };
        let code = match y {
            Truth::Class(code) => code,
            Truth::Number(_) | Truth::None => 0,
        };
        self.admit_row(source, w, (mark, code), |root, x| match root.estimator.transformer_mut() {
            Some(transformer) => transformer.learn(x, y, w, scratch),
            None => Ok(()),
        })
    }

    /// Admit the names and the target of an example and pass it to `learn`; after a fault everything is unchanged.
    #[inline]
    pub(super) fn admit<T: RootTask, S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        learn: impl FnOnce(&mut Root, Row<'_>, T::Truth) -> Result<()>,
    ) -> Result<()> {
        self.check_weight(w)?;
        let mark = self.labels.mark();
        let y = match T::known(target, &self.labels) {
            Some(y) => y,
            None => {
                self.check_target::<T>(target)?;
                match w > 0.0 {
                    true => T::admit(target, &mut self.labels),
                    false => T::Truth::default(),
                }
            }
        };
        let code = match T::truth(y) {
            Truth::Class(code) => code,
            Truth::Number(_) | Truth::None => 0,
        };
        self.part.infallible = self.part.infallible && T::is_moderate(y);
        self.admit_row(source, w, (mark, code), |root, x| learn(root, x, y))
    }

    #[inline]
    fn admit_row<S: Source>(
        &mut self,
        source: &mut S,
        w: f64,
        (mark, code): (LabelsMark, u32),
        learn: impl FnOnce(&mut Root, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        if w == 0.0 {
            source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
            return Ok(());
        }
        self.schema.mark();
        let learned = match source.admit(&mut self.schema) {
            Ok(()) => {
                if self.schema.has_new_names() {
                    self.part.bind(&self.schema);
                }
                match source.row(&self.schema) {
                    Ok(x) => {
                        self.part.infallible = self.part.infallible && w <= MODERATE && x.is_moderate();
                        learn(&mut self.part, x)
                    }
                    Err(fault) => Err(fault.by(&self.title)),
                }
            }
            Err(fault) => Err(fault.by(&self.title)),
        };
        if let Err(fault) = learned {
            self.labels.rollback(mark, code);
            if self.schema.changed() {
                let bound = self.schema.has_new_names();
                self.schema.rollback();
                source.forget();
                if bound {
                    self.part.bind(&self.schema);
                }
            }
            return Err(fault);
        }
        self.count += 1;
        Ok(())
    }

    /// Predict, then learn. After a fault nothing is learned and the prediction is undefined.
    pub fn step<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for_task!(self.part, T => self.step_row::<T, S>(source, target, w, want, answer, scratch),
            transformer => Err(self.cannot("predict")))
    }

    fn step_row<T: RootTask, S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check_weight(w)?;
        let known = T::known(target, &self.labels);
        if known.is_none() {
            self.check_target::<T>(target)?;
        }
        let Some(y) = known.filter(|_| w > 0.0 && !source.has_news(&self.schema)) else {
            self.predict(source, want, answer, scratch)?;
            return self.learn(source, target, w, scratch);
        };
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        self.part.infallible = self.part.infallible && x.is_moderate() && T::is_moderate(y) && w <= MODERATE;
        let prediction = T::prediction(answer);
        T::learner_mut(&mut self.part)?.step(x, y, w, want, prediction, scratch)?;
        T::keep_known(prediction, self.labels.known_classes(), want);
        self.count += 1;
        Ok(())
    }

    /// Refuse a row that cannot be predicted or transformed.
    #[inline]
    pub(super) fn check_row(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        match self.part.abilities.checks_rows {
            true => self.part.part().check(x, scratch),
            false => Ok(()),
        }
    }

    #[inline]
    pub(super) fn check_weight(&self, w: f64) -> Result<()> {
        if (0.0..f64::INFINITY).contains(&w) {
            return Ok(());
        }
        let got = Shown(w);
        Err(Fault::value(format!("{}: the weight must be finite and not negative, got {got}", self.title)))
    }

    pub(super) fn check_target<T: RootTask>(&self, target: Target<'_>) -> Result<()> {
        T::check(target, &self.labels, &self.part.abilities).map_err(|fault| fault.by(&self.title))
    }

    /// A copy with every feature and value of a source, to `transform` features that were never learned.
    pub fn acquainted<S: Source>(&self, source: &mut S) -> Result<Self> {
        let mut copy = self.clone();
        copy.schema.mark();
        source.admit(&mut copy.schema).map_err(|fault| fault.by(&self.title))?;
        copy.part.bind(&copy.schema);
        Ok(copy)
    }
}
