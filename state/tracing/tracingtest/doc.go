// Package tracingtest records the spans that tests cause: in the process, by a fake collector, or from the file of a real one.
package tracingtest
