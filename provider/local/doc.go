// Package local is the cloud that every Linux host is: an instance is a
// directory, a machine agent that runs in it, and a loopback address of its own.
// It needs neither root nor anything installed.
//
// All that one controller has is below one directory:
//
//	controller.json              which controller this is
//	keeper/                      where the keeper runs (package process tells how)
//	controller/                  where the controller runs
//	addresses.json               the blocks of addresses it hands out
//	machines/MODEL/INSTANCE/     an instance: where its machine agent runs
//	    instance.json            its tags and its address
//	    agent.conf               what StartInstance was given for the agent
//
// A directory in machines whose name begins with a dot is on its way in or out.
//
// Machine agents outlive the controller that started them. The next one finds
// them by their directories; Cloud.Supervise watches them all. Whatever they
// start, the daemons of charms too, inherits InstanceVariable, by which it is
// found and ended with its instance, unless it was given another environment
// and a session of its own.
//
// Hooks run as the user who bootstrapped, so one instance is not protected from
// another.
package local
