package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// servicesKept is how many services have series of their own. Those that come when there are as many are added up as
	// the service "other" of the model "other".
	servicesKept = 200
	// quietFor is how long a service keeps its series without having run a hook. The hook update-status runs every five
	// minutes by default, so a service that is quiet for this long is most likely gone.
	quietFor = 2 * time.Hour

	// other stands for what has no label of its own.
	other = "other"
)

// services are the hooks of units, by service.
type services struct {
	now      func() time.Time
	times    *prometheus.HistogramVec
	failures *prometheus.CounterVec

	mu   sync.Mutex
	last map[service]time.Time // when those that have series were last heard of
}

// A service is the values of the labels of its series.
type service struct{ model, name string }

func newServices(now func() time.Time) *services {
	labels := []string{"model", "service"}
	return &services{now: now, last: map[service]time.Time{},
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "juju_hook_seconds",
			Help:    "Time that hooks ran, without waiting for the machine's lock, by service.",
			Buckets: []float64{.1, .5, 2, 10, 60, 300, 1800}}, labels),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "juju_hook_failures_total",
			Help: "Hooks that failed, by service."}, labels),
	}
}

func (s *services) ran(model, name string, took time.Duration) {
	of := s.of(model, name)
	s.times.WithLabelValues(of.model, of.name).Observe(max(0, took).Seconds())
}

func (s *services) failed(model, name string) {
	of := s.of(model, name)
	s.failures.WithLabelValues(of.model, of.name).Inc()
}

// of returns the labels of a service that is heard of now.
func (s *services) of(model, name string) service {
	one := service{model, name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.last[one]; !known {
		if len(s.last) >= servicesKept {
			s.forget()
		}
		if len(s.last) >= servicesKept {
			return service{other, other}
		}
		s.failures.WithLabelValues(model, name) // 0 until one fails
	}
	s.last[one] = s.now()
	return one
}

// forget removes the series of services that are quiet. The caller holds s.mu.
func (s *services) forget() {
	for one, last := range s.last {
		if s.now().Sub(last) > quietFor {
			delete(s.last, one)
			s.times.DeleteLabelValues(one.model, one.name)
			s.failures.DeleteLabelValues(one.model, one.name)
		}
	}
}

// Describe implements prometheus.Collector.
func (s *services) Describe(descs chan<- *prometheus.Desc) {
	s.times.Describe(descs)
	s.failures.Describe(descs)
}

// Collect implements prometheus.Collector.
func (s *services) Collect(values chan<- prometheus.Metric) {
	s.mu.Lock()
	s.forget()
	s.mu.Unlock()
	s.times.Collect(values)
	s.failures.Collect(values)
}
