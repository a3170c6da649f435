"""Virtual time for tests of the product's own processes, on the loop of :mod:`tests.sim.loop`.

A test whose loop is a :class:`tests.virtual.loop.VirtualLoop` never waits: clocks, database, TCP connections and thread
pools are in the loop. :mod:`tests.virtual.fixtures` puts tests there.
"""
