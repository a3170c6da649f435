"""Stores vips, pools and health monitors of LBaaS v1."""
