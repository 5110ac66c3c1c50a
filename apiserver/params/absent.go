package params

// A MetricResults is the result of MetricsDebug 2 GetMetrics, in the order of the request.
type MetricResults struct {
	Results []EntityMetrics `json:"results"`
}

// An EntityMetrics has the metrics of an entity: none, since none are recorded.
type EntityMetrics struct {
	Metrics []struct{} `json:"metrics"`
}
