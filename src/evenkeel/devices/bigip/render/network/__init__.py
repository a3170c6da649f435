"""Converts the networks of a service definition to the objects by which one device is attached to them. Pure.

==================  ============================  ==============================================
network             iControl REST                 name
==================  ============================  ==============================================
``vlan``, ``flat``  net/vlan                      ``vlan-<segment>``, ``flat-<interface>``
``vxlan``, ``gre``  net/tunnels/tunnel, with      ``tunnel-<type>-<segment>``,
                    net/tunnels/vxlan or /gre     ``vxlan_ovs``, ``gre_ovs``
its hosts           records of net/fdb/tunnel     the tunnel's
route domain        net/route-domain              ``<partition>_<number>``
subnet              net/self of each device       ``local-<device>-<subnet id>``
                    net/self of a traffic group   ``gw-<subnet id>``
                    ltm/snat-translation          ``snat-<traffic group>-<subnet id>_<index>``
                    net/arp of members, net/ndp   ``arp-<address>-<route domain>``,
                    of those with IPv6            ``ndp-<address>-<route domain>``
SNAT addresses      ltm/snatpool                  ``<partition>``
gateway             net/route                     ``default-<number>``
==================  ============================  ==============================================

All objects are in the tenant's partition, and load balancers of the tenant share them. Objects of networks that
projects share are in /Common, without a route domain, and only their SNAT addresses are also in the tenant's pool. Many
names are those of F5's agent, but not those of route domains, default routes and ARP entries (compare
:mod:`evenkeel.devices.bigip.networks.f5_agent`).
"""
