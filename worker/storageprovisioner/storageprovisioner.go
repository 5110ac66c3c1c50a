package storageprovisioner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.storageprovisioner")

// API is what the worker needs of the controller, for one model.
type API interface {
	// WatchStorage fires when the result of StorageWork may have changed.
	WatchStorage(ctx context.Context) (<-chan struct{}, error)
	// StorageWork returns the storage instances that need work.
	StorageWork(ctx context.Context) ([]entity.StorageWork, error)
	// SetFilesystem records the filesystem that the cloud has created for a storage instance.
	SetFilesystem(ctx context.Context, storage entity.Tag, filesystem entity.Filesystem) error
	// SetAttached records the location of a unit's storage. It returns entity.NotAlive or entity.NotFound if
	// the storage should no longer be attached to the unit or to this instance.
	SetAttached(ctx context.Context, storage entity.Tag, unit, instance, location string) error
	// RemoveAttachment removes a Dead attachment.
	RemoveAttachment(ctx context.Context, storage entity.Tag, unit string) error
	// SetStorageStatus sets the status of a storage instance to an error.
	SetStorageStatus(ctx context.Context, storage entity.Tag, status entity.Status) error
	// EnsureStorageDead makes a Dying, unattached storage instance Dead.
	EnsureStorageDead(ctx context.Context, storage entity.Tag) error
	// RemoveStorage removes a Dead instance.
	RemoveStorage(ctx context.Context, storage entity.Tag) error
	// DropFilesystem deletes the record of a filesystem that a forced removal left.
	DropFilesystem(ctx context.Context, filesystem string) error
}

// Config is what the worker needs.
type Config struct {
	API   API
	Cloud provider.Filesystems
	// Retry is the initial pause after a failure and MaxRetry the maximum; 30 seconds and 30 minutes if zero.
	Retry, MaxRetry time.Duration
	// Bound limits each call to the cloud; 5 minutes if zero.
	Bound time.Duration
}

// New returns the worker for one model.
func New(config Config) worker.Func {
	config.Retry = cmp.Or(config.Retry, 30*time.Second)
	config.MaxRetry = cmp.Or(config.MaxRetry, 30*time.Minute)
	config.Bound = cmp.Or(config.Bound, 5*time.Minute)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		p := &provisioner{Config: config, done: make(chan *step, parallel), busy: map[string]*step{},
			retries: worker.Retries[entity.StorageWork]{First: config.Retry, Longest: config.MaxRetry}}
		defer func() {
			cancel()
			for range p.busy {
				<-p.done
			}
		}()
		return p.loop(ctx)
	}
}

// parallel is the maximum number of concurrent steps.
const parallel = 16

// A provisioner's fields are owned by its loop. Steps run in goroutines, so that a slow one holds up no
// other, but only one at a time for each storage instance and each cloud instance. This keeps nested storage
// in order, because the records reflect a step only when it has ended, and it limits each cloud instance to
// one of the slots.
type provisioner struct {
	Config
	done    chan *step
	busy    map[string]*step // by storage
	retries worker.Retries[entity.StorageWork]
	waiting map[string]int // by storage: the pass since which it has been waiting
	passes  int
}

// A step is the next operation on a storage instance.
type step struct {
	work     entity.StorageWork
	instance string // the cloud instance it changes; "" for none
	do       func(context.Context, entity.StorageWork) error
	pause    time.Duration // until it is retried, if it fails
	failed   bool
	err      error // from the controller
}

func (p *provisioner) loop(ctx context.Context) error {
	return worker.NotifySteps(ctx, p.API.WatchStorage, p.done, p.ended,
		func(ctx context.Context, _ bool) (time.Duration, error) { return p.pass(ctx) })
}

// ended records the end of a step. It fails only if the controller does.
func (p *provisioner) ended(s *step) error {
	delete(p.busy, s.work.ID)
	if s.failed {
		p.retries.Failed(s.work.ID, s.work, s.pause)
	}
	return s.err
}

// pass starts the steps that are due, those that have waited longest first. It returns the time until the
// first retry is due, or 0 if there is none. It fails only if the controller does.
func (p *provisioner) pass(ctx context.Context) (again time.Duration, err error) {
	work, err := p.API.StorageWork(ctx)
	if err != nil {
		return 0, err
	}
	waiting := p.waiting
	p.waiting = map[string]int{}
	p.retries.Begin()
	p.passes++
	var due []*step
	for _, w := range work {
		left, pause := p.retries.Ask(w.ID, w)
		s := p.next(w)
		if s == nil || p.busy[w.ID] != nil {
			continue
		}
		if left > 0 {
			again = worker.Sooner(again, left)
			continue
		}
		s.pause = pause
		p.waiting[w.ID] = cmp.Or(waiting[w.ID], p.passes)
		due = append(due, s)
	}
	slices.SortStableFunc(due, func(a, b *step) int { return p.waiting[a.work.ID] - p.waiting[b.work.ID] })
	for _, s := range due {
		if len(p.busy) == parallel {
			break
		}
		if s.instance == "" || !p.isBusy(s.instance) {
			delete(p.waiting, s.work.ID)
			p.busy[s.work.ID] = s
			go func() {
				s.err = p.take(ctx, s)
				p.done <- s
			}()
		}
	}
	return again, nil
}

// isBusy reports whether a running step changes a cloud instance.
func (p *provisioner) isBusy(instance string) bool {
	for _, s := range p.busy {
		if s.instance == instance {
			return true
		}
	}
	return false
}

// take runs a step. An error of the cloud becomes the storage's status; take returns only the controller's
// errors.
func (p *provisioner) take(ctx context.Context, s *step) error {
	err := s.do(ctx, s.work)
	s.failed = err != nil
	var cloud *cloudError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &cloud):
	case isGone(err):
		return nil
	default:
		return err
	}
	logger.Errorf("storage %s: %v; retrying in %v", s.work.ID, err, s.pause)
	status := entity.Status{Status: entity.StatusError, Message: err.Error()}
	if hint := entity.Hint(err); hint != "" {
		status.Data = map[string]any{"hint": hint}
	}
	if err := p.API.SetStorageStatus(ctx, entity.StorageTag(s.work.ID), status); !isGone(err) {
		return err
	}
	return nil
}

// A cloudError is an error from the cloud, as opposed to the controller.
type cloudError struct{ error }

func (e *cloudError) Unwrap() error { return e.error }

// cloud calls the cloud with a time limit. The error begins with "cannot" and doing.
func (p *provisioner) cloud(ctx context.Context, doing string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Bound)
	defer cancel()
	if err := f(ctx); err != nil {
		return &cloudError{fmt.Errorf("cannot %s: %w", doing, err)}
	}
	return nil
}

// isGone reports whether an error means that the records have changed since they were read. The watch reports
// the change, so there is nothing to do until then.
func isGone(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.NotAlive) || errors.Is(err, entity.InUse)
}

// next returns what to run for a storage instance, or nil if it must wait for an event.
func (p *provisioner) next(w entity.StorageWork) *step {
	s := &step{work: w}
	next := Next(w)
	switch next {
	case Wait:
		return nil
	case Create:
		s.do = p.create
	case Attach:
		s.do = p.attach
	case Detach:
		s.do = p.detach
	case EnsureDead:
		s.do = func(ctx context.Context, w entity.StorageWork) error {
			return p.API.EnsureStorageDead(ctx, entity.StorageTag(w.ID))
		}
	case End:
		s.do = p.end
	}
	if next == Attach || next == Detach || next == Create && w.OnMachine {
		s.instance = w.Attachment.Instance
	}
	if why := Refusal(next, w); why != nil {
		s.do = func(context.Context, entity.StorageWork) error { return &cloudError{why} }
	}
	return s
}

// create creates a storage instance's filesystem.
func (p *provisioner) create(ctx context.Context, w entity.StorageWork) error {
	params := provider.FilesystemParams{Storage: w.ID, Pool: w.Pool, Size: w.Size}
	if w.OnMachine {
		params.Instance = w.Attachment.Instance
	}
	var f entity.Filesystem
	err := p.cloud(ctx, "make filesystem", func(ctx context.Context) (err error) {
		f, err = p.Cloud.CreateFilesystem(ctx, params)
		return err
	})
	if err != nil {
		return err
	}
	f.Instance = params.Instance
	err = p.API.SetFilesystem(ctx, entity.StorageTag(w.ID), f)
	if isGone(err) {
		// A forced removal may have deleted the record, and nothing else would destroy the filesystem.
		return p.destroy(ctx, f.ID)
	}
	return err
}

func (p *provisioner) destroy(ctx context.Context, filesystem string) error {
	return p.cloud(ctx, "destroy filesystem", func(ctx context.Context) error {
		return p.Cloud.DestroyFilesystem(ctx, filesystem)
	})
}

// paramsOf returns the parameters of the attachment in w.
func paramsOf(w entity.StorageWork) provider.AttachmentParams {
	return provider.AttachmentParams{Filesystem: w.Filesystem, Instance: w.Attachment.Instance, Mount: w.Attachment.Mount}
}

func (p *provisioner) attach(ctx context.Context, w entity.StorageWork) error {
	params := paramsOf(w)
	var location string
	err := p.cloud(ctx, "attach it to unit "+w.Attachment.Unit, func(ctx context.Context) (err error) {
		location, err = p.Cloud.AttachFilesystem(ctx, params)
		return err
	})
	if err != nil {
		return err
	}
	err = p.API.SetAttached(ctx, entity.StorageTag(w.ID), w.Attachment.Unit, w.Attachment.Instance, location)
	if isGone(err) {
		// A forced removal may have deleted the record, and nothing else would detach the filesystem.
		return p.cloud(ctx, "detach it", func(ctx context.Context) error { return p.Cloud.DetachFilesystem(ctx, params) })
	}
	return err
}

func (p *provisioner) detach(ctx context.Context, w entity.StorageWork) error {
	if w.Filesystem != "" && w.Attachment.Instance != "" && !entity.IsManualInstance(w.Attachment.Instance) {
		err := p.cloud(ctx, "detach it from unit "+w.Attachment.Unit, func(ctx context.Context) error {
			return p.Cloud.DetachFilesystem(ctx, paramsOf(w))
		})
		if err != nil {
			return err
		}
	}
	return p.API.RemoveAttachment(ctx, entity.StorageTag(w.ID), w.Attachment.Unit)
}

// end destroys or releases the filesystem of a Dead or Gone storage instance, and removes the record.
func (p *provisioner) end(ctx context.Context, w entity.StorageWork) (err error) {
	switch {
	case w.Filesystem == "":
	case w.Release:
		err = p.cloud(ctx, "release filesystem", func(ctx context.Context) error {
			return p.Cloud.ReleaseFilesystem(ctx, w.Filesystem)
		})
	default:
		err = p.destroy(ctx, w.Filesystem)
	}
	switch {
	case err != nil:
		return err
	case w.Life == entity.Gone:
		return p.API.DropFilesystem(ctx, w.Filesystem)
	}
	return p.API.RemoveStorage(ctx, entity.StorageTag(w.ID))
}
