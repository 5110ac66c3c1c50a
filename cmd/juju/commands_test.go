package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/provider/local"
	"juju/state/entity"
)

// The API calls of each command line. Every command is here, under the names of Juju 1 and of
// today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yaml")
	clitest.Write(t, file, "web: {title: x}\n")
	params := filepath.Join(dir, "params.yaml")
	clitest.Write(t, params, "all: &all {keep: [1, yes, 'yes']}\na: {<<: *all, b: 1}\n")
	motd := filepath.Join(dir, "motd")
	clitest.Write(t, motd, "good\nmorning")
	for _, test := range []struct {
		line   string
		asked  []string
		stderr string
	}{
		{line: "add-unit web", asked: []string{"AddUnits web 1 []"}, stderr: "Added web/0.\n"},
		{line: "add-unit web -n 3 --to 1,lxd:2 --to zone=a", asked: []string{"AddUnits web 3 [1 lxd:2 zone=a]"},
			stderr: "Added web/0, web/1, web/2.\n"},
		{line: "destroy-unit web/0 web/1", asked: []string{"DestroyUnits [web/0 web/1]"}},
		{line: "destroy-unit web/0 --destroy-machines", asked: []string{"DestroyUnits with machines [web/0]"}},
		{line: "destroy-service web --lenient --destroy-machines",
			asked: []string{"DestroyServices leniently with machines [web]"}},
		{line: "remove-unit web/0", asked: []string{"DestroyUnits [web/0]"}},
		{line: "destroy-service web store", asked: []string{"DestroyServices [web store]"}},
		{line: "remove-service web", asked: []string{"DestroyServices [web]"}},
		{line: "remove-application web", asked: []string{"DestroyServices [web]"}},
		{line: "destroy-machine 0 0/lxd/1", asked: []string{"DestroyMachines [0 0/lxd/1]"}},
		{line: "remove-machine 0", asked: []string{"DestroyMachines [0]"}},
		{line: "terminate-machine 0", asked: []string{"DestroyMachines [0]"}},
		{line: "add-relation web store:db", asked: []string{"AddRelation [web store:db]"}},
		{line: "add-relation web store -v", asked: []string{"AddRelation [web store]"},
			stderr: "Related store:db and web:store.\n"},
		{line: "integrate web store", asked: []string{"AddRelation [web store]"}},
		{line: "relate web store", asked: []string{"AddRelation [web store]"}},
		{line: "relate web db --via 192.0.2.0/24,fd00::/8", asked: []string{"AddRelation via [192.0.2.0/24 fd00::/8] [web db]"}},
		{line: "destroy-relation web:store store", asked: []string{"DestroyRelation [web:store store]"}},
		{line: "remove-relation web store", asked: []string{"DestroyRelation [web store]"}},
		{line: "integrate web bob/shop.mysql:server", asked: []string{"Consume bob/shop.mysql", "AddRelation [web mysql:server]"}},
		{line: "offer default.web:db,www site", asked: []string{"AddOffer default-uuid site web [db www]"},
			stderr: "Application \"web\" endpoints [db, www] available at \"admin/default.site\"\n"},
		{line: "remove-offer web --if-unchanged beef", asked: []string{"RemoveOffers [admin/default.web]"}},
		{line: "consume shop.mysql db", asked: []string{"Consume admin/shop.mysql db"}, stderr: "Added admin/shop.mysql as db\n"},
		{line: "remove-saas db cache --force", asked: []string{"RemoveRemotes with force after 1m0s [db cache]"}},
		{line: "suspend-relation 4 5 --message noon", asked: []string{"SuspendRelations true [4 5]"}},
		{line: "resume-relation 4", asked: []string{"SuspendRelations false [4]"}},
		{line: "destroy-relation 0", asked: []string{"DestroyRelationByID 0"}},
		{line: "add-machine", asked: []string{`AddMachine "" "" ""`}, stderr: "created machine 0\n"},
		{line: "add-machine -n 2 --series jammy --constraints mem=1G", stderr: "created machine 0\ncreated machine 1\n",
			asked: []string{`AddMachine "jammy" "mem=1024M" ""`, `AddMachine "jammy" "mem=1024M" ""`}},
		{line: "add-machine zone=a -q", asked: []string{`AddMachine "" "" "zone=a"`}},
		{line: "add-machine lxd:0 -q", asked: []string{`AddMachine "" "" "lxd:0"`}},
		{line: "disable-command destroy-model", asked: []string{`SwitchBlockOn BlockDestroy ""`}},
		{line: "disable-command remove-object Ask SA first.", asked: []string{`SwitchBlockOn BlockRemove "Ask SA first."`}},
		{line: "disable-command all", asked: []string{`SwitchBlockOn BlockChange ""`}},
		{line: "block all-changes", asked: []string{`SwitchBlockOn BlockChange ""`}},
		{line: "block destroy-environment", asked: []string{`SwitchBlockOn BlockDestroy ""`}},
		{line: "enable-command all", asked: []string{"SwitchBlockOff BlockChange"}},
		{line: "unblock remove-object", asked: []string{"SwitchBlockOff BlockRemove"}},
		{line: "disabled-commands", asked: []string{"Blocks"}, stderr: "No commands are currently disabled.\n"},
		{line: "list-all-blocks", asked: []string{"Blocks"}, stderr: "No commands are currently disabled.\n"},
		{line: "actions web", asked: []string{"ServiceActions web"}, stderr: "No actions defined for web.\n"},
		{line: "list-actions web --format json", asked: []string{"ServiceActions web"}},
		{line: "run-action web/0 web/leader go level=5 a.b=x a.c=2026-01-02 name=yes said='yes'",
			asked: []string{`EnqueueActions go {"a":{"b":"x","c":"2026-01-02"},"level":5,"name":true,"said":"yes"} [web/0 web/leader]`}},
		{line: "run-action web/0 go --string-args level=5",
			asked: []string{`EnqueueActions go {"level":"5"} [web/0]`}},
		{line: "run-action web/0 go --params " + params + " a.b=2",
			asked: []string{`EnqueueActions go {"a":{"b":2,"keep":[1,true,"yes"]},"all":{"keep":[1,true,"yes"]}} [web/0]`}},
		{line: "run --unit web/0,web/leader -a store ls -l",
			asked: []string{`RunCommand {"Command":"ls -l","Timeout":300000000000,"Units":["web/0","web/leader"],` +
				`"Services":["store"],"Machines":null,"All":false,"Parallel":null,"Group":null}`}, stderr: "There are no units or machines to run the command on.\n"},
		{line: "run --unit web/0 -- ls --all -a -h --format=json",
			asked: []string{`RunCommand {"Command":"ls --all -a -h --format=json","Timeout":300000000000,"Units":["web/0"],` +
				`"Services":null,"Machines":null,"All":false,"Parallel":null,"Group":null}`}, stderr: "There are no units or machines to run the command on.\n"},
		{line: "exec --service web --service store --timeout 1m --parallel --execution-group g uptime",
			asked: []string{`RunCommand {"Command":"uptime","Timeout":60000000000,"Units":null,` +
				`"Services":["web","store"],"Machines":null,"All":false,"Parallel":true,"Group":"g"}`}, stderr: "There are no units or machines to run the command on.\n"},
		{line: "operations --apps web --applications store --units web/0 --status failed --limit 5",
			asked: []string{`Operations {"Services":["store","web"],"Units":["web/0"],"Machines":null,"Actions":null,` +
				`"Statuses":["failed"],"Limit":5}`}, stderr: "There are more operations; to list them, raise --limit.\n"},
		{line: "show-operation 1", asked: []string{"Operation 1"}},
		{line: "show-task 2", asked: []string{"Task 2"}},
		{line: "cancel-task 2 3", asked: []string{"CancelTasks 2 3"}},
		{line: "cancel-action 2", asked: []string{"CancelTasks 2"}},
		{line: "show-action-status", asked: []string{"FindTasks"}},
		{line: "trust web", asked: []string{`SetServiceConfig web map[trust:true] ""`}},
		{line: "trust web --scope cluster", asked: []string{`SetServiceConfig web map[trust:true] ""`}},
		{line: "trust web --remove", asked: []string{`SetServiceConfig web map[trust:false] ""`}},
		{line: "set-min-units web 3", asked: []string{"SetMinUnits web 3"}},
		{line: "set-min-units web 0", asked: []string{"SetMinUnits web 0"}},
		{line: "payloads", asked: []string{"Payloads []"}, stderr: "No payloads to display.\n"},
		{line: "list-payloads web/0 docker --format json", asked: []string{"Payloads [web/0 docker]"}},
		{line: "add-storage web/0 data=rootfs,2G,3 cache", asked: []string{"AddStorage web/0 cache ,0M,1",
			"AddStorage web/0 data rootfs,2048M,3"}, stderr: "added storage cache/0 to web/0\nadded storage data/0 to web/0\n"},
		{line: "attach-storage web/0 data/0 cache/1", asked: []string{"AttachStorage web/0 [data/0 cache/1]"}, stderr: "attaching data/0 to web/0\nattaching cache/1 to web/0\n"},
		{line: "detach-storage data/0", asked: []string{"DetachStorage [data/0]"}, stderr: "detaching data/0\n"},
		{line: "detach-storage data/0 --force --no-wait", asked: []string{"DetachStorage with force after 0s [data/0]"}, stderr: "detaching data/0\n"},
		{line: "remove-storage data/0", asked: []string{"RemoveStorage false [data/0]"}, stderr: "removing data/0\n"},
		{line: "remove-storage data/0 --no-destroy", asked: []string{"Storage", "RemoveStorage true [data/0]"}, stderr: "releasing data/0\n"},
		{line: "import-filesystem lxd default:vol data", asked: []string{"ImportFilesystem lxd default:vol data"},
			stderr: "importing \"default:vol\" from storage pool \"lxd\" as storage \"data\"\nimported storage data/0\n"},
		{line: "remove-storage data/0 --force", asked: []string{"RemoveStorage with force after 1m0s false [data/0]"}, stderr: "removing data/0\n"},
		{line: "storage-pools --name a,b --provider c", asked: []string{"StoragePools [a b] [c]"}},
		{line: "create-storage-pool fast local storage-dir=/mnt/ssd",
			asked: []string{"CreateStoragePool {fast local map[storage-dir:/mnt/ssd]}"}},
		{line: "update-storage-pool fast storage-dir=/a", asked: []string{"UpdateStoragePool fast map[storage-dir:/a]"}},
		{line: "set-application-base web ubuntu@24.04", asked: []string{"SetBase web ubuntu@24.04 false"}},
		{line: "set-series web noble --force", asked: []string{"SetBase web ubuntu@24.04 true"}},
		{line: "bind web dmz db=internal", asked: []string{"Bind web map[:dmz db:internal] false"}},
		{line: "bind web db=internal --force", asked: []string{"Bind web map[db:internal] true"}},
		{line: "spaces", asked: []string{"Spaces"}},
		{line: "show-space db", asked: []string{"ShowSpace db"}},
		{line: "subnets --zone a", asked: []string{"Spaces"}, stderr: "No subnets found matching requested criteria.\n"},
		{line: "add-space db 10.0.0.1/16", asked: []string{"AddSpace db [10.0.0.0/16]"}, stderr: "added space \"db\" with subnets 10.0.0.0/16\n"},
		{line: "add-space db", asked: []string{"AddSpace db []"}, stderr: "added space \"db\" with no subnets\n"},
		{line: "rename-space db data", asked: []string{"RenameSpace db data"}, stderr: "renamed space \"db\" to \"data\"\n"},
		{line: "remove-space db --force -y", asked: []string{"RemoveSpace db true"}, stderr: "removed space \"db\"\n"},
		{line: "reload-spaces", asked: []string{"ReloadSpaces"}},
		{line: "move-to-space db 10.0.0.0/24 --force", asked: []string{"MoveToSpace db [10.0.0.0/24] true"}},
		{line: "remove-storage-pool fast", asked: []string{"RemoveStoragePool fast"}},
		{line: "add-unit web --attach-storage data/0", asked: []string{"AddUnits web 1 [with data/0]"}, stderr: "Added web/0.\n"},
		{line: "destroy-unit web/0 --destroy-storage", asked: []string{"DestroyUnits with storage [web/0]"}},
		{line: "expose web", asked: []string{"Expose web"}},
		{line: "expose web --endpoints a,b --to-cidrs 10.0.0.0/8", asked: []string{
			"Expose web a to CIDR 10.0.0.0/8, b to CIDR 10.0.0.0/8"}},
		{line: "expose web --to-spaces dmz --to-cidrs ::/0,192.0.2.0/24", asked: []string{
			"Expose web all endpoints to space dmz and CIDRs ::/0 and 192.0.2.0/24"}},
		{line: "unexpose web", asked: []string{"Unexpose web"}},
		{line: "unexpose web --endpoints a,b", asked: []string{"Unexpose web [a b]"}},
		{line: "resolved web/0", asked: []string{"Status", "Resolve true [web/0]"}},
		{line: "resolved web/0 --retry", asked: []string{"Status", "Resolve true [web/0]"}},
		{line: "resolved -r web/0", asked: []string{"Status", "Resolve true [web/0]"}},
		{line: "resolve web/0 web/1 --no-retry", asked: []string{"Resolve false [web/0 web/1]"}},
		{line: "upgrade-machine 3 prepare ubuntu@24.04 --no-prompt", asked: []string{"PrepareUpgrade 3 ubuntu@24.04 false", "Status"},
			stderr: "Upgrade the operating system of machine 3 now. Then: juju upgrade-machine 3 complete\n"},
		{line: "upgrade-series 3 prepare noble --force -y", asked: []string{"PrepareUpgrade 3 ubuntu@24.04 true", "Status"},
			stderr: "Upgrade the operating system of machine 3 now. Then: juju upgrade-machine 3 complete\n"},
		{line: "upgrade-machine 3 complete", asked: []string{"CompleteUpgrade 3 false", "Status"}, stderr: "Machine 3 has its new base.\n"},
		{line: "upgrade-machine 3 complete --keep-base", asked: []string{"CompleteUpgrade 3 true", "Status"}, stderr: "Machine 3 keeps its base.\n"},
		{line: "retry-provisioning 3 4", asked: []string{"RetryProvisioning [3 4]"}},
		{line: "retry-provisioning --all", asked: []string{"RetryAllProvisioning"}, stderr: "No machines are in error.\n"},
		{line: "retry-provisioning --all --constraints mem=1G", asked: []string{`RetryAllProvisioning with "mem=1024M"`},
			stderr: "No machines are in error.\n"},
		{line: "retry-provisioning 3 --constraints=", asked: []string{`RetryProvisioning with "" [3]`}},
		{line: "resolved 14", asked: []string{"RetryProvisioning [14]"}},
		{line: "resolve 3 4 --constraints mem=2G", asked: []string{`RetryProvisioning with "mem=2048M" [3 4]`}},
		{line: "resolved --all", asked: []string{"Status", "ResolveAll true"}, stderr: "No units are in error.\n"},
		{line: "set web a=1 b=x=y c= a=2", asked: []string{`SetServiceConfig web map[a:2 b:x=y c:] ""`}},
		{line: "set-config web motd=@" + motd, asked: []string{"SetServiceConfig web map[motd:good\nmorning] \"\""}},
		{line: "set web --config " + file, asked: []string{`SetServiceConfig web map[] "web: {title: x}\n"`}},
		{line: "set web --to-default a b", asked: []string{"ResetServiceConfig web [a b]"}},
		{line: "unset web a b", asked: []string{"ResetServiceConfig web [a b]"}},
		{line: "config web a=1", asked: []string{`SetServiceConfig web map[a:1] ""`}},
		{line: "config web --file " + file, asked: []string{`SetServiceConfig web map[] "web: {title: x}\n"`}},
		{line: "config web a=1 --reset b,c",
			asked: []string{`SetServiceConfig web map[a:1] ""`, "ResetServiceConfig web [b c]"}},
		{line: "config web --reset b", asked: []string{"ResetServiceConfig web [b]"}},
		{line: "status web store", asked: []string{"Status web,store"}, stderr: "\nModel \"prod:default\" is empty.\n"},
		{line: "wait-for", asked: []string{"Status"}},
		{line: "wait-for service web --gone", asked: []string{"Status"}},
		{line: "debug-log", asked: []string{"DebugLog " + query(`"Backlog":10,"NoTail":true`)}},
		{line: "debug-log --limit 15 --no-tail", asked: []string{"DebugLog " + query(`"Backlog":15,"Limit":15,"NoTail":true`)}},
		{line: "debug-log --limit 15 -n 3", asked: []string{"DebugLog " + query(`"Backlog":3,"Limit":15,"NoTail":true`)}},
		{line: "debug-log --replay -i web/0 -i store* -x machine-0 --include-module a --exclude-module b -l warning -n 0 " +
			"--limit 5 -T",
			stderr: "Model \"default\" has no unit or machine \"web/0\". To see what is in the model: juju status\n" +
				"Model \"default\" has no unit or machine \"store*\". To see what is in the model: juju status\n" +
				"Model \"default\" has no unit or machine \"machine-0\". To see what is in the model: juju status\n",
			asked: []string{"Status",
				`DebugLog {"IncludeEntity":["web/0","store*"],"ExcludeEntity":["machine-0"],"IncludeModule":["a"],` +
					`"ExcludeModule":["b"],` +
					`"Level":"warning","Replay":true,"Backlog":0,"Limit":5,"NoTail":true}`}},
	} {
		t.Run(test.line, func(t *testing.T) {
			u := newUser(t)
			u.Types(strings.Fields(test.line)...)
			u.Asked(test.asked...)
			if u.Code != 0 || u.Err.String() != test.stderr {
				t.Errorf("exit code %d, said %q, want %q", u.Code, u.Err.String(), test.stderr)
			}
		})
	}
}

// query returns a log query with the given fields.
func query(fields string) string {
	text := `{"IncludeEntity":null,"ExcludeEntity":null,"IncludeModule":null,"ExcludeModule":null,"Level":"",` +
		`"Replay":false,` +
		`"Backlog":0,"Limit":0,"NoTail":false}`
	for _, field := range strings.Split(fields, ",") {
		key, _, _ := strings.Cut(field, ":")
		i := strings.Index(text, key)
		j := i + strings.IndexAny(text[i:], ",}")
		text = text[:i] + field + text[j:]
	}
	return text
}

// An invalid command line is refused before any API call, with exit code 2 and a hint at the
// command's help.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"frob":                                      `unrecognized command: juju frob`,
		"help frob":                                 `unrecognized command: juju frob`,
		"status --frob":                             `unknown flag: --frob`,
		"status -q -v":                              `--quiet and --verbose are mutually exclusive`,
		"status --logging-config x=LOUD":            `invalid --logging-config: unknown severity level "LOUD"`,
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
		"destroy-machine":                           `no machines specified`,
		"destroy-machine x":                         `invalid machine id "x"`,
		"add-relation web":                          `a relation must involve two services`,
		"add-relation a b c":                        `a relation must involve two services`,
		"add-relation web: store":                   `invalid endpoint "web:"`,
		"destroy-relation web":                      `a relation must involve two services`,
		"suspend-relation web":                      `relation ID "web" not valid`,
		"resume-relation":                           `no relation ids specified`,
		"consume mysql":                             `offer URL "mysql" is not valid`,
		"remove-saas":                               `no service specified`,
		"destroy-relation -1":                       `unknown shorthand flag: '1' in -1`,
		"trust":                                     `no service specified`,
		"trust web more":                            `unrecognized args: ["more"]`,
		"trust web --scope x":                       `scope "x" not valid: expected cluster`,
		"set-min-units":                             `no service specified`,
		"add-storage web/0":                         `storage add requires a unit and a storage directive`,
		"add-storage web/0 data=x_y":                `cannot parse constraints for storage "data": unrecognized storage constraint "x_y" not valid`,
		"attach-storage web/0":                      `attach-storage requires a unit ID and at least one storage ID`,
		"import-filesystem lxd a:b":                 `import-filesystem requires a storage pool, provider ID, and storage name`,
		"import-filesystem lxd a:b data x":          `unrecognized args: ["x"]`,
		"import-filesystem 1 a:b data":              `pool name "1" not valid`,
		"import-filesystem lxd a:b data/0":          `storage name "data/0" not valid`,
		"attach-storage web/0 data":                 `storage id "data" not valid`,
		"detach-storage":                            `detach-storage requires at least one storage ID`,
		"remove-storage":                            `remove-storage requires at least one storage ID`,
		"show-storage":                              `must specify storage id(s)`,
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
		"add-machine kvm:":                          `invalid value "" for "kvm" scope: expected machine-id`,
		"add-machine 3":                             `machine-id cannot be specified when adding machines`,
		"add-machine zone=a -n 2":                   `cannot use -n when specifying a placement directive`,
		"add-machine --constraints mem":             `malformed constraint "mem"`,
		"add-machine -n 0":                          `the number of machines must be a positive integer`,
		"add-machine --series UPPER":                `invalid series "UPPER"`,
		"add-machine a b":                           `unrecognized args: ["b"]`,
		"add-machine --constraints container=lxd":   `container constraint "container" not allowed when adding a machine`,
		"expose":                                 `no service specified`,
		"unexpose a b":                           `unrecognized args: ["b"]`,
		"resolved":                               `no units specified`,
		"resolved web/0 --retry --no-retry":      `--retry and --no-retry are mutually exclusive`,
		"retry-provisioning":                     `no machines specified`,
		"retry-provisioning 3 --all":             `--all takes no machines`,
		"retry-provisioning 3 --constraints mem": `malformed constraint "mem"`,
		"resolved 3 --all":                       `--all takes no machines`,
		"resolved 3 --no-retry":                  `--retry and --no-retry are for units`,
		"resolved 3 web/0":                       `cannot resolve units and machines at once`,
		"resolved web/0 --constraints mem=1G":    `--constraints is for machines`,
		"resolved web/0 --all":                   `--all takes no units`,
		"set":                                    `no service specified`,
		"set web":                                `no settings specified`,
		"set web a":                              `expected "key=value", got "a"`,
		"set web a=1 --config f":                 `cannot specify --config when using key=value arguments`,
		"set web --to-default":                   `no options specified`,
		"set web --to-default a=1":               `invalid option name "a=1"`,
		"set web --to-default a --config f":      `cannot specify --config with --to-default`,
		"set web a=\xff":                         `value for option "a" contains non-UTF-8 sequences`,
		"unset web":                              `no options specified`,
		"get":                                    `no service specified`,
		"get a b c":                              `unrecognized args: ["c"]`,
		"get web --format tabular":               `unknown format "tabular"`,
		"config web a=1 --reset a":               `cannot set and reset key "a" simultaneously`,
		"config web a=1 --file f":                `cannot specify --file and key=value arguments simultaneously`,
		"config web a b":                         `expected "key=value", got "a"`,
		"deploy":                                 `no charm specified`,
		"deploy a b c":                           `unrecognized args: ["c"]`,
		"status --format smart":                  `unknown format "smart"`,
		"status --color --no-color":              `--color and --no-color are mutually exclusive`,
		"status --watch 1ms":                     `cannot watch at an interval of 1ms: the shortest is 100ms`,
		"status --watch 1s -o f":                 `cannot specify --output with --watch`,
		"status --retry-count -1":                `--retry-count must be a positive integer`,
		"wait-for --gone":                        `--gone needs at least one name`,
		"wait-for web --gone --status error":     `--gone and --status are mutually exclusive`,
		"wait-for --timeout 0s":                  `--timeout must be positive`,
		"debug-log web":                          `unrecognized args: ["web"]`,
		"debug-log --tail --no-tail":             `setting --tail and --no-tail not valid`,
		"debug-log -n -1":                        `--lines and --limit must not be negative`,
		"debug-log --replay -n 5":                `--replay shows all existing lines, and --lines the last ones; for the oldest 5: --replay --limit 5`,
		"debug-log -l LOUD": `level value "LOUD" is not one of ["TRACE" "DEBUG" "INFO" ` +
			`"WARNING" "ERROR" "CRITICAL"]`,
		"disable-command":                      `missing command set (all, destroy-model, remove-object)`,
		"bind web":                             "no bindings specified",
		"bind web a b":                         "at most one default space can be specified",
		"bind web db=a db=b":                   `endpoint "db" is bound twice`,
		"bind web db=A":                        `"A" is not a valid space name`,
		"bind web =a":                          "Found = without endpoint name. Use a lone space name to set the default.",
		"show-space":                           "expected exactly 1 space name, got 0 arguments",
		"show-space A":                         `"A" is not a valid space name`,
		"add-space":                            "space name is required",
		"add-space db 10.0.0.0":                `"10.0.0.0" is not a valid CIDR`,
		"add-space db 10.0.0.0/16 10.0.0.1/16": `duplicate subnet "10.0.0.1/16" specified`,
		"rename-space db":                      "old-name and new-name are required",
		"rename-space db db":                   "old-name and new-name are the same",
		"remove-space":                         "space name is required",
		"move-to-space db":                     "CIDRs required but not provided",
		"create-storage-pool fast":             "pool creation requires names, provider type and optional attributes for configuration",
		"create-storage-pool fast a=b": "pool creation requires names and provider type before optional attributes for " +
			"configuration",
		"create-storage-pool fast local b":            `expected "key=value", got "b"`,
		"create-storage-pool fast local a=1 a=2":      `key "a" specified more than once`,
		"update-storage-pool fast":                    "pool update requires name and configuration attributes",
		"remove-storage-pool":                         "pool removal requires storage pool name",
		"remove-storage-pool a b":                     `unrecognized args: ["b"]`,
		"disable-command sleep":                       `bad command set, valid options: all, destroy-model, remove-object`,
		"enable-command all now":                      `unrecognized args: ["now"]`,
		"disabled-commands all":                       `unrecognized args: ["all"]`,
		"disabled-commands --format smart":            `unknown format "smart"`,
		"help-tool status-get more":                   `unrecognized args: ["more"]`,
		"version now":                                 `unrecognized args: ["now"]`,
		"version --format x":                          `unknown format "x"`,
		"bootstrap a b c":                             `unrecognized args: ["c"]`,
		"bootstrap local " + strings.Repeat("a", 201): `the controller's name has 201 characters; the maximum is 200`,
		"bootstrap local a/b": `"a/b" is not a valid controller name: it may contain only letters, ` +
			`digits, hyphens and dots`,
		"bootstrap --config x=y":             `unknown model config key "x"`,
		"bootstrap --config default-series=": `default-series: expected a value, got ""`,
		"bootstrap --config default-series=win7": `cannot use default-series "win7": on the local cloud hooks run on ` +
			`this host, which is "` + local.HostSeries() + `"`,
		"bootstrap --config default-series": `expected "key=value", got "default-series"`,
		"destroy-environment":               `no controller specified`,
		"destroy-environment a b":           `unrecognized args: ["a" "b"]`,
		"keeper":                            `keeper takes only --dir`,
	} {
		t.Run(line, func(t *testing.T) {
			u := newUser(t)
			u.Types(strings.Fields(line)...)
			u.Asked()
			first, hint, _ := strings.Cut(u.Err.String(), "\n")
			if u.Code != 2 || first != "ERROR "+want {
				t.Errorf("exit code %d, %q, want %q", u.Code, first, want)
			}
			if strings.Count(hint, "\n") != 1 {
				t.Errorf("it hints at %q", hint)
			}
			if u.Out.Len() > 0 {
				t.Errorf("it printed %q", u.Out.String())
			}
		})
	}
}

func TestUnknownCommandSuggestions(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("statu")
	u.Sees(2, "", "ERROR unrecognized command: juju statu\nDid you mean: status, stat or status-history\n"+
		"To list all commands: juju help\n")
	u.Types("xyzzy")
	u.Sees(2, "", "ERROR unrecognized command: juju xyzzy\nTo list all commands: juju help\n")
}

// In a bulk call some entities can fail; the words are Juju's.
func TestBulk(t *testing.T) {
	t.Parallel()
	gone := func(name string) error { return entity.Errorf(entity.NotFound, "unit %q not found", name) }
	busy := entity.WithHint(entity.Errorf(entity.InUse, `machine 0 has unit "web/0" assigned`),
		"Destroy the unit first: juju destroy-unit web/0")
	for _, test := range []struct {
		line string
		errs []error
		want string
	}{
		{"destroy-unit web/8 web/9", []error{gone("web/8"), gone("web/9")},
			"ERROR no units were destroyed: unit \"web/8\" not found; unit \"web/9\" not found\n" +
				"To see what is in the model: juju status\n"},
		{"destroy-unit web/0 web/9", []error{nil, gone("web/9")},
			"ERROR some units were not destroyed: unit \"web/9\" not found\nTo see what is in the model: juju status\n"},
		{"destroy-unit web/9", []error{gone("web/9")},
			"ERROR no units were destroyed: unit \"web/9\" not found\nTo see what is in the model: juju status\n"},
		{"destroy-machine 0", []error{busy},
			"ERROR no machines were destroyed: machine 0 has unit \"web/0\" assigned\n" +
				"Destroy the unit first: juju destroy-unit web/0\n"},
		{"destroy-machine 0 1 2", []error{busy, nil, busy},
			"ERROR some machines were not destroyed: machine 0 has unit \"web/0\" assigned (2 times)\n" +
				"Destroy the unit first: juju destroy-unit web/0\n"},
		{"destroy-service a", []error{errors.New("no a")}, "ERROR no a\n"},
		{"destroy-service a b", []error{errors.New("no a"), errors.New("no b")},
			"ERROR no services were destroyed: no a; no b\n"},
		{"retry-provisioning 3", []error{errors.New("machine 3 is not in error")}, "ERROR machine 3 is not in error\n"},
		{"retry-provisioning --all", []error{nil, errors.New("machine 3 is dead")},
			"ERROR some machines were not retried: machine 3 is dead\n"},
		{"resolved web/0", []error{errors.New("already resolved")}, "ERROR already resolved\n"},
		{"resolved web/0 web/1", []error{nil, errors.New("already resolved")},
			"ERROR some units were not resolved: already resolved\n"},
		{"resolved --all", []error{nil, errors.New("already resolved")},
			"ERROR some units were not resolved: already resolved\n"},
	} {
		t.Run(test.line, func(t *testing.T) {
			u := newUser(t)
			u.Model.Returns.Errs = test.errs
			u.Types(strings.Fields(test.line)...)
			u.Sees(1, "", test.want)
		})
	}
}

// Errors of the API are shown as they are, with their hints.
func TestAPIErrors(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Err = entity.WithHint(entity.Errorf(entity.Invalid, "ambiguous relation: %q could refer to …", "a b"),
		"Name the endpoints")
	u.Types("add-relation", "a", "b")
	u.Sees(1, "", "ERROR ambiguous relation: \"a b\" could refer to …\nName the endpoints\n")
	u.Model.Returns.Err = entity.Errorf(entity.NotFound, `service "web" not found`)
	u.Types("expose", "web")
	u.Sees(1, "", "ERROR service \"web\" not found\nTo see what is in the model: juju status\n")
	u.Model.Returns.Err = entity.Errorf(entity.Invalid, `option "port" expected int, got "x"`)
	u.Types("set", "web", "port=x")
	u.Sees(1, "", "ERROR option \"port\" expected int, got \"x\"\nTo list the options: juju get web\n")
	u.Model.Returns.Err = entity.Errorf(entity.Contention, "state changing too quickly; try again soon")
	u.Types("unset", "web", "port")
	u.Sees(1, "", "ERROR state changing too quickly; try again soon\n")
	// Added machines are reported, even if others failed.
	u.Types("add-machine", "-n", "2")
	u.Sees(1, "", "ERROR state changing too quickly; try again soon\n")
}

func TestOptionFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	clitest.Write(t, big, strings.Repeat("x", cli.MaxOptionFile+1))
	binary := filepath.Join(dir, "binary")
	clitest.Write(t, binary, "\xff")
	empty := filepath.Join(dir, "empty")
	clitest.Write(t, empty, "\n")
	for _, test := range [][]string{
		{"size of option file is larger than 5M: " + big, "set", "web", "motd=@" + big},
		{"size of option file is larger than 5M: " + big, "set", "web", "--config", big},
		{"size of option file is larger than 5M: " + big, "config", "web", "--file", big},
		{"option file " + binary + " is not UTF-8", "set", "web", "motd=@" + binary},
		{"cannot read option file: open " + dir + "/none: no such file or directory", "set", "web", "--config",
			dir + "/none"},
		{"the option file is empty", "set", "web", "--config", empty},
	} {
		u.Types(test[1:]...)
		u.Asked()
		u.Sees(1, "", "ERROR "+test[0]+"\n")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Config = client.ServiceConfig{Service: "web", Charm: "webpage", Settings: map[string]entity.ConfigSetting{
		"port":  {Description: "a port", Type: "int", Value: int64(80), Default: int64(8080), Source: "user"},
		"title": {Type: "string", Source: "unset"},
	}, Own: map[string]entity.ConfigSetting{
		"trust": {Type: "boolean", Source: "user", Value: true, Default: false},
	}}
	want := `application: web
application-config:
    trust:
        default: false
        source: user
        type: boolean
        value: true
charm: webpage
settings:
    port:
        default: 8080
        description: a port
        source: user
        type: int
        value: 80
    title:
        source: unset
        type: string
`
	u.Types("get", "web")
	u.Sees(0, want, "")
	u.Types("config", "web")
	u.Sees(0, want, "")
	u.Types("get", "web", "--format", "json")
	u.Sees(0, `{"application":"web","application-config":{"trust":{"default":false,"source":"user","type":"boolean",`+
		`"value":true}},"charm":"webpage","settings":{"port":{"default":8080,"description":"a port",`+
		`"source":"user","type":"int","value":80},`+
		`"title":{"source":"unset","type":"string"}}}`+"\n", "")
	u.Types("config", "web", "trust")
	u.Sees(0, "true\n", "")
	u.Types("get-config", "web", "port")
	u.Sees(0, "80\n", "")
	u.Types("config", "web", "title")
	u.Sees(0, "\n", "")
	u.Types("get", "web", "x")
	u.Sees(1, "", "ERROR key \"x\" not found in \"web\" settings.\nTo list the options: juju get web\n")
	path := filepath.Join(t.TempDir(), "out")
	u.Types("get", "web", "port", "-o", path)
	u.Sees(0, "", "")
	if text, err := os.ReadFile(path); err != nil || string(text) != "80\n" {
		t.Errorf("%q, %v", text, err)
	}
	u.Types("get", "web", "-o", "/no/such/file")
	u.Sees(1, "", "ERROR cannot write the result: open /no/such/file: no such file or directory\n")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("version")
	version := u.Out.String()
	if u.Code != 0 || !strings.Contains(version, ".") || strings.Count(version, "\n") != 1 {
		t.Errorf("exit code %d, %q", u.Code, version)
	}
	u.Types("--version")
	u.Sees(0, version, "")
	u.Session.OutTerminal = true // where nobody parses it
	u.Types("version")
	u.Sees(0, version+"release "+agent.Version+strings.TrimSuffix(" ("+agent.BuiltFrom()+")", " ()")+"\n", "")
	u.Session.OutTerminal = false
	u.Types("version", "--all")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(), "version: "+version+"release: "+agent.Version+"\n") {
		t.Errorf("exit code %d, %q", u.Code, u.Out.String())
	}
	u.Types("version", "--all", "--format", "json")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(), `{"version":"`) {
		t.Errorf("exit code %d, %q", u.Code, u.Out.String())
	}
}

func TestDebugFlag(t *testing.T) {
	u := newUser(t)
	u.Types("status", "--debug")
	if u.Code != 0 {
		t.Errorf("exit code %d", u.Code)
	}
	loggo.GetLogger("juju.cmd").Debugf("seen")
	if !strings.HasSuffix(u.Err.String(), "DEBUG juju.cmd seen\n") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status", "--show-log")
	loggo.GetLogger("juju.cmd").Debugf("not seen")
	loggo.GetLogger("juju.cmd").Infof("seen")
	if !strings.HasSuffix(u.Err.String(), " INFO juju.cmd seen\n") || strings.Contains(u.Err.String(), "not") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status", "--logging-config", "juju.cmd=TRACE")
	loggo.GetLogger("juju.cmd").Tracef("seen")
	if !strings.HasSuffix(u.Err.String(), " TRACE juju.cmd seen\n") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status")
	loggo.GetLogger("juju.cmd").Infof("not seen")
	if strings.Contains(u.Err.String(), "seen") {
		t.Errorf("logged %q", u.Err.String())
	}
}
