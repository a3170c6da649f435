"""The Octavia v2 API: routes, handlers, views and list filters, and the request types of quotas, flavors and
availability zones. Request types and rules of all other objects are in :mod:`evenkeel.api.usecases`.
"""
