package main

// A group is a part of the navigation. Readers of each come with another question.
type group struct {
	Title string
	Items []item
}

// An item is a document in the navigation, or a heading of one: FILE.md#HEADING. Its title is the page's unless it has one.
type item struct{ Source, Title string }

// forUsers is how many of the groups, from the first, are what users look for: search prefers them.
const forUsers = 3

// navigation has every document.
var navigation = []group{
	{"Tutorials", []item{
		{"README.md", "Overview"},
		{"doc/tutorial.md", "A service from start to end"},
		{"doc/charms.md#a-first-charm-in-ten-minutes", "Your first charm"},
	}},
	{"How to", []item{
		{"doc/howto/recover-a-controller.md", "Recover a controller"},
		{"doc/howto/replace-a-machine.md", "Replace a machine"},
		{"doc/howto/full-disk.md", "Free a full disk"},
		{"doc/howto/charm-store.md", "Keep a charm store"},
		{"doc/howto/move-to-lxd.md", "Move to LXD"},
		{"doc/operations.md", "Run a controller that matters"},
		{"doc/coming-from-juju.md", "Come from Juju"},
		{"doc/charms.md", "Write charms"},
	}},
	{"Reference", []item{
		{"doc/cli.md", "Commands"},
		{"doc/hook-tools.md", "Hook tools"},
		{"doc/contract.md", "The contract with charms"},
		{"doc/providers.md", "Clouds"},
		{"doc/api.md", "API"},
		{"doc/dashboard.md", "Dashboard"},
		{"doc/http.md", "Plain HTTP"},
		{"doc/metrics.md", "Metrics"},
		{"doc/tracing.md", "Traces"},
	}},
	{"Explanation", []item{
		{"doc/architecture.md", "Architecture"},
		{"doc/security.md", "Security and limits"},
		{"doc/decisions.md", "Decisions"},
		{"doc/figures.md", "Figures"},
		{"doc/unproven.md", "Not proven yet"},
		{"CHANGELOG.md", "Changelog"},
	}},
	{"Development", []item{
		{"CONTRIBUTING.md", "Contributing"},
		{"doc/first-change.md", "Your first change"},
		{"doc/hacking.md", "Where things are"},
		{"STYLE.md", "Style"},
		{"doc/testing.md", "Tests"},
		{"doc/lifecycles.md", "Lifecycles"},
		{"doc/verified.md", "Verified"},
		{"SECURITY.md", "Reporting a vulnerability"},
	}},
}

// split are the documents of which each heading of the second level becomes a page: too long for one.
var split = map[string]bool{"doc/cli.md": true}
