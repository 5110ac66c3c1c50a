package controller

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/agent/host/process"
	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// StartLog makes a controller's process write its log to the log file of the process. format is that of the file; "" for the
// configured one.
func StartLog(dir, node string, format entity.LogFormat) error {
	own := ownDir(dir, node)
	log, err := process.Log(own)
	if err != nil {
		return err
	}
	conf, err := readConfig(own)
	if err != nil {
		return err
	}
	ConfigureLog(modelconfig.New(nil, "")) // until the model's settings are known
	_, err = loggo.ReplaceDefaultWriter(agent.LogWriter(log, cmp.Or(format, conf.LogFormat),
		entity.MachineTag(conf.machine()),
		state.ControllerModel, loggo.DefaultFormatter))
	return err
}

// ConfigureLog applies the logging levels of the controller's own model to this process.
func ConfigureLog(config modelconfig.Config) { agent.SetLevels(config.Logging()) }

// logWriter writes the controller's log to the log of its own model, under the name of its machine.
type logWriter struct {
	logs    *logs.Store
	model   string
	machine string
}

func (w logWriter) Write(e loggo.Entry) {
	// A log that can't be written is no reason to fail, and can't be reported in the log.
	_ = w.logs.Append(w.model, debuglog.Message{Entity: "machine-" + w.machine, Timestamp: e.Timestamp, Severity: e.Level.String(),
		Module: e.Module, Location: fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line), Message: e.Message})
}
