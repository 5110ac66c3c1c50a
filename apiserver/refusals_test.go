package apiserver

import (
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state/entity"
)

// Charms that can't be read or are not there, and logs that can't be chosen, are refused over HTTP as over a connection.
func TestRefusalsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.dial(w.adminInfo(w.st.UUID()))
	upload := func(series string) error { return second(c.UploadCharm(ctx, strings.NewReader("no zip"), series)) }
	for name, test := range map[string]struct {
		err  error
		kind entity.Kind
		text string // "" for any
	}{
		"no archive":                    {upload(""), entity.Invalid, ""},
		"no series":                     {upload("../x"), entity.Invalid, `invalid series "../x"`},
		"a charm to download":           {third(c.CharmArchive(ctx, "local:jammy/x-1")), entity.NotFound, ""},
		"debug-log of an unknown level": {c.DebugLog(ctx, client.LogQuery{Level: "loud"}, nil), entity.Invalid, ""},
	} {
		if entity.KindOf(test.err) != test.kind || test.text != "" && test.err.Error() != test.text {
			t.Errorf("%s: %v (%s), want %s %q", name, test.err, entity.KindOf(test.err), test.kind, test.text)
		}
	}
}
