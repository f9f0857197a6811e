//! The shared engine's configuration, from the environment.

use crate::types::options::Kind;

/// The first of these variables that is set.
fn read(names: [&str; 2]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok())
}

/// The engine that `FERROMIX_ENGINE_TYPE`, else `MXNET_ENGINE_TYPE`, names. Unset or unknown: the
/// threaded engine.
pub(crate) fn kind() -> Kind {
    parse_kind(read(["FERROMIX_ENGINE_TYPE", "MXNET_ENGINE_TYPE"]).as_deref())
}

fn parse_kind(text: Option<&str>) -> Kind {
    match text {
        Some("NaiveEngine") => Kind::Naive,
        _ => Kind::Threaded,
    }
}

/// A positive number of threads from the environment; `None` when unset or not one.
pub(crate) fn threads(names: [&str; 2]) -> Option<usize> {
    parse_threads(read(names).as_deref())
}

fn parse_threads(text: Option<&str>) -> Option<usize> {
    text?
        .trim()
        .parse()
        .ok()
        .filter(|count| (1..=4096).contains(count))
}

/// The limits on operations and on bytes in flight, where `FERROMIX_MAX_OPS_IN_FLIGHT` and
/// `FERROMIX_MAX_BYTES_IN_FLIGHT` say so. 0 is no limit.
pub(crate) fn limits() -> (Option<usize>, Option<u64>) {
    let read = |name| parse_limit(std::env::var(name).ok().as_deref());
    let most = read("FERROMIX_MAX_OPS_IN_FLIGHT");
    (
        most.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        read("FERROMIX_MAX_BYTES_IN_FLIGHT"),
    )
}

fn parse_limit(text: Option<&str>) -> Option<u64> {
    match text?.trim().parse().ok()? {
        0 => Some(u64::MAX),
        limit => Some(limit),
    }
}

/// Cores that this process may use: its affinity mask and its cgroup's quota, whichever is less.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_as_in_mxnet() {
        assert_eq!(parse_kind(Some("NaiveEngine")), Kind::Naive);
        for text in [
            Some("ThreadedEngine"),
            Some("ThreadedEnginePerDevice"),
            Some("?"),
            None,
        ] {
            assert_eq!(parse_kind(text), Kind::Threaded);
        }
    }

    #[test]
    fn limits_are_numbers_and_zero_is_none() {
        assert_eq!(parse_limit(Some("300")), Some(300));
        assert_eq!(parse_limit(Some(" 0")), Some(u64::MAX));
        assert_eq!(parse_limit(Some("much")), None);
        assert_eq!(parse_limit(None), None);
    }

    #[test]
    fn bad_thread_counts_fall_back() {
        assert_eq!(parse_threads(Some(" 3 ")), Some(3));
        for text in [Some("0"), Some("-1"), Some("many"), Some("1000000"), None] {
            assert_eq!(parse_threads(text), None);
        }
    }
}
