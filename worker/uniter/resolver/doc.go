// Package resolver decides what a unit does next. It is one pure function of what the
// unit remembers and what the controller says, so each rule can be tested as a line of
// a table, and an agent that was killed anywhere goes on by asking it again.
//
// The rules, the first that yields something wins:
//
//  1. A unit that is Dead ends its agent.
//  2. A unit whose service, or last container relation to its principal, is not Alive
//     destroys itself; a principal that is not Alive destroys its subordinates.
//  3. A unit destroyed with force runs no hook: it gives up what is in progress, leaves
//     its scopes and becomes Dead.
//  4. What is in progress comes to its end. A hook that was interrupted has failed; one
//     that had not begun is forgotten, and so is one about a relation that is gone; one
//     that had succeeded is committed. A failed hook waits until the user has it run
//     again or passed over, or forces another charm on it. Such a request for a unit in
//     which nothing has failed is taken back.
//  5. A unit that is not Alive and has never run a hook runs none: it leaves its scopes
//     and becomes Dead.
//  6. The charm is deployed; then install, config-changed and start follow each other.
//     This chain is not broken off once install has run, nor is the one of
//     upgrade-charm and config-changed.
//  7. The charm is upgraded, if the unit is Alive.
//  8. config-changed runs when the settings or the unit's addresses are not those of
//     which it was told last, and once after each start of the agent.
//  9. The relations, by id: an Alive one is entered, then departed hooks run for the
//     units that are gone, joined for those that are new and changed for those whose
//     settings are; after joined the relation's next hook is changed for the same unit.
//     When relation or unit is not Alive: departed for all, broken, leave the scope.
//     Relations of the implicit endpoint have no hooks.
//  10. A unit that is not Alive then runs stop, waits until its subordinates are gone,
//     and becomes Dead.
package resolver
