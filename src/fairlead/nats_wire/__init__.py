"""NATS carries frames between the daemon and runners on other machines: `Wire` of machine_ports, the server's accounts
and keys, and a server that the daemon owns. Only this package imports `nats`, and only where there are machines."""

from fairlead.nats_wire import lean_nats as lean_nats
