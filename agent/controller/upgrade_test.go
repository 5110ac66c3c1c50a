package controller

import (
	"bytes"
	"context"
	"errors"
	"testing"


	"juju/agent/programs"
	"juju/agent/programs/programstest"
	"juju/state/entity"
)

// A controller on trial that fails makes way for the programs before it, unless these can't read the
// store any more.
func TestAControllerGoesBackAndOn(t *testing.T) {
	old := entity.Programs{Version: "0.1.0"}
	archive, newer := programstest.Pack(t, "0.2.0", programstest.Script("0.2.0"))
	failed, unread := errors.New("no such luck"), entity.Errorf(entity.NotSupported, "the schema has version 9")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	onTrial := programs.Record{Current: newer, Previous: old, Trial: true}
	back := programs.Record{Current: old, Previous: old, Failed: &entity.FailedUpgrade{Programs: newer, Error: "no such luck"}}
	for name, test := range map[string]struct {
		errs []error // with which one controller after the other ends
		want programs.Record
		ctx  context.Context
	}{
		"it ends well":                  {[]error{nil}, onTrial, nil},
		"it was stopped":                {[]error{failed}, onTrial, stopped},
		"it fails":                      {[]error{failed}, back, nil},
		"the old one fails too":         {[]error{failed, failed}, back, nil},
		"the old one can't read it":     {[]error{failed, unread}, programs.Record{Current: newer, Previous: old}, nil},
		"and then the new one fails":    {[]error{failed, unread, failed}, programs.Record{Current: newer, Previous: old}, nil},
		"and then neither can be read ": {[]error{failed, unread, unread}, programs.Record{Current: newer, Previous: old}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &running{upgrades: programs.New(t.TempDir(), programs.Options{})}
			if err := errors.Join(c.upgrades.Install(t.Context(), bytes.NewReader(archive), newer),
				c.upgrades.Switch(t.Context(), old, newer)); err != nil {
				t.Fatal(err)
			}
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			for _, err := range test.errs {
				if got := c.goBack(ctx, err); !errors.Is(got, err) {
					t.Errorf("%v became %v", err, got)
				}
			}
			got, err := c.upgrades.Record()
			if err != nil {
				t.Fatal(err)
			}
			gotFailed, wantFailed := got.Failed, test.want.Failed
			got.Failed, test.want.Failed = nil, nil
			if got != test.want || (gotFailed == nil) != (wantFailed == nil) || wantFailed != nil && *gotFailed != *wantFailed {
				t.Errorf("the record is %+v %+v, want %+v %+v", got, gotFailed, test.want, wantFailed)
			}
		})
	}
}
