package facades

import (
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// v1 returns what a charm without a manifest runs on.
func v1(series ...string) entity.Platforms { return entity.Platforms{Series: series} }

// v2 returns what a charm with a manifest for these releases of Ubuntu runs on.
func v2(releases ...string) (p entity.Platforms) {
	for _, release := range releases {
		b := entity.Base{Name: "ubuntu", Channel: release + "/stable"}
		p.Bases = append(p.Bases, entity.CharmBase{Base: b})
		if series := entity.SeriesOf(b.String()); series != "" {
			p.Series = append(p.Series, series)
		}
	}
	return p
}

func TestChoiceOfSeries(t *testing.T) {
	byController := modelconfig.Value{Value: "bookworm", Source: modelconfig.FromController}
	byModel := modelconfig.Value{Value: "jammy", Source: modelconfig.FromModel}
	ubuntus := []string{"jammy", "noble", "resolute"}
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
		{"a charm by force", seriesChoice{force: true, charm: v1([]string{"xenial"}...), cloud: host, model: byController}, "bookworm", ""},
		{"a charm of several", seriesChoice{charm: v1([]string{"xenial", "bookworm"}...), cloud: host, model: byController},
			"bookworm", ""},
		{"a charm of several, any cloud", seriesChoice{charm: v1([]string{"xenial", "jammy"}...), model: byModel}, "jammy", ""},
		{"a charm of others, any cloud", seriesChoice{charm: v1([]string{"xenial", "bionic"}...), model: byModel}, "xenial", ""},
		{"a charm of Ubuntu's only", seriesChoice{charm: v1([]string{"xenial", "bionic"}...), cloud: host, model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, asked for", seriesChoice{asked: "xenial", charm: v1([]string{"xenial", "bionic"}...), cloud: host,
			model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, and the host's asked for", seriesChoice{asked: "bookworm", charm: v1([]string{"xenial"}...), cloud: host,
			model: byController}, "bookworm", ""},
		{"a charm of Ubuntu's only, and another asked for", seriesChoice{asked: "jammy", charm: v1([]string{"xenial"}...), cloud: host,
			model: byController}, `series "jammy" is not available: the cloud has bookworm`, "Without a base or series it gets bookworm."},
		{"a charm of Ubuntu's only, and the cloud has another one of Ubuntu's", seriesChoice{charm: v1([]string{"xenial"}...),
			cloud: []string{"bookworm", "jammy"}, model: byController},
			"the charm's series xenial are not available: the cloud has bookworm, jammy",
			"To run the charm on bookworm all the same: --series bookworm --force"},
		{"a charm of others too", seriesChoice{charm: v1([]string{"win7", "xenial"}...), cloud: host, model: byController},
			"the charm's series win7, xenial are not available: the cloud has bookworm",
			"To run the charm on bookworm all the same: --series bookworm --force"},
		{"the host is upgraded", seriesChoice{cloud: upgraded, model: byController}, "trixie", ""},
		{"the host is upgraded, and the charm is too",
			seriesChoice{charm: v1([]string{"bookworm", "trixie"}...), cloud: upgraded, model: byController}, "trixie", ""},
		{"the model's is one of Ubuntu's", seriesChoice{cloud: host, model: byModel}, "bookworm", ""},
		{"bases: the default LTS", seriesChoice{charm: v2("22.04", "24.04", "26.04"), cloud: ubuntus, model: byController}, "noble", ""},
		{"bases: the first that there is", seriesChoice{charm: v2("20.04", "26.04", "22.04"), cloud: ubuntus, model: byController},
			"resolute", ""},
		{"bases: asked for", seriesChoice{asked: "jammy", charm: v2("24.04", "22.04"), cloud: ubuntus, model: byModel}, "jammy", ""},
		{"bases: the model's", seriesChoice{charm: v2("24.04", "22.04"), cloud: ubuntus, model: byModel}, "jammy", ""},
		{"bases: the model's is not the charm's", seriesChoice{charm: v2("24.04", "26.04"), cloud: ubuntus, model: byModel},
			`base "ubuntu@22.04/stable" is not supported, supported bases are: ubuntu@24.04, ubuntu@26.04`, ""},
		{"bases: another asked for", seriesChoice{asked: "resolute", charm: v2("24.04", "22.04"), cloud: ubuntus, model: byModel},
			`base "ubuntu@26.04/stable" is not supported, supported bases are: ubuntu@24.04, ubuntu@22.04`, ""},
		{"bases: another by force", seriesChoice{asked: "resolute", force: true, charm: v2("24.04"), cloud: ubuntus, model: byModel},
			"resolute", ""},
		{"bases: asked for and not there", seriesChoice{asked: "focal", charm: v2("20.04", "22.04"), cloud: ubuntus, model: byModel},
			"base: ubuntu@20.04/stable", "The cloud has ubuntu@22.04, ubuntu@24.04, ubuntu@26.04."},
		{"bases: none is there", seriesChoice{charm: v2("18.04", "20.04"), cloud: ubuntus, model: byController},
			`the charm defined bases "ubuntu@18.04, ubuntu@20.04" not supported`, "The cloud has ubuntu@22.04, ubuntu@24.04, " +
				"ubuntu@26.04. To run the charm on ubuntu@22.04 all the same: --base ubuntu@22.04 --force"},
		{"bases: none is known", seriesChoice{charm: v2("3000"), model: byController},
			`the charm defined bases "ubuntu@3000" not supported`, ""},
		{"bases: any cloud", seriesChoice{charm: v2("20.04", "22.04"), model: byController}, "focal", ""},
		{"bases: where there is no Ubuntu", seriesChoice{charm: v2("22.04", "24.04"), cloud: host, model: byController}, "bookworm", ""},
		{"bases: asked for where there is no Ubuntu", seriesChoice{asked: "jammy", charm: v2("22.04", "24.04"), cloud: host,
			model: byController}, "bookworm", ""},
		{"bases: the host's asked for", seriesChoice{asked: "bookworm", charm: v2("22.04"), cloud: host, model: byController}, "bookworm", ""},
		{"bases: another asked for where there is no Ubuntu", seriesChoice{asked: "focal", charm: v2("22.04"), cloud: host,
			model: byController}, `base "ubuntu@20.04/stable" is not supported, supported bases are: ubuntu@22.04`, ""},
		{"the model's is not there", seriesChoice{cloud: []string{"noble"}, model: byModel},
			`the model's default-series "jammy" is not available: the cloud has noble`,
			"Change it: juju model-config default-series=noble"},
	} {
		series, warning, err := c.choice.choose()
		got := series
		if err != nil {
			got = err.Error()
			if !errors.Is(err, entity.Invalid) && !errors.Is(err, entity.NotSupported) {
				t.Errorf("%s: error %v is neither Invalid nor NotSupported", c.name, err)
			}
		}
		if got != c.want || entity.Hint(err) != c.hint {
			t.Errorf("%s: got %q, hint %q, want %q, hint %q", c.name, got, entity.Hint(err), c.want, c.hint)
		}
		if insists := err == nil && (c.choice.asked != "" && series != c.choice.asked || strings.HasPrefix(c.name, "the model's") ||
			!c.choice.charm.Supports(series) && !(c.choice.force && series == c.choice.asked)); (warning != "") != insists {
			t.Errorf("%s: warning %q", c.name, warning)
		}
	}
}
