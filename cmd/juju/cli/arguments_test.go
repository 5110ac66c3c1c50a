package cli_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// says compares an error with its text, "" for none. It is of usage, unless told otherwise.
func says(t *testing.T, what any, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (got != want || !cli.IsUsage(err)) {
		t.Errorf("%q: %v (usage: %v), want %q", what, err, cli.IsUsage(err), want)
	}
}

func TestChecksOfArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		check func([]string) error
		args  string
		want  string
	}{
		{cli.CheckServices, "", "no service specified"},
		{cli.CheckServices, "web store", ""},
		{cli.CheckServices, "web Store", `invalid service name "Store"`},
		{cli.CheckService, "", "no service specified"},
		{cli.CheckService, "web", ""},
		{cli.CheckService, "web store", `unrecognized args: ["store"]`},
		{cli.CheckUnits, "", "no units specified"},
		{cli.CheckUnits, "web/0 web/leader", ""},
		{cli.CheckUnits, "web/0 web", `invalid unit name "web"`},
		{cli.CheckUnits, "Web/leader", `invalid unit name "Web/leader"`},
		{cli.CheckMachines, "", "no machines specified"},
		{cli.CheckMachines, "0 0/lxd/1", ""},
		{cli.CheckMachines, "0 web", `invalid machine id "web"`},
		{cli.CheckModelName, "", "no model specified"},
		{cli.CheckModelName, "a", ""},
		{cli.CheckModelName, "a b c", `unrecognized args: ["b" "c"]`},
	} {
		says(t, test.args, test.check(strings.Fields(test.args)), test.want)
	}
	if err := cli.CheckMany("units", 101, false); err == nil || cli.CheckMany("units", 100, false) != nil || cli.CheckMany("units", 101, true) != nil {
		t.Errorf("101 units: %v", err)
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want map[string]string
		err  string
	}{
		{"", nil, ""},
		{"dmz", map[string]string{"": "dmz"}, ""},
		{"dmz db=internal site=dmz", map[string]string{"": "dmz", "db": "internal", "site": "dmz"}, ""},
		{"=dmz", nil, "Found = without endpoint name. Use a lone space name to set the default."},
		{"db=", nil, `"" is not a valid space name`},
		{"db=Dmz", nil, `"Dmz" is not a valid space name`},
		{"a b", nil, "at most one default space can be specified"},
		{"db=a db=a", nil, `endpoint "db" is bound twice`},
	} {
		got, err := cli.ParseBindings([]string{test.args})
		if says(t, test.args, err, test.err); !maps.Equal(got, test.want) {
			t.Errorf("%q: %v", test.args, got)
		}
	}
	if got, err := cli.ParseBindings([]string{"dmz db=a", "site=b"}); err != nil || len(got) != 3 {
		t.Errorf("from two arguments: %v, %v", got, err)
	}
}

func TestPlacements(t *testing.T) {
	t.Parallel()
	got, err := cli.ParsePlacements([]string{"3,lxd:0", "zone=a"})
	if says(t, "placements", err, ""); len(got) != 3 || got[0].Machine != "3" || got[1].String() != "lxd:0" || got[2].String() != "zone=a" {
		t.Errorf("placements are %v", got)
	}
	_, err = cli.ParsePlacements([]string{"3", "kvm:"})
	says(t, "kvm:", err, `invalid value "" for "kvm" scope: expected machine-id`)
}

// A series is given as such or as a base. The flags of confirmations have names of Juju 1 and 3, of which help has one.
func TestSharedFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "", "--series noble": "noble", "--base ubuntu@22.04": "jammy",
		"--base x": `invalid argument "x" for "--base" flag: `, "--series noble --base ubuntu@24.04": "if any flags in the group [series base] are set none of the others can be; ",
	} {
		series := ""
		cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
		cli.SeriesFlags(cmd, &series, "the units")
		cmd.SetArgs(strings.Fields(args))
		if err := cmd.Execute(); err == nil && series != want || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %q, %v, want %s", args, series, err, want)
		}
	}
	for _, arg := range []string{"-y", "--yes", "--no-prompt"} {
		yes := false
		cmd := &cobra.Command{}
		cli.YesFlag(cmd, &yes)
		if err := cmd.ParseFlags([]string{arg}); err != nil || !yes {
			t.Errorf("%s: %v, %v", arg, yes, err)
		}
		if usage := cmd.Flags().FlagUsages(); !strings.Contains(usage, "--yes") || strings.Contains(usage, "--no-prompt") {
			t.Errorf("the usage is %s", usage)
		}
		quiet := &cobra.Command{}
		cli.AcceptYes(quiet)
		if err := quiet.ParseFlags([]string{arg}); err != nil || quiet.Flags().FlagUsages() != "" {
			t.Errorf("%s of a command that never asks: %v, usage %s", arg, err, quiet.Flags().FlagUsages())
		}
	}
}

func TestStorageIDs(t *testing.T) {
	t.Parallel()
	got, err := cli.ParseStorageIDs([]string{"data/0,logs/10", "data/1"})
	if says(t, "ids", err, ""); !slices.Equal(got, []string{"data/0", "logs/10", "data/1"}) {
		t.Errorf("ids are %q", got)
	}
	_, err = cli.ParseStorageIDs([]string{"data/0,"})
	says(t, "data/0,", err, `storage id "" not valid`)
}

// Settings are pairs, of which a value can be in a file. Standard input has a file of them.
func TestSettings(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		clitest.Write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	big := strings.Repeat("x", cli.MaxOptionFile+1)
	motd, binary, large, fits := write("motd", "a=\nb"), write("binary", "\xff"), write("large", big), write("fits", big[1:])
	got, err := u.Session.ParseSettings([]string{"a=1", "b=x=y", "c=", "a=2", "motd=@" + motd})
	if says(t, "pairs", err, ""); !maps.Equal(got, map[string]string{"a": "2", "b": "x=y", "c": "", "motd": "a=\nb"}) {
		t.Errorf("settings are %q", got)
	}
	for pair, want := range map[string]string{
		"a": `expected "key=value", got "a"`, "=1": `expected "key=value", got "=1"`,
		"a=\xff": `value for option "a" contains non-UTF-8 sequences`,
	} {
		_, err := u.Session.ParseSettings([]string{"b=1", pair})
		says(t, pair, err, want)
	}
	for path, want := range map[string]string{
		fits: "", binary: "option file " + binary + " is not UTF-8", large: "size of option file is larger than 5M: " + large,
		dir: "cannot read option file: open " + dir + ": is a directory, not a file",
	} {
		if _, err := u.Session.ReadOptions(path); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for input, want := range map[string]string{
		"web: {}": "", big[1:]: "", big: "the settings on standard input are larger than 5M", "\xff": "the settings on standard input are not UTF-8",
	} {
		u.Session.Stdin = strings.NewReader(input)
		if got, err := u.Session.ReadOptions("-"); err == nil && (want != "" || got != input) || err != nil && err.Error() != want {
			t.Errorf("%.10q…: %v, want %q", input, err, want)
		}
	}
	u.Session.Embedded = true
	_, err = u.Session.ParseSettings([]string{"motd=@" + motd})
	says(t, "a file of the controller", err, fmt.Sprintf("cannot use the file %q: the controller runs this command, and your files are not there", motd))
}

func TestBulk(t *testing.T) {
	t.Parallel()
	missing := entity.WithHint(entity.Errorf(entity.NotFound, "unit web/9 not found"), "Look for it")
	busy := entity.WithHint(entity.Errorf(entity.InUse, "busy"), "Wait")
	var many []error
	for i := range cli.MaxErrors + 2 {
		many = append(many, entity.WithHint(fmt.Errorf("error %d", i), "Hint %d", i))
	}
	for _, test := range []struct {
		errs []error
		want string
		kind entity.Kind
		hint string
	}{
		{nil, "<nil>", "", ""},
		{[]error{nil, nil}, "<nil>", "", ""},
		{[]error{missing}, "no units were destroyed: unit web/9 not found", entity.NotFound, "Look for it"},
		{[]error{missing, nil, missing}, "some units were not destroyed: unit web/9 not found (2 times)", entity.NotFound, "Look for it"},
		{[]error{missing, busy}, "no units were destroyed: unit web/9 not found; busy", "", "Look for it\nWait"},
		{many, "no units were destroyed: error 0; error 1; error 2; error 3; error 4; error 5; error 6; error 7; error 8; error 9; and 2 more", "",
			"Hint 0\nHint 1\nHint 2\nHint 3\nHint 4\nHint 5\nHint 6\nHint 7\nHint 8\nHint 9"},
		{many[:cli.MaxErrors], "no units were destroyed: error 0; error 1; error 2; error 3; error 4; error 5; error 6; error 7; error 8; error 9", "",
			"Hint 0\nHint 1\nHint 2\nHint 3\nHint 4\nHint 5\nHint 6\nHint 7\nHint 8\nHint 9"},
	} {
		err := cli.Bulk("units", "destroyed", test.errs)
		if fmt.Sprint(err) != test.want || entity.Hint(err) != test.hint || test.kind != "" && !errors.Is(err, test.kind) ||
			test.kind == "" && (errors.Is(err, entity.NotFound) || errors.Is(err, entity.InUse)) {
			t.Errorf("%v: %v\nwant %s\nhint %q", test.errs, err, test.want, entity.Hint(err))
		}
	}
	if err := cli.OneOrBulk("units", "destroyed", []error{busy}); err != busy {
		t.Errorf("the only error becomes %v", err)
	}
	if err := cli.OneOrBulk("units", "destroyed", []error{busy, nil}); fmt.Sprint(err) != "some units were not destroyed: busy" {
		t.Errorf("one of two becomes %v", err)
	}
}

// A hint is not replaced, and can get another line. Marks go along.
func TestHints(t *testing.T) {
	t.Parallel()
	plain := errors.New("no")
	hinted := cli.WithHint(plain, "first")
	for _, test := range []struct {
		err  error
		hint string
	}{
		{hinted, "first"}, {cli.WithHint(hinted, "second"), "first"}, {cli.AlsoHint(hinted, "%d", 2), "first\n2"}, {cli.AlsoHint(plain, "only"), "only"},
	} {
		if entity.Hint(test.err) != test.hint || test.err.Error() != "no" {
			t.Errorf("%v with %q, want %q", test.err, entity.Hint(test.err), test.hint)
		}
	}
	usage, trouble := cli.WithHint(cli.Usage(plain), "x"), cli.WithHint(cli.Trouble(plain), "x")
	if cli.WithHint(nil, "x") != nil || !cli.IsUsage(usage) || cli.IsUsage(trouble) || !cli.IsTrouble(trouble) || cli.IsTrouble(usage) {
		t.Errorf("%v, %v", usage, trouble)
	}
}

func TestWordsAndAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y": true, " YES\r": true, "": false, "yes please": false, "n": false} {
		if cli.IsYes(answer) != want {
			t.Errorf("%q is yes: %v", answer, !want)
		}
	}
	for want, words := range map[string][]string{"a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := cli.OneOf(words); got != want {
			t.Errorf("one of %q: %q", words, got)
		}
	}
}

// A wrong answer is asked for again, twice.
func TestAskValid(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"x\n\n": "default", "x\ny\nok\n": "ok", "x\ny\nz\nok\n": "", " ok \n": "ok",
	} {
		u := newUser(t)
		u.Session.Stdin = strings.NewReader(input)
		got, err := u.Session.AskValid(t.Context(), "name: ", "default", func(answer string) error {
			if len(answer) == 1 {
				return entity.WithHint(fmt.Errorf("no: %s", answer), "Think")
			}
			return nil
		})
		if want == "" && fmt.Sprint(err) != "no: z" || want != "" && (err != nil || got != want) {
			t.Errorf("%q: %q, %v", input, got, err)
		}
		if said := u.Err.String(); strings.HasPrefix(input, "x\ny\nz") && said != "name: \nno: x\nThink\nname: \nno: y\nThink\nname: \n" {
			t.Errorf("said %q", said)
		}
	}
}
