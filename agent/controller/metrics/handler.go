package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

const (
	// fresh is how long the values of a scrape serve others. Several Prometheus servers, or an impatient one, then cost
	// as much as one.
	fresh = time.Second
	// scrapes is how many scrapes are answered at once; the others are told to try again.
	scrapes = 4
)

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler { return m.handler(time.Now) }

func (m *Metrics) handler(now func() time.Time) http.Handler {
	return promhttp.HandlerFor(&cache{of: m.registry, now: now},
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapes})
}

// A cache gathers once for all who ask within a short time.
type cache struct {
	of  prometheus.Gatherer
	now func() time.Time

	mu  sync.Mutex
	at  time.Time
	all []*dto.MetricFamily
	err error
}

// Gather implements prometheus.Gatherer.
func (c *cache) Gather() ([]*dto.MetricFamily, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() || c.now().Sub(c.at) >= fresh {
		c.all, c.err = c.of.Gather()
		c.at = c.now()
	}
	return c.all, c.err
}
