"""Contacts and scalar constraints as geometry and material, before any method looks at them."""
