package providertest

import (
	"maps"

	"juju/state/constraints"
)

// An Effect is what a constraint does, in the words of doc/providers.md.
type Effect string

// The effects of constraints.
const (
	Limit         Effect = "the machine gets exactly this much; rejected if the host has less"
	Checked       Effect = "rejected if the host has less; limits nothing"
	Chosen        Effect = "must be one that the cloud has; others are rejected"
	ChosenAtStart Effect = "must be one that the cloud has; others are rejected when the machine starts"
	Given         Effect = "the machine has this much"
	Ignored       Effect = "ignored, with a warning"
	Unlimited     Effect = "limits nothing, with a warning; rejected if the host has less"
	InSpaces      Effect = "the machine is in these spaces, or not in them; rejected if the cloud's networks don't permit that"
	NoEffect      Effect = "accepted, without effect"
)

// A Constraint is the effect of a constraint on a cloud. If the effect depends on the cloud's setup,
// Otherwise is the effect when If applies.
type Constraint struct {
	Effect    Effect
	Otherwise Effect
	If        string
}

// A Profile describes a cloud. It is a column of doc/providers.md. Run checks everything but Notes.
type Profile struct {
	Cloud       string // the name of the cloud and of its own storage pool
	Constraints map[string]Constraint
	// BadPlacement and BadSeries are examples that the cloud rejects.
	BadPlacement, BadSeries string
	Skips                   map[string]string // name of the case → why it is skipped
	Notes                   Notes
}

// Notes describes other properties of a cloud, for doc/providers.md.
type Notes struct{ Machine, Series, Placement, Storage, Ports, Containers string }

// of returns constraints that all have the same effect.
func of(effect Effect, keys ...string) map[string]Constraint {
	all := map[string]Constraint{}
	for _, key := range keys {
		all[key] = Constraint{Effect: effect}
	}
	return all
}

func join(parts ...map[string]Constraint) map[string]Constraint {
	all := map[string]Constraint{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// Local is the profile of provider/local.
var Local = Profile{
	Cloud: "local",
	Constraints: join(
		of(Chosen, constraints.Arch),
		of(Checked, constraints.Cores, constraints.Mem, constraints.RootDisk),
		of(Ignored, constraints.AllocatePublicIP, constraints.Container, constraints.CPUPower,
			constraints.ImageID, constraints.InstanceRole, constraints.InstanceType,
			constraints.RootDiskSource, constraints.Tags, constraints.VirtType,
			constraints.Zones),
		of(InSpaces, constraints.Spaces),
	),
	BadPlacement: "zone=a", BadSeries: "xenial",
	Skips: map[string]string{"Containers": "they are rejected",
		"Firewall": "the machines are the host itself; `juju expose` warns about it",
		"Profiles": "the machines are no containers; `juju deploy` warns about it"},
	Notes: Notes{
		Machine:    "a directory, a process and a loopback address of this host",
		Series:     "the host's; on one that is not Ubuntu's, charms for Ubuntu's series run with a warning, and others with `--force`",
		Placement:  "none",
		Storage:    "directories, without a size limit",
		Ports:      "open; but a loopback address can't be reached from other hosts",
		Containers: "rejected",
	},
}

// LXD is the profile of provider/lxd.
var LXD = Profile{
	Cloud: "lxd",
	Constraints: join(
		of(Limit, constraints.Cores, constraints.Mem),
		of(Chosen, constraints.Arch, constraints.RootDiskSource, constraints.VirtType),
		of(ChosenAtStart, constraints.InstanceType),
		of(Ignored, constraints.AllocatePublicIP, constraints.Container, constraints.CPUPower,
			constraints.ImageID, constraints.InstanceRole, constraints.Tags),
		of(InSpaces, constraints.Spaces),
		map[string]Constraint{
			constraints.RootDisk: {Limit, Unlimited, "the storage pool is of type dir"},
			constraints.Zones:    {Chosen, Ignored, "LXD is not a cluster"},
		},
	),
	BadPlacement: "zone=nowhere", BadSeries: "xenial",
	Notes: Notes{
		Machine:   "a system container with an address on LXD's network",
		Series:    "those with an image: an alias in LXD, or one on the configured image server",
		Placement: "`zone=MEMBER`, on a cluster",
		Storage:   "volumes in LXD's storage pool; a pool of type dir does not limit their size",
		Ports: "closed to the LXD host and beyond; open on the same network, and until a new machine's rules are set. If LXD " +
			"does not manage the network, all ports are open, and `juju expose` warns about it",
		Containers: "an instance next to the machine's, on the same member",
	},
}

// Dummy is the profile of provider/dummytest.
var Dummy = Profile{
	Cloud: "dummy",
	Constraints: join(
		of(Chosen, constraints.Arch),
		of(Given, constraints.Cores, constraints.Mem, constraints.RootDisk),
		of(Ignored, constraints.CPUPower, constraints.VirtType),
		of(NoEffect, constraints.AllocatePublicIP, constraints.Container, constraints.ImageID,
			constraints.InstanceRole, constraints.InstanceType, constraints.RootDiskSource,
			constraints.Tags, constraints.Zones),
		of(InSpaces, constraints.Spaces),
	),
	BadPlacement: "under-the-desk", BadSeries: "xenial",
	Notes: Notes{
		Machine:    "agents in the test process, or none",
		Series:     "those set by a test, or any",
		Placement:  "`valid`, and `zone=ZONE` if a test sets zones",
		Storage:    "names only, without data",
		Ports:      "rules are recorded but have no effect",
		Containers: "an instance next to the machine's",
	},
}
