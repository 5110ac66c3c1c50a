package charm

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The example charms are valid, and contain neither unknown hooks nor their source.
func TestExampleCharms(t *testing.T) {
	for name, hooks := range map[string]string{
		"keyvalue": "config-changed db-relation-broken db-relation-changed db-relation-departed db-relation-joined " +
			"install start stop upgrade-charm",
		"webpage": "config-changed install start stop store-relation-broken store-relation-changed " +
			"store-relation-departed store-relation-joined upgrade-charm",
		"postgresql": "config-changed db-relation-broken db-relation-changed db-relation-departed " +
			"db-relation-joined install start stop upgrade-charm",
		"guestbook": "config-changed db-relation-broken db-relation-changed db-relation-departed " +
			"db-relation-joined install start stop upgrade-charm website-relation-joined",
		"haproxy": "config-changed install reverseproxy-relation-broken reverseproxy-relation-changed " +
			"reverseproxy-relation-departed reverseproxy-relation-joined start stop upgrade-charm",
	} {
		t.Run(name, func(t *testing.T) {
			d, err := ReadDir("../doc/examples/charms/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if d.Meta.Name != name {
				t.Errorf("name %q", d.Meta.Name)
			}
			if got := strings.Join(d.Hooks, " "); got != hooks {
				t.Errorf("hooks %s, want %s", got, hooks)
			}
			root, err := os.OpenRoot(d.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			tree, err := scan(root, defaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(tree.names, func(n string) bool { return strings.HasPrefix(n, "src") }) {
				t.Errorf("contains its source: %v", tree.names)
			}
			for option, o := range d.Config.Options {
				if o.Default == nil || o.Description == "" {
					t.Errorf("option %s: %+v", option, o)
				}
			}
		})
	}
	for _, pair := range [][2]string{{"keyvalue:db", "webpage:store"}, {"postgresql:db", "guestbook:db"},
		{"guestbook:website", "haproxy:reverseproxy"}} {
		var interfaces []string
		for i, end := range pair {
			name, relation, _ := strings.Cut(end, ":")
			d, err := ReadDir("../doc/examples/charms/" + name)
			if err != nil {
				t.Fatal(err)
			}
			relations := d.Meta.Provides
			if i == 1 {
				relations = d.Meta.Requires
			}
			interfaces = append(interfaces, relations[relation].Interface)
		}
		if interfaces[0] == "" || interfaces[0] != interfaces[1] {
			t.Errorf("%v cannot be related: %q", pair, interfaces)
		}
	}
}
