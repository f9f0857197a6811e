//! Boxes around objects in images: overlaps, matches, anchors, targets and detections.

pub(crate) mod bounding_box;
pub(crate) mod box_nms;
pub(crate) mod multibox;
pub(crate) mod proposal;
