package hooktools

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"juju/hooks/tool"
)

// flagsOfJuju are the tools of Juju 3.6.28 for machine charms, and their flags in its sources.
var flagsOfJuju = map[string]string{
	"action-fail":             "",
	"action-get":              "format o output",
	"action-log":              "",
	"action-set":              "",
	"application-version-set": "",
	"close-port":              "endpoints format",
	"config-get":              "a all format o output",
	"credential-get":          "format o output",
	"goal-state":              "format o output",
	"is-leader":               "format o output",
	"juju-log":                "debug format l log-level",
	"juju-reboot":             "now",
	"leader-get":              "format o output",
	"leader-set":              "",
	"network-get":             "bind-address egress-subnets format ingress-address o output primary-address r relation",
	"open-port":               "endpoints format",
	"opened-ports":            "endpoints format o output",
	"payload-register":        "",
	"payload-status-set":      "",
	"payload-unregister":      "",
	"relation-get":            "app format o output r relation",
	"relation-ids":            "format o output",
	"relation-list":           "app format o output r relation",
	"relation-model-get":      "format o output r relation",
	"relation-set":            "app file format r relation",
	"resource-get":            "",
	"secret-add":              "description expire file label owner rotate",
	"secret-get":              "format label o output peek refresh",
	"secret-grant":            "r relation unit",
	"secret-ids":              "format o output",
	"secret-info-get":         "format label o output",
	"secret-remove":           "revision",
	"secret-revoke":           "app application r relation unit",
	"secret-set":              "description expire file label owner rotate",
	"state-delete":            "",
	"state-get":               "format o output strict",
	"state-set":               "file",
	"status-get":              "application format include-data o output",
	"status-set":              "application",
	"storage-add":             "",
	"storage-get":             "format o output s",
	"storage-list":            "format o output",
	"unit-get":                "format o output",
}

// flagsOfOurs are the tools that Juju 3.6 has not, and the flags that it has not.
var flagsOfOurs = map[string]string{
	"add-metric":   "l labels",                                                                     // until 3.6.10
	"function-get": "format o output", "function-fail": "", "function-log": "", "function-set": "", // until 2.9
	"juju-fail":    "",
	"resource-get": "format", "storage-add": "format", // ignored, as other tools ignore it
}

// Every tool of Juju 3.6 is there and has its flags. Those that are switches take a value too, in all spellings that Juju
// reads: the ops framework says --application=False.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		known, ofJuju := flagsOfJuju[name]
		more, ofOurs := flagsOfOurs[name]
		if !ofJuju && !ofOurs {
			t.Errorf("%s is in neither list", name)
		}
		want := append(strings.Fields(known), strings.Fields(more)...)
		slices.Sort(want)
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		table[name].make().flags(flags)
		var got []string
		newOptions(flags).VisitAll(func(f *pflag.Flag) {
			got = append(got, f.Name)
			if f.Value.Type() != "bool" {
				return
			}
			for _, value := range []string{"False", "True", "false", "TRUE", "0", "t"} {
				reply := Run(t.Context(), newFake([]string{"install"}), tool.Request{Tool: name, Args: []string{"--" + f.Name + "=" + value, "--help"}}, nil)
				if reply.Code != 0 {
					t.Errorf("%s --%s=%s: %s", name, f.Name, value, reply.Stderr)
				}
			}
		})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the flags %q, want %q", name, got, want)
		}
	}
	for name := range flagsOfJuju {
		if _, ok := table[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}
