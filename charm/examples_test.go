package charm

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The charms that newcomers read first must be right, and contain nothing superfluous.
func TestExampleCharms(t *testing.T) {
	for name, hooks := range map[string]string{
		"keyvalue": "config-changed db-relation-broken db-relation-changed db-relation-departed db-relation-joined " +
			"install start stop upgrade-charm",
		"webpage": "config-changed install start stop store-relation-broken store-relation-changed " +
			"store-relation-departed store-relation-joined upgrade-charm",
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
				t.Errorf("carries its source: %v", tree.names)
			}
			for option, o := range d.Config.Options {
				if o.Default == nil || o.Description == "" {
					t.Errorf("option %s: %+v", option, o)
				}
			}
		})
	}
	provider, _ := ReadDir("../doc/examples/charms/keyvalue")
	requirer, _ := ReadDir("../doc/examples/charms/webpage")
	if provider.Meta.Provides["db"].Interface != requirer.Meta.Requires["store"].Interface {
		t.Error("the example charms cannot be related")
	}
}
