// Package metrics has the controller's metrics, for Prometheus. What happens often is told to a Metrics as it happens, by
// packages that know nothing of Prometheus; what can be looked up is read when Prometheus asks. doc/metrics.md lists them.
package metrics
