//! Shapes of dependency, for measuring: for each operation the variables that it reads and the one
//! that it mutates, by number. The benches, the examples and, through `patterns dump`, the programs
//! of the peers all take their shapes from here, so everybody runs the same operations.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each program includes this module and uses a part of it"
)]

mod graphs;
mod grids;

use ferromix_engine::{Engine, Var};

/// The five shapes that the targets are about.
pub const FIVE: [&str; 5] = ["independent", "chain", "fan", "random", "wide"];
/// Shapes of graph algorithms.
pub const GRAPHS: [&str; 4] = ["relay", "tree", "wavefront", "traversal"];
/// Shapes of Task Bench.
pub const GRIDS: [&str; 4] = ["stencil_1d", "fft", "spread", "random_nearest"];

/// Points of a grid shape, unless something else is asked for.
const WIDTH: usize = 64;

/// A list of operations.
#[derive(Default)]
pub struct Shape {
    /// What it is called.
    pub name: String,
    /// How many variables it uses.
    pub variables: usize,
    vars: Vec<u32>,
    /// Where the variables of each operation end; the last one is mutated.
    ends: Vec<u32>,
}

impl Shape {
    /// The shape of this name, of so many operations.
    pub fn named(name: &str, ops: usize) -> Option<Self> {
        if GRIDS.contains(&name) {
            return Self::grid(name, WIDTH, ops);
        }
        let mut random = Random::new();
        let (variables, mut op): (usize, graphs::Rule) = match name {
            // Operation i mutates variable i mod 1024.
            "independent" => (1024, Box::new(|i, vars| vars.push(i as u32 % 1024))),
            // All mutate one variable.
            "chain" => (1, Box::new(|_, vars| vars.push(0))),
            // A writer, then 63 readers of what it wrote, each of which mutates a variable of its
            // own.
            "fan" => (64, Box::new(|i, vars| fan(i as u32 % 64, vars))),
            // 2 reads and 1 write of 128 variables.
            "random" => (128, Box::new(move |_, vars| random.distinct(3, 128, vars))),
            // 8 reads and 1 write, side by side, of 1024 variables.
            "wide" => {
                let run = move |_, vars: &mut Vec<u32>| {
                    let base = random.below(1015);
                    vars.extend(base..base + 9);
                };
                (1024, Box::new(run))
            }
            _ => graphs::rule(name)?,
        };
        let mut shape = Self::empty(name, variables);
        let mut vars = Vec::new();
        for i in 0..ops {
            op(i, &mut vars);
            shape.add(&mut vars);
        }
        Some(shape)
    }

    /// A shape of Task Bench, of steps over so many points.
    pub fn grid(name: &str, width: usize, ops: usize) -> Option<Self> {
        let sources = grids::rule(name, width)?;
        let mut shape = Self::empty(name, 2 * width);
        let mut vars = Vec::new();
        for op in 0..ops {
            let (step, point) = (op / width, op % width);
            // Two variables per point, for odd and for even steps.
            let (here, before) = (step % 2 * width, (step + 1) % 2 * width);
            if step > 0 {
                sources(step, point, &mut vars);
                vars.iter_mut().for_each(|var| *var += before as u32);
            }
            vars.push((here + point) as u32);
            shape.add(&mut vars);
        }
        Some(shape)
    }

    fn empty(name: &str, variables: usize) -> Self {
        Self {
            name: name.to_owned(),
            variables,
            ..Self::default()
        }
    }

    /// Adds an operation, and empties the list of what it reads and, last, mutates.
    fn add(&mut self, vars: &mut Vec<u32>) {
        self.vars.append(vars);
        self.ends.push(self.vars.len() as u32);
    }

    /// How many operations.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The variables of each operation, the one that it mutates last.
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.spans().map(|(begin, end)| &self.vars[begin..end])
    }

    fn spans(&self) -> impl Iterator<Item = (usize, usize)> {
        let begins = std::iter::once(&0).chain(&self.ends);
        begins
            .zip(&self.ends)
            .map(|(&begin, &end)| (begin as usize, end as usize))
    }

    /// The shape over new variables of an engine.
    pub fn on(&self, engine: &Engine) -> Binding<'_> {
        let made: Vec<Var> = (0..self.variables).map(|_| engine.new_variable()).collect();
        let vars = self.vars.iter().map(|&var| made[var as usize]).collect();
        Binding { shape: self, vars }
    }
}

fn fan(place: u32, vars: &mut Vec<u32>) {
    if place != 0 {
        vars.push(0);
    }
    vars.push(place);
}

/// A shape over the variables of an engine.
pub struct Binding<'a> {
    shape: &'a Shape,
    vars: Vec<Var>,
}

impl Binding<'_> {
    /// What each operation reads, and what it mutates.
    pub fn ops(&self) -> impl Iterator<Item = (&[Var], &[Var])> {
        self.shape.spans().map(|(begin, end)| {
            let (reads, writes) = self.vars[begin..end].split_at(end - begin - 1);
            (reads, writes)
        })
    }
}

/// Marsaglia's xorshift64: the shapes are the same in every run.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(88_172_645_463_325_252)
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as u32 % limit
    }

    /// Appends so many different numbers to an empty list.
    fn distinct(&mut self, count: usize, limit: u32, into: &mut Vec<u32>) {
        while into.len() < count {
            let number = self.below(limit);
            if !into.contains(&number) {
                into.push(number);
            }
        }
    }
}
