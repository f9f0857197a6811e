//! Shapes of graph algorithms, repeated as often as it takes.

use super::Random;

pub(super) type Rule = Box<dyn FnMut(usize, &mut Vec<u32>)>;

/// Leaves of the tree, a power of two.
const LEAVES: usize = 1024;
/// Side of the wavefront's grid.
const SIDE: usize = 32;
/// Nodes of the traversed graph that have variables at a time.
const NODES: usize = 1024;

/// Variables of a shape, and what its operation of a number uses.
pub(super) fn rule(name: &str) -> Option<(usize, Rule)> {
    Some(match name {
        // A linear chain: each operation reads what the one before mutated.
        "relay" => {
            let link = |i: usize, vars: &mut Vec<u32>| {
                vars.extend([(i + 1023) as u32 % 1024, i as u32 % 1024]);
            };
            (1024, Box::new(link))
        }
        "tree" => (2 * LEAVES, Box::new(tree)),
        "wavefront" => (SIDE * SIDE, Box::new(wavefront)),
        "traversal" => {
            let mut random = Random::new();
            let node = move |i, vars: &mut Vec<u32>| traversal(i, &mut random, vars);
            (NODES, Box::new(node))
        }
        _ => return None,
    })
}

/// A binary reduction: the leaves, then each inner node from its two children. Nodes are numbered
/// as in a heap: 1 is the root, the children of k are 2k and 2k + 1.
fn tree(i: usize, vars: &mut Vec<u32>) {
    let node = (2 * LEAVES - 1 - i % (2 * LEAVES - 1)) as u32;
    if (node as usize) < LEAVES {
        vars.extend([2 * node, 2 * node + 1]);
    }
    vars.push(node);
}

/// A sweep over a grid, each cell from its neighbours above and on the left.
fn wavefront(i: usize, vars: &mut Vec<u32>) {
    let cell = i % (SIDE * SIDE);
    let (row, column) = (cell / SIDE, cell % SIDE);
    if row > 0 {
        vars.push((cell - SIDE) as u32);
    }
    if column > 0 {
        vars.push((cell - 1) as u32);
    }
    vars.push(cell as u32);
}

/// A random directed graph in topological order: each node follows up to four of the 64 before it.
fn traversal(i: usize, random: &mut Random, vars: &mut Vec<u32>) {
    let degree = random.below(5) as usize;
    if i >= 64 {
        random.distinct(degree, 64, vars);
        for var in vars.iter_mut() {
            *var = (i as u32 - 1 - *var) % NODES as u32;
        }
    }
    vars.push((i % NODES) as u32);
}
