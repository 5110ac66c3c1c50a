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
// A task, which is a run of an action or of a command, writes that it begins and that it ends:
//
//	task UNIT ID
//	done UNIT ID
//
// The keys are relation (db:3) and remote (mysql/0, or mysql if the hook is about the service),
// departing (the unit that relation-departed says has departed), storage (data/0),
// version (that of the remote's settings, or of the leader's, that the hook is about), charm (the
// version that is in the charm's directory), config (the version of the service's settings that the
// hook sees), leads (true or false), claim (by which the unit leads that is elected), at (where the
// unit's machine is), and later (true if the charm has all of charm.LaterHooks, false if it has none).
//
// Whoever plays with the units writes these, before it does so unless they say otherwise:
//
//	config SERVICE VERSION           what config-changed is about is changed: settings, or an address
//	upgraded SERVICE CHARM [forced]  its charm is
//	killed UNIT                      the unit's agent was killed, and has not started again
//	lost UNIT PLACE                  the machine at that place, on which the unit was, has vanished
//	resolved UNIT retry|no-retry     the user resolves the unit, which was in error
//	retries SERVICE on|off           its failed hooks run again by themselves from now on, or don't
//	leads UNIT CLAIM                 the unit leads its service by this claim, or not: 0
//	led SERVICE VERSION              what the leader of the service has set has this version
//	entered UNIT RELATION            the unit is in the relation's scope; said again after lost
//	members UNIT RELATION UNIT[@VERSION]...
//	                                 it has these counterparts there; the version is of their settings
//	queued UNIT ID                   a task waits for the unit
//	cancelled UNIT ID                and is cancelled before it begins
//	stores UNIT INSTANCE...          the unit has these storage instances, and is to keep them
//	taken UNIT RELATION|INSTANCE     it was removed by force: no more is promised of it
//	dying UNIT                       the unit was destroyed
//	forced UNIT                      the unit was removed by force, and its agent knows
//	gone UNIT                        the unit was removed
//	settled                          all agents have nothing left to do
package journaltest
