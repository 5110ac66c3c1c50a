package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"juju/state/entity"
)

// A Reading is what the controller looks up when Prometheus asks.
type Reading struct {
	Models []Model

	Connections map[string]int // to the API, by kind of who has logged in, or unauthenticated
	Requests    int            // of agents, that wait for their turn
	Logins      int            // of users, that wait until their passwords are checked

	Disk    Disk // with the controller's directory
	Storage map[string]Disk
	Leads   bool // whether this controller runs the workers that run once
	Failing int  // workers that serve all models and keep failing
}

// A Model is what is read of a model.
type Model struct {
	Name string
	entity.Backlog
	Present   int // agents that are connected
	FullDisks int // machines whose disk is full or nearly so
	Failing   int // the controller's workers for the model that keep failing
}

// A Disk is the size of a file system, and how much of it is free for users, in bytes.
type Disk struct{ Size, Free uint64 }

// Read looks up a Reading. An error means that the store can't be read; then everything but Models is there.
type Read func(ctx context.Context) (Reading, error)

const (
	// readTime bounds the reading for one scrape. Prometheus waits ten seconds by default.
	readTime = 8 * time.Second
	// modelsKept is how many models have series of their own; the others are added up as the model "other".
	modelsKept = 100
)

// A gauge is a metric that is read. Each reading gives it a value for each value of its label, or one if it has none.
type gauge struct {
	name, help, label string
	values            func(Reading) map[string]float64
}

// ofModel returns a gauge with a value for each model.
func ofModel(name, help string, value func(Model) int) gauge {
	return gauge{name, help, "model", func(r Reading) map[string]float64 {
		values := map[string]float64{}
		for _, m := range r.Models {
			values[m.Name] += float64(value(m))
		}
		return values
	}}
}

// single returns a gauge without a label.
func single[N int | uint64](name, help string, value func(Reading) N) gauge {
	return gauge{name, help, "", func(r Reading) map[string]float64 { return map[string]float64{"": float64(value(r))} }}
}

// gauges are all that is read.
var gauges = []gauge{
	ofModel("juju_agents_present", "Agents of machines and units that are connected to any controller and respond.", func(m Model) int { return m.Present }),
	ofModel("juju_agents_lost", "Agents that have been started and are not present.", func(m Model) int { return max(0, m.Agents-m.Present) }),
	ofModel("juju_cleanups", "Parts of destructions that are left to do.", func(m Model) int { return m.Cleanups }),
	ofModel("juju_machines_pending", "Machines that wait for their instances.", func(m Model) int { return m.Pending }),
	ofModel("juju_machines_failed", "Machines whose status is error.", func(m Model) int { return m.FailedMachines }),
	ofModel("juju_machines_disk_full", "Machines whose disk is full or nearly so.", func(m Model) int { return m.FullDisks }),
	ofModel("juju_units_failed", "Units whose status is error, because a hook or an upgrade failed.", func(m Model) int { return m.FailedUnits }),
	ofModel("juju_tasks_pending", "Actions and commands that have not begun.", func(m Model) int { return m.Tasks }),
	ofModel("juju_model_workers_failing", "Workers of this controller for a model that keep failing.", func(m Model) int { return m.Failing }),
	single("juju_controller_workers_failing", "Workers of this controller for all models that keep failing.", func(r Reading) int { return r.Failing }),
	single("juju_controller_leads", "1 if this controller runs the workers that run once, 0 if another one does.", func(r Reading) int {
		if r.Leads {
			return 1
		}
		return 0
	}),
	{"juju_api_connections", "Connections to this controller's API, by kind: unauthenticated until the login.", "kind", func(r Reading) map[string]float64 {
		values := map[string]float64{}
		for kind, n := range r.Connections {
			values[kind] = float64(n)
		}
		return values
	}},
	single("juju_api_requests_waiting", "Requests of agents that wait for their turn.", func(r Reading) int { return r.Requests }),
	single("juju_logins_waiting", "Logins of users that wait until their passwords are checked.", func(r Reading) int { return r.Logins }),
	single("juju_disk_size_bytes", "Size of the file system with the controller's directory.", func(r Reading) uint64 { return r.Disk.Size }),
	single("juju_disk_free_bytes", "Free bytes on the file system with the controller's directory.", func(r Reading) uint64 { return r.Disk.Free }),
	{"juju_storage_pool_size_bytes", "Size of a storage pool of the cloud.", "pool", func(r Reading) map[string]float64 {
		return ofPools(r, func(d Disk) uint64 { return d.Size })
	}},
	{"juju_storage_pool_free_bytes", "Free bytes in a storage pool of the cloud.", "pool", func(r Reading) map[string]float64 {
		return ofPools(r, func(d Disk) uint64 { return d.Free })
	}},
}

func ofPools(r Reading, value func(Disk) uint64) map[string]float64 {
	values := map[string]float64{}
	for pool, d := range r.Storage {
		values[pool] = float64(value(d))
	}
	return values
}

// readings collects the gauges.
type readings struct {
	read  Read
	descs []*prometheus.Desc // of gauges
	ok    *prometheus.Desc
}

func newReadings(read Read) *readings {
	r := &readings{read: read, ok: prometheus.NewDesc("juju_store_readable",
		"1 if the models could be read for this scrape; if 0, their series are missing.", nil, nil)}
	for _, g := range gauges {
		var labels []string
		if g.label != "" {
			labels = []string{g.label}
		}
		r.descs = append(r.descs, prometheus.NewDesc(g.name, g.help, labels, nil))
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range append(r.descs, r.ok) {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (r *readings) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	reading, err := r.read(ctx)
	readable := 1.0
	if err != nil {
		reading.Models, readable = nil, 0
	}
	values <- prometheus.MustNewConstMetric(r.ok, prometheus.GaugeValue, readable)
	// The same models in every gauge have labels.
	slices.SortFunc(reading.Models, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	for i := modelsKept; i < len(reading.Models); i++ {
		reading.Models[i].Name = other
	}
	for i, g := range gauges {
		for label, value := range g.values(reading) {
			var labels []string
			if g.label != "" {
				labels = []string{label}
			}
			values <- prometheus.MustNewConstMetric(r.descs[i], prometheus.GaugeValue, value, labels...)
		}
	}
}
