//! Layers of neural networks.

pub(crate) mod activation;
pub(crate) mod batch_norm;
pub(crate) mod channel_blocks;
pub(crate) mod convolution;
pub(crate) mod correlation;
pub(crate) mod ctc_loss;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod fully_connected;
pub(crate) mod im2col;
pub(crate) mod layer_norm;
pub(crate) mod loss;
pub(crate) mod pooling;
pub(crate) mod regression;
pub(crate) mod resample;
pub(crate) mod rnn;
pub(crate) mod roi_pooling;
pub(crate) mod softmax;
pub(crate) mod softmax_output;
pub(crate) mod sparse_reg;
