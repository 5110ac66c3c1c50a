package client

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ErrPlanned is the error of a change that was only planned.
var ErrPlanned = errors.New("the change was only planned")

// planning is how a connection's changes are made.
type planning struct {
	only   bool                 // they are only planned
	token  string               // of the plan that the first one must have; "" for none
	made   *entity.Plan         // of the first one, or those that were kept
	calls  []params.PlannedCall // those that are planned together: charms to add, and if keep is set, all changes
	keep   bool
	charms int // how many
	upload int // the number of the next upload of a resource
}

// PlanOnly has the connection's first change only planned: its error is ErrPlanned, and Planned returns the plan. A change
// that can't be planned fails.
func (c *Conn) PlanOnly() { c.planning.only = true }

// KeepForPlan has a connection which only plans keep its changes: the error of each is ErrPlanned, and PlanKept plans them
// together.
func (c *Conn) KeepForPlan() { c.planning.keep = true }

// PlanKept plans the changes that were kept. Its error is ErrPlanned.
func (c *Conn) PlanKept(ctx context.Context) error { return c.planning.plan(ctx, c) }

// PlanMachine returns what stands, in the changes that are kept next, for the id of a machine, and for that of the one which
// hosts it. The change that was kept last adds the machine, or a unit on it; if it adds several, this is the next of them.
func (c *Conn) PlanMachine() (id, host string) {
	last := &c.planning.calls[len(c.planning.calls)-1]
	n := 0
	for _, call := range c.planning.calls {
		n += 2 * len(call.Machines)
	}
	m := params.PlannedMachine{ID: params.NewMachine(n), Host: params.NewMachine(n + 1)}
	last.Machines = append(last.Machines, m)
	return m.ID, m.Host
}

// CheckUnchanged fails as the connection's first change would, if that is made only in the state of a plan and the model is
// in another one.
func (c *Conn) CheckUnchanged(ctx context.Context) error {
	if c.planning.only || c.planning.token == "" {
		return nil
	}
	return c.callNow(ctx, "Plans", 1, "DryRun", params.PlannedCall{Token: c.planning.token}, nil)
}

// Planned returns the plan of the connection's first change, or nil.
func (c *Conn) Planned() *entity.Plan { return c.planning.made }

// OnlyIfUnchanged has the connection's first change made only if the model is in the state of a plan. Its error is Moved if
// it is not.
func (c *Conn) OnlyIfUnchanged(token string) { c.planning.token = token }

// planned makes a request as the connection's changes are made.
func (p *planning) planned(ctx context.Context, c *Conn, facade string, version int, method string,
	args, result any) error {
	if !params.IsPlannable(facade, method) {
		if p.only && !params.IsRead(facade, method) {
			return entity.WithHint(entity.Errorf(entity.NotSupported, "cannot plan all of this command"),
				"It needs %s.%s, which --dry-run does not cover.", facade, method)
		}
		return c.callNow(ctx, facade, version, method, args, result)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("cannot write the request %s.%s: %w", facade, method, err)
	}
	call := params.PlannedCall{Facade: facade, Version: version, Method: method, Params: text}
	if !p.only {
		call.Token = p.token
		if err = c.callNow(ctx, "Plans", 1, "IfUnchanged", call, result); err == nil {
			p.token = "" // what follows in this command changes what it has changed itself
		}
		return err
	}
	return p.change(ctx, c, call)
}

// change plans a change, or keeps it.
func (p *planning) change(ctx context.Context, c *Conn, call params.PlannedCall) error {
	before := p.calls
	p.calls = append(p.calls, call)
	if p.keep {
		return ErrPlanned
	}
	defer func() { p.calls = before }()
	return p.plan(ctx, c)
}

// plan plans the calls.
func (p *planning) plan(ctx context.Context, c *Conn) error {
	var first params.PlannedCall
	if len(p.calls) > 0 {
		first = p.calls[0]
		first.Then = p.calls[1:]
	}
	var plan entity.Plan
	if err := c.callNow(ctx, "Plans", 1, "DryRun", first, &plan); err != nil {
		return err
	}
	p.made = &plan
	return ErrPlanned
}

// announce keeps the announcement of uploads, and returns what stands for their ids.
func (p *planning) announce(args params.AddPendingResources) (ids []string, err error) {
	call := params.PlannedCall{Facade: "Resources", Version: 3, Method: "AddPendingResources"}
	for range args.Resources {
		call.Uploads = append(call.Uploads, params.NewUpload(p.upload))
		p.upload++
	}
	if call.Params, err = json.Marshal(args); err != nil {
		return nil, fmt.Errorf("cannot write the announcement of resources: %w", err)
	}
	p.calls = append(p.calls, call)
	return call.Uploads, nil
}

// resource keeps what a plan needs of a resource's file instead of uploading it. Without an id that is a change.
func (p *planning) resource(ctx context.Context, c *Conn, service, name, id string, file io.Reader) error {
	sum, err := entity.SHA256(file)
	if err != nil {
		return fmt.Errorf("cannot read resource %q: %w", name, err)
	}
	call := params.PlannedCall{Resource: &params.PlannedResource{Application: service, Name: name, Upload: id, SHA256: sum}}
	if id == "" {
		return p.change(ctx, c, call)
	}
	p.calls = append(p.calls, call)
	return nil
}

// charm keeps what a plan needs of a charm instead of uploading it, and returns what stands for its URL.
func (p *planning) charm(archive io.Reader, series string) (url string, err error) {
	data, err := io.ReadAll(io.LimitReader(archive, entity.MaxCharm))
	if err != nil {
		return "", fmt.Errorf("cannot read the charm: %w", err)
	}
	call := params.PlannedCall{Series: series, CharmURL: params.NewCharm(p.charms)}
	if call.Charm, err = described(data); err != nil {
		return "", fmt.Errorf("cannot read the charm: %w", err)
	}
	p.charms++
	p.calls = append(p.calls, call)
	return call.CharmURL, nil
}

// described returns a charm's archive with those files only that say what the charm is, and which hooks and actions it has.
func described(data []byte) ([]byte, error) {
	from, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, f := range from.File {
		name := path.Clean(f.Name)
		full := slices.Contains([]string{"metadata.yaml", "config.yaml", "actions.yaml", "manifest.yaml", "revision"}, name)
		if !full && name != "dispatch" && path.Dir(name) != "hooks" && path.Dir(name) != "actions" || f.Mode().IsDir() {
			continue
		}
		if !full {
			head := zip.FileHeader{Name: name}
			head.SetMode(f.Mode().Perm())
			if _, err := to.CreateHeader(&head); err != nil {
				return nil, err
			}
			continue
		}
		if err := to.Copy(f); err != nil {
			return nil, err
		}
	}
	err = to.Close()
	return out.Bytes(), err
}
