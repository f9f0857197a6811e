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

pub(crate) const ROWS: &[Row] = &[Row::new("add_n", prepare).strided().pointwise()];
