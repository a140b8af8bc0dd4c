"""Invoices: what is billed, how much it comes to, and which number it carries."""
