"""Deterministic simulation: the unchanged controller and agent code among faults, under a virtual clock.

``python -m tests.sim --seed 4711 --trace`` runs one seed and prints what happened; ``scripts/soak --seeds N`` runs
many. A seed fixes everything: which faults come and when, what clients ask for, how long each message, transaction
and device call takes. Time is the event loop's own and passes only while everybody waits.

Real: all code of ``evenkeel.controller``, ``evenkeel.agent``, ``evenkeel.core``, the SQL of ``evenkeel.store`` on
SQLite, the message codec and delivery rules of ``evenkeel.bus``, the no-op device group. Simulated: the database's
server and clock, the broker, the network, processes that crash, freeze and return, the hands of operators.
"""
