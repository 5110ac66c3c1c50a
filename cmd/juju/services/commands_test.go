package services_test

import (
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/services"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			services.DeployCommand(s), services.AddUnitCommand(s), services.DestroyUnitCommand(s),
			services.DestroyServiceCommand(s), services.SetCommand(s), services.GetCommand(s),
			services.UnsetCommand(s), services.ConfigCommand(s), services.TrustCommand(s),
			services.BindCommand(s), services.SetConstraintsCommand(s), services.ConstraintsCommand(s),
			services.SetMinUnitsCommand(s), services.SetApplicationBaseCommand(s), services.ExposeCommand(s),
			services.UnexposeCommand(s), services.ResolvedCommand(s), services.ShowUnitCommand(s),
			services.PayloadsCommand(s), services.ShowApplicationCommand(s), services.AddRelationCommand(s),
			services.DestroyRelationCommand(s), services.SetModelConstraintsCommand(s),
			services.ModelConstraintsCommand(s),
			// Of other packages.
			machines.AddMachineCommand(s), machines.DestroyMachineCommand(s),
			machines.RetryProvisioningCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "web.yaml")
	clitest.Write(t, file, "web: {title: x}\n")
	motd := filepath.Join(t.TempDir(), "motd")
	clitest.Write(t, motd, "good\nmorning")
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "add-unit web", Asked: []string{"AddUnits web 1 []"}, Stderr: "Added web/0.\n"},
		{Line: "add-unit web -n 3 --to 1,lxd:2 --to zone=a", Asked: []string{"AddUnits web 3 [1 lxd:2 zone=a]"},
			Stderr: "Added web/0, web/1, web/2.\n"},
		{Line: "destroy-unit web/0 web/1", Asked: []string{"DestroyUnits [web/0 web/1]"}},
		{Line: "destroy-unit web/0 --destroy-machines", Asked: []string{"DestroyUnits with machines [web/0]"}},
		{Line: "destroy-service web --lenient --destroy-machines",
			Asked: []string{"DestroyServices leniently with machines [web]"}},
		{Line: "remove-unit web/0", Asked: []string{"DestroyUnits [web/0]"}},
		{Line: "destroy-service web store", Asked: []string{"DestroyServices [web store]"}},
		{Line: "remove-service web", Asked: []string{"DestroyServices [web]"}},
		{Line: "remove-application web", Asked: []string{"DestroyServices [web]"}},
		{Line: "add-relation web store:db", Asked: []string{"AddRelation [web store:db]"}},
		{Line: "add-relation web store -v", Asked: []string{"AddRelation [web store]"},
			Stderr: "Related store:db and web:store.\n"},
		{Line: "integrate web store", Asked: []string{"AddRelation [web store]"}},
		{Line: "relate web store", Asked: []string{"AddRelation [web store]"}},
		{Line: "relate web db --via 192.0.2.0/24,fd00::/8", Asked: []string{"AddRelation via [192.0.2.0/24 fd00::/8] [web db]"}},
		{Line: "destroy-relation web:store store", Asked: []string{"DestroyRelation [web:store store]"}},
		{Line: "remove-relation web store", Asked: []string{"DestroyRelation [web store]"}},
		{Line: "integrate web bob/shop.mysql:server", Asked: []string{"Consume bob/shop.mysql", "AddRelation [web mysql:server]"}},
		{Line: "destroy-relation 0", Asked: []string{"DestroyRelationByID 0"}},
		{Line: "trust web", Asked: []string{`SetServiceConfig web map[trust:true] ""`}},
		{Line: "trust web --scope cluster", Asked: []string{`SetServiceConfig web map[trust:true] ""`}},
		{Line: "trust web --remove", Asked: []string{`SetServiceConfig web map[trust:false] ""`}},
		{Line: "set-min-units web 3", Asked: []string{"SetMinUnits web 3"}},
		{Line: "set-min-units web 0", Asked: []string{"SetMinUnits web 0"}},
		{Line: "payloads", Asked: []string{"Payloads []"}, Stderr: "No payloads to display.\n"},
		{Line: "list-payloads web/0 docker --format json", Asked: []string{"Payloads [web/0 docker]"}},
		{Line: "set-application-base web ubuntu@24.04", Asked: []string{"SetBase web ubuntu@24.04 false"}},
		{Line: "set-series web noble --force", Asked: []string{"SetBase web ubuntu@24.04 true"}},
		{Line: "bind web dmz db=internal", Asked: []string{"Bind web map[:dmz db:internal] false"}},
		{Line: "bind web db=internal --force", Asked: []string{"Bind web map[db:internal] true"}},
		{Line: "add-unit web --attach-storage data/0", Asked: []string{"AddUnits web 1 [with data/0]"}, Stderr: "Added web/0.\n"},
		{Line: "destroy-unit web/0 --destroy-storage", Asked: []string{"DestroyUnits with storage [web/0]"}},
		{Line: "expose web", Asked: []string{"Expose web"}},
		{Line: "expose web --endpoints a,b --to-cidrs 10.0.0.0/8", Asked: []string{
			"Expose web a to CIDR 10.0.0.0/8, b to CIDR 10.0.0.0/8"}},
		{Line: "expose web --to-spaces dmz --to-cidrs ::/0,192.0.2.0/24", Asked: []string{
			"Expose web all endpoints to space dmz and CIDRs ::/0 and 192.0.2.0/24"}},
		{Line: "unexpose web", Asked: []string{"Unexpose web"}},
		{Line: "unexpose web --endpoints a,b", Asked: []string{"Unexpose web [a b]"}},
		{Line: "resolved web/0", Asked: []string{"Status", "Resolve true [web/0]"}},
		{Line: "resolved web/0 --retry", Asked: []string{"Status", "Resolve true [web/0]"}},
		{Line: "resolved -r web/0", Asked: []string{"Status", "Resolve true [web/0]"}},
		{Line: "resolve web/0 web/1 --no-retry", Asked: []string{"Resolve false [web/0 web/1]"}},
		{Line: "resolved 14", Asked: []string{"RetryProvisioning [14]"}},
		{Line: "resolve 3 4 --constraints mem=2G", Asked: []string{`RetryProvisioning with "mem=2048M" [3 4]`}},
		{Line: "resolved --all", Asked: []string{"Status", "ResolveAll true"}, Stderr: "No units are in error.\n"},
		{Line: "set web a=1 b=x=y c= a=2", Asked: []string{`SetServiceConfig web map[a:2 b:x=y c:] ""`}},
		{Line: "set-config web motd=@" + motd, Asked: []string{"SetServiceConfig web map[motd:good\nmorning] \"\""}},
		{Line: "set web --config " + file, Asked: []string{`SetServiceConfig web map[] "web: {title: x}\n"`}},
		{Line: "set web --to-default a b", Asked: []string{"ResetServiceConfig web [a b]"}},
		{Line: "unset web a b", Asked: []string{"ResetServiceConfig web [a b]"}},
		{Line: "config web a=1", Asked: []string{`SetServiceConfig web map[a:1] ""`}},
		{Line: "config web --file " + file, Asked: []string{`SetServiceConfig web map[] "web: {title: x}\n"`}},
		{Line: "config web a=1 --reset b,c",
			Asked: []string{`SetServiceConfig web map[a:1] ""`, "ResetServiceConfig web [b c]"}},
		{Line: "config web --reset b", Asked: []string{"ResetServiceConfig web [b]"}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"relate a b --via 192.0.2.1":                `invalid CIDR "192.0.2.1"`,
		"relate a b --via 0.0.0.0/0":                `CIDR "0.0.0.0/0" not allowed`,
		"add-unit":                                  `no service specified`,
		"add-unit Web":                              `invalid service name "Web"`,
		"add-unit web x":                            `unrecognized args: ["x"]`,
		"add-unit web -n 0":                         `--num-units must be a positive integer`,
		"add-unit web -n x":                         `invalid value "x" for option --num-units: expected a whole number`,
		"add-unit web --to 1,,2":                    `invalid --to parameter ""`,
		"add-unit web --to 1:2":                     `invalid --to parameter "1:2"`,
		"destroy-unit":                              `no units specified`,
		"destroy-unit web":                          `invalid unit name "web"`,
		"destroy-service":                           `no service specified`,
		"destroy-service web/0":                     `invalid service name "web/0"`,
		"add-relation web":                          `a relation must involve two services`,
		"add-relation a b c":                        `a relation must involve two services`,
		"add-relation web: store":                   `invalid endpoint "web:"`,
		"destroy-relation web":                      `a relation must involve two services`,
		"destroy-relation -1":                       `unknown shorthand flag: '1' in -1`,
		"trust":                                     `no service specified`,
		"trust web more":                            `unrecognized args: ["more"]`,
		"trust web --scope x":                       `scope "x" not valid: expected cluster`,
		"set-min-units":                             `no service specified`,
		"add-unit web -n 1 --attach-storage data/0": `--attach-storage cannot be used with -n`,
		"set-application-base":                      `no service specified`,
		"set-application-base web":                  `no base specified`,
		"set-application-base web noble 2":          `unrecognized args: ["2"]`,
		"set-series web ubuntu":                     `expected base string to contain os and channel separated by '@', got "ubuntu"`,
		"set-application-base web ubuntu@1":         `unknown base "ubuntu@1"`,
		"set-min-units web":                         `no number of units specified`,
		"set-min-units web 1 2":                     `unrecognized args: ["2"]`,
		"set-min-units web many":                    `invalid number of units "many"`,
		"set-min-units web -- -1":                   `cannot set a negative minimum number of units`,
		"add-unit web --to lxd:web":                 `invalid value "web" for "lxd" scope: expected machine-id`,
		"expose":                                    `no service specified`,
		"unexpose a b":                              `unrecognized args: ["b"]`,
		"resolved":                                  `no units specified`,
		"resolved web/0 --retry --no-retry":         `--retry and --no-retry are mutually exclusive`,
		"resolved 3 --all":                          `--all takes no machines`,
		"resolved 3 --no-retry":                     `--retry and --no-retry are for units`,
		"resolved 3 web/0":                          `cannot resolve units and machines at once`,
		"resolved web/0 --constraints mem=1G":       `--constraints is for machines`,
		"resolved web/0 --all":                      `--all takes no units`,
		"set":                                       `no service specified`,
		"set web":                                   `no settings specified`,
		"set web a":                                 `expected "key=value", got "a"`,
		"set web a=1 --config f":                    `cannot specify --config when using key=value arguments`,
		"set web --to-default":                      `no options specified`,
		"set web --to-default a=1":                  `invalid option name "a=1"`,
		"set web --to-default a --config f":         `cannot specify --config with --to-default`,
		"set web a=\xff":                            `value for option "a" contains non-UTF-8 sequences`,
		"unset web":                                 `no options specified`,
		"get":                                       `no service specified`,
		"get a b c":                                 `unrecognized args: ["c"]`,
		"get web --format tabular":                  `unknown format "tabular"`,
		"config web a=1 --reset a":                  `cannot set and reset key "a" simultaneously`,
		"config web a=1 --file f":                   `cannot specify --file and key=value arguments simultaneously`,
		"config web a b":                            `expected "key=value", got "a"`,
		"deploy":                                    `no charm specified`,
		"deploy a b c":                              `unrecognized args: ["c"]`,
		"bind web":                                  "no bindings specified",
		"bind web a b":                              "at most one default space can be specified",
		"bind web db=a db=b":                        `endpoint "db" is bound twice`,
		"bind web db=A":                             `"A" is not a valid space name`,
		"bind web =a":                               "Found = without endpoint name. Use a lone space name to set the default.",
	})
}
