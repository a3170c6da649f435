"""Stores of certificates and private keys: adapters of the port ``KeyManager``.

``parsing/`` makes validated values of PEM and PKCS#12, independent of the store.
"""
