package controller

import (
	"fmt"
	"path/filepath"

	"github.com/juju/loggo"

	"juju/apiserver/logs"
	"juju/apiserver/params"
)

// logWriter puts what the controller itself logs into the log of its own model,
// as its machine's.
type logWriter struct {
	logs  *logs.Store
	model string
}

func (w logWriter) Write(e loggo.Entry) {
	// A log that can't be written is no reason to fail, and none to log.
	_ = w.logs.Append(w.model, params.LogMessage{Entity: "machine-0", Timestamp: e.Timestamp, Severity: e.Level.String(),
		Module: e.Module, Location: fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line), Message: e.Message})
}
