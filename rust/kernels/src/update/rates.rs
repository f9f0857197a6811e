//! Rates of several weights at once.

use crate::api::Attrs;
use ferromix_base::{Error, Result};

/// Attributes with a number for each of `count` weights.
pub(crate) fn attr_rates<const N: usize>(
    name: &str,
    attrs: &Attrs,
    from: [&str; N],
    count: usize,
) -> Result<[Vec<f64>; N]> {
    let mut rates = std::array::from_fn(|_| Vec::new());
    for (found, attr) in rates.iter_mut().zip(from) {
        *found = attrs.floats(attr).map_err(|e| e.within(name))?;
        if found.len() != count {
            return Err(Error::value(format!(
                "{name}: attribute '{attr}' has {} numbers for {count} weights",
                found.len()
            )));
        }
    }
    Ok(rates)
}
