package metrics

import (
	"context"
	"errors"
	"time"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// Open returns what opens a cloud as open does, and counts and times the calls to it.
func (m *Metrics) Open(open provider.Open) provider.Open {
	return func(ctx context.Context, config provider.Config) (provider.Environ, error) {
		environ, err := call(m, ctx, "Open", func() (provider.Environ, error) { return open(ctx, config) })
		if err != nil {
			return nil, err
		}
		return timed{environ, m}, nil
	}
}

// call notes how long a call took, and whether it failed. A caller that gives up is no failure of the cloud.
func call[R any](m *Metrics, ctx context.Context, operation string, do func() (R, error)) (R, error) {
	began := time.Now()
	result, err := do()
	m.calls.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	failed := m.callErrors.WithLabelValues(operation)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) && !errors.Is(err, entity.NotSupported) {
		failed.Inc()
	}
	return result, err
}

// A timed is a cloud whose calls are noted. CheckPool and ImportID, which ask no cloud, are not.
type timed struct {
	provider.Environ
	m *Metrics
}

// do is call for what has no result.
func (t timed) do(ctx context.Context, operation string, do func() error) error {
	_, err := call(t.m, ctx, operation, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (t timed) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	return call(t.m, ctx, "StartInstance", func() (provider.Instance, error) { return t.Environ.StartInstance(ctx, p) })
}

func (t timed) StopInstances(ctx context.Context, ids ...string) error {
	return t.do(ctx, "StopInstances", func() error { return t.Environ.StopInstances(ctx, ids...) })
}

func (t timed) Instances(ctx context.Context) ([]provider.Instance, error) {
	return call(t.m, ctx, "Instances", func() ([]provider.Instance, error) { return t.Environ.Instances(ctx) })
}

func (t timed) Series(ctx context.Context) ([]string, error) {
	return call(t.m, ctx, "Series", func() ([]string, error) { return t.Environ.Series(ctx) })
}

func (t timed) ConstraintRules(ctx context.Context) (constraints.Rules, error) {
	return call(t.m, ctx, "ConstraintRules", func() (constraints.Rules, error) { return t.Environ.ConstraintRules(ctx) })
}

func (t timed) PrecheckInstance(ctx context.Context, p provider.PrecheckParams) error {
	return t.do(ctx, "PrecheckInstance", func() error { return t.Environ.PrecheckInstance(ctx, p) })
}

func (t timed) Subnets(ctx context.Context) ([]entity.Subnet, error) {
	return call(t.m, ctx, "Subnets", func() ([]entity.Subnet, error) { return t.Environ.Subnets(ctx) })
}

func (t timed) Zones(ctx context.Context, p provider.PrecheckParams) ([]string, error) {
	return call(t.m, ctx, "Zones", func() ([]string, error) { return t.Environ.Zones(ctx, p) })
}

func (t timed) Destroy(ctx context.Context) error {
	return t.do(ctx, "Destroy", func() error { return t.Environ.Destroy(ctx) })
}

func (t timed) PoolSize(ctx context.Context, pool entity.StoragePool) (size uint64, of string, err error) {
	err = t.do(ctx, "PoolSize", func() (err error) {
		size, of, err = t.Environ.PoolSize(ctx, pool)
		return err
	})
	return size, of, err
}

func (t timed) CreateFilesystem(ctx context.Context, p provider.FilesystemParams) (entity.Filesystem, error) {
	return call(t.m, ctx, "CreateFilesystem", func() (entity.Filesystem, error) {
		return t.Environ.CreateFilesystem(ctx, p)
	})
}

func (t timed) AttachFilesystem(ctx context.Context, p provider.AttachmentParams) (string, error) {
	return call(t.m, ctx, "AttachFilesystem", func() (string, error) { return t.Environ.AttachFilesystem(ctx, p) })
}

func (t timed) DetachFilesystem(ctx context.Context, p provider.AttachmentParams) error {
	return t.do(ctx, "DetachFilesystem", func() error { return t.Environ.DetachFilesystem(ctx, p) })
}

func (t timed) IsFilesystemAttached(ctx context.Context, p provider.AttachmentParams) (bool, error) {
	return call(t.m, ctx, "IsFilesystemAttached", func() (bool, error) { return t.Environ.IsFilesystemAttached(ctx, p) })
}

func (t timed) DestroyFilesystem(ctx context.Context, id string) error {
	return t.do(ctx, "DestroyFilesystem", func() error { return t.Environ.DestroyFilesystem(ctx, id) })
}

func (t timed) ReleaseFilesystem(ctx context.Context, id string) error {
	return t.do(ctx, "ReleaseFilesystem", func() error { return t.Environ.ReleaseFilesystem(ctx, id) })
}

func (t timed) ImportFilesystem(ctx context.Context, p provider.ImportParams) (entity.Filesystem, error) {
	return call(t.m, ctx, "ImportFilesystem", func() (entity.Filesystem, error) {
		return t.Environ.ImportFilesystem(ctx, p)
	})
}

func (t timed) Profiler() provider.Profiler {
	if profiler := t.Environ.Profiler(); profiler != nil {
		return timedProfiler{t, profiler}
	}
	return nil
}

type timedProfiler struct {
	timed
	provider.Profiler
}

func (t timedProfiler) SetProfiles(ctx context.Context, id string, profiles []provider.Profile) error {
	return t.do(ctx, "SetProfiles", func() error { return t.Profiler.SetProfiles(ctx, id, profiles) })
}

func (t timed) CheckFirewall(ctx context.Context) error {
	return t.do(ctx, "CheckFirewall", func() error { return t.Environ.CheckFirewall(ctx) })
}

func (t timed) SetIngress(ctx context.Context, rules provider.Ingress) error {
	return t.do(ctx, "SetIngress", func() error { return t.Environ.SetIngress(ctx, rules) })
}

func (t timed) Ingress(ctx context.Context) (provider.Ingress, error) {
	return call(t.m, ctx, "Ingress", func() (provider.Ingress, error) { return t.Environ.Ingress(ctx) })
}
