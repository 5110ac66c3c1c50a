package facades

import (
	"errors"
	"testing"

	"github.com/juju/loggo"

	"juju/state/entity"
)

// Only errors that the client does not see are logged.
func TestInternalErrorsAreLogged(t *testing.T) {
	var log loggo.TestWriter
	if err := loggo.RegisterWriter("test", &log); err != nil {
		t.Fatal(err)
	}
	defer loggo.RemoveWriter("test")
	WireError("nothing", nil)
	WireError("refused", entity.Errorf(entity.NotFound, "not found"))
	WireError("broken", errors.New("bolt"))
	lines := log.Log()
	if len(lines) != 1 || lines[0].Message != "broken: bolt" {
		t.Errorf("logged %+v, want only what is broken", lines)
	}
}
