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
//     upgrade-charm and config-changed run for them.
//  8. config-changed runs when the settings or the unit's addresses differ from those of its
//     last run, and once after each start of the agent.
//     Before these, and within no sequence, storage-attached runs for storage that has come, and
//     storage-detaching for what the unit loses, which it then gives up; it loses all when it is
//     not Alive.
//  9. Relations come next, by id. The unit enters an Alive one. Then departed hooks run for
//     units that are gone, joined hooks for new ones and changed hooks for those with changed
//     settings. After joined the relation's next hook is changed for the same unit. If the
//     relation or the unit is not Alive, departed runs for all, then broken, and the unit
//     leaves the scope. Relations of the implicit endpoint have no hooks.
//  10. A unit that is not Alive then runs stop, and remove if the charm has it. It waits until
//     its subordinates are gone, and becomes Dead.
//  11. An Alive unit that has nothing else to do runs update-status when it is time.
package resolver
