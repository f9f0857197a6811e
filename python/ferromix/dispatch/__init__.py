"""From cards to running kernels, one module per kind of device."""
