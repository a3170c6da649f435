"""Whole clients and suites of others, against controllers that believe a Keystone."""
