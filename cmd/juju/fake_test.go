package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A fakeModel records calls and returns what it is set to return.
type fakeModel struct {
	storage  []entity.StorageStatus
	payloads []entity.UnitPayload

	proxiesSSH bool
	spaces     []entity.Space
	spaceUse   entity.SpaceUse
	resources  entity.ResourcesOf
	pending    []entity.PendingResource
	mu         sync.Mutex
	calls      []string

	err          error // of every call
	refused      error // by the cloud
	refuse       func(client.DeployArgs) error
	warnings     []string                  // of what the cloud accepts
	restored     []string                  // settings, by a reverted upgrade
	errs         []error                   // outcomes of bulk calls, nil for each that is missing
	offers       []entity.Offer            // of the model
	explanations []entity.Explanation      // one for each question, then there is nothing
	explain      func() entity.Explanation // if there are none
	statuses     []*entity.ModelStatus
	changed      chan struct{} // of the watch of the status; nil before there is one
	config       client.ServiceConfig
	unit         client.UnitInfo
	leader       func(service string) (string, error) // of services; nil if unit 7 leads each
	logs         []debuglog.Message
	blocks       []entity.Block
	annotations  map[string]string // of every entity
	constraints  constraints.Value
	modelConfig  modelconfig.Config
	history      []entity.PastStatus
	left         entity.DestroyInfo
	tasks        []entity.Task // of the only operation, 1
	taskEvents   chan struct{} // of the watch of the operation; nil for no events
	actions      map[string]client.ActionInfo
	uploaded     []byte
	keys         []string // of SSH
	fingerprints []string
	script       string // of ProvisioningScript
	watches      int    // how many have begun
	silent       bool   // WatchStatus does not answer
	planOnly     bool
	plan         entity.Plan // of every change
	sequences    map[string]int
	token        string // of the plan that a change must have
	opened       int
	closed       int
}

func (f *fakeModel) note(call string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.TrimSpace(call+" "+fmt.Sprint(args...)))
	if f.planOnly && !slices.Contains([]string{"Status", "Leader", "UploadCharm", "ServiceConfig", "CheckDeploy", "Annotations", "Resources",
		"FindOffers", "ConsumeDetails", "CheckUsers"}, call) {
		return cmp.Or(f.err, client.ErrPlanned)
	}
	return f.err
}

func (f *fakeModel) PlanOnly()                                         { f.planOnly = true }
func (f *fakeModel) Planned() *entity.Plan                             { return &f.plan }
func (f *fakeModel) KeepForPlan()                                      {}
func (f *fakeModel) Sequences(context.Context) (map[string]int, error) { return f.sequences, nil }
func (f *fakeModel) PlanMachine() (id, host string)                    { return "7", "7" }
func (f *fakeModel) PlanKept(context.Context) error                    { return client.ErrPlanned }
func (f *fakeModel) CheckUnchanged(context.Context) error              { return nil }
func (f *fakeModel) OnlyIfUnchanged(token string)                      { f.token = token }

// DestroyModel is only called with the flags of plans.
func (f *fakeModel) DestroyModel(_ context.Context, uuid string, how entity.Destruction) error {
	return f.note("DestroyModel", uuid, " ", how.Strength)
}

func (f *fakeModel) outcomes(n int) []error {
	errs := make([]error, n)
	copy(errs, f.errs)
	return errs
}

func (f *fakeModel) Close() error {
	f.closed++
	f.planOnly = false
	return nil
}

// Status returns each status once, and the last one forever.
func (f *fakeModel) Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error) {
	if err := f.note("Status", strings.Join(patterns, ",")); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.statuses) == 0 {
		return &entity.ModelStatus{Model: entity.ModelHeader{Name: "default"}}, nil
	}
	m := f.statuses[0]
	if len(f.statuses) > 1 {
		f.statuses = f.statuses[1:]
		f.tell()
	}
	return m, nil
}

// WatchStatus fires at once, and after each call of Status that has another status to follow.
func (f *fakeModel) WatchStatus(ctx context.Context) (<-chan struct{}, error) {
	if f.silent {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.changed = make(chan struct{}, 1)
	f.watches++
	f.tell()
	return f.changed, nil
}

// change makes the watch of the status fire, and Status return m from now on, unless nil.
func (f *fakeModel) change(m *entity.ModelStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m != nil {
		f.statuses = []*entity.ModelStatus{m}
	}
	f.tell()
}

func (f *fakeModel) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // it will fire, or there is no watch
	}
}

// endWatch ends the watch of the status, as if the controller had ended it.
func (f *fakeModel) endWatch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = nil
}

func (f *fakeModel) UploadCharm(ctx context.Context, archive io.Reader, series string) (string, error) {
	text, err := io.ReadAll(archive)
	if err != nil {
		return "", err
	}
	f.uploaded = text
	return "local:jammy/web-0", f.note("UploadCharm", series)
}

func (f *fakeModel) CheckDeploy(ctx context.Context, args client.DeployArgs, charm []string) (string, []string, error) {
	if f.refuse != nil {
		return args.Series, f.warnings, f.refuse(args)
	}
	return args.Series, f.warnings, f.refused
}

func (f *fakeModel) Deploy(ctx context.Context, args client.DeployArgs) ([]string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return f.warnings, f.note("Deploy", string(text))
}

func (f *fakeModel) SetCharm(ctx context.Context, args client.SetCharmArgs) ([]string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return f.warnings, f.note("SetCharm", string(text))
}

func (f *fakeModel) ResumeRollout(ctx context.Context, service string, how client.Rollout) error {
	return f.note("ResumeRollout", service, " ", how.Batch, " ", how.HealthTimeout)
}

func (f *fakeModel) RevertRollout(ctx context.Context, service string, how client.Rollout) (restored, warnings []string, err error) {
	return f.restored, f.warnings, f.note("RevertRollout", service, " ", how.Batch, " ", how.HealthTimeout)
}

func (f *fakeModel) AddUnits(
	ctx context.Context, service string, n int, placement []entity.Placement, attach ...string,
) (units, warnings []string, err error) {
	for i := range n {
		units = append(units, fmt.Sprintf("%s/%d", service, i))
	}
	var at []string
	for _, p := range placement {
		at = append(at, p.String())
	}
	if len(attach) > 0 {
		at = append(at, "with "+strings.Join(attach, ","))
	}
	if err = f.note("AddUnits", service, " ", n, " ", at); errors.Is(err, client.ErrPlanned) {
		units = nil
	}
	return units, f.warnings, err
}

func (f *fakeModel) DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(units)), f.left, f.note("DestroyUnits"+with(how), units)
}

func (f *fakeModel) DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(services)), f.left, f.note("DestroyServices"+with(how), services)
}

func (f *fakeModel) DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(ids)), entity.DestroyInfo{DestroyedStorage: f.left.DestroyedStorage}, f.note("DestroyMachines"+with(how), ids)
}

func (f *fakeModel) AddRelation(ctx context.Context, ends ...string) (map[string]string, error) {
	return f.AddRelationVia(ctx, nil, ends...)
}

func (f *fakeModel) AddRelationVia(ctx context.Context, via []string, ends ...string) (map[string]string, error) {
	if len(via) > 0 {
		return nil, f.note("AddRelation via", via, ends)
	}
	return map[string]string{"web": "store", "store": "db"}, f.note("AddRelation", ends)
}

func (f *fakeModel) DestroyRelation(ctx context.Context, how entity.Destruction, ends ...string) error {
	return f.note("DestroyRelation"+with(how), ends)
}

func (f *fakeModel) DestroyRelationByID(ctx context.Context, how entity.Destruction, id int) error {
	return f.note("DestroyRelationByID"+with(how), id)
}

// with formats the strength of a destruction, "" for plain.
func with(how entity.Destruction) (text string) {
	switch how.Strength {
	case entity.Lenient:
		text = " leniently"
	case entity.Force:
		text = fmt.Sprintf(" with force after %v", how.Timeout)
	}
	if how.Machines {
		text += " with machines"
	}
	if how.Storage {
		text += " with storage"
	}
	if how.Release {
		text += " releasing storage"
	}
	return text
}

func (f *fakeModel) Explain(ctx context.Context, words ...string) ([]entity.Explanation, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.explanations) == 0 && f.explain != nil {
		return []entity.Explanation{f.explain()}, 0, nil
	}
	if len(f.explanations) == 0 {
		return nil, 0, entity.Errorf(entity.NotFound, "%v not found", words)
	}
	e := f.explanations[0]
	f.explanations = f.explanations[1:]
	return []entity.Explanation{e}, 0, nil
}

func (f *fakeModel) AddMachine(ctx context.Context, args client.MachineArgs) (string, []string, error) {
	f.mu.Lock()
	id := fmt.Sprint(len(f.calls))
	f.mu.Unlock()
	return id, f.warnings, f.note("AddMachine",
		fmt.Sprintf("%q %q %q", args.Series, args.Constraints.String(), args.Placement))
}

func (f *fakeModel) ProvisioningScript(ctx context.Context, machine, nonce string) (string, error) {
	return f.script, f.note("ProvisioningScript", machine)
}

func (f *fakeModel) ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error) {
	return f.config, f.note("ServiceConfig", service)
}

func (f *fakeModel) Leader(ctx context.Context, service string) (string, error) {
	if err := f.note("Leader", service); err != nil || f.leader == nil {
		return service + "/7", err
	}
	return f.leader(service)
}

func (f *fakeModel) UnitInfo(ctx context.Context, unit string) (client.UnitInfo, error) {
	return f.unit, f.note("UnitInfo", unit)
}

func (f *fakeModel) SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error {
	return f.note("SetServiceConfig", service, " ", values, " ", fmt.Sprintf("%q", yaml))
}

func (f *fakeModel) ResetServiceConfig(ctx context.Context, service string, options ...string) error {
	return f.note("ResetServiceConfig", service, " ", options)
}

func (f *fakeModel) Resolve(ctx context.Context, retry bool, units ...string) ([]error, error) {
	return f.outcomes(len(units)), f.note("Resolve", retry, " ", units)
}

func (f *fakeModel) ResolveAll(ctx context.Context, retry bool) ([]error, error) {
	return f.errs, f.note("ResolveAll", retry)
}

func (f *fakeModel) PrepareUpgrade(ctx context.Context, machine string, base entity.Base, force bool) error {
	return f.note("PrepareUpgrade", machine, " ", base.Short(), " ", force)
}

func (f *fakeModel) CompleteUpgrade(ctx context.Context, machine string, keep bool) error {
	return f.note("CompleteUpgrade", machine, " ", keep)
}

func (f *fakeModel) RetryProvisioning(
	ctx context.Context, constraints *constraints.Value, ids ...string,
) ([]error, []string, error) {
	return f.outcomes(len(ids)), f.warnings, f.note("RetryProvisioning"+replacing(constraints), ids)
}

func (f *fakeModel) RetryAllProvisioning(
	ctx context.Context, constraints *constraints.Value,
) ([]error, []string, error) {
	return f.errs, f.warnings, f.note("RetryAllProvisioning" + replacing(constraints))
}

// replacing says which constraints a call replaces.
func replacing(constraints *constraints.Value) string {
	if constraints == nil {
		return ""
	}
	return fmt.Sprintf(" with %q", constraints.String())
}

func (f *fakeModel) Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) ([]string, error) {
	if len(endpoints) > 0 && !endpoints.IsEverywhere() {
		return nil, f.note("Expose", service, " ", endpoints)
	}
	return nil, f.note("Expose", service)
}

func (f *fakeModel) Unexpose(ctx context.Context, service string, endpoints ...string) error {
	if len(endpoints) > 0 {
		return f.note("Unexpose", service, " ", endpoints)
	}
	return f.note("Unexpose", service)
}

func (f *fakeModel) ServiceConstraints(ctx context.Context, service string) (constraints.Value, error) {
	return f.constraints, f.note("ServiceConstraints", service)
}

func (f *fakeModel) SetServiceConstraints(ctx context.Context, service string, c constraints.Value) ([]string, error) {
	return f.warnings, f.note("SetServiceConstraints", service, " ", fmt.Sprintf("%q", c.String()))
}

func (f *fakeModel) ModelConfig(ctx context.Context) (modelconfig.Config, error) {
	return f.modelConfig, f.note("ModelConfig")
}

func (f *fakeModel) SetModelConfig(ctx context.Context, config map[string]string) error {
	return f.note("SetModelConfig", config)
}

func (f *fakeModel) ResetModelConfig(ctx context.Context, keys ...string) error {
	return f.note("ResetModelConfig", keys)
}

func (f *fakeModel) ModelConstraints(ctx context.Context) (constraints.Value, error) {
	return f.constraints, f.note("ModelConstraints")
}

func (f *fakeModel) SetModelConstraints(ctx context.Context, c constraints.Value) ([]string, error) {
	return f.warnings, f.note("SetModelConstraints", fmt.Sprintf("%q", c.String()))
}

func (f *fakeModel) StatusHistory(ctx context.Context, kind entity.HistoryKind, of entity.Tag,
	q client.HistoryQuery) ([]entity.PastStatus, error) {
	from := ""
	if !q.From.IsZero() {
		from = q.From.Format(time.RFC3339)
	}
	return f.history, f.note("StatusHistory", kind, " ", of, " ", q.Size, " ", q.Ago, " ", from)
}

func (f *fakeModel) Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error) {
	all := make([]map[string]string, len(of))
	for i := range of {
		all[i] = f.annotations
	}
	return all, f.note("Annotations", of)
}

func (f *fakeModel) SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error {
	return f.note("SetAnnotations", of, " ", values)
}

func (f *fakeModel) CharmArchive(ctx context.Context, url string) (io.ReadCloser, string, error) {
	return io.NopCloser(bytes.NewReader(f.uploaded)), "", f.note("CharmArchive", url)
}

func (f *fakeModel) SetMinUnits(ctx context.Context, service string, n int) error {
	return f.note("SetMinUnits", service, " ", n)
}

func (f *fakeModel) DebugLog(ctx context.Context, q client.LogQuery, line func(debuglog.Message) error) error {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if err := f.note("DebugLog", string(text)); err != nil {
		return err
	}
	for _, m := range f.logs {
		if err := line(m); err != nil {
			return err
		}
	}
	if !q.NoTail {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (f *fakeModel) Blocks(ctx context.Context) ([]entity.Block, error) {
	return f.blocks, f.note("Blocks")
}

func (f *fakeModel) SwitchBlockOn(ctx context.Context, t entity.BlockType, message string) error {
	return f.note("SwitchBlockOn", t, fmt.Sprintf(" %q", message))
}

func (f *fakeModel) SwitchBlockOff(ctx context.Context, t entity.BlockType) error {
	return f.note("SwitchBlockOff", t)
}

func (f *fakeModel) SSHKeys(ctx context.Context, whole bool) ([]string, error) {
	if !whole {
		return f.fingerprints, f.note("SSHKeys")
	}
	return f.keys, f.note("SSHKeys", " whole")
}

func (f *fakeModel) AddSSHKeys(ctx context.Context, keys []string) ([]error, error) {
	return f.outcomes(len(keys)), f.note("AddSSHKeys", strings.Join(keys, "; "))
}

func (f *fakeModel) RemoveSSHKeys(ctx context.Context, ids []string) ([]error, error) {
	return f.outcomes(len(ids)), f.note("RemoveSSHKeys", ids)
}

func (f *fakeModel) ProxiesSSH(context.Context) (bool, error) {
	return f.proxiesSSH, f.note("ProxiesSSH")
}

func (f *fakeModel) HostKeys(ctx context.Context, machine entity.Tag) ([]string, error) {
	err := f.note("HostKeys", machine)
	if err == nil && len(f.keys) == 0 {
		err = entity.Errorf(entity.NotFound, "keys not found")
	}
	return f.keys, err
}
