package controller

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"path/filepath"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
)

// A remoteCloud lets controllers in other processes use a cloud of this one, so that it outlives them. What a
// controller has asked for is done, even if the controller has been killed meanwhile.
type remoteCloud struct {
	ctx  context.Context
	open provider.Open
}

// RemoteArgs and RemoteResult are what its calls carry.
type (
	RemoteArgs struct {
		Config provider.Config
		Start  provider.StartParams
		Stop   []string
	}
	RemoteResult struct {
		Instances []provider.Instance
		Error     string
		Kind      entity.Kind
	}
)

// serve serves the cloud at a socket, whose path it returns, until the test ends.
func (c *remoteCloud) serve(s *system) string {
	s.Helper()
	path := filepath.Join(memoryDir(s.T), "cloud")
	l, err := net.Listen("unix", path)
	s.ok(err)
	server := rpc.NewServer()
	s.ok(server.RegisterName("Cloud", c))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go server.ServeCodec(jsonrpc.NewServerCodec(conn)) // ends with the other process
		}
	}()
	s.Cleanup(func() { l.Close(); <-done })
	return path
}

func (c *remoteCloud) answer(result *RemoteResult, a RemoteArgs,
	do func(provider.Environ) ([]provider.Instance, error)) error {
	e, err := c.open(c.ctx, a.Config)
	if err == nil {
		result.Instances, err = do(e)
	}
	if err != nil {
		result.Error, result.Kind = err.Error(), entity.KindOf(err)
	}
	return nil
}

func (c *remoteCloud) Start(a RemoteArgs, result *RemoteResult) error {
	return c.answer(result, a, func(e provider.Environ) ([]provider.Instance, error) {
		in, err := e.StartInstance(c.ctx, a.Start)
		return []provider.Instance{in}, err
	})
}

func (c *remoteCloud) Stop(a RemoteArgs, result *RemoteResult) error {
	return c.answer(result, a, func(e provider.Environ) ([]provider.Instance, error) {
		return nil, e.StopInstances(c.ctx, a.Stop...)
	})
}

func (c *remoteCloud) List(a RemoteArgs, result *RemoteResult) error {
	return c.answer(result, a, func(e provider.Environ) ([]provider.Instance, error) { return e.Instances(c.ctx) })
}

// dialCloud returns how to open the cloud that is served at a socket.
func dialCloud(socket string) (provider.Open, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	client := jsonrpc.NewClient(conn) // ends with this process
	idle := dummytest.New(nil)
	return func(ctx context.Context, config provider.Config) (provider.Environ, error) {
		e, err := idle.Open(ctx, config)
		return remoteEnviron{e, client, config}, err
	}, nil
}

// A remoteEnviron starts, stops and lists instances in another process. The rest of it has no effect there.
type remoteEnviron struct {
	provider.Environ
	client *rpc.Client
	config provider.Config
}

func (e remoteEnviron) call(ctx context.Context, method string, a RemoteArgs) ([]provider.Instance, error) {
	a.Config = e.config
	var result RemoteResult
	call := e.client.Go("Cloud."+method, a, &result, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-call.Done:
	}
	switch {
	case call.Error != nil:
		return nil, provider.Retryable(call.Error)
	case result.Kind != "":
		return nil, entity.Errorf(result.Kind, "%s", result.Error)
	case result.Error != "":
		return nil, errors.New(result.Error)
	}
	return result.Instances, nil
}

func (e remoteEnviron) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	all, err := e.call(ctx, "Start", RemoteArgs{Start: p})
	if err != nil {
		return provider.Instance{}, err
	}
	return all[0], nil
}

func (e remoteEnviron) StopInstances(ctx context.Context, ids ...string) error {
	_, err := e.call(ctx, "Stop", RemoteArgs{Stop: ids})
	return err
}

func (e remoteEnviron) Instances(ctx context.Context) ([]provider.Instance, error) {
	return e.call(ctx, "List", RemoteArgs{})
}
