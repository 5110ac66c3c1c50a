package controller

import (
	"fmt"
	"path/filepath"

	"github.com/juju/loggo"

	"juju/apiserver/logs"
	"juju/provider/local"
	"juju/provider/process"
	"juju/state/entity"
)

// StartLog sends what a controller's process logs to the log of the process.
func StartLog(dir string) error {
	log, err := process.Log(local.ControllerDir(dir))
	if err != nil {
		return err
	}
	loggo.GetLogger("").SetLogLevel(loggo.INFO)
	_, err = loggo.ReplaceDefaultWriter(loggo.NewSimpleWriter(log, loggo.DefaultFormatter))
	return err
}

// logWriter puts what the controller itself logs into the log of its own model,
// as its machine's.
type logWriter struct {
	logs  *logs.Store
	model string
}

func (w logWriter) Write(e loggo.Entry) {
	// A log that can't be written is no reason to fail, and none to log.
	_ = w.logs.Append(w.model, entity.LogMessage{Entity: "machine-0", Timestamp: e.Timestamp, Severity: e.Level.String(),
		Module: e.Module, Location: fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line), Message: e.Message})
}
