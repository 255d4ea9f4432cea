"""The terms of a step's energy, with gradients and Hessians, and their assembly."""
