//! Rearrangements: operators that move elements by a rule that is affine in their indices. A
//! [`AffineMap`] reads a tensor as one of other axes; an [`AffineCopy`] copies from a map of the input to
//! a map of the output, and sums what the output's map visits several times. So the way back
//! of a rearrangement is the same with the two maps exchanged.

use crate::api::axes::Axes;
use crate::api::check::one_dtype;
use crate::api::{Call, Desc, Kernel, Req, View};
use crate::copy::{Route, assign};
use crate::fold::axes::sum_axes;
use ferromix_base::{DType, Error, Result, Shape, Strides};
use std::sync::OnceLock;

/// One axis of a map.
#[derive(Clone, Debug)]
struct Dim {
    extent: usize,
    /// How far a step goes along which axes of the tensor; along none for a repetition.
    steps: Vec<(usize, isize)>,
}

/// A tensor read as one of other axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct AffineMap {
    /// The first element: axes of the tensor with indices other than 0.
    start: Vec<(usize, usize)>,
    dims: Vec<Dim>,
}

impl AffineMap {
    /// All axes as they are.
    pub(crate) fn whole(shape: &[usize]) -> Self {
        let axes = shape.iter().enumerate();
        axes.fold(AffineMap::default(), |l, (axis, &n)| l.along(axis, n, 1))
    }

    /// One more axis: `extent` elements of `axis`, `step` apart.
    #[must_use]
    pub(crate) fn along(self, axis: usize, extent: usize, step: isize) -> Self {
        self.dim(extent, vec![(axis, step)])
    }

    /// One more axis along which the elements are the same.
    #[must_use]
    pub(crate) fn repeated(self, extent: usize) -> Self {
        self.dim(extent, Vec::new())
    }

    /// One more axis, a step along which goes along several axes of the tensor.
    #[must_use]
    pub(crate) fn dim(mut self, extent: usize, steps: Vec<(usize, isize)>) -> Self {
        self.dims.push(Dim { extent, steps });
        self
    }

    /// The same from index `first` of `axis` on.
    #[must_use]
    pub(crate) fn from(mut self, axis: usize, first: usize) -> Self {
        self.start.push((axis, first));
        self
    }

    /// Number of positions.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().map(|d| d.extent).product()
    }

    fn extents(&self) -> Shape {
        self.dims.iter().map(|d| d.extent).collect()
    }

    /// Whether every position is within a tensor of `shape`.
    fn fits(&self, shape: &[usize]) -> bool {
        let mut range: Vec<(isize, isize)> = vec![(0, 0); shape.len()];
        for &(axis, first) in &self.start {
            range[axis] = (first as isize, first as isize);
        }
        for dim in &self.dims {
            for &(axis, step) in &dim.steps {
                let reach = step * (dim.extent as isize - 1);
                range[axis].0 += reach.min(0);
                range[axis].1 += reach.max(0);
            }
        }
        let within = |((low, high), n): (&(isize, isize), &usize)| *low >= 0 && *high < *n as isize;
        self.len() == 0 || range.iter().zip(shape).all(within)
    }

    /// The view of `tensor`, without the axes that `skip`.
    fn view(&self, tensor: &View, skip: impl Fn(&Dim) -> bool) -> View {
        let places = tensor.strides();
        let (shape, strides): (Shape, Strides) = self
            .dims
            .iter()
            .filter(|d| !skip(d))
            .map(|d| {
                let stride = d
                    .steps
                    .iter()
                    .map(|&(axis, step)| places[axis] * step)
                    .sum();
                (d.extent, stride)
            })
            .unzip::<usize, isize, Shape, Strides>();
        let first: isize = self
            .start
            .iter()
            .map(|&(a, i)| places[a] * i as isize)
            .sum();
        let bytes = first * tensor.dtype().size() as isize;
        let ptr = tensor.ptr().wrapping_offset(bytes);
        // SAFETY: `AffineCopy::new` has checked that all positions lie within the tensor's shape.
        unsafe { View::from_raw(ptr, tensor.dtype(), shape, strides) }
    }

    /// The tensor itself read through this map, for a caller that has prepared a [`AffineCopy`] of it.
    fn all(&self, tensor: &View) -> View {
        self.view(tensor, |_| false)
    }
}

/// A copy from a map of one tensor to a map of another one.
pub(crate) struct AffineCopy {
    from: AffineMap,
    to: AffineMap,
    /// The axes that are summed, if there are any.
    sum: Option<Axes>,
    /// Whether some elements of the output are not visited.
    gaps: bool,
    /// The way of the first run, for others between tensors that lie alike.
    known: OnceLock<Known>,
}

/// How elements get from an input to an output with these types, extents and strides.
struct Known {
    dtype: DType,
    input: (Shape, Strides),
    output: (Shape, Strides),
    /// Bytes from the addresses of input and output to the elements that go first.
    first: [isize; 2],
    route: Route,
}

impl AffineCopy {
    /// The copy from `from` of `input` to `to` of `output`; elements that `to` does not visit
    /// become 0.
    ///
    /// # Errors
    /// Other element types, or maps that differ or leave the tensors.
    pub(crate) fn new(
        name: &str,
        (from, input): (AffineMap, &Desc),
        (to, output): (AffineMap, &Desc),
    ) -> Result<Self> {
        one_dtype(name, &[input, output])?;
        let alike = from.extents() == to.extents();
        if !alike || !from.fits(&input.shape) || !to.fits(&output.shape) {
            return Err(Error::value(format!(
                "{name}: shape {:?} does not go with shape {:?} under these attributes",
                &input.shape[..],
                &output.shape[..]
            )));
        }
        let reduced: Vec<bool> = to.dims.iter().map(|d| d.steps.is_empty()).collect();
        let kept: usize = to
            .dims
            .iter()
            .filter(|d| !d.steps.is_empty())
            .map(|d| d.extent)
            .product();
        let gaps = kept != ferromix_base::element_count(&output.shape)?;
        let sum = reduced.contains(&true).then_some(Axes { reduced });
        Ok(AffineCopy {
            from,
            to,
            sum,
            gaps,
            known: OnceLock::new(),
        })
    }

    /// Moves `input` to `output`.
    ///
    /// # Errors
    /// Only faults of the caller.
    pub(crate) fn run(&self, input: &View, output: &View, req: Req) -> Result<()> {
        if req == Req::Null || output.is_empty() {
            return Ok(());
        }
        if self.gaps && req != Req::Add {
            zero(output)?;
        }
        self.part(input, output, req)
    }

    /// As [`AffineCopy::run`], leaving alone what is not visited.
    ///
    /// # Errors
    /// Only faults of the caller.
    pub(crate) fn part(&self, input: &View, output: &View, req: Req) -> Result<()> {
        if self.again(input, output, req)? {
            return Ok(());
        }
        let from = self.from.all(input);
        let mut to = self.to.view(output, |d| d.steps.is_empty());
        if req == Req::Null || to.is_empty() {
            return Ok(());
        }
        match &self.sum {
            Some(axes) => sum_axes(axes, &from, &mut to, req),
            None => assign(&from, &to, req),
        }
    }
}

impl AffineCopy {
    /// A plain copy between tensors that lie as those of the first one did; false, and nothing done, if
    /// this is none.
    ///
    /// # Errors
    /// Only faults of the caller.
    fn again(&self, input: &View, output: &View, req: Req) -> Result<bool> {
        let plain = self.sum.is_none() && matches!(req, Req::Write | Req::Inplace);
        if !plain || input.ptr() == output.ptr() || self.from.len() == 0 {
            return Ok(false);
        }
        let known = match self.known.get() {
            Some(known) => known,
            None => {
                let made = self.find(input, output)?;
                self.known.get_or_init(|| made)
            }
        };
        let alike = |view: &View, (shape, strides): &(Shape, Strides)| {
            view.dtype() == known.dtype && view.is_like(shape, strides)
        };
        if !alike(input, &known.input) || !alike(output, &known.output) {
            return Ok(false);
        }
        let from = input.ptr().wrapping_offset(known.first[0]);
        let to = output.ptr().wrapping_offset(known.first[1]);
        // SAFETY: the tensors lie as those that the route was found for, and `AffineCopy::new` has checked
        // that all positions are within them; they are two tensors.
        Ok(unsafe { known.route.run(to, from) })
    }

    /// How elements get from `input` to `output`.
    ///
    /// # Errors
    /// Only faults of the caller.
    fn find(&self, input: &View, output: &View) -> Result<Known> {
        let (from, to) = (self.from.all(input), self.to.all(output));
        let lies = |view: &View| (view.shape().into(), view.strides().into());
        let bytes = |part: &View, of: &View| part.ptr() as isize - of.ptr() as isize;
        Ok(Known {
            dtype: output.dtype(),
            input: lies(input),
            output: lies(output),
            first: [bytes(&from, input), bytes(&to, output)],
            route: Route::find([&to, &from])?,
        })
    }
}

/// Writes zeros.
pub(crate) fn zero(output: &View) -> Result<()> {
    let mut bits = [0u64];
    assign(&View::cell(&mut bits, output.dtype()), output, Req::Write)
}

impl Kernel for AffineCopy {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        AffineCopy::run(self, &call.inputs[0], &call.outputs[0], call.reqs[0])
    }
}

/// What an operator makes of its attributes and shapes: the maps of the larger and the smaller
/// tensor, or of input and output.
pub(crate) type AffinePair = Result<(AffineMap, AffineMap)>;

/// Boxes the move between input and output, of which further inputs give their shapes only.
///
/// # Errors
/// As [`AffineCopy::new`].
pub(crate) fn boxed(
    name: &str,
    i: &[Desc],
    o: &[Desc],
    maps: AffinePair,
) -> Result<Box<dyn Kernel>> {
    let ([input], [output]) = crate::api::check::leading(name, i, o)?;
    let (from, to) = maps?;
    Ok(Box::new(AffineCopy::new(
        name,
        (from, input),
        (to, output),
    )?))
}

/// The first input and the output.
///
/// # Errors
/// No input, or another number of outputs.
pub(crate) fn ends<'a>(
    name: &str,
    i: &'a [Desc],
    o: &'a [Desc],
) -> Result<(&'a [usize], &'a [usize])> {
    let ([input], [output]) = crate::api::check::leading(name, i, o)?;
    Ok((&input.shape, &output.shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferromix_base::DType;

    fn run(m: &AffineCopy, x: &mut [f32], shape: &[usize], out: &[usize], req: Req) -> Vec<f32> {
        let mut y = vec![9f32; out.iter().product()];
        let input = View::of_slice(x, shape).unwrap();
        m.run(&input, &View::of_slice(&mut y, out).unwrap(), req)
            .unwrap();
        y
    }

    #[test]
    fn repetitions_are_copied_and_summed_on_the_way_back() {
        let [small, large] = [[2], [4]].map(|s| Desc::new(&s, DType::F32));
        let from = || AffineMap::default().along(0, 2, 1).repeated(2);
        let to = || AffineMap::default().along(0, 2, 2).along(0, 2, 1);
        let there = AffineCopy::new("m", (from(), &small), (to(), &large)).unwrap();
        let back = AffineCopy::new("m", (to(), &large), (from(), &small)).unwrap();
        assert_eq!(
            run(&there, &mut [1.0, 2.0], &[2], &[4], Req::Write),
            [1.0, 1.0, 2.0, 2.0]
        );
        let mut x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(run(&back, &mut x, &[4], &[2], Req::Write), [3.0, 7.0]);
        assert_eq!(run(&back, &mut x, &[4], &[2], Req::Add), [12.0, 16.0]);
    }

    #[test]
    fn gaps_become_zero_unless_results_are_added() {
        let [small, large] = [[1], [3]].map(|s| Desc::new(&s, DType::F32));
        let to = AffineMap::default().along(0, 1, 1).from(0, 1);
        let m = AffineCopy::new("m", (AffineMap::whole(&[1]), &small), (to, &large)).unwrap();
        assert_eq!(run(&m, &mut [5.0], &[1], &[3], Req::Write), [0.0, 5.0, 0.0]);
        assert_eq!(run(&m, &mut [5.0], &[1], &[3], Req::Add), [9.0, 14.0, 9.0]);
        assert_eq!(run(&m, &mut [5.0], &[1], &[3], Req::Null), [9.0; 3]);
    }

    #[test]
    fn layouts_stay_within_the_tensors() {
        let d = Desc::new(&[3], DType::F32);
        for map in [
            AffineMap::default().along(0, 4, 1),
            AffineMap::default().along(0, 3, 1).from(0, 1),
            AffineMap::default().along(0, 2, -1),
        ] {
            let other = Desc::new(&map.extents(), DType::F32);
            let whole = AffineMap::whole(&other.shape);
            assert!(AffineCopy::new("m", (map.clone(), &d), (whole.clone(), &other)).is_err());
            assert!(AffineCopy::new("m", (whole, &other), (map, &d)).is_err());
        }
    }
}
