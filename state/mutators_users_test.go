package state_test

import (
	"context"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func user(name string, f func(*controller.Controller, context.Context, string) error) func(*scene) error {
	return func(s *scene) error { return f(s.ctrl, s.ctx, name) }
}

func resets(name string) func(*scene) error {
	return func(s *scene) error { _, err := s.ctrl.ResetUserPassword(s.ctx, name); return err }
}

func setsUserPassword(name, password string) func(*scene) error {
	return func(s *scene) error { _, err := s.ctrl.SetUserPassword(s.ctx, name, password); return err }
}

func grants(user, level string) func(*scene) error {
	return func(s *scene) error { return s.ctrl.GrantModel(s.ctx, s.stage.UUID, user, level, statetest.Admin) }
}

func addCredential(s *scene) error {
	return s.ctrl.AddCloudCredential(s.ctx, "ops", entity.CloudCredential{AuthType: entity.AuthEmpty})
}

func revokes(user, level string) func(*scene) error {
	return func(s *scene) error { return s.ctrl.RevokeModel(s.ctx, s.stage.UUID, user, level) }
}

func onTheController(user, level string, f func(*controller.Controller, context.Context, string, string) error) func(*scene) error {
	return func(s *scene) error { return f(s.ctrl, s.ctx, user, level) }
}

func addUser(name, password string) func(*scene) error {
	return func(s *scene) error {
		_, err := s.ctrl.AddUser(s.ctx, controller.AddUserParams{Name: name, Password: password, Creator: statetest.Admin})
		return err
	}
}

func createToken(user string) func(*scene) error {
	return func(s *scene) error {
		_, _, err := s.ctrl.CreateToken(s.ctx, user, "t", s.stage.UUID, time.Hour)
		return err
	}
}

// login makes a log-in for bob, and returns its text.
func login(s *scene) string {
	text, _, err := s.ctrl.CreateLogin(s.ctx, "bob")
	s.ok(err)
	return text
}

func registers(s *scene) error { return s.ctrl.RegisterUser(s.ctx, "eve", s.stage.Key, "hers") }

// deadModel adds a Dead model, with an archive shared with another model, an
// archive of its own, and a user who may read it.
func deadModel(s *scene) {
	id := s.model("bobs")
	st, err := s.ctrl.Model(s.ctx, id)
	s.ok(err)
	statetest.Charm(s.T, st, statetest.Riak)
	statetest.Charm(s.T, st, `{name: fresh, summary: s, description: d}`)
	s.ok(s.ctrl.GrantModel(s.ctx, id, "carol", controller.AccessRead, "bob"))
	s.ok(st.Die(s.ctx))
}

func removeModel(name string) mutator {
	return mutator{name: "Controller.RemoveModel", before: []func(*scene){deadModel}, take: func(s *scene) func() error {
		id := s.model(name)
		return func() error { return s.ctrl.RemoveModel(s.ctx, id) }
	}}
}

func resumeModels(s *scene) error {
	_, err := statetest.ResumeModels(s.ctx, s.ctrl, func(context.Context, controller.ModelRow) error { return nil })
	return err
}

func addModel(name string) func(*scene) error {
	return func(s *scene) error {
		_, err := s.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: name, Owner: "bob", Series: "jammy"})
		return err
	}
}

// halfModel adds a model whose creation was interrupted.
func halfModel(s *scene) {
	row := controller.ModelRow{UUID: "8f0f33a1-7f4c-4c1e-8a8e-0d6f6f3d9c11", Name: "half", Owner: "bob", Series: "jammy",
		Step: "creating", Created: s.now(), Creator: "somebody"}
	s.ok(s.controllerDB().Run(s.ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{
			{C: "modelnames", Id: "bob#half", Assert: txn.DocMissing, Insert: bson.D{{"model", row.UUID}}},
			{C: "models", Id: row.UUID, Assert: txn.DocMissing, Insert: row},
		}, nil
	}))
}

var userMutators = []mutator{
	givingUp(onController("AddModel", "", addModel("new"))),
	onController("SetModelDefaults", "", func(s *scene) error {
		return s.ctrl.SetModelDefaults(s.ctx, map[string]string{"automatically-retry-hooks": "true"}, nil)
	}),
	onController("AddCloudCredential", "", addCredential),
	onController("SetCloudCredential", "", func(s *scene) error {
		return s.ctrl.SetCloudCredential(s.ctx, "ops", entity.CloudCredential{AuthType: "other"})
	}, func(s *scene) { s.ok(addCredential(s)) }),
	onController("RemoveCloudCredential", "", func(s *scene) error { return s.ctrl.RemoveCloudCredential(s.ctx, "ops") },
		func(s *scene) { s.ok(addCredential(s)) }),
	onController("SetModelCredential", "", func(s *scene) error {
		return s.ctrl.SetModelCredential(s.ctx, s.stage.UUID, "ops")
	}, func(s *scene) { s.ok(addCredential(s)) }),
	onController("AddUser", "", addUser("frank", "")),
	onController("AddUser", "with the name of a removed user", addUser("bob", ""), func(s *scene) { s.ok(s.ctrl.RemoveUser(s.ctx, "bob")) }),
	slow(onController("AddUser", "with a password", addUser("frank", "secret"))),
	onController("CreateToken", "", createToken("bob")),
	onController("RevokeToken", "", func(s *scene) error { return s.ctrl.RevokeToken(s.ctx, "bob", "t") },
		func(s *scene) { s.ok(createToken("bob")(s)) }),
	onController("CreateLogin", "", func(s *scene) error {
		_, _, err := s.ctrl.CreateLogin(s.ctx, "bob")
		return err
	}),
	onController("BeginSession", "", func(s *scene) error {
		_, _, err := s.ctrl.BeginSession(s.ctx, s.made)
		return err
	}, func(s *scene) { s.made = login(s) }),
	onController("EndSession", "", func(s *scene) error { return s.ctrl.EndSession(s.ctx, s.made) }, func(s *scene) {
		_, session, err := s.ctrl.BeginSession(s.ctx, login(s))
		s.ok(err)
		s.made = session.ID
	}),
	onController("DisableUser", "", user("bob", (*controller.Controller).DisableUser)),
	onController("DisableUser", "a superuser", user("carol", (*controller.Controller).DisableUser)),
	onController("EnableUser", "", user("dave", (*controller.Controller).EnableUser)),
	onController("GrantController", "", onTheController("bob", controller.AccessSuperuser,
		(*controller.Controller).GrantController)),
	onController("RevokeController", "", onTheController("carol", controller.AccessSuperuser,
		(*controller.Controller).RevokeController)),
	onController("RevokeController", "from a user without it",
		onTheController("bob", controller.AccessLogin, (*controller.Controller).RevokeController)),
	onController("GrantModel", "", grants("carol", controller.AccessRead)),
	onController("GrantModel", "more", grants("bob", controller.AccessWrite)),
	onController("RevokeModel", "", revokes("bob", controller.AccessRead)),
	onController("RevokeModel", "and leave some", revokes("bob", controller.AccessWrite), func(s *scene) {
		s.ok(grants("bob", controller.AccessAdmin)(s))
	}),
	slow(onController("RegisterUser", "", registers)),
	onController("RemoveUser", "", user("bob", (*controller.Controller).RemoveUser)),
	onController("RemoveUser", "a superuser", user("carol", (*controller.Controller).RemoveUser)),
	onController("ResetUserPassword", "", resets("bob")),
	onController("ResetUserPassword", "of a superuser", resets("carol")),
	secret(slow(onController("SetUserPassword", "", setsUserPassword("bob", "other")))),
	removeModel("bobs"),
	onController("DestroyModel", "", func(s *scene) error { return s.ctrl.DestroyModel(s.ctx, s.stage.UUID, plain) }),
	{name: "Controller.DestroyModel", how: "by force when it is being removed",
		before: []func(*scene){deadModel, func(s *scene) {
			s.ok(s.ctrl.RemoveModel(s.ctx, s.model("bobs")))
		}}, take: func(s *scene) func() error {
			id := s.model("bobs")
			return func() error { return s.ctrl.DestroyModel(s.ctx, id, forced) }
		}},
	leaving(onController("ResumeModel", "what is being removed", resumeModels, deadModel, func(s *scene) {
		s.ok(s.ctrl.RemoveModel(s.ctx, s.model("bobs")))
	})),
	logging(onController("ResumeModel", "an abandoned model", resumeModels, halfModel)),
	givingUp(onController("AddModel", "an abandoned one", addModel("half"), halfModel)),
}
