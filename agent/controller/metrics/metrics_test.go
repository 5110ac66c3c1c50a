package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
	"juju/state/mongo"
)

// full is a reading in which nothing is missing.
func full(context.Context) (Reading, error) {
	return Reading{
		Models:      []Model{{Name: "web", Backlog: entity.Backlog{Agents: 5, FailedUnits: 2}, Present: 3}},
		Connections: map[string]int{"users": 4}, Disk: Disk{Size: 10, Free: 6},
		Storage: map[string]Disk{"default": {Size: 20, Free: 8}}, Leads: true,
	}, nil
}

// told returns metrics that have been told of everything once.
func told(t *testing.T, read Read) *Metrics {
	m := New("1.2.3", "abc", read)
	m.Transaction(mongo.Applied, 3)
	m.Barrier(2 * time.Millisecond)
	m.Delivered(time.Second)
	m.HookRan("web", "shop", time.Second)
	m.HookFailed("web", "shop")
	m.LoginRefused("denied")
	environ, err := m.Open(dummytest.New(nil).Open)(t.Context(), provider.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := environ.Instances(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// gather returns all values of m, with their names and labels: `name{label="value"}`.
func gather(t *testing.T, g prometheus.Gatherer) (values map[string]float64, families []*dto.MetricFamily) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Counter != nil:
				values[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				values[name] = m.Gauge.GetValue()
			case m.Histogram != nil:
				values[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return values, families
}

func TestMetricsAreWhatTheyAreTold(t *testing.T) {
	t.Parallel()
	values, families := gather(t, told(t, full).registry)
	for name, want := range map[string]float64{
		`juju_transactions_total{outcome="applied"}`:             1,
		`juju_transactions_total{outcome="failed"}`:              0,
		`juju_transaction_aborts_total{}`:                        2,
		`juju_store_barrier_seconds{}`:                           1,
		`juju_watcher_lag_seconds{}`:                             1,
		`juju_hook_seconds{model="web",service="shop"}`:          1,
		`juju_hook_failures_total{model="web",service="shop"}`:   1,
		`juju_logins_refused_total{reason="denied"}`:             1,
		`juju_provider_call_seconds{operation="Instances"}`:      1,
		`juju_provider_call_errors_total{operation="Instances"}`: 0,
		`juju_agents_present{model="web"}`:                       3,
		`juju_agents_lost{model="web"}`:                          2,
		`juju_units_failed{model="web"}`:                         2,
		`juju_api_connections{kind="users"}`:                     4,
		`juju_disk_free_bytes{}`:                                 6,
		`juju_storage_pool_free_bytes{pool="default"}`:           8,
		`juju_store_readable{}`:                                  1,
		`juju_controller_leads{}`:                                1,
		`juju_build_info{commit="abc",version="1.2.3"}`:          1,
	} {
		if got, there := values[name]; !there || got != want {
			t.Errorf("%s is %v (there: %v), want %v", name, got, there, want)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus' conventions: %v %v", problems, err)
	}
}

// If the store can't be read, what needs no store is there.
func TestUnreadableStore(t *testing.T) {
	t.Parallel()
	m := New("1", "", func(ctx context.Context) (Reading, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the reading has no bound")
		}
		r, _ := full(ctx)
		return r, errors.New("it is away")
	})
	values, _ := gather(t, m.registry)
	if v, there := values[`juju_store_readable{}`]; !there || v != 0 || values[`juju_disk_free_bytes{}`] != 6 {
		t.Errorf("while the store is away, the values are %v", values)
	}
	if _, there := values[`juju_agents_lost{model="web"}`]; there {
		t.Error("models that could not all be read have values")
	}
}

// A controller with many models and services has a bounded number of series, and loses no count.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	m := New("1", "", func(context.Context) (r Reading, _ error) {
		for i := range modelsKept + 50 {
			r.Models = append(r.Models, Model{Name: fmt.Sprintf("m%03d", i), Present: 1})
		}
		r.Models = append(r.Models, Model{Name: "m000", Present: 1}) // of another owner
		return r, nil
	})
	now := time.Unix(1000, 0)
	m.hooks.now = func() time.Time { return now }
	for i := range servicesKept + 50 {
		m.HookRan("web", fmt.Sprint("s", i), time.Second)
		m.HookFailed("web", fmt.Sprint("s", i))
	}
	count := func(name string) (series int, sum float64) {
		values, _ := gather(t, m.registry)
		for key, value := range values {
			if strings.HasPrefix(key, name+"{") {
				series, sum = series+1, sum+value
			}
		}
		return series, sum
	}
	// Two models have the same name, so that there are the names of 99 others.
	for name, want := range map[string][2]float64{
		"juju_agents_present": {modelsKept, modelsKept + 51}, "juju_hook_seconds": {servicesKept + 1, servicesKept + 50},
		"juju_hook_failures_total": {servicesKept + 1, servicesKept + 50},
	} {
		if series, sum := count(name); float64(series) != want[0] || sum != want[1] {
			t.Errorf("%s has %d series that add up to %v, want %v", name, series, sum, want)
		}
	}
	// Services that are gone make room.
	now = now.Add(quietFor)
	m.HookRan("web", "s0", time.Second)
	now = now.Add(time.Second)
	m.HookRan("web", "new", time.Second)
	values, _ := gather(t, m.registry)
	if series, _ := count("juju_hook_seconds"); series != 3 || values[`juju_hook_seconds{model="web",service="new"}`] != 1 ||
		values[`juju_hook_seconds{model="web",service="s0"}`] != 2 {
		t.Errorf("after the others were quiet, %d services have series", series)
	}
}

// Calls that fail are counted, but for those whose caller has given up, and what a cloud can't do at all.
func TestErrorsOfTheCloud(t *testing.T) {
	t.Parallel()
	m := New("1", "", full)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	fail := func(ctx context.Context, err error) {
		_, _ = m.Open(func(context.Context, provider.Config) (provider.Environ, error) { return nil, err })(ctx, provider.Config{})
	}
	fail(t.Context(), errors.New("it is down"))
	fail(t.Context(), entity.Errorf(entity.NotSupported, "it has none"))
	fail(gone, context.Canceled)
	values, _ := gather(t, m.registry)
	if n := values[`juju_provider_call_errors_total{operation="Open"}`]; n != 1 || values[`juju_provider_call_seconds{operation="Open"}`] != 3 {
		t.Errorf("%v errors are counted, want 1: %v", n, values)
	}
}

// Every call of a cloud is timed, and reaches it.
func TestEveryCallIsTimed(t *testing.T) {
	t.Parallel()
	m := New("1", "", full)
	ctx := t.Context()
	cloud, err := m.Open(dummytest.New(nil).Open)(ctx, provider.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cloud.StartInstance(ctx, provider.StartParams{})
	cloud.StopInstances(ctx)
	cloud.Instances(ctx)
	cloud.Series(ctx)
	cloud.ConstraintRules(ctx)
	cloud.PrecheckInstance(ctx, provider.PrecheckParams{})
	cloud.Subnets(ctx)
	cloud.Zones(ctx, provider.PrecheckParams{})
	cloud.CreateFilesystem(ctx, provider.FilesystemParams{})
	cloud.AttachFilesystem(ctx, provider.AttachmentParams{})
	cloud.DetachFilesystem(ctx, provider.AttachmentParams{})
	cloud.IsFilesystemAttached(ctx, provider.AttachmentParams{})
	cloud.PoolSize(ctx, entity.StoragePool{})
	cloud.DestroyFilesystem(ctx, "x")
	cloud.ReleaseFilesystem(ctx, "x")
	cloud.ImportFilesystem(ctx, provider.ImportParams{})
	cloud.Profiler().SetProfiles(ctx, "x", nil)
	cloud.CheckFirewall(ctx)
	cloud.SetIngress(ctx, provider.Ingress{})
	cloud.Ingress(ctx)
	cloud.Destroy(ctx)
	values, _ := gather(t, m.registry)
	var timed []string
	for name, n := range values {
		if found := regexp.MustCompile(`^juju_provider_call_seconds\{operation="(\w+)"\}$`).FindStringSubmatch(name); found != nil && n == 1 {
			timed = append(timed, found[1])
		}
	}
	// Open is one more, Profiler returns what is timed, CheckPool and ImportID ask no cloud, and DestroyController is not called by a controller.
	if want := reflect.TypeFor[provider.Environ]().NumMethod() + 1 - 3; len(timed) != want {
		slices.Sort(timed)
		t.Errorf("%d operations are timed, want %d: %v", len(timed), want, timed)
	}
}

// Scrapes at the same moment cost one reading, and no more than a few are answered at once.
func TestScrapesShareAReading(t *testing.T) {
	t.Parallel()
	reads, enter, leave := 0, make(chan struct{}), make(chan struct{})
	m := New("1", "", func(ctx context.Context) (Reading, error) {
		reads++
		enter <- struct{}{}
		<-leave
		return full(ctx)
	})
	now := time.Unix(1000, 0)
	handler := m.handler(func() time.Time { return now })
	scrape := func() *http.Response {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Result()
	}
	answers := make(chan *http.Response, scrapes)
	for range scrapes {
		go func() { answers <- scrape() }()
	}
	<-enter
	close(leave) // the others come before or after the first has ended
	for range scrapes {
		body, err := io.ReadAll((<-answers).Body)
		if err != nil || !strings.Contains(string(body), "\njuju_disk_free_bytes 6\n") {
			t.Errorf("a scrape is answered with %q %v", body, err)
		}
	}
	if reads != 1 {
		t.Errorf("%d scrapes read %d times", scrapes, reads)
	}
}

// Values are as old as a second.
func TestOldValuesAreReadAgain(t *testing.T) {
	t.Parallel()
	now, reads := time.Unix(1000, 0), 0
	c := &cache{now: func() time.Time { return now }, of: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		reads++
		return nil, nil
	})}
	for _, want := range []int{1, 1, 2} {
		if c.Gather(); reads != want {
			t.Errorf("at %v there were %d readings, want %d", now, reads, want)
		}
		now = now.Add(fresh / 2)
	}
}
