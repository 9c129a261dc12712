"""Translations of components, a module for each family."""
