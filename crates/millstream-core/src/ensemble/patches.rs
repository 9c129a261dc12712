//! Streaming random patches: members on random features and rows, which are replaced when their errors grow.
//!
//! Gomes, H. M., Read, J. and Bifet, A. (2019), "Streaming random patches for evolving data stream classification",
//! ICDM, algorithm 1; Gomes, Montiel, Mastelini, Pfahringer and Bifet (2020), "On ensemble techniques for data stream
//! regression". Two detectors receive a member's errors. When the warning detector finds a change, a background learner
//! starts with its own random features; when the drift detector does, it replaces the member, or a new one does if
//! there is none. Votes are weighted by the member's accuracy since it started (for a regressor, by the inverse of its
//! mean error).
//!
//! Departures from MOA and River: the record of a learner counts from its first row, also in the background, so that it
//! does not start with a weight of 0; and errors are those before a row is learned.
//!
//! Members are independent. Within a batch, a learner processes the rows as if it were to stay, and the detectors
//! follow its errors; what it learned after the row at which it is replaced is discarded with it. So nothing is
//! restored here either.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::numeric::random::Random;
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::bagged::{Detector, Resampling};
use super::combined::EnsembleRule;
use super::engine::{Coupling, Member, MemberOutput};
use super::learner::MemberLearner;
use super::record::{Record, Spread};
use super::subspace::{Size, Subspace};

const PURPOSE: u64 = 0x7061_7463_6800;

/// The settings that all members share.
pub struct PatchSettings<L> {
    pub name: &'static str,
    pub learner: L,
    pub size: Size,
    /// None if every row is learned once.
    pub resampling: Option<Resampling>,
    pub drift: Option<Detector>,
    pub warning: Option<Detector>,
    pub weighted: bool,
}

/// A learner with its features and its record.
#[derive(Clone)]
struct Side<L> {
    learner: L,
    subspace: Subspace,
    /// The key from which the subset is drawn.
    key: u64,
    record: Record,
}

#[derive(Clone)]
pub struct Patch<L> {
    settings: Arc<PatchSettings<L>>,
    /// The key of its subsets: seed and index.
    identity: u64,
    front: Side<L>,
    back: Option<Side<L>>,
    random: Random,
    drift: Option<Detector>,
    warning: Option<Detector>,
    spread: Spread,
    /// The number of learners so far.
    generation: u64,
    drifts: u64,
    warnings: u64,
    /// Names of all features, for learners that need them.
    names: Schema,
    at_savepoint: Option<Box<AtSavepoint<L>>>,
}

/// The state at a savepoint.
#[derive(Clone)]
struct AtSavepoint<L> {
    /// The learners at the savepoint, if one was added, removed or given other features since; otherwise they record
    /// what they overwrite.
    sides: Option<(Side<L>, Option<Side<L>>)>,
    records: (Record, Option<Record>),
    random: Random,
    drift: Option<Detector>,
    warning: Option<Detector>,
    spread: Spread,
    generation: u64,
    drifts: u64,
    warnings: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedSide {
    learner: ByteBuf,
    subspace: Subspace,
    key: u64,
    record: Record,
}

#[derive(Serialize, Deserialize)]
struct State {
    front: SavedSide,
    back: Option<SavedSide>,
    random: Random,
    drift: Option<ByteBuf>,
    warning: Option<ByteBuf>,
    spread: Spread,
    generation: u64,
    drifts: u64,
    warnings: u64,
}

impl<L: MemberLearner> Side<L> {
    fn saved(&self) -> Result<SavedSide> {
        let learner = self.learner.part().save()?.into();
        Ok(SavedSide { learner, subspace: self.subspace.clone(), key: self.key, record: self.record })
    }

    fn restored(saved: SavedSide, fresh: &L, size: Size) -> Result<Self> {
        let who = "ensemble: a member";
        require(
            who,
            saved.record.is_sound() && saved.subspace.is_sound(),
            "its record or features are not valid",
        )?;
        require(who, size != Size::All || saved.subspace.slots().is_empty(), "it has features of its own")?;
        let mut learner = fresh.clone();
        learner.part_mut().load(&saved.learner)?;
        Ok(Side { learner, subspace: saved.subspace, key: saved.key, record: saved.record })
    }

    /// Draw from new features.
    fn grow(&mut self, width: usize, size: Size, names: &Schema) {
        if size != Size::All && self.subspace.grow(width, size, self.key) {
            self.bind(size, names);
        }
    }

    fn bind(&mut self, size: Size, names: &Schema) {
        if self.learner.part().abilities().needs_names {
            match size {
                Size::All => self.learner.part_mut().bind(names),
                Size::Some(_) => self.learner.part_mut().bind(&self.subspace.schema(names)),
            }
        }
    }

    /// Process the rows of a batch with its own features; `buffers` are buffers for them.
    fn process(
        &mut self,
        batch: &Batch<'_, L::Task>,
        size: Size,
        votes: Votes<'_>,
        buffers: [&mut (Vec<f64>, Vec<RowBuffer>); 2],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if batch.is_empty() {
            return None;
        }
        if size == Size::All {
            return self.learner.vote_batch(batch, votes, scratch);
        }
        let [buffers, asked_buffers] = buffers;
        let rows = self.subspace.of(&batch.rows, &mut buffers.0, &mut buffers.1);
        let asked = batch.asked.map(|asked| self.subspace.of(&asked, &mut asked_buffers.0, &mut asked_buffers.1));
        self.learner.vote_batch(&Batch { rows, asked, ..*batch }, votes, scratch)
    }

    fn memory(&self) -> usize {
        self.learner.part().memory() + self.subspace.memory()
    }
}

impl<L: MemberLearner> Patch<L> {
    pub fn new(settings: Arc<PatchSettings<L>>, seed: u64, index: usize) -> Self {
        let identity = Random::new(seed, PURPOSE + 1 + 2 * index as u64).bits();
        let front = Side {
            learner: settings.learner.clone(),
            subspace: Subspace::default(),
            key: identity,
            record: Record::default(),
        };
        Patch {
            identity,
            front,
            back: None,
            random: Random::new(seed, PURPOSE + 2 * index as u64),
            drift: settings.drift.clone(),
            warning: settings.warning.clone(),
            spread: Spread::default(),
            generation: 1,
            drifts: 0,
            warnings: 0,
            names: Schema::default(),
            at_savepoint: None,
            settings,
        }
    }

    /// Keep the learners of the last savepoint, before one is added, removed or given other features.
    fn keep_sides(&mut self) {
        if let Some(AtSavepoint { sides: sides @ None, .. }) = self.at_savepoint.as_deref_mut() {
            let mut copies = (self.front.clone(), self.back.clone());
            copies.0.learner.part_mut().commit();
            copies.1.iter_mut().for_each(|back| back.learner.part_mut().commit());
            let mut front = std::mem::replace(&mut self.front, copies.0);
            let mut back = std::mem::replace(&mut self.back, copies.1);
            front.learner.part_mut().rollback();
            back.iter_mut().for_each(|back| back.learner.part_mut().rollback());
            *sides = Some((front, back));
        }
    }

    /// An unlearned learner with its own features.
    fn begin(&mut self, width: usize) -> Side<L> {
        let key = Random::new(self.identity, self.generation).bits();
        self.generation = self.generation.wrapping_add(1);
        let mut side = Side {
            learner: self.settings.learner.clone(),
            subspace: Subspace::default(),
            key,
            record: Record::default(),
        };
        side.grow(width, self.settings.size, &self.names);
        if self.settings.size == Size::All {
            side.bind(Size::All, &self.names);
        }
        side
    }

    fn trust(&self) -> f64 {
        match self.settings.weighted {
            true => self.front.record.trust::<L::Task>(),
            false => 1.0,
        }
    }

    /// Pass an error to the detectors; returns whether there is a warning, and whether there is a change.
    fn detect(&mut self, error: f64) -> (bool, bool) {
        let told = if L::Task::ERROR_RATE { error } else { self.spread.add(error) };
        let tell = |detector: &mut Option<Detector>| {
            let found = detector.as_mut().map(|Detector(it)| it.update(told).is_ok() && it.verdict().is_worse());
            found.unwrap_or(false)
        };
        (tell(&mut self.warning), tell(&mut self.drift))
    }

    /// Let the background learner process rows, and record its errors.
    fn catch_up(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        to: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let back = self.back.as_mut()?;
        let stride = output.stride;
        output.others.resize(batch.len() * stride, 0.0);
        // Its votes do not count yet, so it does not predict asked rows.
        let part = Batch { asked: None, ..batch.slice(from, to) }.weighted(&output.weights[from..to]);
        let votes = Votes::between(&mut output.others, &mut [], stride, from, to);
        let buffers = [&mut output.buffers, &mut output.asked_buffers];
        let refused = back.process(&part, self.settings.size, votes, buffers, scratch);
        let refused = refused.map(|(row, fault)| (from + row, fault));
        let done = refused.as_ref().map_or(to, |(row, _)| *row);
        for row in from..done {
            let votes = &output.others[row * stride..(row + 1) * stride];
            if let Some(error) = L::error(votes, batch.truths[row]) {
                back.record.add(error, batch.weight(row));
            }
        }
        refused
    }

    /// Process the rows `from` to `n`, which have the same width.
    fn through(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        n: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let (stride, size) = (output.stride, self.settings.size);
        let width = batch.rows.at(from).width();
        if size != Size::All && self.front.subspace.lacks(width) {
            self.keep_sides();
        }
        self.front.grow(width, size, &self.names);
        if let Some(back) = &mut self.back {
            back.grow(width, size, &self.names);
        }
        // The rows at which the front learner started, and at which the background learner continues.
        let (mut begun, mut behind) = (from, from);
        loop {
            let part = batch.slice(begun, n).weighted(&output.weights[begun..n]);
            let votes = Votes::between(&mut output.votes, &mut output.asked, stride, begun, n);
            let buffers = [&mut output.buffers, &mut output.asked_buffers];
            let refused = self.front.process(&part, size, votes, buffers, scratch);
            let refused = refused.map(|(row, fault)| (begun + row, fault));
            let reached = refused.as_ref().map_or(n, |(row, _)| *row);
            let mut changed = None;
            for row in begun..reached {
                output.trust[row] = self.trust();
                let Some(error) = L::error(output.votes(row), batch.truths[row]) else { continue };
                self.front.record.add(error, batch.weight(row));
                let (warning, drift) = self.detect(error);
                if warning && !drift {
                    self.keep_sides();
                    self.warnings = self.warnings.saturating_add(1);
                    self.back = Some(self.begin(width));
                    self.warning = self.settings.warning.clone();
                    behind = row + 1;
                }
                if drift {
                    changed = Some(row);
                    break;
                }
            }
            let end = changed.map_or(reached, |row| row + 1);
            if let Some(refused) = self.catch_up(batch, behind, end, output, scratch) {
                return Some(refused);
            }
            behind = end;
            let Some(row) = changed else { return refused };
            self.keep_sides();
            self.drifts = self.drifts.saturating_add(1);
            self.front = match self.back.take() {
                Some(back) => back,
                None => self.begin(width),
            };
            self.drift = self.settings.drift.clone();
            self.warning = self.settings.warning.clone();
            self.spread = Spread::default();
            begun = row + 1;
            if begun == n {
                return None;
            }
        }
    }
}

impl<L: MemberLearner> Member for Patch<L> {
    type Task = L::Task;

    fn draw(&mut self, batch: &Batch<'_, L::Task>, output: &mut MemberOutput) {
        output.weights.clear();
        let weights = (0..batch.len()).map(|row| batch.weight(row));
        match &self.settings.resampling {
            None => output.weights.extend(weights),
            Some(resampling) => output.weights.extend(weights.map(|w| {
                let times = resampling.times(self.random.unit());
                if times == 0.0 {
                    0.0
                } else {
                    times * w
                }
            })),
        }
    }

    fn process(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        // Rows of a batch have the same width; those that are processed again may differ.
        let mut from = from;
        while from < batch.len() {
            let width = batch.rows.at(from).width();
            let to = match batch.rows {
                Rows::Owned(rows) => (from..rows.len()).find(|&row| rows[row].row().width() != width),
                _ => None,
            };
            let to = to.unwrap_or(batch.len());
            let refused = self.through(batch, from, to, output, scratch);
            if refused.is_some() {
                return refused;
            }
            from = to;
        }
        None
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        if self.settings.size == Size::All {
            self.front.learner.vote(x, votes, scratch);
        } else {
            let mut row = scratch.take_row();
            self.front.subspace.cut(x, &mut row);
            self.front.learner.vote(row.row(), votes, scratch);
            scratch.give_row(row);
        }
        self.trust()
    }

    fn vote_rows(
        &self,
        rows: &Rows<'_>,
        stride: usize,
        votes: &mut [f64],
        trust: &mut [f64],
        scratch: &mut Scratch,
    ) {
        if self.settings.size == Size::All {
            self.front.learner.vote_rows(rows, stride, votes, scratch);
        } else {
            let mut given = scratch.take_rows(rows.len());
            for (row, given) in given.iter_mut().enumerate().take(rows.len()) {
                self.front.subspace.cut(rows.at(row), given);
            }
            self.front.learner.vote_rows(&Rows::Owned(&given[..rows.len()]), stride, votes, scratch);
            scratch.give_rows(given);
        }
        trust.fill(self.trust());
    }

    fn input(&self, schema: &Schema) -> Schema {
        match self.settings.size {
            Size::All => schema.clone(),
            Size::Some(_) => self.front.subspace.schema(schema),
        }
    }

    fn learner(&self) -> Box<dyn Learner<L::Task>> {
        self.front.learner.alone()
    }
}

impl<L: MemberLearner> Part for Patch<L> {
    fn infallible(&self) -> bool {
        let back = self.back.as_ref().is_none_or(|back| back.learner.part().infallible());
        // A new learner has learned nothing large.
        back && self.front.learner.part().infallible() && self.settings.learner.part().infallible()
    }

    fn savepoint(&mut self) -> bool {
        let back = self.back.as_mut().is_none_or(|back| back.learner.part_mut().savepoint());
        if !(back && self.front.learner.part_mut().savepoint()) {
            self.commit();
            return false;
        }
        self.at_savepoint = Some(Box::new(AtSavepoint {
            sides: None,
            records: (self.front.record, self.back.as_ref().map(|back| back.record)),
            random: self.random.clone(),
            drift: self.drift.clone(),
            warning: self.warning.clone(),
            spread: self.spread,
            generation: self.generation,
            drifts: self.drifts,
            warnings: self.warnings,
        }));
        true
    }

    fn rollback(&mut self) {
        let Some(before) = self.at_savepoint.take() else { return };
        let AtSavepoint { sides, records, random, drift, warning, spread, generation, drifts, warnings } = *before;
        match sides {
            Some(sides) => (self.front, self.back) = sides,
            None => {
                self.front.learner.part_mut().rollback();
                self.back.iter_mut().for_each(|back| back.learner.part_mut().rollback());
            }
        }
        self.front.record = records.0;
        if let (Some(back), Some(record)) = (&mut self.back, records.1) {
            back.record = record;
        }
        (self.random, self.drift, self.warning, self.spread) = (random, drift, warning, spread);
        (self.generation, self.drifts, self.warnings) = (generation, drifts, warnings);
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.front.learner.part_mut().commit();
        self.back.iter_mut().for_each(|back| back.learner.part_mut().commit());
    }

    fn save(&self) -> Result<Vec<u8>> {
        let saved = |detector: &Option<Detector>| {
            detector.as_ref().map(|detector| detector.0.save().map(ByteBuf::from)).transpose()
        };
        pack(&State {
            front: self.front.saved()?,
            back: self.back.as_ref().map(Side::saved).transpose()?,
            random: self.random.clone(),
            drift: saved(&self.drift)?,
            warning: saved(&self.warning)?,
            spread: self.spread,
            generation: self.generation,
            drifts: self.drifts,
            warnings: self.warnings,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = self.settings.name;
        let state: State = unpack(who, bytes)?;
        let (fresh, size) = (&self.settings.learner, self.settings.size);
        require(who, state.drift.is_some() == self.drift.is_some(), "a detector is missing")?;
        require(who, state.warning.is_some() == self.warning.is_some(), "a detector is missing")?;
        require(who, state.back.is_none() || self.warning.is_some(), "a learner is in the background")?;
        require(who, state.spread.is_sound(), "its errors are not finite")?;
        self.front = Side::restored(state.front, fresh, size)?;
        self.back = state.back.map(|back| Side::restored(back, fresh, size)).transpose()?;
        for (detector, saved) in [(&mut self.drift, state.drift), (&mut self.warning, state.warning)] {
            if let (Some(detector), Some(bytes)) = (detector, saved) {
                detector.0.load(&bytes)?;
            }
        }
        (self.random, self.spread, self.generation) = (state.random, state.spread, state.generation);
        (self.drifts, self.warnings) = (state.drifts, state.warnings);
        Ok(())
    }

    fn memory(&self) -> usize {
        let detectors = self.drift.iter().chain(&self.warning).map(|detector| detector.0.memory()).sum::<usize>();
        let back = self.back.as_ref().map_or(0, Side::memory);
        std::mem::size_of::<Self>() + self.front.memory() + back + detectors
    }

    fn abilities(&self) -> Abilities {
        self.settings.learner.part().abilities()
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.clone();
        self.front.bind(self.settings.size, &self.names);
        if let Some(back) = &mut self.back {
            back.bind(self.settings.size, &self.names);
        }
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        if self.settings.size == Size::All {
            return self.front.learner.part().check(x, scratch);
        }
        let mut row = scratch.take_row();
        self.front.subspace.cut(x, &mut row);
        let checked = self.front.learner.part().check(row.row(), scratch);
        scratch.give_row(row);
        checked
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let own = self.input(schema);
        json!({
            "weight": self.front.record.weight,
            "error": self.front.record.error,
            "trust": crate::row::finite(self.trust()),
            "features": own.names().map(|name| name.text()).collect::<Vec<_>>(),
            "background": self.back.is_some(),
            "warnings": self.warnings,
            "drifts": self.drifts,
            "model": self.front.learner.part().inspect(&own),
        })
    }

    fn scalars(&self) -> Json {
        json!({ "warnings": self.warnings, "drifts": self.drifts })
    }
}

/// What the members have in common.
pub struct Patches<L>(pub Arc<PatchSettings<L>>);

impl<L> Clone for Patches<L> {
    fn clone(&self) -> Self {
        Patches(self.0.clone())
    }
}

impl<L: MemberLearner> Coupling<Patch<L>> for Patches<L> {}

impl<L: MemberLearner> EnsembleRule<Patch<L>> for Patches<L> {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn unlearned(&self) -> Option<&dyn Part> {
        Some(self.0.learner.part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Rows;
    use crate::declaration::Built;
    use crate::ensemble::leveraging_bagging::adwin;
    use crate::learner::Learner;
    use crate::registry;
    use crate::task::Classes;

    fn member(delta: f64) -> Patch<Box<dyn Learner<Classes>>> {
        let description = registry::resolve(&json!({ "name": "baseline.MajorityClass" })).unwrap();
        let Built::Classifier(learner) = registry::build_resolved(&description).unwrap() else { panic!() };
        let settings = PatchSettings {
            name: "patches",
            learner,
            size: Size::All,
            resampling: None,
            drift: Some(adwin(delta).unwrap()),
            warning: Some(adwin(0.9).unwrap()),
            weighted: true,
        };
        Patch::new(Arc::new(settings), 1, 0)
    }

    #[test]
    fn the_learner_in_the_background_takes_over_with_its_record() {
        // 200 rows of class 0, then 200 of class 1. The majority stays 0 for all of them, so that every row from 200 on
        // is an error, until a warning starts a background learner and a change promotes it.
        let targets: Vec<u32> = (0..400).map(|row| u32::from(row >= 200)).collect();
        let (weights, rows) = (vec![1.0; 400], vec![crate::row::RowBuffer::default(); 400]);
        let batch = Batch::new(Rows::Owned(&rows), &targets, Some(&weights));
        let (mut scratch, mut output) = (Scratch::default(), MemberOutput::for_rows(400, 2));
        let mut whole = member(1e-12);
        whole.draw(&batch, &mut output);
        assert!(whole.process(&batch, 0, &mut output, &mut scratch).is_none());
        assert_eq!(whole.drifts, 1);
        assert!(whole.warnings >= 1 && whole.front.record.weight < 200.0 && whole.front.record.error == 0.0);
        assert_eq!(output.votes(399), [0.0, 1.0]);
        // Its votes are weighted by its own accuracy, 1, and not by that of its predecessor.
        assert_eq!(output.trust[399], 1.0);
        // Row by row it is the same.
        let mut single = member(1e-12);
        for row in 0..400 {
            let one = batch.slice(row, row + 1);
            let mut output = MemberOutput::for_rows(1, 2);
            single.draw(&one, &mut output);
            assert!(single.process(&one, 0, &mut output, &mut scratch).is_none());
        }
        assert_eq!(single.save().unwrap(), whole.save().unwrap());
    }
}
