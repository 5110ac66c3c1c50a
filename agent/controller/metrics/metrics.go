package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"juju/state/mongo"
)

// Metrics are the metrics of one controller. It implements mongo.Meter and facades.Meter.
type Metrics struct {
	registry *prometheus.Registry
	readings *readings

	transactions *prometheus.CounterVec
	retries      prometheus.Counter
	barrier, lag prometheus.Histogram
	hooks        *services
	refused      *prometheus.CounterVec
	calls        *prometheus.HistogramVec
	callErrors   *prometheus.CounterVec
}

// New returns the metrics of a controller of a version, built from a commit. read looks up what is read when Prometheus asks.
func New(version, commit string, read Read) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		readings: newReadings(read),
		transactions: counters("juju_transactions_total", "Changes of the store that have ended, by how: applied, unneeded, refused, "+
			"contended (given up because others kept changing the same facts), cancelled, or failed.", "outcome"),
		retries: prometheus.NewCounter(prometheus.CounterOpts{Name: "juju_transaction_aborts_total",
			Help: "Attempts at a change that were aborted because a fact had changed, and made again."}),
		barrier: histogram("juju_store_barrier_seconds", "Time that a request or a change waited until everything before it was on disk.",
			.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30),
		lag: histogram("juju_watcher_lag_seconds", "Age of a change when its watchers heard of it, by the clocks of the store and of the controller.",
			.001, .005, .01, .05, .1, .5, 1, 5, 30, 120),
		hooks: newServices(time.Now),
		refused: counters("juju_logins_refused_total", "Logins and HTTP requests that were refused, by why: denied, absent (the model or "+
			"the machine's instance), busy, full (too many connections), or other.", "reason"),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "juju_provider_call_seconds", Help: "Time that calls to the cloud took, by operation.",
			Buckets: []float64{.01, .1, .5, 1, 5, 15, 60, 300}}, []string{"operation"}),
		callErrors: counters("juju_provider_call_errors_total", "Calls to the cloud that failed, by operation.", "operation"),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "juju_build_info", Help: "1, with the version and the commit of the controller.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit}})
	build.Set(1)
	m.registry.MustRegister(m.transactions, m.retries, m.barrier, m.lag, m.hooks, m.refused, m.calls,
		m.callErrors, m.readings, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// What has not happened yet is 0, so that its first time is an increase.
	for _, outcome := range []mongo.Outcome{mongo.Applied, mongo.Unneeded, mongo.Refused, mongo.Contended, mongo.Cancelled, mongo.Failed} {
		m.transactions.WithLabelValues(string(outcome))
	}
	for _, why := range []string{"denied", "absent", "busy", "full", "other"} {
		m.refused.WithLabelValues(why)
	}
	return m
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

func histogram(name, help string, buckets ...float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// Transaction implements mongo.Meter.
func (m *Metrics) Transaction(end mongo.Outcome, attempts int) {
	m.transactions.WithLabelValues(string(end)).Inc()
	if attempts > 1 {
		m.retries.Add(float64(attempts - 1))
	}
}

// Barrier implements mongo.Meter.
func (m *Metrics) Barrier(took time.Duration) { m.barrier.Observe(took.Seconds()) }

// Delivered implements mongo.Meter.
func (m *Metrics) Delivered(age time.Duration) { m.lag.Observe(age.Seconds()) }

// HookRan implements facades.Meter.
func (m *Metrics) HookRan(model, service string, took time.Duration) {
	m.hooks.ran(model, service, took)
}

// HookFailed implements facades.Meter.
func (m *Metrics) HookFailed(model, service string) { m.hooks.failed(model, service) }

// LoginRefused implements facades.Meter.
func (m *Metrics) LoginRefused(why string) { m.refused.WithLabelValues(why).Inc() }
