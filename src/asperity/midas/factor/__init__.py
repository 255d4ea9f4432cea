"""The reduced Hessian: sums that it is made of, its structure, its Cholesky factorization."""
