"""Patience for every test with a cluster: that of the demo's."""

from tests.demo.conftest import patient as patient
