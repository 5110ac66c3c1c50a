// Package resolver decides what a unit does next. It is a pure function of the unit's local state and the
// controller's state. So each rule can be tested in isolation, and an agent that was killed resumes by asking
// again.
//
// These are the rules. The first that applies decides.
//
//  1. The agent of a Dead unit terminates.
//  2. A unit whose service, or last container relation to its principal, is not Alive
//     destroys itself. A principal that is not Alive destroys its subordinates.
//  3. A unit destroyed with force runs no hooks. It abandons the operation in progress, leaves its
//     scopes and becomes Dead. One destroyed otherwise cancels its tasks that have not begun.
//  4. The operation in progress is finished. An interrupted hook is treated as failed. A hook that had
//     not started is dropped, and so is one about a removed relation. A hook that had succeeded is
//     committed. A failed hook waits until the user retries or skips it, or forces an upgrade. A
//     request to retry or skip when no hook has failed is cleared.
//  5. A unit that is not Alive and has never run a hook runs none. It leaves its scopes and
//     becomes Dead.
//  6. While the machine's operating system is upgraded, an Alive unit runs pre-series-upgrade and
//     post-series-upgrade, reports each, and does nothing else. A sequence of rule 7 is finished first.
//  7. Once the machine has an address, the charm is deployed. Then install, config-changed and start
//     run, in this order. Nothing interrupts this sequence once install has run, nor the sequence of
//     upgrade-charm and config-changed, with one exception: if the charm has relation-created hooks,
//     then after install the unit enters the Alive relations that they are for, and they run. They
//     also run immediately for later relations, but not within a sequence.
//     Before install, storage-attached runs for each of the unit's storage instances; install waits
//     until all of them are attached.
//  8. The charm of an Alive unit is upgraded. If only the resources of its service have changed,
//     upgrade-charm and config-changed run for them. config-changed runs once after each start of
//     the agent.
//  9. A unit that is not Alive releases its storage, after storage-detaching. Then relations are
//     entered and left, by id. If the relation or the unit is not Alive, departed runs for all other
//     units, then broken, and the unit leaves the scope. After joined, the relation's next hook is
//     changed for the same unit.
//  10. All other work is done in turn. Its sources are: the settings and addresses, handled by
//     config-changed; the leader; storage; what an Alive unit must be told about secrets, those of its
//     service only while it leads; commands from juju-run; tasks; update-status, when due in an Alive
//     unit; and each unit and service at the other end of a relation. Among the sources with
//     work, the least recently served is next, so none is served twice while another waits.
//     Within a relation, departed units come before the others. Relations of the implicit endpoint
//     have no hooks.
//  11. A unit that is not Alive then runs stop, and remove if the charm has it. It waits until
//     its subordinates are removed, and becomes Dead.
package resolver
