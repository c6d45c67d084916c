"""The operators and equations of the paper, and their exact fast form.

The modules in import order:

    products, pattern, attention, features, losses, autoencoder, layer_update,
    start_scale, svd_start, collapsed, parameter_gradients, collapsed_step
"""
