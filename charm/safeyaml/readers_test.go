package safeyaml

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// odd are texts that a reader of YAML 1.1 or 1.2 takes for something else if they are plain.
var odd = strings.Split("=|<<|~|null|Null|nULL|y|N|yes|nO|on|oFF|TRUE|.|-|+|..|0o7|0O7|0755|-0755|08|0x1F|0X1f|0x_|0x|0b1|0b_|-0b11|1_000|1_|-1__0|1,000|"+
	"1:30|-1:30|1_0:30|190:20:30.15|1:99|00:00|.5|-.5|+.5|5.|1.|1_0.5|1._5|1e3|1e+22|1e22|1E-7|1.5e10|1.5e+10|.5e+3|1.e+3|.inf|-.INF|+.inf|.iNf|.nan|.NaN|"+
	"2001-01-01|2001-1-1|2001-02-30|2001-99-99|0000-00-00|2001-12-14t21:59:43.10-05:00|2001-12-14 21:59:43.10 -5|2001-12-15 2:59:43.10|2001-02-30 25:61:61|2001-02-30 1:61:61.5+99:99|2001-12-14 21:59:43 +0000 UTC|"+
	"2001-12-14T21:59:43Z|2001-12-14  21:59:43|99999999999999999999|1e999|:|:a|::|a:|?|?a|? a|!|!!str|!!python/object:x|&|&a|*|*a|@a|`|%|%YAML 1.1|a\tb|a \tb|"+
	"a #b|a: b|#a|[|]|{|}|,|,a|a,b|\"|'|---|--- a|...|... a|.5.5|1.2.3|10.0.0.1|10.0.0.0/8|fe80::1|00:16:3e:00:00:01|>|>-|\\", "|")

// random returns texts of parts that readers have trouble with, and such as look like numbers and times.
func random() (all []string) {
	r := rand.New(rand.NewSource(1))
	parts := append(strings.Split(" |  |\t|\n|\n\n|\n |a|b: c|é|😀|\u0085|\u2028|\ufeff|\u00a0|\x00|\r|\u202e|\U000e0041|\U0010ffff|\ufffd|\ue000|\x7f|\u009f", "|"), odd...)
	for range 300 {
		s := ""
		for range 1 + r.Intn(4) {
			s += parts[r.Intn(len(parts))]
		}
		all = append(all, s)
	}
	const number = "0123456789_.,:-+eExXoObBTtZ aAfF"
	for range 700 {
		s := make([]byte, 1+r.Intn(7))
		for i := range s {
			s[i] = number[r.Intn(len(number))]
		}
		all = append(all, string(s))
	}
	return all
}

// pyYAML reads documents as the commonest reader of YAML 1.1 does, and returns what differs from what they should be.
func pyYAML(t *testing.T, documents, want any) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import yaml").Run() != nil {
		t.Skip("needs python3 and its module yaml (Debian's package python3-yaml)")
	}
	input, err := json.Marshal([]any{documents, want})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", `
import json, sys, yaml
def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return list(sorted(a)) == list(sorted(b)) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    number = lambda x: isinstance(x, (int, float)) and not isinstance(x, bool)
    return a == b and (type(a) == type(b) or number(a) and number(b))
loaders, different = [yaml.SafeLoader], []
if hasattr(yaml, "CSafeLoader"):
    loaders.append(yaml.CSafeLoader)
for text, want in zip(*json.load(sys.stdin)):
    for loader in loaders:
        try:
            got = yaml.load(text, loader)
            wrong = None if same(got, want) else "read as %r" % (got,)
        except Exception as e:
            wrong = "%s: %s" % (type(e).__name__, e)
        if wrong is not None:
            different.append("%r, in %s: %s" % (want, text, wrong))
print(json.dumps(different))`)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err, err.(*exec.ExitError).Stderr)
	}
	var different []string
	if err := json.Unmarshal(output, &different); err != nil {
		t.Fatal(err)
	}
	return different
}

// What we write, a reader of YAML 1.1 and our own read as it was: each text as a document, as a value and as a key.
func TestOthersReadOurYAML(t *testing.T) {
	var documents []string
	var want []any
	add := func(v any) {
		text, err := Marshal(v, 2)
		if err != nil {
			t.Fatal(err)
		}
		documents, want = append(documents, string(text)), append(want, v)
	}
	for _, s := range append(hostile, odd...) {
		if utf8.ValidString(s) {
			add(s)
			add(nested(s))
			add(map[string]any{s: map[string]any{s: []any{map[string]any{s: s}}}, "z" + s: "end"})
		}
	}
	for _, s := range random() {
		add(map[string]any{s: []any{s}})
	}
	for _, number := range []any{0, -1, 1 << 62, uint64(1) << 63, 0.5, -2.25, 1e21, 1e22, 1.5e300, 5e-324, -1e-7, 1e20, math.MaxFloat64, float32(0.1), float32(1e30),
		true, nil, []any{}, map[string]any{}} {
		add(number)
		add(map[string]any{"n": []any{number}})
	}
	for i, text := range documents {
		var got any
		root, err := Parse([]byte(text), Own)
		if err == nil {
			err = root.Decode(&got)
		}
		a, _ := json.Marshal(got)
		if b, _ := json.Marshal(want[i]); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%q: we read %s from %s: %v", want[i], a, text, err)
		}
	}
	different := pyYAML(t, documents, want)
	for _, d := range different[:min(len(different), 40)] {
		t.Error(d)
	}
	t.Logf("%d documents, %d of them read in another way", len(documents), len(different))
}
