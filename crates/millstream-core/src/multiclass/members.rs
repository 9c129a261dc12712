//! Learners that all learn every example, or none of them does.
//!
//! A learner takes nothing back, and one of them may refuse an example that others have already learned. So
//! copies of the members are kept with the examples since: when one refuses, the copies learn these again and
//! take the members' place. Copies are renewed when the kept examples weigh as much as the members do, so
//! they cost no more than the examples' own copying, and twice the memory.

use crate::fault::Result;
use crate::role::Classifier;
use crate::row::{Row, RowBuffer, Scratch};

const FEWEST: usize = 64;
const MOST: usize = 4096;

/// Members by code; a class that has not come has none.
pub type Team = Vec<Option<Box<dyn Classifier>>>;

#[derive(Default)]
pub struct Members {
    now: Team,
    before: Team,
    since: Vec<Example>,
    /// How many of `since` are in use; the others are room.
    kept: usize,
    /// How many to keep until the copies are renewed; 0 before there are any.
    interval: usize,
    held: Held,
}

/// The way back to the members at `hold`.
#[derive(Default)]
enum Held {
    #[default]
    Nothing,
    /// These members hold what they overwrite; the others came later.
    Members(Vec<bool>),
    /// Copies: the members were replaced since.
    Copies(Team),
}

#[derive(Clone, Default)]
struct Example {
    x: RowBuffer,
    y: u32,
    w: f64,
}

/// Copies, which hold nothing of what they overwrite.
fn copy_of(team: &Team) -> Team {
    let mut copies: Team = team.iter().map(|member| member.as_ref().map(|member| member.duplicate())).collect();
    copies.iter_mut().flatten().for_each(|member| member.release());
    copies
}

/// Each member learns whether the class is its own.
fn teach(team: &mut Team, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
    for (code, member) in team.iter_mut().enumerate() {
        if let Some(member) = member {
            member.learn(x, u32::from(code == y as usize), w, scratch)?;
        }
    }
    Ok(())
}

impl Clone for Members {
    fn clone(&self) -> Self {
        Members { now: copy_of(&self.now), ..Members::default() }
    }
}

impl Members {
    pub fn new(team: Team) -> Self {
        Members { now: team, ..Members::default() }
    }

    pub fn team(&self) -> &Team {
        &self.now
    }

    /// For changes other than learning; the copies are made anew before the next example.
    pub fn team_mut(&mut self) -> &mut Team {
        self.interval = 0;
        &mut self.now
    }

    /// See `Part::hold`; likewise `restore` and `release`. False if one of them cannot.
    pub fn hold(&mut self) -> bool {
        let holds = self.now.iter_mut().flatten().all(|member| member.hold());
        match holds {
            true => self.held = Held::Members(self.now.iter().map(Option::is_some).collect()),
            false => self.release(),
        }
        holds
    }

    pub fn come_back(&mut self) {
        match std::mem::take(&mut self.held) {
            Held::Nothing => {}
            Held::Copies(team) => *self.team_mut() = team,
            Held::Members(there) => restore(self.team_mut(), &there),
        }
    }

    pub fn release(&mut self) {
        self.held = Held::Nothing;
        self.now.iter_mut().flatten().for_each(|member| member.release());
    }

    pub fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        if self.kept >= self.interval {
            self.renew(x);
        }
        if let Err(fault) = teach(&mut self.now, x, y, w, scratch) {
            self.restore(scratch)?;
            return Err(fault);
        }
        if self.since.len() == self.kept {
            self.since.push(Example::default());
        }
        let example = &mut self.since[self.kept];
        example.x.copy_from(x);
        (example.y, example.w) = (y, w);
        self.kept += 1;
        Ok(())
    }

    fn renew(&mut self, x: Row<'_>) {
        self.before = copy_of(&self.now);
        self.kept = 0;
        let listed = match x {
            Row::Plain(values) | Row::Mixed(values, _) => values.len(),
            Row::Sparse(sparse) => sparse.values.len(),
        };
        self.interval = (memory_of(&self.now) / (16 * (listed + 1))).clamp(FEWEST, MOST);
    }

    /// Back to before the example that a member has refused.
    fn restore(&mut self, scratch: &mut Scratch) -> Result<()> {
        if let Held::Members(there) = &self.held {
            let mut team = std::mem::take(&mut self.now);
            restore(&mut team, there);
            self.held = Held::Copies(team);
        }
        self.now = copy_of(&self.before);
        for example in &self.since[..self.kept] {
            teach(&mut self.now, example.x.row(), example.y, example.w, scratch)?;
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let examples = self.since.iter().map(|example| std::mem::size_of::<Example>() + example.x.memory());
        memory_of(&self.now) + memory_of(&self.before) + examples.sum::<usize>()
    }
}

/// Back to where the members were held; those that came later are no more.
fn restore(team: &mut Team, there: &[bool]) {
    team.truncate(there.len());
    for (member, &there) in team.iter_mut().zip(there) {
        *member = member.take().filter(|_| there);
    }
    team.iter_mut().flatten().for_each(|member| member.restore());
}

fn memory_of(team: &Team) -> usize {
    team.iter().flatten().map(|member| 16 + member.memory()).sum()
}
