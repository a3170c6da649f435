"""Adapters of the ports ``KeyManager`` and ``CertificateStore``: Barbican, Vault, and a directory of
encrypted files. ``parsing/`` makes validated values of PEM and PKCS#12, independent of the adapter.
"""
