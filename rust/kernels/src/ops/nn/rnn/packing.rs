//! The weights of a network in the order in which products take them.

use super::net::Net;
use crate::linalg::gemm::{Operand, packed_size};
use crate::linalg::packed;
use crate::linalg::panels::Shape;
use crate::linalg::rows_dot::RowsDot;
use std::ops::Range;

/// Their sizes and places: for each layer the weights of the states of each direction, those of the
/// projections, and those of the inputs.
pub(super) struct Packing {
    /// Those that the states are multiplied by.
    pub(super) recurrent: Shape,
    /// Those of the projection.
    pub(super) projecting: Option<Shape>,
    directions: usize,
    layers: usize,
    /// Numbers of the inputs' weights of one direction, of the first layer and of the others; none where
    /// these are taken as they lie.
    inputs: [usize; 2],
}

/// The weights of one layer.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a, T> {
    pub(super) recurrent: &'a [T],
    pub(super) projecting: &'a [T],
    /// Of the inputs, where they are packed.
    inputs: &'a [T],
}

impl<'a, T> Packed<'a, T> {
    /// The inputs' weights of a direction.
    pub(super) fn input(&self, d: usize, directions: usize) -> Option<&'a [T]> {
        let n = self.inputs.len() / directions;
        (n > 0).then(|| &self.inputs[d * n..(d + 1) * n])
    }
}

impl Packing {
    pub(super) fn new<T: RowsDot>(net: &Net) -> Self {
        let input = |layer: usize| packed_size::<T>((net.rows(), net.wide(), net.input(layer)));
        Packing {
            recurrent: Shape::new(&net.tiles::<T>(), net.gates(), net.hidden, net.out()),
            projecting: net
                .projection
                .map(|p| Shape::new(&net.tiles::<T>(), 1, p, net.hidden)),
            directions: net.directions,
            layers: net.layers,
            inputs: [input(0), input(1)],
        }
    }

    fn projections(&self) -> usize {
        self.projecting.map_or(0, |shape| shape.size())
    }

    fn inputs(&self, layer: usize) -> usize {
        self.inputs[layer.min(1)]
    }

    /// Numbers of a layer without those of its inputs.
    pub(super) fn states(&self) -> usize {
        self.directions * (self.recurrent.size() + self.projections())
    }

    /// The numbers of a layer.
    fn range(&self, layer: usize) -> Range<usize> {
        let each = |layer: usize| self.states() + self.directions * self.inputs(layer);
        let first = match layer {
            0 => 0,
            n => each(0) + (n - 1) * each(1),
        };
        first..first + each(layer)
    }

    /// Numbers of all layers.
    pub(super) fn count(&self) -> usize {
        self.range(self.layers - 1).end
    }

    /// The weights of a layer, of those of all that are packed.
    pub(super) fn of<'a, T>(&self, all: &'a [T], layer: usize) -> Packed<'a, T> {
        self.parts(&all[self.range(layer)])
    }

    /// The weights of a layer, with those of its inputs or without.
    fn parts<'a, T>(&self, layer: &'a [T]) -> Packed<'a, T> {
        let (recurrent, rest) = layer.split_at(self.directions * self.recurrent.size());
        let (projecting, inputs) = rest.split_at(self.directions * self.projections());
        Packed {
            recurrent,
            projecting,
            inputs,
        }
    }

    /// Packs the weights of all layers.
    pub(super) fn pack<T: RowsDot>(&self, net: &Net, parameters: &[T], to: &mut [T]) {
        for layer in 0..self.layers {
            let to = &mut to[self.range(layer)];
            let (states, inputs) = to.split_at_mut(self.states());
            self.pack_states(net, parameters, layer, states);
            let size = (net.wide(), net.input(layer));
            for d in 0..self.directions {
                let n = self.inputs(layer);
                let weight = &parameters[net.weights(layer, d).input];
                let weight = Operand::new(weight, size.1).transposed();
                if n > 0 {
                    packed::pack(
                        T::tiles_for(size.0),
                        size,
                        weight,
                        &mut inputs[d * n..(d + 1) * n],
                    );
                }
            }
        }
    }

    /// Packs the weights of a layer but for those of its inputs.
    pub(super) fn pack_states<'a, T: RowsDot>(
        &self,
        net: &Net,
        parameters: &[T],
        layer: usize,
        to: &'a mut [T],
    ) -> Packed<'a, T> {
        let (shape, n) = (self.recurrent, self.projections());
        let (recurrent, projecting) = to.split_at_mut(self.directions * shape.size());
        for d in 0..self.directions {
            let w = net.weights(layer, d);
            let out = net.out();
            let to = &mut recurrent[d * shape.size()..(d + 1) * shape.size()];
            shape.pack(&parameters[w.state], [1, net.hidden * out, out], to);
            if let Some(shape) = self.projecting {
                let to = &mut projecting[d * n..(d + 1) * n];
                shape.pack(&parameters[w.projection], [1, 0, net.hidden], to);
            }
        }
        self.parts(to)
    }
}
