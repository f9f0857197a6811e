//! Where an operator runs: with its inputs.

use crate::Array;
use ferromix_base::{Context, Error, Result};

/// The device of an operator with these inputs, and then outputs: that of the first one, whose memory
/// the results are in. Those of the CPU may be mixed, as it reaches all their memory.
///
/// # Errors
/// Arrays on the CPU and a GPU, or on two GPUs; the message names both.
pub fn place_of<'a>(
    operator: impl std::fmt::Display,
    arrays: impl IntoIterator<Item = &'a Array>,
) -> Result<Option<Context>> {
    let mut arrays = arrays.into_iter().map(|array| array.chunk().context());
    let Some(first) = arrays.next() else {
        return Ok(None);
    };
    let fits = |other: &Context| match first.is_host() {
        true => other.is_host(),
        false => *other == first,
    };
    match arrays.find(|other| !fits(other)) {
        None => Ok(Some(first.compute())),
        Some(other) => Err(Error::value(format!(
            "operator {operator}: cannot take arrays on {first} and on {other} together; copy one of \
             them first, by as_in_context"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::place_of;
    use crate::{Array, Runtime};
    use ferromix_base::{Context, DType, DeviceType, Result};

    fn on(device_type: DeviceType, device_id: u16) -> Array {
        let context = Context {
            device_type,
            device_id,
        };
        Array::on(Runtime::global().unwrap(), context, &[2], DType::F32).unwrap()
    }

    fn place(arrays: &[Array]) -> Result<Option<String>> {
        place_of("dot", arrays).map(|found| found.map(|context| context.to_string()))
    }

    #[test]
    fn results_are_where_the_first_input_is() {
        use DeviceType::{Cpu, CpuPinned, CpuShared, Gpu};
        assert_eq!(place(&[]).unwrap(), None);
        for (first, second, expected) in [
            (on(Cpu, 0), on(Cpu, 1), "cpu(0)"),
            (on(Cpu, 1), on(Cpu, 0), "cpu(1)"),
            (on(CpuPinned, 2), on(Cpu, 0), "cpu(2)"),
            (on(CpuShared, 0), on(CpuPinned, 1), "cpu(0)"),
            (on(Gpu, 1), on(Gpu, 1), "gpu(1)"),
        ] {
            assert_eq!(place(&[first, second]).unwrap().unwrap(), expected);
        }
    }

    #[test]
    fn devices_that_do_not_mix_are_named() {
        use DeviceType::{Cpu, CpuPinned, Gpu};
        for (first, second, names) in [
            (on(Cpu, 1), on(Gpu, 0), "cpu(1) and on gpu(0)"),
            (on(Gpu, 0), on(CpuPinned, 0), "gpu(0) and on cpu_pinned(0)"),
            (on(Gpu, 0), on(Gpu, 1), "gpu(0) and on gpu(1)"),
        ] {
            let error = place(&[first, second]).unwrap_err();
            assert!(error.message().contains(names), "{}", error.message());
            assert!(error.message().contains("operator dot"));
        }
    }
}
