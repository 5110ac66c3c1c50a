package metrics

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"

	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write the table of doc/metrics.md anew")

// Files of the documentation.
const (
	page      = "../../../doc/metrics.md"
	alerts    = "../../../doc/monitoring/alerts.yaml"
	dashboard = "../../../doc/monitoring/dashboard.json"
)

// A series is a metric, with its labels.
type series struct {
	kind, help string
	labels     []string
}

// registered returns all metrics by their names.
func registered(t *testing.T) map[string]series {
	t.Helper()
	m := told(t, full)
	_, families := gather(t, m.registry)
	all := map[string]series{}
	for _, f := range families {
		s := series{kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		for _, l := range f.Metric[0].Label {
			s.labels = append(s.labels, l.GetName())
		}
		all[f.GetName()] = s
	}
	// What has no value would be missing.
	descs := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descs)
	close(descs)
	for d := range descs {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		if _, there := all[name]; !there && strings.HasPrefix(name, "juju_") {
			t.Errorf("the tests give %s no value", name)
		}
	}
	return all
}

// The page on metrics lists each of ours.
func TestMetricsPage(t *testing.T) {
	verify.Smoke(t)
	const mark = "<!-- metrics -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(text, []byte(mark))
	if !found {
		t.Fatalf("%s has no line %q", page, mark)
	}
	var rows []string
	for name, s := range registered(t) {
		if strings.HasPrefix(name, "juju_") {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, s.kind, strings.Join(s.labels, ", "), s.help))
		}
	}
	slices.Sort(rows)
	want := string(before) + mark + "| metric | type | labels | what it is |\n|---|---|---|---|\n" + strings.Join(rows, "")
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the metrics; go test ./agent/controller/metrics -run %s -update writes it anew", page, t.Name())
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkQuery parses a query, and returns what it names that is not there.
func checkQuery(all map[string]series, query string) error {
	expr, err := parser.ParseExpr(query)
	if err != nil {
		return err
	}
	known := map[string]bool{"instance": true, "job": true, "le": true}
	var wrong []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok || selector.Name == "up" { // Prometheus' own
			return nil
		}
		name := selector.Name
		s, there := all[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if h, of := all[strings.TrimSuffix(name, suffix)]; of && h.kind == "histogram" && strings.HasSuffix(name, suffix) {
				s, there = h, true
			}
		}
		if !there || all[name].kind == "histogram" {
			wrong = append(wrong, "metric "+name)
		}
		for _, l := range s.labels {
			known[l] = true
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && m.Name != "job" && m.Name != "instance" && !slices.Contains(s.labels, m.Name) {
				wrong = append(wrong, fmt.Sprintf("label %s of %s", m.Name, name))
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if by, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range by.Grouping {
				if !known[label] {
					wrong = append(wrong, "label "+label)
				}
			}
		}
		return nil
	})
	if len(wrong) > 0 {
		return fmt.Errorf("there is no %s", strings.Join(wrong, ", no "))
	}
	return nil
}

// Queries that name what is not there are found.
func TestQueriesAreChecked(t *testing.T) {
	t.Parallel()
	all := registered(t)
	for query, want := range map[string]string{
		`rate(juju_transactions_total{outcome="failed"}[5m])`:         "",
		`histogram_quantile(0.9, rate(juju_hook_seconds_bucket[5m]))`: "",
		`juju_hook_seconds`:                        "there is no metric juju_hook_seconds",
		`juju_transaction_total > 1`:               "there is no metric juju_transaction_total",
		`juju_disk_free_bytes_sum`:                 "there is no metric juju_disk_free_bytes_sum",
		`juju_transactions_total{result="failed"}`: "there is no label result of juju_transactions_total",
		`sum by (service) (juju_units_failed)`:     "there is no label service",
		`sum(rate(juju_transactions_total))`:       "expected type range vector",
	} {
		if err := checkQuery(all, query); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// The alert rules are such as Prometheus reads, and ask for metrics that there are.
func TestAlertRules(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr string
				For         string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&file); err != nil {
		t.Fatal(err)
	}
	all, seen := registered(t), map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Juju") || r.Annotations["summary"] == "" || r.Annotations["do"] == "" ||
				r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
				t.Errorf("alert %q: its name, summary, what to do or severity is missing or wrong", r.Alert)
			}
			seen[r.Alert] = true
			if err := checkQuery(all, r.Expr); err != nil {
				t.Errorf("alert %s: %v", r.Alert, err)
			}
			if r.For != "" {
				if _, err := model.ParseDuration(r.For); err != nil {
					t.Errorf("alert %s: %v", r.Alert, err)
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("there are %d alerts", len(seen))
	}
}

// The dashboard's panels ask for metrics that there are, and do not overlap.
func TestDashboard(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", `"$job"`, `"juju"`)
	all, ids, taken, asked := registered(t), map[int]bool{}, map[[2]int]string{}, ""
	for _, p := range file.Panels {
		if ids[p.ID] || p.Title == "" || (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %d, %q: its id, title or queries are missing or wrong", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if before := taken[[2]int{x, y}]; before != "" || x >= 24 {
					t.Errorf("panel %q is over %q, or outside, at %d, %d", p.Title, before, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			asked += target.Expr + "\n"
			if err := checkQuery(all, variables.Replace(target.Expr)); err != nil {
				t.Errorf("panel %q: %v", p.Title, err)
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "juju_") && name != "juju_build_info" && !strings.Contains(asked, name) &&
			!strings.Contains(alertsText(t), name) {
			t.Errorf("neither the dashboard nor an alert asks for %s", name)
		}
	}
}

func alertsText(t *testing.T) string {
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
