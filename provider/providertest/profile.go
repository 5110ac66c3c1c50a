package providertest

import (
	"juju/state/constraints"
)

// An Effect is what a constraint does. Its text is that of doc/providers.md.
type Effect string

// The effects of constraints.
const (
	Limit         Effect = "the machine gets so much and no more; refused if the host has less"
	Checked       Effect = "refused if the host has less; limits nothing"
	Chosen        Effect = "one that the cloud has; others are refused"
	ChosenAtStart Effect = "one that the cloud knows; others are refused when the machine starts"
	Given         Effect = "the machine has so much"
	Ignored       Effect = "ignored, with a warning"
	Unlimited     Effect = "limits nothing, with a warning; refused if the host has less"
	NoEffect      Effect = "accepted, without effect"
)

// A Constraint says what a constraint does on a cloud. A cloud that depends on how it is set up
// does otherwise in a case that If names.
type Constraint struct {
	Effect    Effect
	Otherwise Effect
	If        string
}

// A Profile is what a cloud says of itself, as far as it can without running. It is a column of
// doc/providers.md, and Run checks it; what is in Said is prose that Run can't check.
type Profile struct {
	Cloud       string // its name, and that of its own storage pool
	Constraints map[string]Constraint
	// OtherPlacement and OtherSeries are some that the cloud refuses.
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
	Skips: map[string]string{"Containers": "they are refused",
		"Firewall": "the machines are the host itself; `juju expose` warns of it"},
	Said: Said{
		Machine:    "a directory, a process and a loopback address of this host",
		Series:     "the host's; with `--force` a charm of another runs on it, with a warning",
		Placement:  "none",
		Storage:    "directories; their size is not limited",
		Ports:      "any port of the machine's address can be used; loopback reaches no other host",
		Containers: "refused",
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
			constraints.RootDisk: {Limit, Unlimited, "the storage pool is a directory"},
			constraints.Zones:    {Chosen, Ignored, "LXD is no cluster"},
		},
	),
	OtherPlacement: "zone=nowhere", OtherSeries: "xenial",
	Said: Said{
		Machine:   "a system container with an address of LXD's network",
		Series:    "those that have an image: an alias of LXD's, or one of the configured image server",
		Placement: "`zone=MEMBER`, on a cluster",
		Storage:   "volumes of LXD's storage pool; a pool that is a directory does not limit their size",
		Ports: "closed to the LXD host and beyond; open to what is on the same network, and from the machine's start until " +
			"its rules are set. LXD must manage the network; else all are open, and `juju expose` warns of it",
		Containers: "an instance beside the machine's, on the same member",
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
		Machine:    "agents in the process of the test, or none",
		Series:     "those that a test sets, or any",
		Placement:  "`valid`, and `zone=ZONE` if a test sets zones",
		Storage:    "names without data",
		Ports:      "the rules are only kept",
		Containers: "an instance beside the machine's",
	},
}
