package providertest

import (
	"juju/state/constraints"
)

// An Effect is what a constraint does. Its text is that of doc/providers.md.
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
	NoEffect      Effect = "accepted, without effect"
)

// A Constraint says what a constraint does on a cloud. If the cloud's setup matters, Otherwise is the effect in
// the case that If describes.
type Constraint struct {
	Effect    Effect
	Otherwise Effect
	If        string
}

// A Profile describes a cloud, as far as possible without running it. It is a column of doc/providers.md, and Run
// checks it, except Said, which is prose.
type Profile struct {
	Cloud       string // its name, and that of its own storage pool
	Constraints map[string]Constraint
	// OtherPlacement and OtherSeries are examples that the cloud rejects.
	OtherPlacement, OtherSeries string
	Skips                       map[string]string // reasons, by the names of cases
	Said                        Said
}

// Said describes what a cloud has, in the words of doc/providers.md.
type Said struct{ Machine, Series, Placement, Storage, Ports, Containers string }

// of returns constraints that all have one effect.
func of(effect Effect, keys ...string) map[string]Constraint {
	all := map[string]Constraint{}
	for _, key := range keys {
		all[key] = Constraint{Effect: effect}
	}
	return all
}

func join(maps ...map[string]Constraint) map[string]Constraint {
	all := map[string]Constraint{}
	for _, m := range maps {
		for key, c := range m {
			all[key] = c
		}
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
			constraints.RootDiskSource, constraints.Spaces, constraints.Tags, constraints.VirtType,
			constraints.Zones),
	),
	OtherPlacement: "zone=a", OtherSeries: "xenial",
	Skips: map[string]string{"Containers": "they are rejected",
		"Firewall": "the machines are the host itself; `juju expose` warns about it"},
	Said: Said{
		Machine:    "a directory, a process and a loopback address of this host",
		Series:     "the host's; with `--force`, charms for other series run on it, with a warning",
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
			constraints.ImageID, constraints.InstanceRole, constraints.Spaces, constraints.Tags),
		map[string]Constraint{
			constraints.RootDisk: {Limit, Unlimited, "the storage pool is of type dir"},
			constraints.Zones:    {Chosen, Ignored, "LXD is not a cluster"},
		},
	),
	OtherPlacement: "zone=nowhere", OtherSeries: "xenial",
	Said: Said{
		Machine:   "a system container with an address on LXD's network",
		Series:    "those with an image: an alias in LXD, or one on the configured image server",
		Placement: "`zone=MEMBER`, on a cluster",
		Storage:   "volumes in LXD's storage pool; a pool of type dir does not limit their size",
		Ports: "closed to the LXD host and beyond; open on the same network, and from the machine's start until its rules are " +
			"set. LXD must manage the network; otherwise all are open, and `juju expose` warns about it",
		Containers: "an instance next to the machine's, on the same member",
	},
}

// Dummy is the profile of provider/dummytest, the cloud of our tests.
var Dummy = Profile{
	Cloud: "dummy",
	Constraints: join(
		of(Chosen, constraints.Arch),
		of(Given, constraints.Cores, constraints.Mem, constraints.RootDisk),
		of(Ignored, constraints.CPUPower, constraints.VirtType),
		of(NoEffect, constraints.AllocatePublicIP, constraints.Container, constraints.ImageID,
			constraints.InstanceRole, constraints.InstanceType, constraints.RootDiskSource,
			constraints.Spaces, constraints.Tags, constraints.Zones),
	),
	OtherPlacement: "under-the-desk", OtherSeries: "xenial",
	Said: Said{
		Machine:    "agents in the test process, or none",
		Series:     "those set by a test, or any",
		Placement:  "`valid`, and `zone=ZONE` if a test sets zones",
		Storage:    "names without data",
		Ports:      "rules are recorded, without effect",
		Containers: "an instance next to the machine's",
	},
}
