// Package local makes a Linux host a cloud: an instance is a directory, a machine agent that runs in
// it, and a loopback address. It needs neither root nor additional software.
//
// All files of a controller are below one directory:
//
//	controller.json              the controller's UUID
//	keeper/                      where the keeper runs (see package process)
//	controller/                  where the controller runs
//	addresses.json               the blocks of addresses it allocates from
//	hooks.lock                   locked while a hook runs that only one instance may run: the setting host-lock
//	machines/MODEL/INSTANCE/     an instance
//	    instance.json            its tags and its address
//	    agents/machine-N/        where its machine agent runs
//	        agent.conf           StartParams.AgentConfig
//	    hooks.lock               locked while a hook runs on the instance
//	    storage/STORAGE          links to the filesystems of storage whose charm sets no location
//	    root/                    links to the others, at their location below it
//	    filesystems/             filesystems of the rootfs pool, deleted with the instance
//	storage/MODEL/               filesystems that outlive instances, and links to those elsewhere
//	released/MODEL/              filesystems released by a model; they outlive the controller
//
// An instance's directory corresponds to /var/lib/juju on a dedicated machine.
//
// Directories in machines whose name begins with a dot are being created or removed.
//
// Machine agents outlive the controller that started them. The next controller finds them by their
// directories, and Cloud.Supervise supervises them all. Their child processes, including charms'
// daemons, inherit InstanceVariable. It is used to find and terminate an instance's processes, except
// those started with a different environment in their own session.
//
// Hooks run as the user who bootstrapped, so instances are not isolated from each other.
package local
