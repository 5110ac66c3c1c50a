// Package resolver decides what a unit does next. It is one pure function of what the unit
// remembers and what the controller says. So each rule can be tested as a line of a table,
// and an agent that was killed at any moment continues by asking again.
//
// These are the rules. The first that applies decides.
//
//  1. The agent of a Dead unit ends.
//  2. A unit whose service, or last container relation to its principal, is not Alive
//     destroys itself. A principal that is not Alive destroys its subordinates.
//  3. A unit destroyed with force runs no hook. It abandons what is in progress, leaves its
//     scopes and becomes Dead.
//  4. What is in progress is finished. An interrupted hook has failed. A hook that had not
//     begun is forgotten, and so is one about a relation that is gone. A hook that had
//     succeeded is committed. A failed hook waits until the user has it retried or skipped,
//     or forces an upgrade. If the user asks for that and no hook has failed, the request is
//     cleared.
//  5. A unit that is not Alive and has never run a hook runs none. It leaves its scopes and
//     becomes Dead.
//  6. Once the machine has an address, the charm is deployed. Then install, config-changed and start run, in this order.
//     Nothing interrupts this sequence once install has run, nor the sequence of
//     upgrade-charm and config-changed.
//     One thing comes between install and config-changed: if the charm has
//     relation-created hooks, the unit enters the Alive relations they are for, and they run.
//     They also run at once for such relations that come later, but within no sequence.
//     storage-attached runs before install for each storage instance that the unit has by then;
//     install waits until all of them are there.
//  7. The charm of an Alive unit is upgraded. If its service only has other resources,
//     upgrade-charm and config-changed run for them. config-changed runs once after each start of
//     the agent.
//  8. A unit that is not Alive gives up its storage, after storage-detaching. Then relations are
//     entered and left, by id. If the relation or the unit is not Alive, departed runs for all other
//     units, then broken, and the unit leaves the scope. After joined the relation's next hook is
//     changed for the same unit.
//  9. All other work is done in turn. Its sources are the settings and addresses, which config-changed
//     is about, the leader, storage, commands of the machine's users, tasks, update-status when it is
//     time in an Alive unit, and each unit and service at the other end of a relation. Of those that
//     wait, the one goes next that was served longest ago; so each is served before any other is
//     served twice. Of one relation, units that are gone come before the others. Relations of the
//     implicit endpoint have no hooks.
//  10. A unit that is not Alive then runs stop, and remove if the charm has it. It waits until
//     its subordinates are gone, and becomes Dead.
package resolver
