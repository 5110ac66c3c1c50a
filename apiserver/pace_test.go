package apiserver

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// slowBackups make backups that take long.
type slowBackups struct {
	dir      string
	size     int64
	progress []int64
}

func (b *slowBackups) Backup(_ context.Context, _ bool, progress func(int64)) (*os.File, error) {
	for _, bytes := range b.progress {
		time.Sleep(5 * time.Minute) // of the bubble
		progress(bytes)
	}
	file, err := os.CreateTemp(b.dir, "backup")
	if err == nil {
		err = file.Truncate(b.size)
	}
	return file, err
}

// A transfer takes as long as it takes while data moves, or while the controller says that it works on it. One that stands
// still ends.
func TestTransfersTakeAsLongAsTheyTake(t *testing.T) {
	onASet(t, func(t *testing.T, w *world, _ *mongotest.Set) {
		made := &slowBackups{t.TempDir(), 40 << 20, []int64{1, 20 << 20, 40 << 20}}
		w.server.backend.Backups, w.server.limits.UploadTime = made, time.Minute
		conn, err := client.Dial(t.Context(), client.Info{Dial: w.server.Dial, Model: w.server.controllerModel.UUID(),
			Tag: entity.UserTag(statetest.Admin), Password: statetest.Password})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		download := func(wait time.Duration) (n int64, err error) {
			var told []int64
			r, err := conn.Backup(t.Context(), false, func(bytes int64) { told = append(told, bytes) })
			if err != nil {
				return 0, err
			}
			defer r.Close()
			if !slices.Equal(told, made.progress) {
				t.Errorf("the client was told of %d bytes, want %d", told, made.progress)
			}
			for err == nil {
				time.Sleep(wait) // of the bubble
				var some int64
				some, err = io.CopyN(io.Discard, r, 4<<20)
				n += some
			}
			return n, err
		}
		if n, err := download(30 * time.Second); n != made.size || err != io.EOF {
			t.Errorf("in 20 minutes: %d bytes, %v", n, err)
		}
		if n, err := download(11 * time.Minute); n == made.size {
			t.Errorf("by a client that hardly reads: %d bytes, %v", n, err)
		}

		upload := func(wait time.Duration) error {
			archive := strings.NewReader(strings.Repeat("x", 5<<20)) // no charm, which is found when all of it is there
			_, err := conn.UploadCharm(t.Context(), &slowReader{archive, wait}, "")
			return err
		}
		if err := upload(800 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "zip") {
			t.Errorf("an upload that takes two minutes: %v", err)
		}
		if err := upload(2 * time.Second); err == nil || !strings.Contains(err.Error(), "less than 65536 bytes a second") {
			t.Errorf("an upload that trickles: %v", err)
		}
	})
}

// A slowReader waits before it reads 32 kB.
type slowReader struct {
	io.Reader
	wait time.Duration
}

func (r *slowReader) Read(p []byte) (int, error) {
	time.Sleep(r.wait) // of the bubble
	return r.Reader.Read(p[:min(len(p), 32<<10)])
}
