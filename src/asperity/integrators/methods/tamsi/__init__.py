"""TAMSI: semi-implicit steps with two-way coupled contact, by Newton's method with TALS."""
