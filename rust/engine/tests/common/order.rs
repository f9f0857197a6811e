//! Whether one total order explains what the operations saw.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use super::{Node, World, lock};

/// There must be one total order of everything that agrees with real time and with what was seen.
pub(super) fn explain(world: &World) -> usize {
    let (pushes, seen) = (lock(&world.pushes), lock(&world.seen));
    let launches = world.launched.load(SeqCst);
    let total = pushes.len() + launches as usize;
    let index = |node: Node| match node {
        Node::Push(push) => push,
        Node::Launch(launch) => pushes.len() + launch as usize,
    };
    assert_eq!(seen.len(), pushes.len() + launches as usize * 2);
    let mut runs = vec![0; total];
    seen.iter().for_each(|one| runs[index(one.node)] += 1);
    for (k, count) in runs.iter().enumerate() {
        assert_eq!(*count, if k < pushes.len() { 1 } else { 2 }, "runs of {k}");
    }
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); total];
    for (a, first) in pushes.iter().enumerate() {
        for (b, second) in pushes.iter().enumerate() {
            if first.returned.is_some_and(|time| time < second.began) {
                edges[a].push(b);
            }
        }
    }
    let mut writer: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for one in seen.iter() {
        for &(var, before, _) in one.uses.iter().filter(|(_, _, writes)| *writes) {
            let twice = writer.insert((var, before), index(one.node));
            assert!(
                twice.is_none(),
                "two writes made version {} of {var}",
                before + 1
            );
        }
    }
    for one in seen.iter() {
        let node = index(one.node);
        for &(var, before, writes) in &one.uses {
            let last = before.checked_sub(1).map(|last| writer[&(var, last)]);
            edges.connect(last, node);
            if !writes {
                let next = writer.get(&(var, before)).copied();
                next.into_iter()
                    .for_each(|next| edges.connect(Some(node), next));
            }
        }
    }
    assert_acyclic(&edges);
    total
}

trait Connect {
    fn connect(&mut self, from: Option<usize>, to: usize);
}

impl Connect for Vec<Vec<usize>> {
    /// The steps of one launch stand at one place, and need no order among themselves here.
    fn connect(&mut self, from: Option<usize>, to: usize) {
        if let Some(from) = from.filter(|from| *from != to) {
            self[from].push(to);
        }
    }
}

fn assert_acyclic(edges: &[Vec<usize>]) {
    let total = edges.len();
    let mut incoming = vec![0; total];
    edges.iter().flatten().for_each(|&to| incoming[to] += 1);
    let mut free: Vec<usize> = (0..total).filter(|&k| incoming[k] == 0).collect();
    let mut done = 0;
    while let Some(k) = free.pop() {
        done += 1;
        for &to in &edges[k] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    assert_eq!(
        done, total,
        "no total order explains what the operations saw"
    );
}
