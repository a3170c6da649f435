"""What F5's agent for OpenStack sends to a BIG-IP for a tenant, as requests that tests replay.

Bodies have the names, attributes and forms of values that the agent gives them; the values are the tests' own. The
facts are read from https://github.com/F5Networks/f5-openstack-agent, in f5_openstack_agent/lbaasv2/drivers/bigip:

==============  ====================================================================================================
module here     files there
==============  ====================================================================================================
``tenants``     tenants.py, service_adapter.py (``get_folder``), disconnected_service.py
``links``       l2_service.py, network_helper.py, resource.py, selfips.py, snats.py, route.py, network_service.py
``services``    resource_manager.py, service_adapter.py, virtual_address.py, listener_service.py, opts.py
``l7``          l7policy_adapter.py, ltm_policy.py, resource_manager.py (``L7PolicyManager``, ``L7RuleManager``)
``tls``         ssl_profile.py, listener_service.py (``add_ssl_profile``)
``removal``     the ``delete`` methods of resource_manager.py, network_service.py (``_delete_shared_nets_config``)
==============  ====================================================================================================

Two generations differ in networks: until 9.6 (2018, ``Generation.TENANT``) a tenant has one route domain and one SNAT
pool; from 9.8 to 9.10 (2020 to 2024, ``Generation.NETWORK``) each network has a route domain with the number of its
segment, a default route, and each load balancer a SNAT pool; listeners have profiles of their own. The rest is as 9.10
sends it.
"""
