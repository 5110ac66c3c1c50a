package main

import (
	"strings"
	"testing"

	"juju/state/entity"
)

// An invalid command line gets a helpful answer, without any API call.
func TestUnknownCommandsAndFlags(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const all = "To list all commands: juju help\n"
	for line, want := range map[string]string{
		"frobnicate":                    "ERROR unrecognized command: juju frobnicate\n" + all,
		"frobnicate --unit x":           "ERROR unrecognized command: juju frobnicate\n" + all,
		"--debug frobnicate -x":         "ERROR unrecognized command: juju frobnicate\n" + all,
		"--logging-config a=INFO deply": "ERROR unrecognized command: juju deply\nDid you mean: deploy or apply\n" + all,
		"deply ./web -n 3":              "ERROR unrecognized command: juju deply\nDid you mean: deploy or apply\n" + all,
		"stauts":                        "ERROR unrecognized command: juju stauts\nDid you mean: status or stat\n" + all,
		"help stauts":                   "ERROR unrecognized command: juju stauts\nDid you mean: status or stat\n" + all[:len(all)-1] + "; ",
		"remove-aplication web": "ERROR unrecognized command: juju remove-aplication\n" +
			"Did you mean: remove-application\n" + all,
		"dest":             "ERROR unrecognized command: juju dest\nDid you mean: ",
		"debug-code web/0": "ERROR juju debug-code is not implemented\n",
		"help debug-code":  "ERROR juju debug-code is not implemented\n",
		"machine":          "ERROR juju machine does not exist here; use juju machines\n" + all,
		"machine add":      "ERROR juju machine add does not exist here; use juju add-machine\n" + all,
		"help machine add": "ERROR juju machine add does not exist here; use juju add-machine\n" + all[:len(all)-1] + "; ",
		"storage list":     "ERROR unrecognized args: [\"list\"]\nDid you mean: juju storage\n",
		"storage add web/0 data": "ERROR unrecognized args: [\"add\" \"web/0\" \"data\"]\n" +
			"Did you mean: juju add-storage\n",
		"unit list":       "ERROR juju unit does not exist here; use juju status\n" + all,
		"list-relations":  "ERROR juju list-relations does not exist here; use juju status --relations\n" + all,
		"deploy-charm x":  "ERROR unrecognized command: juju deploy-charm\nDid you mean: deploy\n" + all,
		"change-password": "ERROR unrecognized command: juju change-password\nDid you mean: change-user-password\n" + all,
		"help wat":        "ERROR unrecognized command: juju wat\nTo list all commands: juju help; the topics of help: juju help topics\n",
		"sla standard":    "ERROR juju sla is not implemented\nTerms, plans and budgets belong to ",
		"deploy ./web --num-unts 3": "ERROR unknown flag: --num-unts\nDid you mean: --num-units\n" +
			"For usage: juju help deploy\n",
		"status --formt json": "ERROR unknown flag: --formt\nDid you mean: --format\nFor usage: juju help status\n",
		"status --frobnicate": "ERROR unknown flag: --frobnicate\nFor usage: juju help status\n",
		"status --verbos": "ERROR unknown flag: --verbos\nDid you mean: --verbose\n" +
			"For usage: juju help status\n",
		"diff-bundle ./web --channel edge": "ERROR juju diff-bundle has no flag --channel: it chooses a charm of a store, which deploy and refresh get, and juju download\nFor usage: juju help diff-bundle\n",
		"destroy-unit web/0 --machines":    "ERROR unknown flag: --machines\n",
		"add-cloud x --controller prod":    "ERROR juju add-cloud has no flag --controller: a controller has one cloud",
		"--frobnicate":                     "ERROR unknown flag: --frobnicate\n",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), want) || u.Out.Len() > 0 {
			t.Errorf("%s: exit code %d, said\n%swant\n%s", line, u.Code, u.Err.String(), want)
		}
		u.Asked()
	}
}

// What is not found is listed by another command than juju status, if that does not show it.
func TestHintsOfWhatIsNotFound(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, hint := range map[string]string{
		"remove-storage-pool fast": "To list the pools: juju storage-pools",
		"remove-relation 99":       "To list the relations: juju status --relations",
		"remove-ssh-key nobody":    "To list the keys: juju ssh-keys",
		"expose nothing":           "To see what is in the model: juju status",
	} {
		u.Model.Returns.Err = entity.Errorf(entity.NotFound, "not found")
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", "ERROR not found\n"+hint+"\n")
	}
}
