package charms

import (
	"errors"
	"io"
	"strings"
	"testing"

	"juju/state/entity"
)

// An archive that never ends does not fill the user's disk.
func TestReceivedArchivesAreBounded(t *testing.T) {
	body := func() io.ReadCloser { return io.NopCloser(strings.NewReader(strings.Repeat("x", 100))) }
	f, err := received(body(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 100 {
		t.Errorf("received %v (%v)", info, err)
	}
	f.Close()
	if _, err := received(body(), 99); !errors.Is(err, entity.Invalid) || err.Error() != "charm archive is larger than 99 bytes" {
		t.Errorf("one byte too many: %v", err)
	}
}
