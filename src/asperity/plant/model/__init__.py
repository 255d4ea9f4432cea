"""What a model says: joints, actuators, materials, surfaces, and what it may not contain."""
