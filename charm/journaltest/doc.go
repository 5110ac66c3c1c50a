// Package journaltest supports tests: it checks a journal of hook runs against the guarantees that
// charms are given.
//
// A journal has one line per event, in order. Empty lines and text after a # are ignored. Hooks
// write these lines:
//
//	begin UNIT HOOK [KEY=VALUE...]   the hook starts
//	end UNIT CODE                    it is about to exit with this code
//	ran UNIT HOOK [KEY=VALUE...]     short for begin and end with code 0
//	set UNIT RELATION NUMBER         it has called relation-set; the unit's numbers only grow
//	saw UNIT RELATION REMOTE NUMBER  it has called relation-get, which returned the remote unit's number
//
// A task, which is a run of an action or of a command, writes these:
//
//	task UNIT ID                     the task starts
//	done UNIT ID                     it ends
//
// The keys of a hook are
//
//	relation   db:3
//	remote     mysql/0, or mysql if the hook is about the service
//	departing  the unit that is departing, in relation-departed
//	storage    data/0
//	version    the version of the remote unit's or the leader's settings that the hook is about
//	charm      the version of the charm in the charm directory
//	config     the version of the service's settings that the hook sees
//	leads      true or false
//	claim      the leadership claim that leader-elected is about
//	at         the place of the unit's machine
//	later      true if the charm has all of charm.LaterHooks, false if it has none
//
// The test writes these lines, each before the event unless stated otherwise:
//
//	config SERVICE VERSION           the service's settings, or a unit's address, change
//	upgraded SERVICE CHARM [forced]  the service's charm is upgraded
//	killed UNIT                      the unit's agent was killed, and has not restarted yet
//	lost UNIT PLACE                  the unit's machine, at this place, has vanished
//	resolved UNIT retry|no-retry     the user resolves the unit, which was in error
//	retries SERVICE on|off           automatic retries of failed hooks are turned on or off
//	leads UNIT CLAIM                 the unit leads its service by this claim; 0 if it does not lead
//	led SERVICE VERSION              the leader's settings have this version
//	entered UNIT RELATION            the unit is in the relation's scope; repeated after lost
//	members UNIT RELATION UNIT[@VERSION]...
//	                                 the remote units in the relation, with the versions of their settings
//	queued UNIT ID                   a task is queued for the unit
//	cancelled UNIT ID                a queued task is cancelled before it starts
//	stores UNIT INSTANCE...          the storage instances that are attached to the unit to stay
//	taken UNIT RELATION|INSTANCE     the relation or instance was removed by force; no guarantee applies to it
//	dying UNIT                       the unit was destroyed
//	forced UNIT                      the unit was removed by force, and its agent knows
//	gone UNIT                        the unit was removed
//	settled                          no agent has anything left to do
package journaltest
