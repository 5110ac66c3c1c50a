package params

// EmptyResults is the result of a list of what models here do not have.
type EmptyResults struct {
	Results []struct{} `json:"results"`
}

// A MetricResults is the result of MetricsDebug 2 GetMetrics, in the order of the request.
type MetricResults struct {
	Results []EntityMetrics `json:"results"`
}

// An EntityMetrics has the metrics of an entity: none, since none are recorded.
type EntityMetrics struct {
	Metrics []struct{} `json:"metrics"`
}
