package constraints

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/state/entity"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		in, out, err string // out is "" for an error
	}{
		{in: ""},
		{in: "  \t"},
		{in: "mem=4G", out: "mem=4096M"},
		{in: "mem=4", out: "mem=4M"},
		{in: "mem=4M cores=2", out: "cores=2 mem=4M"},
		{in: "mem=1.5G", out: "mem=1536M"},
		{in: "mem=0.1", out: "mem=1M"},
		{in: "mem=1T", out: "mem=1048576M"},
		{in: "root-disk=1P", out: "root-disk=1073741824M"},
		{in: "mem=", out: "mem="},
		{in: "mem=0", out: "mem="},
		{in: "mem=G", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=-1", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=-0", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=4K", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=NaN", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=Inf", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "mem=1e300", err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "root-disk=4GB", err: `bad "root-disk" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: "cores=4", out: "cores=4"},
		{in: "cpu-cores=4", out: "cores=4"},
		{in: "cores=0", out: "cores="},
		{in: "cores=-1", err: `bad "cores" constraint: must be a non-negative integer`},
		{in: "cpu-cores=many", err: `bad "cpu-cores" constraint: must be a non-negative integer`},
		{in: "cpu-power=1.5", err: `bad "cpu-power" constraint: must be a non-negative integer`},
		{in: "cores=18446744073709551616", err: `bad "cores" constraint: must be a non-negative integer`},
		{in: "cpu-cores=1 cores=2", err: `constraint "cores" duplicates constraint "cpu-cores"`},
		{in: "cores=1 cpu-cores=2", err: `constraint "cpu-cores" duplicates constraint "cores"`},
		{in: "cores=1 cores=1", err: `bad "cores" constraint: already set`},
		{in: "arch= arch=amd64", err: `bad "arch" constraint: already set`},
		{in: "arch=amd64", out: "arch=amd64"},
		{in: "arch=", out: "arch="},
		{in: "arch=cheese", err: `bad "arch" constraint: "cheese" not recognized`},
		{in: "container=lxd", out: "container=lxd"},
		{in: "container=none", out: "container=none"},
		{in: "container=jar", err: `bad "container" constraint: invalid container type "jar"`},
		{in: "allocate-public-ip=true", out: "allocate-public-ip=true"},
		{in: "allocate-public-ip=", out: "allocate-public-ip="},
		{in: "allocate-public-ip=yes", err: `bad "allocate-public-ip" constraint: must be 'true' or 'false'`},
		{in: "tags=a,^b,c", out: "tags=a,^b,c"},
		{in: "tags=,a,,b,", out: "tags=a,b"},
		{in: "tags=,", out: "tags="},
		{in: "spaces=db,^dmz-1", out: "spaces=db,^dmz-1"},
		{in: "spaces=db,^^dmz", err: `bad "spaces" constraint: "^dmz" is not a valid space name`},
		{in: "spaces=DB", err: `bad "spaces" constraint: "DB" is not a valid space name`},
		{in: "zones=z1,z2", out: "zones=z1,z2"},
		{in: "virt-type=kvm instance-type=m1.small instance-role=auto root-disk-source=lvm image-id=ubuntu-bf2",
			out: "image-id=ubuntu-bf2 instance-role=auto instance-type=m1.small root-disk-source=lvm virt-type=kvm"},
		{in: "instance-type=a=b", out: "instance-type=a=b"},
		{in: "mem", err: `malformed constraint "mem"`},
		{in: "=4G", err: `malformed constraint "=4G"`},
		{in: "mem = 4G", err: `malformed constraint "mem"`},
		{in: "cheese=edam", err: `unknown constraint "cheese"`},
		{in: "Mem=4G", err: `unknown constraint "Mem"`},
	} {
		c, err := Parse(test.in)
		switch {
		case test.err != "":
			if err == nil || err.Error() != test.err || !errors.Is(err, entity.Invalid) {
				t.Errorf("%q: got error %v, want %s", test.in, err, test.err)
			}
		case err != nil || c.String() != test.out:
			t.Errorf("%q: got %q, error %v, want %q", test.in, c, err, test.out)
		case c.IsEmpty() != (test.out == ""):
			t.Errorf("%q: empty is %v", test.in, c.IsEmpty())
		}
	}
	// Several arguments form one set, as on a command line.
	if c := parse(t, "mem=1G", "cores=2  arch=arm64"); c.String() != "arch=arm64 cores=2 mem=1024M" {
		t.Errorf("got %q", c)
	}
	if _, err := Parse("mem=1G", "mem=2G"); err == nil {
		t.Error("a key repeated in a second argument was accepted")
	}
}

func parse(t testing.TB, args ...string) Value {
	t.Helper()
	c, err := Parse(args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConstraintsValues(t *testing.T) {
	c := parse(t, "mem=2G cores=4 tags=fast,^shared zones= container=lxd")
	if c.Number("mem") != 2048 || c.Number("cores") != 4 || c.Number("root-disk") != 0 || c.Number("container") != 0 {
		t.Errorf("got numbers %d, %d, %d", c.Number("mem"), c.Number("cores"), c.Number("root-disk"))
	}
	if v, ok := c.Get("zones"); v != "" || !ok {
		t.Errorf("zones: got %q, %v, want it present and empty", v, ok)
	}
	if _, ok := c.Get("spaces"); ok {
		t.Error("spaces is present")
	}
	if !c.Equal(parse(t, c.String())) || c.Equal(parse(t, "mem=2G")) || !(Value{}).Equal(parse(t, "")) {
		t.Error("Equal is wrong")
	}
}

// A unit's constraints are the service's, with the model's for everything the service leaves
// open.
func TestMergeConstraints(t *testing.T) {
	for _, test := range []struct{ name, model, service, want string }{
		{"nothing", "", "", ""},
		{"the model's alone", "mem=1G cores=2", "", "cores=2 mem=1024M"},
		{"the service's alone", "", "mem=1G", "mem=1024M"},
		{"the service wins", "mem=1G cores=2", "mem=3G", "cores=2 mem=3072M"},
		{"lists are not joined", "tags=a,b", "tags=c", "tags=c"},
		{"nothing masks something", "mem=1G cores=2", "mem=", "cores=2 mem="},
		{"nothing masks a list", "tags=a,b", "tags=", "tags="},
		{"no container at all", "container=lxd", "container=none", "container=none"},
		{"an instance type drops the model's mem", "mem=1G cores=2 cpu-power=10 arch=arm64", "instance-type=big", "arch=arm64 instance-type=big"},
		{"mem drops the model's instance type", "instance-type=big tags=a", "mem=1G", "mem=1024M tags=a"},
		{"no instance type drops nothing", "mem=1G", "instance-type=", "instance-type= mem=1024M"},
		{"no mem keeps the instance type", "instance-type=big", "mem=", "instance-type=big mem="},
		{"a model's own conflict is not hidden", "instance-type=big mem=1G", "cores=", "cores= instance-type=big mem=1024M"},
	} {
		model, service := parse(t, test.model), parse(t, test.service)
		if got := Merge(model, service); got.String() != test.want {
			t.Errorf("%s: %q under %q: got %q, want %q", test.name, test.model, test.service, got, test.want)
		}
		if again := parse(t, test.model); !model.Equal(again) {
			t.Errorf("%s: the model's constraints became %q", test.name, model)
		}
	}
}

func TestShownConstraints(t *testing.T) {
	for in, want := range map[string]string{
		"mem=500T": "500T", "mem=1.5G": "1536M", "mem=2048": "2G", "mem=1023M": "1023M", "mem=8192P": "8192P", "mem=0": "",
		"mem=1024G root-disk=1": "1T",
	} {
		c := parse(t, in)
		shown := c.Shown("mem")
		if shown != want {
			t.Errorf("%s is shown as %q, want %q", in, shown, want)
		}
		if again := parse(t, "mem="+shown); again.Number("mem") != c.Number("mem") {
			t.Errorf("%s is shown as %q, which is %d MiB", in, shown, again.Number("mem"))
		}
	}
	c := parse(t, "cores=2048 arch=arm64 tags=1024M")
	for key, want := range map[string]string{"cores": "2048", "arch": "arm64", "tags": "1024M", "root-disk": ""} {
		if got := c.Shown(key); got != want {
			t.Errorf("%s is shown as %q, want %q", key, got, want)
		}
	}
}

func TestConstraintRules(t *testing.T) {
	rules := Rules{
		Conflicts:   [][2]string{{"instance-type", "mem"}},
		Unsupported: []string{"virt-type", "cpu-power"},
		Values:      map[string][]string{"arch": {"amd64", "arm64"}, "instance-type": {"big", "small"}},
	}
	for _, test := range []struct{ in, err, unsupported string }{
		{in: ""},
		{in: "mem=1G arch=arm64"},
		{in: "instance-type=big mem="},
		{in: "instance-type=big cores=3"},
		{in: "virt-type=kvm mem=1G cpu-power=3", unsupported: "cpu-power virt-type"},
		{in: "virt-type= cpu-power=0"},
		{in: "instance-type=big mem=1G", err: `ambiguous constraints: "instance-type" overlaps with "mem"`},
		{in: "arch=s390x", err: "invalid constraint value: arch=s390x\nvalid values are: [amd64 arm64]"},
		{in: "instance-type=huge virt-type=kvm", err: "invalid constraint value: instance-type=huge\nvalid values are: [big small]"},
	} {
		unsupported, err := rules.Check(parse(t, test.in))
		if got := strings.Join(unsupported, " "); got != test.unsupported {
			t.Errorf("%q: unsupported %q, want %q", test.in, got, test.unsupported)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err || !errors.Is(err, entity.Invalid)) {
			t.Errorf("%q: got error %v, want %q", test.in, err, test.err)
		}
	}
	rules.Needs = map[string]uint64{Mem: 64}
	for in, want := range map[string]string{"mem=10M": "mem=10M", "mem=0.05G": "mem=52M", "mem=64M": "", "mem=": "", "mem=0": "", "cores=1": ""} {
		if got := strings.Join(rules.TooSmall(parse(t, in)), " "); got != want {
			t.Errorf("of %q, too small is %q, want %q", in, got, want)
		}
	}
	if _, err := DefaultRules().Check(parse(t, "instance-type=big cores=2")); err == nil {
		t.Error("instance-type with cores was accepted")
	}
}

const everyConstraint = "allocate-public-ip=true arch=amd64 container=lxd cores=4 cpu-power=10 image-id=i instance-role=r " +
	"instance-type=t mem=2048M root-disk=8192M root-disk-source=s spaces=a,^b tags=c,d virt-type=v zones=z"

func TestConstraintsMarshalling(t *testing.T) {
	empty := strings.Join(func() (pairs []string) {
		for _, key := range parse(t, everyConstraint).Keys() {
			pairs = append(pairs, key+"=")
		}
		return pairs
	}(), " ")
	for _, text := range []string{"", everyConstraint, empty} {
		c := parse(t, text)
		type holder struct{ C Value }
		var fromJSON, fromYAML holder
		j, err := json.Marshal(holder{c})
		if err == nil {
			err = json.Unmarshal(j, &fromJSON)
		}
		if err != nil || !fromJSON.C.Equal(c) {
			t.Errorf("JSON %s: got %q, %v, want %q", j, fromJSON.C, err, c)
		}
		y, err := yaml.Marshal(holder{c})
		if err == nil {
			err = yaml.Unmarshal(y, &fromYAML)
		}
		if err != nil || !fromYAML.C.Equal(c) {
			t.Errorf("YAML %s: got %q, %v, want %q", y, fromYAML.C, err, c)
		}
	}

	// The form that clients expect.
	j, err := json.Marshal(parse(t, everyConstraint))
	want := `{"allocate-public-ip":true,"arch":"amd64","container":"lxd","cores":4,"cpu-power":10,"image-id":"i",` +
		`"instance-role":"r","instance-type":"t","mem":2048,"root-disk":8192,"root-disk-source":"s","spaces":["a","^b"],` +
		`"tags":["c","d"],"virt-type":"v","zones":["z"]}`
	if err != nil || string(j) != want {
		t.Errorf("got %s, %v, want %s", j, err, want)
	}

	for _, test := range []struct{ in, want, err string }{
		{in: `null`},
		{in: `{"mem":null,"tags":null}`},
		{in: `{"mem":2048,"cpu-cores":2}`, want: "cores=2 mem=2048M"},
		{in: `{"mem":"2G","tags":"a,b"}`, want: "mem=2048M tags=a,b"},
		{in: `{"mem":0,"tags":[],"allocate-public-ip":false}`, want: "allocate-public-ip=false mem= tags="},
		{in: `"mem=2G cores=1"`, want: "cores=1 mem=2048M"},
		{in: `{"cores":1,"cpu-cores":1}`, err: `constraint "cpu-cores" duplicates constraint "cores"`},
		{in: `{"cheese":1}`, err: `unknown constraint "cheese"`},
		{in: `{"mem":-3}`, err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{in: `{"cores":1.5}`, err: `bad "cores" constraint: must be a non-negative integer`},
		{in: `{"virt-type":"a b"}`, err: `bad "virt-type" constraint: "a b" has white space in it`},
		{in: `{"tags":["a,b"]}`, err: `bad "tags" constraint: a,b can't be an element of a list`},
		{in: `{"mem":{}}`, err: `bad "mem" constraint: must be a text, a number, true, false or a list of texts`},
		{in: `[]`, err: `constraints must be pairs of keys and values`},
	} {
		var c Value
		err := json.Unmarshal([]byte(test.in), &c)
		if test.err == "" && (err != nil || c.String() != test.want) || test.err != "" && (err == nil || err.Error() != test.err) {
			t.Errorf("%s: got %q, error %v, want %q %s", test.in, c, err, test.want, test.err)
		}
	}

	var c Value
	if err := yaml.Unmarshal([]byte("mem=2G cores=1"), &c); err != nil || c.String() != "cores=1 mem=2048M" {
		t.Errorf("a bundle's text: got %q, %v", c, err)
	}
	if err := yaml.Unmarshal([]byte("mem: 2G\ncores: 1\ntags: [a]\n"), &c); err != nil || c.String() != "cores=1 mem=2048M tags=a" {
		t.Errorf("a mapping: got %q, %v", c, err)
	}
	if text, err := c.MarshalText(); err != nil || c.UnmarshalText(text) != nil || c.String() != string(text) {
		t.Errorf("text: got %q, %q, %v", text, c, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everyConstraint, "mem=1G instance-type=")
	f.Add("mem=1.5T cpu-cores=3 tags=^a,,b", "arch= spaces=x")
	f.Add("image-id=\x80", "tags=\xff")
	f.Fuzz(func(t *testing.T, one, two string) {
		c, err := Parse(one)
		if err != nil {
			if !errors.Is(err, entity.Invalid) {
				t.Errorf("%q: error %v is not Invalid", one, err)
			}
			return
		}
		if again, err := Parse(c.String()); err != nil || !again.Equal(c) {
			t.Errorf("%q: %q reads as %q, %v", one, c, again, err)
		}
		var back Value
		if j, err := json.Marshal(c); err != nil || json.Unmarshal(j, &back) != nil || !back.Equal(c) {
			t.Errorf("%q: JSON %s reads as %q, %v", one, j, back, err)
		}
		other, err := Parse(two)
		if err != nil {
			return
		}
		// Every key of the service is in the result, merging twice changes nothing, and
		// merging two valid sets gives a valid one.
		merged := Merge(other, c)
		for _, key := range c.Keys() {
			want, _ := c.Get(key)
			if got, ok := merged.Get(key); !ok || got != want {
				t.Errorf("%q over %q: %s is %q", one, two, key, got)
			}
		}
		if again := Merge(merged, c); !again.Equal(merged) {
			t.Errorf("%q over %q: %q, then %q", one, two, merged, again)
		}
		rules := DefaultRules()
		_, err1 := rules.Check(c)
		_, err2 := rules.Check(other)
		if _, err := rules.Check(merged); err1 == nil && err2 == nil && err != nil {
			t.Errorf("%q over %q: %v", one, two, err)
		}
	})
}
