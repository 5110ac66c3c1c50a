package lxd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"juju/agent/install"
	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig/userdata"
)

// These bound the cleanup after a failed start: once the caller's context is done, and otherwise.
const (
	cleanupTime = 20 * time.Second
	promptTime  = 5 * time.Second
)

// filingPause is the pause before a failed request for the files of a container is retried.
const filingPause = 100 * time.Millisecond

// addressPause is the interval of polling for a container's address.
const addressPause = 300 * time.Millisecond

// StartInstance creates a container, writes its agent's configuration into it, and starts it. Inside,
// cloud-init downloads the agent binaries and starts the agent. If the container gets no address
// within Config.AddressWait, it is returned without one.
func (e *environ) StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	c := e.cloud
	if err := provider.CheckStart(e.config, &params); err != nil {
		return provider.Instance{}, err
	}
	name := instanceName(params)
	unlock, err := c.busy.Lock(ctx, name)
	if err != nil {
		return provider.Instance{}, err
	}
	defer unlock()
	i, err := c.instance(ctx, name)
	switch {
	case err == nil && (!c.owns(i.Config, params.Model) || i.Config[nonceKey] != params.Nonce):
		return provider.Instance{}, entity.Errorf(entity.Invalid, "container %s in LXD belongs to another controller, model or attempt", name)
	case err == nil && i.StatusCode == api.Running:
		return c.addressed(ctx, name, params.Spaces)
	case err != nil && !isNotFound(err):
		return provider.Instance{}, err
	}
	defer c.hold(params.Profiles)()
	var request *api.InstancesPost
	var member string
	if err != nil {
		if request, member, err = e.request(ctx, name, params); err == nil {
			err = e.putProfiles(ctx, params.Profiles)
		}
		if err != nil {
			return provider.Instance{}, err
		}
	}
	inst, err := c.begin(ctx, name, request, member, configFiles(params), params.Spaces)
	if err != nil {
		c.cleanUp(ctx, name)
	}
	return inst, err
}

// begin creates a container if request is not nil, writes files into it, and starts it.
func (c *Cloud) begin(ctx context.Context, name string, request *api.InstancesPost, member string,
	files []file, spaces entity.MachineSpaces) (inst provider.Instance, err error) {
	if request != nil {
		if err := c.create(ctx, request, member); err != nil {
			return inst, err
		}
	}
	err = c.start(ctx, name, files)
	if request == nil && isNotFound(err) { // LXD was still deleting it after an earlier failed start
		err = provider.Retryable(fmt.Errorf("container %s was deleted while it was being started", name))
	}
	if err != nil {
		return inst, err
	}
	c.say("Waiting for the address of container %s", name)
	return c.addressed(ctx, name, spaces)
}

// start writes files into a container, and starts it.
func (c *Cloud) start(ctx context.Context, name string, files []file) error {
	for _, f := range files {
		if err := c.write(ctx, name, f); err != nil {
			return err
		}
	}
	c.say("Starting container %s", name)
	_, err := c.client.do(ctx, http.MethodPut, instancePath(name, "state"), nil, api.InstanceStatePut{Action: "start", Timeout: -1})
	if isRunning(err) { // LXD autostarted it after a restart
		return nil
	}
	return err
}

// create creates a container.
func (c *Cloud) create(ctx context.Context, request *api.InstancesPost, member string) error {
	_, err := c.client.do(ctx, http.MethodPost, "/1.0/instances", target(member), request)
	var r *apiError
	if request.InstanceType != "" && errors.As(err, &r) && strings.Contains(r.text, "instance type") {
		err = entity.WithHint(err, "LXD's types give cores and GiB of memory: c2-m4 has 2 cores and 4 GiB")
	}
	return err
}

// request returns the request for a machine's container and its cluster member. It creates nothing,
// except a copy of the image if LXD has none.
func (e *environ) request(ctx context.Context, name string, params provider.StartParams) (*api.InstancesPost, string,
	error) {
	if params.Parent != "" {
		zone, err := e.zoneOf(ctx, params.Parent)
		if err != nil {
			return nil, "", err
		}
		params.Zone = zone
	}
	if params.Zone != "" {
		params.Placement = zonePrefix + params.Zone
	}
	post, member, architecture, err := e.container(ctx, name, params.Series, params.Constraints, params.Placement)
	if err == nil {
		err = e.wired(ctx, params.Spaces, post.Devices, post.Config)
	}
	if err != nil {
		return nil, "", err
	}
	tools, ok := params.Tools[architecture]
	if !ok {
		return nil, "", entity.Errorf(entity.NotSupported, "no agent binaries are available for %s", architecture)
	}
	script, err := "", error(nil)
	if params.RunsController {
		script, err = install.NodeScript(tools)
		e.cloud.passSocket(post)
	} else {
		script, err = install.Script(params.MachineID, tools)
	}
	if err != nil {
		return nil, "", err
	}
	post.Description = fmt.Sprintf("juju machine %s of model %s", params.MachineID, params.Model)
	if post.Config["cloud-init.user-data"], err = userdata.Merge(params.UserData, install.UserScript+script); err != nil {
		return nil, "", err
	}
	post.Config[controllerKey], post.Config[modelKey] = params.Controller, params.Model
	post.Config[machineKey], post.Config[nonceKey] = params.MachineID, params.Nonce
	post.Profiles = append(slices.Clone(post.Profiles), namesOf(params.Profiles)...)
	return post, member, nil
}

// container returns the request for an untagged container, its cluster member, and its architecture.
func (e *environ) container(ctx context.Context, name, series string, cons constraints.Value, placement string) (
	post *api.InstancesPost, member, architecture string, err error) {
	c := e.cloud
	candidates, err := e.candidates(ctx, cons, placement)
	if err != nil {
		return nil, "", "", err
	}
	alias, err := c.image(ctx, series)
	if err != nil {
		return nil, "", "", err
	}
	if architecture, err = c.architecture(ctx, alias); err != nil {
		return nil, "", "", err
	}
	if wanted, _ := cons.Get(constraints.Arch); wanted != "" && wanted != architecture {
		return nil, "", "", entity.Errorf(entity.Invalid, "constraint arch=%s cannot be met: LXD's image %s is of %s",
			wanted, alias, architecture)
	}
	rules, err := e.ConstraintRules(ctx)
	if err != nil {
		return nil, "", "", err
	}
	devices, config, err := c.devices(ctx, rules, cons)
	if err != nil {
		return nil, "", "", err
	}
	config["boot.autostart"] = "true"
	instanceType, _ := cons.Get(constraints.InstanceType)
	return &api.InstancesPost{
		Name: name, Type: api.InstanceTypeContainer, InstanceType: instanceType,
		Source:      api.InstanceSource{Type: "image", Alias: alias},
		InstancePut: api.InstancePut{Profiles: c.config.Profiles, Config: config, Devices: devices},
	}, candidates[0], architecture, nil
}

// zoneOf returns the cluster member that hosts the model's instance id.
func (e *environ) zoneOf(ctx context.Context, id string) (string, error) {
	i, err := e.cloud.instance(ctx, id)
	if isNotFound(err) || err == nil && !e.cloud.owns(i.Config, e.config.Model) {
		return "", provider.Retryable(fmt.Errorf("its host instance %s does not exist", id))
	}
	return zone(i), err
}

// A file is a file or directory to create in a container.
type file struct {
	path    string
	kind    string // "file" or "directory"
	mode    string
	content []byte
	open    func() (io.Reader, error) // reads the content of a large file; else nil
}

// body returns the content.
func (f file) body() (io.Reader, error) {
	if f.open == nil {
		return bytes.NewReader(f.content), nil
	}
	return f.open()
}

// configFiles returns the files of the agent's configuration, written before the container starts.
func configFiles(params provider.StartParams) []file {
	if params.RunsController {
		return []file{
			{install.Root, "directory", "0755", nil, nil},
			{path.Dir(install.ControllerConfig), "directory", "0700", nil, nil},
			{install.ControllerConfig, "file", "0600", params.AgentConfig, nil},
		}
	}
	dir := install.AgentDir(params.MachineID)
	return []file{
		{install.Root, "directory", "0755", nil, nil},
		{path.Dir(dir), "directory", "0755", nil, nil},
		{dir, "directory", "0700", nil, nil},
		{path.Join(dir, "agent.conf"), "file", "0600", params.AgentConfig, nil},
	}
}

// write creates a file or directory in a container, owned by its root.
func (c *Cloud) write(ctx context.Context, name string, f file) error {
	header := http.Header{"X-LXD-type": {f.kind}, "X-LXD-mode": {f.mode}, "X-LXD-uid": {"0"}, "X-LXD-gid": {"0"},
		"Content-Type": {"application/octet-stream"}}
	bound := requestTime
	if f.open != nil {
		bound = operationTime
	}
	return filing(ctx, bound, func(ctx context.Context) error {
		body, err := f.body()
		if err != nil {
			return err
		}
		resp, err := c.client.send(ctx, http.MethodPost, instancePath(name, "files"), url.Values{"path": {f.path}}, header, c.reported(body))
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// filing calls do, which makes a request for the files of a container. LXD uses a helper process in the container, and
// sometimes fails because the one of the last request has just exited, or because that of a container which had the name
// before has not; so requests that failed are retried, until bound is over.
func filing(ctx context.Context, bound time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, errSlow)
	defer cancel()
	again := time.NewTicker(filingPause)
	defer again.Stop()
	for {
		err := do(ctx)
		var r *apiError
		if err == nil || !errors.As(err, &r) || !provider.IsRetryable(err) || isShortage(r) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// addressed returns an instance once it has an address, and one in each space that is demanded, or after Config.AddressWait.
func (c *Cloud) addressed(ctx context.Context, name string, spaces entity.MachineSpaces) (provider.Instance, error) {
	patience := time.NewTimer(c.config.AddressWait)
	defer patience.Stop()
	again := time.NewTicker(addressPause)
	defer again.Stop()
	for {
		i, err := c.instance(ctx, name)
		if err != nil {
			return provider.Instance{}, err
		}
		inst, err := c.public(ctx, i)
		lacks := slices.ContainsFunc(spaces.In, func(s entity.Space) bool {
			return !slices.ContainsFunc(inst.Addresses, func(a string) bool { return entity.SmallestSubnet(s.Subnets, a) >= 0 })
		})
		if err != nil || len(inst.Addresses) > 0 && !lacks {
			return inst, err
		}
		if i.StatusCode != api.Running {
			return inst, provider.Retryable(exitedError(i))
		}
		select {
		case <-ctx.Done():
			return inst, ctx.Err()
		case <-patience.C:
			logger.Warningf("container %s has the addresses %v after %v, and waits for more", name,
				inst.Addresses, c.config.AddressWait)
			return inst, nil
		case <-again.C:
		}
	}
}

// exitedError returns the error for a container that exited right after it was started.
func exitedError(i api.Instance) error {
	text := fmt.Sprintf("container %s exited immediately after it was started", i.Name)
	if limit := i.ExpandedConfig["limits.memory"]; limit != "" {
		text += ", with " + limit + " of memory"
	}
	return entity.WithHint(errors.New(text), "See why on the LXD host: lxc info --show-log %s", i.Name)
}

// cleanUp removes the container of a failed start. It gives up soon, so that the caller learns promptly why
// the start failed; Instances lists containers that can't be removed. If the caller's context is done, it tries
// longer: LXD may still be creating the container, and can't delete it meanwhile.
func (c *Cloud) cleanUp(ctx context.Context, name string) {
	over, bound := ctx.Err() != nil, promptTime
	if over {
		bound = cleanupTime
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	again := time.NewTicker(addressPause)
	defer again.Stop()
	for {
		err := c.remove(ctx, name)
		if err == nil {
			return
		}
		var r *apiError
		if over && errors.As(err, &r) {
			select {
			case <-again.C:
				continue
			case <-ctx.Done():
			}
		}
		logger.Errorf("cannot remove incomplete container %s: %v", name, err)
		return
	}
}
