package agent

import (
	"bytes"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/state/modelconfig"
)

// The model's logging-config says what an agent logs, from the next line on.
func TestLoggingConfigIsApplied(t *testing.T) {
	defer loggo.ResetLogging()
	var log bytes.Buffer
	a := &Agent{logs: startLog(loggo.NewSimpleWriter(&log, formatEntry))}
	// lines logs a line of each level, and returns those that were written.
	lines := func(module string) string {
		log.Reset()
		for _, level := range []loggo.Level{loggo.TRACE, loggo.DEBUG, loggo.INFO, loggo.WARNING, loggo.ERROR} {
			loggo.GetLogger(module).Logf(level, "x")
		}
		var levels []string
		for line := range strings.Lines(log.String()) {
			levels = append(levels, strings.Fields(line)[2])
		}
		return strings.Join(levels, " ")
	}
	for _, step := range []struct{ config, juju, charm string }{
		{"", "INFO WARNING ERROR", "TRACE DEBUG INFO WARNING ERROR"},
		{"<root>=ERROR;juju.worker=DEBUG;unit.web/0=WARNING", "DEBUG INFO WARNING ERROR", "WARNING ERROR"},
		{"<root>=ERROR", "ERROR", "ERROR"},
		{"unit=INFO", "WARNING ERROR", "INFO WARNING ERROR"},
	} {
		set := map[string]string{}
		if step.config != "" {
			set[modelconfig.Logging] = step.config
		}
		a.configured(modelconfig.New(set, ""))
		if got := lines("juju.worker.uniter"); got != step.juju {
			t.Errorf("%q: the agent logs %s, want %s", step.config, got, step.juju)
		}
		if got := lines("unit.web/0.start"); got != step.charm {
			t.Errorf("%q: the charm logs %s, want %s", step.config, got, step.charm)
		}
	}
}
