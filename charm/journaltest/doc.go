// Package journaltest is test support: it checks the journal that hooks write of themselves
// against what charms are promised.
//
// A journal has a line for each thing that happens, in order. Empty lines and what follows a #
// are ignored. Hooks write these, of which ran is begin and end 0 at once:
//
//	begin UNIT HOOK [KEY=VALUE...]   the hook begins
//	end UNIT CODE                    it is about to exit with this code
//	ran UNIT HOOK [KEY=VALUE...]
//	set UNIT RELATION NUMBER         it has called relation-set; the unit's numbers only grow
//	saw UNIT RELATION REMOTE NUMBER  it has called relation-get, and the remote unit had set that
//
// The keys are relation (db:3) and remote (mysql/0, or mysql if the hook is about the service),
// charm (the version that is in the charm's directory), config (the version of the service's
// settings that the hook sees), leads (true or false), at (where the unit's machine is), and later
// (true if the charm has all of charm.LaterHooks).
//
// Whoever plays with the units writes these, before it does so unless they say otherwise:
//
//	config SERVICE NUMBER            the settings of a service are changed
//	upgraded SERVICE CHARM [forced]  its charm is
//	killed UNIT                      the unit's agent was killed, and has not started again
//	lost UNIT PLACE                  the machine at that place, on which the unit was, has vanished
//	resolved UNIT retry|no-retry     the user resolves the unit, which was in error
//	members UNIT RELATION UNIT...    the unit is in a relation, with these counterparts
//	forced UNIT                      the unit was removed by force
//	gone UNIT                        the unit was removed
//	settled                          all agents have nothing left to do
package journaltest
