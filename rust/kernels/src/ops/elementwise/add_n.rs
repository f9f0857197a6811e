//! The sum of any number of tensors, from left to right. The first two are added in one pass, the
//! others onto the output one by one; halves are rounded after each.

use crate::api::check::{one_dtype, one_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::copy::assign;
use crate::elementwise::arithmetic::{self, Function};
use crate::loops::Loop;
use ferromix_base::{Error, Result};

struct AddN(Loop<3>);

impl Kernel for AddN {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (inputs, out, req) = (call.inputs, &call.outputs[0], call.reqs[0]);
        let mut rest = inputs;
        match (inputs, req) {
            (_, Req::Null) => return Ok(()),
            (_, Req::Add) => {}
            ([only], _) => return assign(only, out, req),
            ([a, b, others @ ..], _) => {
                self.0.run([out, a, b], req)?;
                rest = others;
            }
            ([], _) => rest = &[],
        }
        rest.iter().try_for_each(|x| assign(x, out, Req::Add))
    }
}

fn prepare(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "add_n";
    let ([_, ..], [_]) = (inputs, outputs) else {
        return Err(Error::internal(format!(
            "{name} takes inputs and one output"
        )));
    };
    let args: Vec<&Desc> = inputs.iter().chain(outputs).collect();
    one_shape(name, &args)?;
    let dtype = one_dtype(name, &args)?;
    Ok(Box::new(AddN(arithmetic::find(
        name,
        Function::Add,
        dtype,
    )?)))
}

pub(crate) const ROWS: &[Row] = &[Row::new("add_n", prepare).strided()];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Req;
    use crate::api::View;
    use ferromix_base::DType;

    /// The sum of `inputs` onto `out`.
    fn sum(inputs: &mut [[f32; 2]], mut out: [f32; 2], req: Req) -> [f32; 2] {
        let desc = Desc::new(&[2], DType::F32);
        let descs = vec![desc.clone(); inputs.len()];
        let kernel = prepare(&Attrs::default(), &descs, &[desc]).unwrap();
        let views: Vec<View> = inputs
            .iter_mut()
            .map(|x| View::of_slice(x, &[2]).unwrap())
            .collect();
        kernel
            .run(&mut Call {
                inputs: &views,
                outputs: &mut [View::of_slice(&mut out, &[2]).unwrap()],
                reqs: &[req],
                workspace: &mut [],
                scalars: &[],
                random: None,
            })
            .unwrap();
        out
    }

    #[test]
    fn sums_any_number_under_every_request() {
        let old = [100.0, 200.0];
        for n in 1..5u8 {
            let total = f32::from((1..=n).sum::<u8>());
            let mut inputs: Vec<[f32; 2]> = (1..=n).map(|i| [f32::from(i), -1.0]).collect();
            let plain = [total, -f32::from(n)];
            assert_eq!(sum(&mut inputs, old, Req::Write), plain);
            assert_eq!(sum(&mut inputs, old, Req::Null), old);
            assert_eq!(
                sum(&mut inputs, old, Req::Add),
                [old[0] + plain[0], old[1] + plain[1]]
            );
        }
    }

    #[test]
    fn refuses_nothing_and_mixed_types() {
        let (a, b) = (Desc::new(&[2], DType::F32), Desc::new(&[2], DType::F64));
        assert!(prepare(&Attrs::default(), &[], std::slice::from_ref(&a)).is_err());
        let mixed = prepare(&Attrs::default(), &[a.clone(), b], &[a])
            .err()
            .unwrap();
        assert!(mixed.to_string().contains("add_n"), "{mixed}");
    }
}
