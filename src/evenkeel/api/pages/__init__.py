"""The dashboard's files at ``/ui/``. They hold no data: the dashboard reads the published API with its user's identity.

``static/`` is bundled from ``ui/`` at the top of the repository by ``npm run build``.
"""
