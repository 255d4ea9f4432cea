"""A MuJoCo model as the engine has it: links, joints, shapes, motors, equalities."""
