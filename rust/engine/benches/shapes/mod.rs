//! Five shapes of dependency, for measuring. `independent`: operation i mutates variable i mod
//! 1024. `chain`: all mutate one variable. `fan`: a writer, then 63 readers. `random`: 2 reads and
//! 1 write of 128 variables. `wide`: 8 reads and 1 write of 1024 variables.

#![allow(unreachable_pub)]

use ferromix_engine::Var;

/// Variables that the shapes use at most.
pub const VARS: usize = 1024;

/// What each operation of a shape uses, as ranges of one list of variables.
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    vars: Vec<usize>,
    ops: Vec<(usize, usize, usize)>,
}

/// xorshift: the shapes are the same in every run.
fn random(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize % below
}

fn distinct(state: &mut u64, count: usize, of: usize, into: &mut Vec<usize>) {
    let begin = into.len();
    while into.len() < begin + count {
        let var = random(state, of);
        if !into[begin..].contains(&var) {
            into.push(var);
        }
    }
}

impl Shape {
    /// `op` appends the variables of one operation, reads first, and returns how many it reads.
    fn new(
        name: &'static str,
        ops: usize,
        mut op: impl FnMut(usize, &mut Vec<usize>) -> usize,
    ) -> Self {
        let (mut vars, mut ranges) = (Vec::new(), Vec::new());
        for i in 0..ops {
            let begin = vars.len();
            let reads = op(i, &mut vars);
            ranges.push((begin, begin + reads, vars.len()));
        }
        Self {
            name,
            vars,
            ops: ranges,
        }
    }

    /// All five, of so many operations each.
    pub fn all(ops: usize) -> Vec<Self> {
        let (mut a, mut b) = (88_172_645_463_325_252_u64, 1_181_783_497_276_652_981_u64);
        vec![
            Self::new("independent", ops, |i, vars| {
                vars.push(i % VARS);
                0
            }),
            Self::new("chain", ops, |_, vars| {
                vars.push(0);
                0
            }),
            Self::new("fan", ops, |i, vars| {
                vars.push(0);
                usize::from(i % 64 != 0)
            }),
            Self::new("random", ops, |_, vars| {
                distinct(&mut a, 3, 128, vars);
                2
            }),
            Self::new("wide", ops, |_, vars| {
                distinct(&mut b, 9, VARS, vars);
                8
            }),
        ]
    }

    /// The variables of this shape, in the order of the operations.
    pub fn list(&self, vars: &[Var]) -> Vec<Var> {
        self.vars.iter().map(|k| vars[*k]).collect()
    }

    /// The reads and the writes of each operation, of what [`Shape::list`] returned.
    pub fn ops<'a>(&'a self, list: &'a [Var]) -> impl Iterator<Item = (&'a [Var], &'a [Var])> {
        self.ops
            .iter()
            .map(move |&(from, middle, to)| (&list[from..middle], &list[middle..to]))
    }
}
