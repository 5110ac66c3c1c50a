package state_test

import (
	"strings"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/state/statetest"
)

// onModel returns a mutator of the model; onController, of the controller.
func onModel(name, how string, call func(*scene) error, before ...func(*scene)) mutator {
	if !strings.Contains(name, ".") {
		name = "State." + name
	}
	return mutator{name: name, how: how, before: before, take: func(s *scene) func() error {
		return func() error { return call(s) }
	}}
}

func onController(name, how string, call func(*scene) error, before ...func(*scene)) mutator {
	m := onModel("", how, call, before...)
	m.name = "Controller." + name
	return m
}

func logging(m mutator) mutator { m.logs = true; return m }

func slow(m mutator) mutator { m.slow = true; return m }

func mending(m mutator) mutator { m.mends, m.logs = true, true; return m }

func leaving(m mutator) mutator { m.leaves, m.logs = true, true; return m }

func givingUp(m mutator) mutator { m.givesUp = true; return m }

func free(m mutator) mutator { m.free = true; return m }

func secret(m mutator) mutator { m.secret = true; return m }

func addService(p state.AddServiceParams, charm string) func(*scene) error {
	p.CharmURL = charmOf(charm)
	return func(s *scene) error {
		_, err := s.st.AddService(s.ctx, p)
		return err
	}
}

func enableHA(lost ...string) func(*scene) error {
	return func(s *scene) error {
		_, err := s.st.EnableHA(s.ctx, state.EnableHAParams{Lost: lost})
		return err
	}
}

func addMachine(p state.AddMachineParams) func(*scene) error {
	return func(s *scene) error { _, err := s.st.AddMachine(s.ctx, p); return err }
}

func addRelation(names ...string) func(*scene) error {
	return func(s *scene) error { _, err := s.st.AddRelation(s.ctx, names...); return err }
}

// addCharm builds its archive before the call.
func addCharm(how, metadata string) mutator {
	return mutator{name: "Charms.Add", how: how, leaves: true, take: func(s *scene) func() error {
		archive := statetest.CharmArchive(s.T, metadata, "revision", "0")
		return func() error { _, err := s.st.Charms().Add(s.ctx, archive, ""); return err }
	}}
}

// addStoredCharm does so for a charm from a store.
func addStoredCharm(how string) mutator {
	return mutator{name: "Charms.AddStored", how: how, leaves: true, take: func(s *scene) func() error {
		return func() error {
			return statetest.StoredCharm(s.T, s.st, charm.URL{Schema: "ch", Architecture: "amd64", Name: "riak", Revision: 1}, statetest.Riak)
		}
	}}
}

func cleanup(s *scene) error { _, _, err := s.st.Cleaner().Cleanup(s.ctx); return err }

func cleansUp(s *scene) { s.ok(cleanup(s)) }

// leftover leaves the instance of machine 4 behind as a leftover.
func leftover(s *scene) {
	provisions("4")(s)
	destroysMachine("4", atLast)(s)
	cloudSaid("4", entity.StatusError)(s)
	cleansUp(s)
}

func blocks(s *scene) error { return s.st.Blocks().SwitchOn(s.ctx, entity.BlockRemove, "no") }

func setsConstraints(c string) func(*scene) error {
	return func(s *scene) error { return s.st.Settings().SetConstraints(s.ctx, statetest.Constraints(c)) }
}

func setsConfig(mode string, reset ...string) func(*scene) error {
	return func(s *scene) error {
		set := map[string]string{}
		if mode != "" {
			set[modelconfig.HarvestMode] = mode
		}
		return s.st.Settings().SetConfig(s.ctx, set, reset)
	}
}

func setsProxy(key string) func(*scene) error {
	return func(s *scene) error {
		return s.st.Settings().SetConfig(s.ctx, map[string]string{key: "p:1"}, nil)
	}
}

func setsBinaries(version string) func(*scene) error {
	return func(s *scene) error {
		return s.st.Settings().SetBinaries(s.ctx, entity.Binaries{Version: version, SHA256: "hash of " + version})
	}
}

const (
	aliceKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o alice@laptop"
	bobKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi bob"
)

func addsKey(line string) func(*scene) error {
	return func(s *scene) error {
		key, err := sshkey.Parse(line)
		s.ok(err)
		return s.st.Settings().EditSSHKeys(s.ctx, func(keys []sshkey.Key) ([]sshkey.Key, error) {
			for _, k := range keys {
				if k == key {
					return keys, nil
				}
			}
			return append(keys, key), nil
		})
	}
}

func annotate(tag entity.Tag, key string) func(*scene) error {
	return func(s *scene) error { return s.st.Annotations().Set(s.ctx, tag, map[string]string{key: "v"}) }
}

func annotates(tag entity.Tag) func(*scene) {
	return func(s *scene) { s.ok(annotate(tag, "k")(s)) }
}

// somePassword is as long as an agent's password must be.
const somePassword = "0123456789012345678901234567890123456789"

func setsPassword(tag entity.Tag) func(*scene) error {
	return func(s *scene) error { return s.st.Agents().SetPassword(s.ctx, tag, somePassword) }
}

func hasPassword(tag entity.Tag) func(*scene) {
	return func(s *scene) { s.ok(s.st.Agents().SetPassword(s.ctx, tag, strings.Repeat("x", len(somePassword)))) }
}

func destroyModel(how entity.Destruction) func(*scene) error {
	return func(s *scene) error { return s.st.Destroy(s.ctx, how) }
}

// emptied leaves nothing of a Dying model but its own document.
func emptied(s *scene) {
	s.ok(destroyModel(atLast)(s))
	cloudSaid("0", entity.StatusError)(s)
	for range 10 {
		cleansUp(s)
	}
}

// broken damages a field of a document.
func broken(db func(*scene) *mongo.Database, collection, id, field string, value any) func(*scene) {
	return func(s *scene) {
		s.ok(db(s).With(s.Context(), collection, func(c *mgo.Collection) error {
			_, err := c.UpsertId(id, bson.D{{"$set", bson.D{{field, value}}}})
			return err
		}))
	}
}

func ofModel(s *scene) *mongo.Database      { return s.st.DB() }
func ofController(s *scene) *mongo.Database { return s.controllerDB() }

func checks(s *scene) error           { _, err := s.st.Check(s.ctx, true); return err }
func checksController(s *scene) error { _, err := s.ctrl.Check(s.ctx, true); return err }

var modelMutators = []mutator{
	addCharm("", `{name: fresh, summary: s, description: d}`),
	addCharm("a revision more", `{name: riak, summary: other, description: d}`),
	addStoredCharm(""),
	onModel("AddMachine", "", addMachine(state.AddMachineParams{Constraints: statetest.Constraints("mem=1G")})),
	onModel("AddMachine", "with the model's constraints", addMachine(state.AddMachineParams{}),
		func(s *scene) { s.ok(setsConstraints("mem=2G")(s)) }),
	onModel("EnableHA", "", enableHA(), managers(1)),
	onModel("EnableHA", "instead of a lost one", enableHA("7"), managers(2)),
	onModel("AddMachine", "a container", addMachine(state.AddMachineParams{Placement: statetest.At("lxd:4")})),
	onModel("AddMachine", "a container on a new one", addMachine(state.AddMachineParams{Placement: statetest.At("lxd")})),
	onModel("AddMachine", "a manual one", addMachine(manualMachine())),
	onModel("AddRelation", "", addRelation("wordpress", "idle")),
	onModel("CrossModel.AddRelationVia", "", func(s *scene) error {
		_, err := s.st.CrossModel().AddRelationVia(s.ctx, nil, "wordpress", "idle")
		return err
	}),
	onModel("AddRelation", "of a container", addRelation("wordpress", "logging")),
	onModel("AddRelation", "within a limit", addRelation("shop:db", "idle"), func(s *scene) { s.deploy("shop", limited, 0) }),
	onModel("AddService", "", addService(state.AddServiceParams{Name: "more", Units: 2}, "mysql")),
	onModel("AddService", "with peers", addService(state.AddServiceParams{Name: "more"}, "riak")),
	logging(onModel("Cleaner.Cleanup", "units of a service", cleanup, destroysService("mysql", plain))),
	slow(logging(onModel("Cleaner.Cleanup", "relations of a service", cleanup, manyRelations,
		destroysService("hub", plain)))),
	logging(onModel("Cleaner.Cleanup", "subordinates of a unit", cleanup, destroysUnit("mysql/0", plain))),
	logging(onModel("Cleaner.Cleanup", "orphans of a relation", cleanup, destroysRelation(plain, "mysql", "logging"))),
	logging(onModel("Cleaner.Cleanup", "what is on a machine", cleanup, destroysMachine("0", forced))),
	logging(onModel("Cleaner.Cleanup", "settings of a relation", cleanup, destroysRelation(plain, "wordpress", "mysql"),
		func(s *scene) {
			for _, name := range []string{"wordpress/0", "mysql/0"} {
				s.ok(s.unit(name).LeaveScope(s.ctx, web))
			}
		})),
	logging(onModel("Cleaner.Cleanup", "peers of another charm", cleanup, adds(otherPeers), func(s *scene) {
		s.ok(upgrades("local:jammy/riak-1", nil)(s, s.service("riak")))
	})),
	logging(onModel("Cleaner.Cleanup", "the lease of a service", cleanup, leads("riak/0"), destroysUnit("riak/0", plain),
		destroysService("riak", plain))),
	logging(onModel("Cleaner.Cleanup", "a unit by force", cleanup, destroysUnit("mysql/0", atLast))),
	logging(onModel("Cleaner.Cleanup", "a service by force", cleanup, destroysService("mysql", atLast))),
	logging(onModel("Cleaner.Cleanup", "a relation by force", cleanup, destroysRelation(atLast, "mysql", "logging"))),
	logging(onModel("Cleaner.Cleanup", "a machine that its unit has left", cleanup, provisions("3"), starts("riak/0"),
		destroysUnit("riak/0", cleanly),
		kills("riak/0"), removes("riak/0"))),
	logging(onModel("Cleaner.Cleanup", "a machine without an instance that its unit has left", cleanup,
		destroysUnit("mysql/1", cleanly))),
	logging(onModel("Cleaner.Cleanup", "a machine that its unit has left by force", cleanup,
		destroysUnit("mysql/0", atLastCleanly))),
	logging(onModel("Cleaner.Cleanup", "a machine by force", cleanup, destroysMachine("5", atLast))),
	logging(onModel("Cleaner.Cleanup", "a machine that the cloud keeps", cleanup, destroysMachine("0", atLast),
		cloudSaid("0", entity.StatusError))),
	onModel("Annotations.Set", "", annotate(entity.UnitTag("mysql/0"), "k")),
	onModel("Annotations.Set", "more", annotate(entity.UnitTag("mysql/0"), "l"), annotates(entity.UnitTag("mysql/0"))),
	onModel("Annotations.Set", "of the model", func(s *scene) error {
		return annotate(entity.ModelTag(s.stage.UUID), "k")(s)
	}),
	onModel("Networks.Reload", "", reloads("10.0.0.0/16")),
	onModel("Networks.Reload", "others", reloads("10.1.0.0/16", "10.5.0.0/16"), withSpaces),
	onModel("Networks.AddSpace", "", func(s *scene) error {
		return s.st.Settings().Networks().AddSpace(s.ctx, "dmz", []string{"10.0.0.0/16"})
	}, withSpaces),
	onModel("Networks.MoveSubnets", "", func(s *scene) error {
		_, err := s.st.Settings().Networks().MoveSubnets(s.ctx, "db", []string{"10.0.0.0/16"}, false)
		return err
	}, withSpaces),
	onModel("Networks.RenameSpace", "", func(s *scene) error { return s.st.Settings().Networks().RenameSpace(s.ctx, "db", "data") }, withSpaces,
		func(s *scene) { s.ok(setsConstraints("spaces=db")(s)) }),
	onModel("Networks.RemoveSpace", "", func(s *scene) error { return s.st.Settings().Networks().RemoveSpace(s.ctx, "db", false) }, withSpaces),
	onModel("Networks.RemoveSpace", "by force", func(s *scene) error { return s.st.Settings().Networks().RemoveSpace(s.ctx, "db", true) },
		withSpaces, func(s *scene) { s.ok(setsConstraints("spaces=db")(s)) }),
	mending(onModel("Check", "a count", checks, broken(ofModel, "counts", "m#4", "units", 7))),
	mending(onModel("Check", "settings of nothing", checks, broken(ofModel, "settings", "s#gone", "version", 1))),
	mending(onController("Check", "a name of no model", checksController,
		broken(ofController, "modelnames", "bob#gone", "model", "none"))),
	onModel("Destroy", "", destroyModel(plain)),
	onModel("Destroy", "by force", destroyModel(forced)),
	onModel("Destroy", "by force when Dying", destroyModel(forced), func(s *scene) { s.ok(destroyModel(plain)(s)) }),
	onModel("Destroy", "to release its storage when Dying", destroyModel(entity.Destruction{Release: true}), withStorage,
		func(s *scene) { s.ok(destroyModel(entity.Destruction{Storage: true})(s)) }),
	onModel("Destroy", "to destroy its storage after all", destroyModel(entity.Destruction{Storage: true}), withStorage,
		func(s *scene) { s.ok(destroyModel(entity.Destruction{Release: true})(s)) }),
	onModel("Destroy", "by force and sooner", destroyModel(atLast), func(s *scene) { s.ok(destroyModel(forced)(s)) }),
	onModel("EnsureDead", "", func(s *scene) error { return s.st.EnsureDead(s.ctx) }, emptied),
	logging(onModel("Cleaner.Cleanup", "a model", cleanup, func(s *scene) { s.ok(destroyModel(plain)(s)) })),
	free(onModel("Provisioning.DropLeftovers", "", func(s *scene) error { return s.st.Provisioning().DropLeftovers(s.ctx, "i-4") }, leftover)),
	onModel("MinUnits.EnsureMinUnits", "", func(s *scene) error { return s.st.MinUnits().EnsureMinUnits(s.ctx, "mysql") },
		keepsUnits("mysql", 4)),
	onModel("Agents.SetPassword", "", setsPassword(entity.UnitTag("mysql/0"))),
	secret(onModel("Agents.SetPassword", "another", setsPassword(entity.UnitTag("mysql/0")),
		hasPassword(entity.UnitTag("mysql/0")))),
	onModel("Settings.SetConstraints", "", setsConstraints("mem=2G")),
	onModel("Settings.SetConstraints", "to none", setsConstraints(""), func(s *scene) { s.ok(setsConstraints("mem=2G")(s)) }),
	onModel("Settings.EditSSHKeys", "", addsKey(aliceKey), func(s *scene) { s.ok(setsConfig("none")(s)) }),
	onModel("Settings.EditSSHKeys", "another", addsKey(aliceKey), func(s *scene) { s.ok(addsKey(bobKey)(s)) }),
	onModel("Settings.SetConfig", "", setsConfig("none")),
	onModel("Settings.SetConfig", "another value", setsConfig("unknown"), func(s *scene) { s.ok(setsConfig("none")(s)) }),
	onModel("Settings.SetConfig", "reset", setsConfig("", modelconfig.HarvestMode),
		func(s *scene) { s.ok(setsConfig("none")(s)) }),
	onModel("Settings.SetConfig", "a proxy", setsProxy("juju-http-proxy"), func(s *scene) { s.ok(setsProxy("juju-ftp-proxy")(s)) }),
	onModel("Settings.SetBinaries", "", setsBinaries("0.2.0")),
	onModel("Settings.SetBinaries", "newer", setsBinaries("0.2.0"), func(s *scene) { s.ok(setsBinaries("0.1.0")(s)) }),
	onModel("Blocks.SwitchOn", "", blocks),
	onModel("Blocks.SwitchOff", "", func(s *scene) error { return s.st.Blocks().SwitchOff(s.ctx, entity.BlockRemove) },
		func(s *scene) { s.ok(blocks(s)) }),
}
