"""The operators and equations of the paper, and their exact fast form.

The modules in import order:

    pattern, attention, features, losses, autoencoder, svd_start, collapsed, collapsed_step
"""
