//! Images as users have them: height, width and channels, or several of these.

pub(crate) mod image;
pub(crate) mod jitter;
