//! Nanoseconds per operation of one dependency pattern, as a JSON line: the side of Ferromix in
//! `benches/engine.py`, which runs peers on the same patterns.
//!
//! usage: `patterns PATTERN OPERATIONS [WORKERS]`, where PATTERN is `independent`, `chain`, `fan`,
//! `random` or `wide`. The payload is one relaxed addition.

use ferromix_engine::{Engine, OpSpec, Var};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The variables that one operation reads, and the one that it mutates, by number.
struct Access {
    reads: Vec<usize>,
    write: usize,
}

/// Marsaglia's xorshift64, with the seed that the peers' program uses.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as u32 as usize % n
    }
}

/// The operations of a pattern, and how many variables they use.
fn operations(pattern: &str, n: usize) -> Result<(Vec<Access>, usize), String> {
    let mut random = Random(88_172_645_463_325_252);
    let mut draw = move |pattern: &str, i: usize| match pattern {
        "independent" => Access {
            reads: vec![],
            write: i % 1024,
        },
        "chain" => Access {
            reads: vec![],
            write: 0,
        },
        "fan" if i.is_multiple_of(64) => Access {
            reads: vec![],
            write: 0,
        },
        "fan" => Access {
            reads: vec![0],
            write: i % 64,
        },
        "random" => {
            let write = random.below(128);
            let mut reads = Vec::with_capacity(2);
            while reads.len() < 2 {
                let read = random.below(128);
                if read != write && !reads.contains(&read) {
                    reads.push(read);
                }
            }
            Access { reads, write }
        }
        _ => {
            let base = random.below(1015);
            Access {
                reads: (base..base + 8).collect(),
                write: base + 8,
            }
        }
    };
    let vars = match pattern {
        "independent" | "wide" => 1024,
        "chain" => 1,
        "fan" => 65,
        "random" => 128,
        other => return Err(format!("unknown pattern '{other}'")),
    };
    Ok(((0..n).map(|i| draw(pattern, i)).collect(), vars))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: patterns PATTERN OPERATIONS [WORKERS]";
    let pattern = args.next().ok_or(usage)?;
    let n: usize = args.next().ok_or(usage)?.parse()?;
    let workers: usize = args.next().map_or(Ok(2), |text| text.parse())?;
    let (list, count) = operations(&pattern, n)?;
    let engine = Engine::builder().workers(workers).build();
    let vars: Vec<Var> = (0..count).map(|_| engine.new_variable()).collect();
    let list: Vec<(Vec<Var>, [Var; 1])> = list
        .into_iter()
        .map(|access| {
            (
                access.reads.iter().map(|&r| vars[r]).collect(),
                [vars[access.write]],
            )
        })
        .collect();
    for round in 0..4 {
        let part = if round == 0 {
            &list[..n / 10]
        } else {
            &list[..]
        };
        COUNT.store(0, Ordering::Relaxed);
        let begin = Instant::now();
        for (reads, writes) in part {
            engine.push_sync(&OpSpec::new("add").reads(reads).writes(writes), |_| {
                COUNT.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })?;
        }
        let pushed = begin.elapsed();
        engine.wait_for_all()?;
        let done = begin.elapsed();
        if COUNT.load(Ordering::Relaxed) != part.len() as u64 {
            return Err("operations were lost".into());
        }
        if round > 0 {
            let per = |time: std::time::Duration| time.as_secs_f64() * 1e9 / part.len() as f64;
            println!(
                "{{\"ns_per_op\": {:.1}, \"push_ns\": {:.1}}}",
                per(done),
                per(pushed)
            );
        }
    }
    Ok(())
}
