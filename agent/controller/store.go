package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"juju/agent/host/process"
	"juju/agent/storeconf"
	"juju/provider/local"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
)

// dbName is the directory of the embedded store, below the controller's.
const dbName = "db"

// controllerDB is the database that every controller's store has.
const controllerDB = "juju"

func openMongo(ctx context.Context, text string, o Options) (*mongo.Store, *mongo.URL, error) {
	url, err := mongo.ParseURL(text)
	if err != nil {
		return nil, nil, err
	}
	store, err := mongo.OpenURL(ctx, url, o.Store)
	return store, url, err
}

// openStore opens the store of the controller whose own directory is given. url is that of its configuration, or "".
func openStore(ctx context.Context, own, url string, o Options) (*mongo.Store, error) {
	conf, err := storeconf.Read(own)
	if err != nil {
		return nil, err
	}
	if conf != nil {
		url = conf.URL
	}
	if url == "" {
		return openEmbedded(own, o, func(err error) {
			err = fmt.Errorf("the controller ends: %w", err)
			if entity.IsDiskFull(err) {
				err = entity.WithHint(err, "Make room where %s is: the controller's keeper then starts it again.", own)
			}
			end(err)
		})
	}
	store, _, err := openMongo(ctx, url, o)
	return store, err
}

func openEmbedded(own string, o Options, fatal func(error)) (*mongo.Store, error) {
	if o.Store.Embedded.Fatal == nil {
		o.Store.Embedded.Fatal = fatal
	}
	return mongo.OpenEmbedded(filepath.Join(own, dbName), o.Store)
}

// end exits the process after logging an error. It is called when the store can't be written. No acknowledged
// write is lost: a client that is waiting for a reply sees its connection close.
func end(err error) {
	text := fmt.Sprintf("ERROR %v\n", err)
	if hint := entity.Hint(err); hint != "" {
		text += hint + "\n"
	}
	if hasOpenLine(os.Stderr) {
		text = "\n" + text
	}
	os.Stderr.WriteString(text)
	os.Exit(1)
}

// ending returns an end for what jujud was doing in dir, and is to do again.
func ending(doing, again, dir string) func(error) {
	return func(err error) { end(noRoom(fmt.Errorf("cannot %s: %w", doing, err), dir, again)) }
}

// hasOpenLine reports whether a file's last line is incomplete, as in a log when the disk has filled up.
func hasOpenLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// makeStore opens the store of a new controller: in the MongoDB at url or, if that is empty, in the
// controller's own directory. fatal is called if the latter can't be written.
func makeStore(ctx context.Context, own, controller, url string, o Options, fatal func(error)) (*mongo.Store, error) {
	if url == "" {
		return openEmbedded(own, o, fatal)
	}
	store, parsed, err := openMongo(ctx, url, o)
	if err != nil {
		return nil, err
	}
	names, err := store.Databases(ctx)
	if err == nil && slices.Contains(names, controllerDB) {
		err = occupied(parsed)
	}
	if err == nil {
		// It is written before anything is stored there, so that the remains of an interrupted bootstrap are found.
		err = storeconf.Config{URL: url, Controller: controller}.Write(own)
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// checkShareable returns an error if a store is no MongoDB with transactions.
func checkShareable(store *mongo.Store) error {
	if !store.Shareable() {
		return entity.Errorf(entity.NotSupported, "the MongoDB has no transactions: it must be a replica set, of 4.0 or later")
	}
	return nil
}

// occupied is the error for a MongoDB that holds a controller.
func occupied(url *mongo.URL) error {
	return entity.WithHint(
		entity.Errorf(entity.AlreadyExists, "%s holds a controller: it has a database %s", url, controllerDB),
		"A MongoDB is for one controller: end that one, by destroy-environment where it was bootstrapped, "+
			"or name another MongoDB.")
}

// RemoveStore removes the databases of the controller in the cloud's directory dir from its MongoDB: its own
// and those of its models. It does nothing for an embedded store, which is removed with the directory. The
// controller must not be running.
func RemoveStore(ctx context.Context, dir string) error {
	own := local.ControllerDir(dir)
	conf, err := storeconf.Read(own)
	if err != nil || conf == nil {
		return err
	}
	if _, err := process.Holder(own); !errors.Is(err, process.ErrNotHeld) {
		return errors.Join(errors.New("cannot remove the store: the controller still runs"), err)
	}
	store, url, err := openMongo(ctx, conf.URL, Options{})
	if err != nil {
		return fmt.Errorf("cannot remove the store: %w", err)
	}
	defer store.Close()
	if err := dropAll(ctx, store, conf.Controller); err != nil {
		return fmt.Errorf("cannot remove what is in %s: %w", url, err)
	}
	return nil
}

// dropAll drops the databases of the controller with the given UUID.
func dropAll(ctx context.Context, store *mongo.Store, uuid string) error {
	names, err := store.Databases(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names, controllerDB) {
		ctrl, err := controller.Attach(ctx, store, controller.Options{}) // what goes away is not upgraded
		if errors.Is(err, entity.NotFound) {
			// Its bootstrap was interrupted before the store held a controller.
			return errors.Join(store.Drop(ctx, controllerDB), store.DropBarrier(ctx))
		}
		if err != nil {
			return err
		}
		defer ctrl.Close()
		if ctrl.UUID() != uuid {
			return nil // it holds another controller, because of which this one could not be created
		}
		if err := ctrl.DropDatabases(ctx); err != nil {
			return err
		}
	}
	return store.DropBarrier(ctx)
}
