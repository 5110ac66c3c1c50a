package facades

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/modelconfig"
)

func TestChoiceOfSeries(t *testing.T) {
	byController := modelconfig.Value{Value: "bookworm", Source: modelconfig.FromController}
	byModel := modelconfig.Value{Value: "jammy", Source: modelconfig.FromModel}
	host, upgraded := []string{"bookworm"}, []string{"trixie"}
	for _, c := range []struct {
		name   string
		choice seriesChoice
		want   string // or a part of the error
		hint   string
	}{
		{"no one says anything", seriesChoice{cloud: host, model: byController}, "bookworm", ""},
		{"any cloud", seriesChoice{model: byModel}, "jammy", ""},
		{"the user", seriesChoice{asked: "bookworm", cloud: host, model: byController}, "bookworm", ""},
		{"the user, anything", seriesChoice{asked: "xenial", model: byController}, "xenial", ""},
		{"the user, in vain", seriesChoice{asked: "win7", cloud: host, model: byController},
			`series "win7" is not available: the cloud has bookworm`, "Without a base or series it gets bookworm."},
		{"the user, one of Ubuntu's in vain", seriesChoice{asked: "xenial", cloud: []string{"jammy"}, model: byController},
			`series "xenial" is not available: the cloud has jammy`, "Without a base or series it gets jammy."},
		{"the user, one of Ubuntu's where there is none", seriesChoice{asked: "xenial", cloud: host, model: byController}, "bookworm", ""},
		{"the user insists", seriesChoice{asked: "xenial", force: true, cloud: host, model: byController}, "bookworm", ""},
		{"the user insists, and gets it", seriesChoice{asked: "xenial", force: true, model: byController}, "xenial", ""},
		{"a charm by force", seriesChoice{force: true, charm: []string{"xenial"}, cloud: host, model: byController}, "bookworm", ""},
		{"a charm of several", seriesChoice{charm: []string{"xenial", "bookworm"}, cloud: host, model: byController},
			"bookworm", ""},
		{"a charm of several, any cloud", seriesChoice{charm: []string{"xenial", "jammy"}, model: byModel}, "jammy", ""},
		{"a charm of others, any cloud", seriesChoice{charm: []string{"xenial", "bionic"}, model: byModel}, "xenial", ""},
		{"a charm of Ubuntu's only", seriesChoice{charm: []string{"xenial", "bionic"}, cloud: host, model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, asked for", seriesChoice{asked: "xenial", charm: []string{"xenial", "bionic"}, cloud: host,
			model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, and the host's asked for", seriesChoice{asked: "bookworm", charm: []string{"xenial"}, cloud: host,
			model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, and another asked for", seriesChoice{asked: "jammy", charm: []string{"xenial"}, cloud: host,
			model: byController}, `series "jammy" is not available: the cloud has bookworm`, "Without a base or series it gets bookworm."},
		{"a charm of Ubuntu's only, and the cloud has another one of Ubuntu's", seriesChoice{charm: []string{"xenial"},
			cloud: []string{"bookworm", "jammy"}, model: byController},
			"the charm's series xenial are not available: the cloud has bookworm, jammy",
			"To run the charm on bookworm all the same: --series bookworm --force"},
		{"a charm of others too", seriesChoice{charm: []string{"win7", "xenial"}, cloud: host, model: byController},
			"the charm's series win7, xenial are not available: the cloud has bookworm",
			"To run the charm on bookworm all the same: --series bookworm --force"},
		{"the host is upgraded", seriesChoice{cloud: upgraded, model: byController}, "trixie", ""},
		{"the host is upgraded, and the charm is too",
			seriesChoice{charm: []string{"bookworm", "trixie"}, cloud: upgraded, model: byController}, "trixie", ""},
		{"the model's is one of Ubuntu's", seriesChoice{cloud: host, model: byModel}, "bookworm", ""},
		{"the model's is not there", seriesChoice{cloud: []string{"noble"}, model: byModel},
			`the model's default-series "jammy" is not available: the cloud has noble`,
			"Change it: juju model-config default-series=noble"},
	} {
		series, warning, err := c.choice.choose()
		got := series
		if err != nil {
			got = err.Error()
			if !errors.Is(err, entity.Invalid) {
				t.Errorf("%s: error %v is not Invalid", c.name, err)
			}
		}
		if got != c.want || entity.Hint(err) != c.hint {
			t.Errorf("%s: got %q, hint %q, want %q, hint %q", c.name, got, entity.Hint(err), c.want, c.hint)
		}
		if insists := err == nil && (c.choice.asked != "" && series != c.choice.asked || strings.HasPrefix(c.name, "the model's") ||
			len(c.choice.charm) > 0 && !slices.Contains(c.choice.charm, series)); (warning != "") != insists {
			t.Errorf("%s: warning %q", c.name, warning)
		}
	}
}
