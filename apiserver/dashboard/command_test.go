package dashboard

import (
	"net/url"
	"testing"
)

// A form of a page is a command line that a user could type, whatever is in its fields.
func TestFormsAreCommandLines(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	for query, want := range map[string]string{
		"line=juju+status":                                                            "status",
		"line=+add-unit+web":                                                          "add-unit web",
		"form=scale&service=web&units=4":                                              "add-unit web -n 2",
		"form=scale&service=web&units=1":                                              "destroy-unit web/10",
		"form=scale&service=web&units=0":                                              "destroy-unit web/0 web/10",
		"form=relate&service=web&with=db:x":                                           "add-relation web db:x",
		"form=access&user=bob&access=write":                                           "grant bob write",
		"form=config&service=web&set-a=1&was-a=1&set-b=x+y&was-b=":                    "config web 'b=x y'",
		"form=config&service=web&set-a=it's&was-a=":                                   `config web 'a=it'\''s'`,
		"form=config&service=web&set-a=1%0D%0A2&was-a=":                               "config web 'a=1\n2'",
		"form=config&service=web&set-a=1%0A2&was-a=1%0D%0A2&set-b=x&was-b=":           "config web b=x",
		"form=action&unit=web/0&action=go":                                            "run-action web/0 go",
		"form=action&unit=web/0&unit=web/10&action=go&set-n=5&was-n=1&type-n=integer": "run-action web/0 web/10 go n=5",
		"form=action&unit=web/0&action=go&set-n=5&was-n=&type-n=string":               `run-action web/0 go 'n="5"'`,
		"form=action&unit=web/0&action=go&set-n=true&was-n=&type-n=string":            `run-action web/0 go 'n="true"'`,
		"form=action&unit=web/0&action=go&set-n=plain&was-n=&type-n=string":           "run-action web/0 go n=plain",
	} {
		form, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := CommandLine(form, m); line != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", query, line, err, want)
		}
	}
	for query, want := range map[string]string{
		"form=nosuch":                             "there is no form nosuch",
		"form=scale&service=web&units=x":          "the number of units must be a number",
		"form=scale&service=web&units=2":          "service web has 2 units",
		"form=config&service=web&set-a=1&was-a=1": "no setting differs from what it was",
		"form=action&action=go":                   "no unit is chosen",
	} {
		form, _ := url.ParseQuery(query)
		if line, err := CommandLine(form, m); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v; want %s", query, line, err, want)
		}
	}
}

// A hint names commands; pages run those that are complete and need no terminal.
func TestWaysOfHints(t *testing.T) {
	for hint, want := range map[string][]Way{
		"run the hook again: juju resolved web/0; skip it: juju resolved --no-retry web/0": {
			{"run the hook again", "resolved web/0", true}, {"skip it", "resolved --no-retry web/0", true}},
		"juju add-unit web": {{"", "add-unit web", true}},
		"juju debug-log --replay --no-tail -i unit-web-0": {{"", "debug-log --replay --no-tail -i unit-web-0", false}},
		"bind it: juju bind web SPACE; or replace the unit: juju add-unit web, juju destroy-unit web/0": {
			{"bind it", "bind web SPACE", false}, {"or replace the unit: juju add-unit web, juju destroy-unit web/0", "", false}},
		"make room on the disk": {{"make room on the disk", "", false}},
	} {
		got := waysOf(hint)
		if len(got) != len(want) {
			t.Errorf("%s: %+v", hint, got)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %+v, want %+v", hint, got[i], want[i])
			}
		}
	}
}
