//! Trees over what belongs to buffers, that find the first one without a look at all.

/// Numbers, of which the first that exceeds another is found.
#[derive(Default)]
pub(super) struct MaxTree {
    /// The maxima of all subtrees, from the root; leaves from `width` on.
    nodes: Vec<i64>,
    width: usize,
}

impl MaxTree {
    pub(super) fn set(&mut self, index: usize, value: i64) {
        if index >= self.width {
            let leaves = self.nodes[self.width.min(self.nodes.len())..].to_vec();
            self.width = (index + 1).next_power_of_two();
            self.nodes = vec![i64::MIN; 2 * self.width];
            self.nodes[self.width..self.width + leaves.len()].copy_from_slice(&leaves);
            for i in (1..self.width).rev() {
                self.nodes[i] = self.nodes[2 * i].max(self.nodes[2 * i + 1]);
            }
        }
        let mut i = self.width + index;
        self.nodes[i] = value;
        while i > 1 {
            i /= 2;
            self.nodes[i] = self.nodes[2 * i].max(self.nodes[2 * i + 1]);
        }
    }

    pub(super) fn first_above(&self, from: usize, bound: i64) -> Option<usize> {
        first_leaf(self.width, from, |node| self.nodes[node] > bound)
    }
}

/// Times, of which the first that does not touch another is found.
pub(super) struct SpanTree {
    /// Of all subtrees, from the root, the largest start and the smallest end.
    nodes: Vec<(i64, i64)>,
    width: usize,
}

impl SpanTree {
    pub(super) fn new(spans: Vec<(i64, i64)>) -> Self {
        let width = spans.len().next_power_of_two();
        let mut nodes = vec![(i64::MIN, i64::MAX); 2 * width];
        nodes[width..width + spans.len()].copy_from_slice(&spans);
        for i in (1..width).rev() {
            let (a, b) = (nodes[2 * i], nodes[2 * i + 1]);
            nodes[i] = (a.0.max(b.0), a.1.min(b.1));
        }
        SpanTree { nodes, width }
    }

    /// The first from `from` on that does not touch the steps from `first` to `last`.
    pub(super) fn first_clear(&self, from: usize, first: i64, last: i64) -> Option<usize> {
        first_leaf(self.width, from, |node| {
            let (start, end) = self.nodes[node];
            start > last || end < first
        })
    }
}

/// The first leaf from `from` on that may be meant, in a tree where `may` says of a node whether one below
/// may be.
fn first_leaf(width: usize, from: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    if from >= width {
        return None;
    }
    let mut node = width + from;
    loop {
        if may(node) {
            if node >= width {
                return Some(node - width);
            }
            node *= 2;
            continue;
        }
        // On to the next subtree to the right.
        while node % 2 == 1 {
            node /= 2;
        }
        if node == 0 {
            return None;
        }
        node += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_find_the_first_leaf() {
        let mut tree = MaxTree::default();
        for (i, value) in [3, 9, 1, 7, 2].into_iter().enumerate() {
            tree.set(i, value);
        }
        assert_eq!(tree.first_above(0, 2), Some(0));
        assert_eq!(tree.first_above(2, 2), Some(3));
        assert_eq!(tree.first_above(0, 9), None);
        assert_eq!(tree.first_above(4, 1), Some(4));
        let spans = SpanTree::new(vec![(0, 5), (2, 3), (7, 9)]);
        assert_eq!(spans.first_clear(0, 4, 6), Some(1));
        assert_eq!(spans.first_clear(2, 4, 6), Some(2));
        assert_eq!(spans.first_clear(0, 0, 9), None);
    }
}
