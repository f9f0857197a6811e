//! What a pool may be told: its limit, whether it keeps anything, how much a thread keeps.

use crate::class::MAX_BLOCK;
use ferromix_base::{Context, DeviceType, Error, Result};
use std::time::Duration;

/// Settings of a pool.
///
/// ```
/// use ferromix_storage::Config;
/// let config = Config { limit: Some(1 << 30), trim_high: Some(256 << 20), ..Config::default() };
/// assert_eq!(config.trim_low, 64 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most bytes the pool takes from its backend, in use and cached together; `None`: no limit.
    pub limit: Option<usize>,
    /// Whether freed blocks are kept; `false` hands each one back at once.
    pub pooled: bool,
    /// Most bytes a thread keeps for itself; blocks above a sixteenth of it (by default, of more
    /// than 512 KiB) are within reach of every thread at any time.
    pub thread_cache: usize,
    /// Blocks kept but not used for this long go back to the backend, at the latest after twice
    /// this time, as far as the pool is in use: it looks at the clock in its calls. `None`: never.
    pub trim_age: Option<Duration>,
    /// The low watermark: so many kept bytes stay whatever their age.
    pub trim_low: usize,
    /// The high watermark: when more bytes than this are kept, the oldest blocks go back until
    /// the low one is reached. `None`: no such mark.
    pub trim_high: Option<usize>,
    /// Smallest block, in bytes.
    pub min_block: usize,
    /// Blocks up to this size are powers of two, so that requests of changing sizes share them at
    /// the price of up to half of each block. (Up to 4 KiB they always are.)
    pub round_below: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            limit: None,
            pooled: true,
            thread_cache: 8 << 20,
            trim_age: Some(Duration::from_secs(60)),
            trim_low: 64 << 20,
            trim_high: None,
            min_block: 64,
            round_below: 0,
        }
    }
}

impl Config {
    /// The settings for the pool of `context` from the environment, where `<DEVICE>` is `CPU`,
    /// `GPU`, `CPU_PINNED` or `CPU_SHARED`:
    ///
    /// - `FERROMIX_<DEVICE>_MEM_LIMIT`: a size, see [`parse_size`]; wins over the reserve;
    /// - `FERROMIX_<DEVICE>_MEM_TRIM_AGE`: [`trim_age`](Config::trim_age) in seconds; `0`: never;
    /// - `FERROMIX_<DEVICE>_MEM_TRIM_LOW`, `_HIGH`: sizes, the two watermarks;
    /// - `MXNET_<DEVICE>_MEM_POOL_RESERVE`: per cent of the memory to leave alone (not for `GPU`,
    ///   whose backend knows the memory of the device);
    /// - `MXNET_<DEVICE>_MEM_POOL_TYPE`: `Unpooled` keeps nothing; `Naive` and `Round` mean the
    ///   buckets of this pool;
    /// - `MXNET_<DEVICE>_MEM_POOL_PAGE_SIZE`: [`min_block`](Config::min_block). MXNet also rounds
    ///   larger requests to whole pages; here the buckets do that job;
    /// - `MXNET_<DEVICE>_MEM_POOL_ROUND_LINEAR_CUTOFF`: with `Round`, the exponent of
    ///   [`round_below`](Config::round_below). Above, MXNet rounds to multiples of that power of
    ///   two; here the buckets go on in eighths, which wastes no more for any size. Without the
    ///   variable the buckets are used throughout, while MXNet takes 24.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Value`] naming the variable, its value and what it may be.
    pub fn from_env(context: Context) -> Result<Self> {
        Self::from_lookup(context, |name| std::env::var(name).ok())
    }

    fn from_lookup(context: Context, get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let device = match context.device_type {
            DeviceType::Cpu => "CPU",
            DeviceType::Gpu => "GPU",
            DeviceType::CpuPinned => "CPU_PINNED",
            DeviceType::CpuShared => "CPU_SHARED",
        };
        let mut config = Config::default();
        let mxnet = |what: &str| {
            let name = format!("MXNET_{device}_MEM_POOL_{what}");
            get(&name).map(|text| (name, text))
        };
        if let Some((name, text)) = mxnet("RESERVE").filter(|_| device != "GPU") {
            let percent = whole(&name, &text, 99)?;
            config.limit = total_memory().map(|total| total / 100 * (100 - percent));
        }
        if let Some((name, text)) = mxnet("PAGE_SIZE") {
            config.min_block = parse_size(&text).map_err(|error| error.within(name))?;
        }
        let kind = mxnet("TYPE");
        let rounds = kind
            .as_ref()
            .is_some_and(|(_, text)| text.trim() == "Round");
        if let Some((name, text)) = mxnet("ROUND_LINEAR_CUTOFF") {
            let cutoff = whole(&name, &text, MAX_BLOCK.ilog2() as usize)?;
            config.round_below = if rounds { 1 << cutoff } else { 0 };
        }
        if let Some((name, text)) = kind {
            config.pooled = pooled(&name, &text)?;
        }
        let size = |what: &str| {
            let name = format!("FERROMIX_{device}_MEM_{what}");
            let read = |text: String| parse_size(&text).map_err(|error| error.within(name.clone()));
            get(&name).map(read).transpose()
        };
        config.limit = size("LIMIT")?.or(config.limit);
        config.trim_low = size("TRIM_LOW")?.unwrap_or(config.trim_low);
        config.trim_high = size("TRIM_HIGH")?;
        let age = format!("FERROMIX_{device}_MEM_TRIM_AGE");
        if let Some(text) = get(&age) {
            let seconds = whole(&age, &text, u32::MAX as usize)?;
            config.trim_age = (seconds > 0).then(|| Duration::from_secs(seconds as u64));
        }
        Ok(config)
    }
}

fn whole(name: &str, text: &str, most: usize) -> Result<usize> {
    let number = text.trim().parse().ok();
    number.filter(|&number| number <= most).ok_or_else(|| {
        Error::value(format!(
            "{name}: '{text}' is not a whole number from 0 to {most}"
        ))
    })
}

fn pooled(name: &str, text: &str) -> Result<bool> {
    match text.trim() {
        "Naive" | "Round" => Ok(true),
        "Unpooled" => Ok(false),
        _ => Err(Error::value(format!(
            "{name}: '{text}' is not one of Naive, Round, Unpooled"
        ))),
    }
}

/// Bytes of memory this process may have: the machine's, or its control group's if that is less.
pub(crate) fn total_memory() -> Option<usize> {
    // SAFETY: sysconf only reads system constants.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let machine = usize::try_from(pages)
        .ok()?
        .checked_mul(usize::try_from(page).ok()?)?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(machine);
    Some(machine.min(group))
}

/// The bytes a text names: a number, with a decimal point if wanted, and `K`, `M`, `G` or `T` for
/// powers of 1024 (`KB`, `KiB` and lower case are the same).
///
/// ```
/// assert_eq!(ferromix_storage::parse_size("1.5G")?, 3 << 29);
/// # Ok::<(), ferromix_base::Error>(())
/// ```
///
/// # Errors
/// [`ferromix_base::ErrorKind::Value`] where it is something else.
pub fn parse_size(text: &str) -> Result<usize> {
    let wrong = || {
        Error::value(format!(
            "'{text}' is not a size: write a number of bytes, or a number and K, M, G or T, \
             such as 512M or 1.5G"
        ))
    };
    let upper = text.trim().to_ascii_uppercase();
    let unit = upper
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(upper.len());
    let (number, unit) = upper.split_at(unit);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<usize>() {
        return whole.checked_mul(1 << shift).ok_or_else(wrong);
    }
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * (1u64 << shift) as f64;
    // Up to 2^53 a float holds every whole number, so the conversion is exact.
    if (0.0..9e15).contains(&bytes) {
        Ok(bytes as usize)
    } else {
        Err(wrong())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        let good = [
            ("0", 0),
            (" 17 ", 17),
            ("4k", 4096),
            ("2MiB", 2 << 20),
            ("0.5 GB", 1 << 29),
        ];
        for (text, bytes) in good {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in [
            "",
            "G",
            "-1",
            "1X",
            "1.2.3",
            "99999999T",
            "1e9",
            "1.5e3K",
            "nan",
        ] {
            let message = parse_size(text).unwrap_err().to_string();
            assert!(
                message.contains(text) && message.contains("512M"),
                "{message}"
            );
        }
    }

    fn with(pairs: &[(&str, &str)]) -> Result<Config> {
        Config::from_lookup(Context::cpu(), |name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_sets_rounding_and_trimming() {
        let cutoff = ("MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF", "20");
        let round = ("MXNET_CPU_MEM_POOL_TYPE", "Round");
        assert_eq!(with(&[cutoff, round]).unwrap().round_below, 1 << 20);
        assert_eq!(with(&[cutoff]).unwrap(), Config::default());
        assert_eq!(with(&[round]).unwrap(), Config::default());
        let config = with(&[
            ("MXNET_CPU_MEM_POOL_PAGE_SIZE", "4096"),
            ("FERROMIX_CPU_MEM_TRIM_AGE", "5"),
            ("FERROMIX_CPU_MEM_TRIM_LOW", "1M"),
            ("FERROMIX_CPU_MEM_TRIM_HIGH", "1G"),
        ]);
        let expected = Config {
            min_block: 4096,
            trim_age: Some(Duration::from_secs(5)),
            trim_low: 1 << 20,
            trim_high: Some(1 << 30),
            ..Config::default()
        };
        assert_eq!(config.unwrap(), expected);
        let never = with(&[("FERROMIX_CPU_MEM_TRIM_AGE", "0")]).unwrap();
        assert_eq!(never.trim_age, None);
    }

    #[test]
    fn the_environment_sets_limit_and_kind() {
        assert_eq!(with(&[]).unwrap(), Config::default());
        assert_eq!(
            with(&[("FERROMIX_CPU_MEM_LIMIT", "1M")]).unwrap().limit,
            Some(1 << 20)
        );
        assert!(
            !with(&[("MXNET_CPU_MEM_POOL_TYPE", "Unpooled")])
                .unwrap()
                .pooled
        );
        let reserved = with(&[("MXNET_CPU_MEM_POOL_RESERVE", "10")])
            .unwrap()
            .limit
            .unwrap();
        assert_eq!(reserved, total_memory().unwrap() / 100 * 90);
        for (name, value) in [
            ("FERROMIX_CPU_MEM_LIMIT", "lots"),
            ("MXNET_CPU_MEM_POOL_TYPE", "Fast"),
            ("MXNET_CPU_MEM_POOL_RESERVE", "100"),
            ("MXNET_CPU_MEM_POOL_PAGE_SIZE", "-1"),
            ("MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF", "48"),
            ("FERROMIX_CPU_MEM_TRIM_LOW", "-5"),
            ("FERROMIX_CPU_MEM_TRIM_HIGH", "full"),
            ("FERROMIX_CPU_MEM_TRIM_AGE", "1.5"),
        ] {
            let message = with(&[(name, value)]).unwrap_err().to_string();
            assert!(
                message.contains(name) && message.contains(value),
                "{message}"
            );
        }
    }
}
