"""Where certificates and their private keys are kept: adapters of the port ``KeyManager``.

``parsing/`` makes checked values of PEM and PKCS#12; it does not know where they come from.
"""
