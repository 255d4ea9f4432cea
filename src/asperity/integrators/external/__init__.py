"""External systems in a step: what their efforts are, linearised, coupled and limited."""
