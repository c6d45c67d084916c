"""Settings of the kernels that run the tutorials, whatever those of the user are."""

c = get_config()  # type: ignore[name-defined] # noqa: F821
c.IPKernelApp.log_level = 40
c.InlineBackend.figure_formats = {"retina"}
