//! Tensors joined along an axis, old or new, and taken apart again.

use crate::affine::{AffineCopy, AffineMap};
use crate::api::axes::resolve;
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

/// Copies between a tensor and its parts along an axis.
struct Join {
    parts: Vec<AffineCopy>,
    apart: bool,
}

impl Kernel for Join {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        for (k, part) in self.parts.iter().enumerate() {
            if self.apart {
                part.run(&call.inputs[0], &call.outputs[k], call.reqs[k])?;
            } else {
                part.part(&call.inputs[k], &call.outputs[0], call.reqs[0])?;
            }
        }
        Ok(())
    }
}

/// The axis along which the parts lie in the whole, and whether they lack it.
struct Seam {
    axis: usize,
    lacking: bool,
}

/// The layouts of a part from index `start` of the whole on, and of the part.
fn layouts(
    name: &str,
    seam: &Seam,
    whole: &[usize],
    part: &[usize],
    start: usize,
) -> Result<(AffineMap, AffineMap)> {
    let Seam { axis, lacking } = *seam;
    if part.len() + usize::from(lacking) != whole.len() {
        return Err(misfit(name, whole, part, axis));
    }
    let mut cut = AffineMap::default().from(axis, start);
    for a in (0..whole.len()).filter(|&a| !(lacking && a == axis)) {
        let mine = part[a - usize::from(lacking && a > axis)];
        if a != axis && mine != whole[a] {
            return Err(misfit(name, whole, part, axis));
        }
        cut = cut.along(a, mine, 1);
    }
    Ok((cut, AffineMap::whole(part)))
}

fn misfit(name: &str, whole: &[usize], part: &[usize], axis: usize) -> Error {
    Error::value(format!(
        "{name}: a part of shape {part:?} does not fit {whole:?} along axis {axis}"
    ))
}

fn prepare(
    name: &str,
    apart: bool,
    seam: &Seam,
    parts: &[Desc],
    whole: &Desc,
) -> Result<Box<dyn Kernel>> {
    let mut start = 0;
    let mut moves = Vec::new();
    for part in parts {
        let (cut, all) = layouts(name, seam, &whole.shape, &part.shape, start)?;
        start += if seam.lacking {
            1
        } else {
            part.shape[seam.axis]
        };
        moves.push(if apart {
            AffineCopy::new(name, (cut, whole), (all, part))?
        } else {
            AffineCopy::new(name, (all, part), (cut, whole))?
        });
    }
    if start != whole.shape[seam.axis] {
        return Err(Error::value(format!(
            "{name}: the parts add up to {start} along axis {}, not to {}",
            seam.axis, whole.shape[seam.axis]
        )));
    }
    let parts = moves;
    Ok(Box::new(Join { parts, apart }))
}

fn seam(name: &str, attrs: &Attrs, attr: &str, ndim: usize, lacking: bool) -> Result<Seam> {
    let axis = if attrs.has(attr) { attrs.int(attr)? } else { 1 };
    let axis = resolve(name, axis, ndim)?;
    Ok(Seam { axis, lacking })
}

fn only<'a>(name: &str, descs: &'a [Desc]) -> Result<&'a Desc> {
    descs
        .first()
        .ok_or_else(|| Error::internal(format!("{name} needs one joined tensor")))
}

fn concat(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let whole = only("Concat", o)?;
    let seam = seam("Concat", attrs, "dim", whole.shape.len(), false)?;
    prepare("Concat", false, &seam, i, whole)
}

/// Inputs after the first give the shapes of the parts, which the outputs have too.
fn concat_back(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Concat";
    let whole = only(name, i)?;
    let seam = seam(name, attrs, "dim", whole.shape.len(), false)?;
    prepare(name, true, &seam, o, whole)
}

fn stack(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let whole = only("stack", o)?;
    let seam = seam("stack", attrs, "axis", whole.shape.len(), true)?;
    prepare("stack", false, &seam, i, whole)
}

fn split(name: &str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let whole = only(name, i)?;
    let lacking = attrs.bool("squeeze_axis")?;
    let seam = seam(name, attrs, "axis", whole.shape.len(), lacking)?;
    prepare(name, true, &seam, o, whole)
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("Concat", concat).strided(),
    Row::new("_backward_Concat", concat_back).strided(),
    Row::new("stack", stack).strided(),
    Row::new("SliceChannel", |a, i, o| split("SliceChannel", a, i, o)).strided(),
    Row::new("_split_v2", |a, i, o| split("_split_v2", a, i, o)).strided(),
];
