// Package local is the cloud that every Linux host is: an instance is a directory, a machine
// agent that runs in it, and a loopback address. It needs neither root nor any installed
// software.
//
// Everything that belongs to one controller is below one directory:
//
//	controller.json              the controller's UUID
//	keeper/                      where the keeper runs (see package process)
//	controller/                  where the controller runs
//	addresses.json               the blocks of addresses it hands out
//	hooks.lock                   locked while a hook runs on any instance: they all are this host
//	machines/MODEL/INSTANCE/     an instance
//	    instance.json            its tags and its address
//	    agents/machine-N/        where its machine agent runs
//	        agent.conf           StartParams.AgentConfig
//	    storage/STORAGE          links to the filesystems of storage, where charms name no location
//	    root/                    those where charms do, below it
//	    filesystems/             filesystems of the pool rootfs, which go with the instance
//	storage/MODEL/               filesystems that outlive instances, and links to those elsewhere
//	released/MODEL/              those that a model has released; they outlive the controller
//
// Below an instance's directory is what a machine of its own has below /var/lib/juju.
//
// A directory in machines whose name begins with a dot is being made or removed.
//
// Machine agents outlive the controller that started them. The next controller finds them by
// their directories, and Cloud.Supervise watches them all. Everything they start, including the
// daemons of charms, inherits InstanceVariable. By it a process is found, and ended with its
// instance, unless it was given another environment and a session of its own.
//
// Hooks run as the user who bootstrapped, so one instance is not protected from another.
package local
