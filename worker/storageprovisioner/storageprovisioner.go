package storageprovisioner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
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
	// StorageWork returns the instances that are not as they should be.
	StorageWork(ctx context.Context) ([]entity.StorageWork, error)
	// SetFilesystem records what the cloud has made for an instance.
	SetFilesystem(ctx context.Context, storage entity.Tag, filesystem entity.Filesystem) error
	// SetAttached records where a unit finds the storage. It returns entity.NotAlive or
	// entity.NotFound if the unit is to have it no more, or not on this instance.
	SetAttached(ctx context.Context, storage entity.Tag, unit, instance, location string) error
	// RemoveAttachment removes a Dead attachment.
	RemoveAttachment(ctx context.Context, storage entity.Tag, unit string) error
	// SetStorageStatus reports why something could not be done about an instance.
	SetStorageStatus(ctx context.Context, storage entity.Tag, status entity.Status) error
	// EnsureStorageDead makes a Dying instance Dead that no unit has.
	EnsureStorageDead(ctx context.Context, storage entity.Tag) error
	// RemoveStorage removes a Dead instance.
	RemoveStorage(ctx context.Context, storage entity.Tag) error
	// DropFilesystem forgets a filesystem that a forced removal had left.
	DropFilesystem(ctx context.Context, filesystem string) error
}

// Config is what the worker needs.
type Config struct {
	API   API
	Cloud provider.Filesystems
	// Retry is the first pause after a failure, and MaxRetry the longest; 30 seconds and 30 minutes
	// if zero.
	Retry, MaxRetry time.Duration
	// Bound is how long the cloud may take for one step; 5 minutes if zero.
	Bound time.Duration
}

// New returns the worker for one model.
func New(config Config) worker.Func {
	config.Retry = cmp.Or(config.Retry, 30*time.Second)
	config.MaxRetry = cmp.Or(config.MaxRetry, 30*time.Minute)
	config.Bound = cmp.Or(config.Bound, 5*time.Minute)
	return func(ctx context.Context) error {
		p := &provisioner{Config: config, failed: map[string]failure{}}
		return worker.NotifyAgain(ctx, p.API.WatchStorage, func(ctx context.Context) (time.Duration, error) {
			err := p.pass(ctx)
			return p.pause(), err
		})
	}
}

// A provisioner's passes own its fields.
type provisioner struct {
	Config
	failed map[string]failure // by storage
}

// A failure is why an instance must wait.
type failure struct {
	pause time.Duration
	next  time.Time
	work  entity.StorageWork // what failed; other work does not wait
}

// pause returns how long it is until the first of the failures may be tried again, 0 if there is
// none.
func (p *provisioner) pause() (first time.Duration) {
	for _, f := range p.failed {
		if left := max(time.Until(f.next), 1); first == 0 || left < first {
			first = left
		}
	}
	return first
}

// pass does what there is to do now. It fails only if the controller does.
func (p *provisioner) pass(ctx context.Context) error {
	work, err := p.API.StorageWork(ctx)
	if err != nil {
		return err
	}
	before := p.failed
	p.failed = map[string]failure{}
	for _, w := range work {
		was := before[w.ID]
		switch {
		case !reflect.DeepEqual(was.work, w):
			was = failure{}
		case time.Until(was.next) > 0:
			p.failed[w.ID] = was
			continue
		}
		err := p.do(ctx, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var cloud *cloudError
		switch {
		case errors.As(err, &cloud):
			f := failure{pause: min(max(2*was.pause, p.Retry), p.MaxRetry), work: w}
			f.next = time.Now().Add(f.pause)
			p.failed[w.ID] = f
			logger.Errorf("storage %s: %v; again in %v", w.ID, err, f.pause)
			status := entity.Status{Status: entity.StatusError, Message: err.Error()}
			if hint := entity.Hint(err); hint != "" {
				status.Data = map[string]any{"hint": hint}
			}
			if err := p.API.SetStorageStatus(ctx, entity.StorageTag(w.ID), status); err != nil && !isGone(err) {
				return err
			}
		case err != nil && !isGone(err):
			return err
		}
	}
	return nil
}

// A cloudError is an error of the cloud's. All others are the controller's.
type cloudError struct{ error }

func (e *cloudError) Unwrap() error { return e.error }

// cloud calls the cloud, for a limited time. doing is what the error begins with.
func (p *provisioner) cloud(ctx context.Context, doing string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Bound)
	defer cancel()
	if err := f(ctx); err != nil {
		return &cloudError{fmt.Errorf("cannot %s: %w", doing, err)}
	}
	return nil
}

// isGone reports whether an error says that there is nothing left to do: the records have changed
// since they were read, which the watch reports.
func isGone(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.NotAlive) || errors.Is(err, entity.InUse)
}

// do takes an instance one step on; the next one follows the event of its record.
func (p *provisioner) do(ctx context.Context, w entity.StorageWork) error {
	switch a := w.Attachment; {
	case a != nil && a.After != "" && w.Filesystem != "":
		return nil // an event follows when the other is there, or gone
	case a != nil && a.Life == entity.Dead:
		return p.detach(ctx, w)
	case w.Life == entity.Dying:
		return p.API.EnsureStorageDead(ctx, entity.StorageTag(w.ID))
	case w.Life == entity.Dead:
		if err := p.end(ctx, w); err != nil {
			return err
		}
		return p.API.RemoveStorage(ctx, entity.StorageTag(w.ID))
	case w.Life == entity.Gone:
		if err := p.end(ctx, w); err != nil {
			return err
		}
		return p.API.DropFilesystem(ctx, w.Filesystem)
	case w.Filesystem == "":
		return p.create(ctx, w)
	case a != nil && a.Instance != "":
		return p.attach(ctx, w)
	}
	return nil
}

// create makes the filesystem of an instance.
func (p *provisioner) create(ctx context.Context, w entity.StorageWork) error {
	params := provider.FilesystemParams{Storage: w.ID, Pool: w.Pool, Size: w.Size}
	if w.OnMachine {
		if w.Attachment == nil || w.Attachment.Instance == "" {
			return nil // an event follows when there is one
		}
		params.Instance = w.Attachment.Instance
		if entity.IsManualInstance(params.Instance) {
			return noStorage(w)
		}
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
		// A forced removal may have taken the record, and nothing else would destroy it.
		return p.destroy(ctx, f.ID)
	}
	return err
}

func (p *provisioner) destroy(ctx context.Context, filesystem string) error {
	return p.cloud(ctx, "destroy filesystem", func(ctx context.Context) error {
		return p.Cloud.DestroyFilesystem(ctx, filesystem)
	})
}

// paramsOf returns the parameters of the attachment that there is work on.
func paramsOf(w entity.StorageWork) provider.AttachmentParams {
	return provider.AttachmentParams{Filesystem: w.Filesystem, Instance: w.Attachment.Instance, Mount: w.Attachment.Mount}
}

func (p *provisioner) attach(ctx context.Context, w entity.StorageWork) error {
	if other := w.Attachment.InUse; other != "" {
		return &cloudError{fmt.Errorf("cannot attach it to unit %s: %s is in use by storage %s", w.Attachment.Unit,
			w.Attachment.Mount, other)}
	}
	if entity.IsManualInstance(w.Attachment.Instance) {
		return noStorage(w)
	}
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
		// A forced removal may have removed the record, and nothing else would detach it.
		return p.cloud(ctx, "detach it", func(ctx context.Context) error { return p.Cloud.DetachFilesystem(ctx, params) })
	}
	return err
}

// noStorage is the error of storage on a manual machine.
func noStorage(w entity.StorageWork) error {
	err := entity.Errorf(entity.NotSupported, "cannot attach it to unit %s: its machine is %s, a host for which the cloud "+
		"has no storage", w.Attachment.Unit, w.Attachment.Instance)
	return &cloudError{entity.WithHint(err, "Place the unit on a machine of the cloud.")}
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

// end destroys or releases the filesystem of an instance that is Dead or Gone.
func (p *provisioner) end(ctx context.Context, w entity.StorageWork) error {
	switch {
	case w.Filesystem == "":
		return nil
	case w.Release:
		return p.cloud(ctx, "release filesystem", func(ctx context.Context) error {
			return p.Cloud.ReleaseFilesystem(ctx, w.Filesystem)
		})
	}
	return p.destroy(ctx, w.Filesystem)
}
