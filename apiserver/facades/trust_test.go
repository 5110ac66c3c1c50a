package facades_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestOnlySuperusersSeeTheSecretsOfACredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) {
		c.CloudSpec = entity.CloudSpec{Type: "lxd", Region: "default", Credential: &entity.CloudCredential{
			AuthType: entity.AuthCertificate, Attributes: map[string]string{"client-cert": "C", "client-key": "K"}}}
	})
	ctx := t.Context()
	w.addUser("bob")
	bob, admin := w.user("bob", "").client(), w.root().client()
	clouds, err := bob.Clouds(ctx)
	if err != nil || len(clouds) != 1 {
		t.Fatalf("the clouds are %v, %v", clouds, err)
	}
	c, models, err := bob.Credential(ctx, clouds[0], "default", false)
	if err != nil || c.Attributes["client-cert"] != "C" || c.Attributes["client-key"] != "" || len(models) != 0 {
		t.Errorf("bob sees %+v of %v, %v", c, models, err)
	}
	if _, _, err := bob.Credential(ctx, clouds[0], "default", true); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("bob asks for the secrets: %v", err)
	}
	c, models, err = admin.Credential(ctx, clouds[0], "default", true)
	if err != nil || c.Attributes["client-key"] != "K" || models[w.st.Name()] != "admin" {
		t.Errorf("the superuser sees %+v of %v, %v", c, models, err)
	}
	for _, other := range [][2]string{{"aws", "default"}, {clouds[0], "other"}} {
		if _, _, err := admin.Credential(ctx, other[0], other[1], false); !errors.Is(err, entity.NotFound) {
			t.Errorf("credential %v: %v", other, err)
		}
	}
	for _, at := range []client.ModelPlace{{Cloud: "aws"}, {Region: "west"}, {Credential: "other"}} {
		if _, err := admin.CreateModel(ctx, "m", at, nil); !errors.Is(err, entity.NotFound) {
			t.Errorf("a model at %v: %v", at, err)
		}
	}
	if _, err := admin.CreateModel(ctx, "m", client.ModelPlace{Cloud: clouds[0], Region: "default", Credential: "default"}, nil); err != nil {
		t.Error(err)
	}
}

// The credential is the controller's: only a superuser lets a service have it, however that is asked for.
func TestOnlySuperusersTrustServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) {
		c.CloudSpec = entity.CloudSpec{Type: "lxd", Credential: &entity.CloudCredential{AuthType: entity.AuthCertificate,
			Attributes: map[string]string{"client-key": "K"}}}
	}).populate()
	ctx, unit := t.Context(), entity.UnitTag("mysql/0")
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "admin", ""))
	bob, agent := w.user("bob", w.st.UUID()).client(), w.uniter(unit)
	refused := func(doing string, err error) {
		t.Helper()
		if !errors.Is(err, entity.Unauthorized) || !strings.Contains(entity.Hint(err), `"superuser"`) {
			t.Errorf("%s: %v, %s", doing, err, entity.Hint(err))
		}
		if _, err := agent.CloudSpec(ctx, unit); !errors.Is(err, entity.Unauthorized) {
			t.Errorf("after %s the unit gets the credential: %v", doing, err)
		}
	}
	trust := map[string]string{"trust": "true"}
	refused("config", bob.SetServiceConfig(ctx, "mysql", trust, ""))
	refused("a file", bob.SetServiceConfig(ctx, "mysql", nil, "mysql: {trust: yes}"))
	raw := w.user("bob", w.st.UUID())
	refused("an upgrade", facadestest.Within(raw.call("Application", 19, "SetCharm", params.ApplicationSetCharm{
		ApplicationName: "mysql", CharmURL: w.charms["mysql"], ConfigSettings: trust})))
	refused("deploy", facadestest.Within(raw.call("Application", 19, "Deploy", params.ApplicationsDeploy{
		Applications: []params.ApplicationDeploy{{ApplicationName: "other", CharmURL: w.charms["mysql"], Config: trust}}})))
	if _, err := w.st.Service(ctx, "other"); !entity.IsNotFound(err) {
		t.Errorf("the refused service: %v", err)
	}

	admin := w.admin().client()
	w.ok(admin.SetServiceConfig(ctx, "mysql", trust, ""))
	spec, err := agent.CloudSpec(ctx, unit)
	if err != nil || spec.Credential.Attributes["client-key"] != "K" {
		t.Errorf("a trusted service gets %+v, %v", spec, err)
	}
	if _, err := w.uniter(entity.UnitTag("wordpress/0")).CloudSpec(ctx, unit); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("the unit of another service: %v", err)
	}
	w.ok(bob.SetServiceConfig(ctx, "mysql", map[string]string{"trust": "false"}, ""))
	if _, err := agent.CloudSpec(ctx, unit); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("after the trust is removed: %v", err)
	}
}

// onRack returns a world whose cloud accepts credentials with these keys, connections of a user and of a superuser, and
// whether the cloud was asked when a credential was last checked.
func onRack(t *testing.T, accepted ...string) (w *world, bob, admin *client.Conn, tried *bool) {
	tried = new(bool)
	w = newWorld(t, func(c *facades.Config) {
		own := keyed("K")
		c.CloudSpec = entity.CloudSpec{Type: "lxd", Name: "rack", Region: "west", Credential: &own}
		c.CredentialName = "ops"
		c.CheckCredential = func(_ context.Context, one entity.CloudCredential, try bool) error {
			*tried = try
			if try && !slices.Contains(accepted, one.Attributes["client-key"]) {
				return entity.Errorf(entity.Unauthorized, "LXD does not trust it")
			}
			return nil
		}
	})
	w.addUser("bob")
	return w, w.user("bob", "").client(), w.root().client(), tried
}

func keyed(key string) entity.CloudCredential {
	return entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{"client-key": key}}
}

// A superuser replaces the credential of a running controller. The cloud must accept it, or nothing changes.
func TestTheCredentialIsReplaced(t *testing.T) {
	t.Parallel()
	w, bob, admin, tried := onRack(t, "L")
	ctx := t.Context()
	is := func(key string) {
		t.Helper()
		c, _, err := admin.Credential(ctx, "rack", "ops", true)
		if err != nil || c.Attributes["client-key"] != key {
			t.Errorf("the credential is %v, %v, want %s", c, err, key)
		}
	}
	if err := bob.UpdateCredential(ctx, "rack", "ops", keyed("L"), true); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("bob replaces it: %v", err)
	}
	if err := admin.UpdateCredential(ctx, "lxd", "ops", keyed("L"), true); !errors.Is(err, entity.NotFound) {
		t.Errorf("one of another cloud is replaced: %v", err)
	}
	if err := admin.UpdateCredential(ctx, "rack", "ops", keyed("M"), false); !errors.Is(err, entity.Unauthorized) ||
		!strings.HasPrefix(err.Error(), `cannot update credential "ops" of cloud "rack": LXD does not trust it`) {
		t.Errorf("one that the cloud refuses: %v", err)
	}
	is("K")
	w.ok(admin.UpdateCredential(ctx, "rack", "ops", keyed("L"), false))
	is("L")
	w.ok(admin.UpdateCredential(ctx, "rack", "ops", keyed("M"), true))
	if is("M"); *tried {
		t.Error("the cloud was asked in spite of --force")
	}
	names, err := bob.CredentialNames(ctx, "rack")
	if err != nil || len(names) != 1 || names[0] != "ops" {
		t.Errorf("bob can use %v, %v", names, err)
	}
	for _, force := range []bool{false, true} {
		err := admin.RevokeCredential(ctx, "rack", "ops", force)
		if !errors.Is(err, entity.InUse) || !strings.Contains(err.Error(), "/"+w.st.Name()) {
			t.Errorf("a removal is refused with %v", err)
		}
	}
	is("M")
	w.ok(admin.SetModelCredential(ctx, w.st.UUID(), "rack", "ops"))
	if err := admin.SetModelCredential(ctx, w.st.UUID(), "rack", "dev"); !errors.Is(err, entity.NotFound) {
		t.Errorf("a model gets another credential: %v", err)
	}
	err = facadestest.Within(w.root().call("Cloud", 7, "AddCloud", params.AddCloudArgs{Name: "other"}))
	if !errors.Is(err, entity.NotSupported) || !strings.Contains(err.Error(), "rack") {
		t.Errorf("another cloud is refused with %v", err)
	}
}

// A superuser gives the controller a second credential of its cloud. Models use one or the other; one that is used stays.
func TestModelsUseASecondCredential(t *testing.T) {
	t.Parallel()
	w, bob, admin, _ := onRack(t, "L", "M", "N")
	ctx := t.Context()
	refused := func(err error, kind entity.Kind, words string) {
		t.Helper()
		statetest.Refused(t, err, kind, words)
	}
	refused(bob.AddCredential(ctx, "rack", "dev", keyed("L")), entity.Unauthorized, "permission denied")
	refused(admin.AddCredential(ctx, "rack", "dev", keyed("X")), entity.Unauthorized, `cannot add credential "dev" of cloud "rack": LXD does not trust it`)
	refused(admin.AddCredential(ctx, "rack", "ops", keyed("L")), entity.AlreadyExists, "the controller was bootstrapped with it")
	refused(admin.AddCredential(ctx, "lxd", "dev", keyed("L")), entity.NotFound, `cloud "lxd" not found`)
	refused(admin.AddCredential(ctx, "rack", "#", keyed("L")), entity.Invalid, `credential name "#" not valid`)
	w.ok(admin.AddCredential(ctx, "rack", "dev", keyed("L")))
	refused(admin.AddCredential(ctx, "rack", "dev", keyed("M")), entity.AlreadyExists, "already exists")
	w.ok(admin.UpdateCredential(ctx, "rack", "new", keyed("N"), false)) // as clients of Juju add one
	if names, err := bob.CredentialNames(ctx, "rack"); err != nil || !slices.Equal(names, []string{"ops", "dev", "new"}) {
		t.Errorf("the credentials are %v, %v", names, err)
	}

	_, err := admin.CreateModel(ctx, "none", client.ModelPlace{Cloud: "rack", Credential: "other"}, nil)
	refused(err, entity.NotFound, `cannot add model "none": credential "other" of cloud "rack" not found`)
	m, err := admin.CreateModel(ctx, "one", client.ModelPlace{Credential: "dev"}, nil)
	w.ok(err)
	secret, users, err := admin.Credential(ctx, "rack", "dev", true)
	if err != nil || secret.Attributes["client-key"] != "L" || len(users) != 1 || users["one"] != "admin" {
		t.Errorf("the second credential is %v of %v, %v", secret, users, err)
	}
	shown, users, err := bob.Credential(ctx, "rack", "dev", false)
	if err != nil || shown.Attributes["client-key"] != "" || len(users) != 0 {
		t.Errorf("bob sees %v of %v, %v", shown, users, err)
	}
	if _, users, err = admin.Credential(ctx, "rack", "ops", false); err != nil || users["one"] != "" || users[w.st.Name()] == "" {
		t.Errorf("the first credential is of %v, %v", users, err)
	}
	raw := w.root()
	var hosted params.HostedModelConfigsResults
	w.ok(json.Unmarshal(raw.call("Controller", 12, "HostedModelConfigs", struct{}{}).Response, &hosted))
	for _, h := range hosted.Models {
		if key := h.CloudSpec.Credential.Attributes["client-key"]; (h.Name == "one") != (key == "L") {
			t.Errorf("model %q uses the cloud with %s", h.Name, key)
		}
	}
	var about params.ModelInfoResults
	w.ok(json.Unmarshal(raw.call("ModelManager", 10, "ModelInfo",
		params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(m.UUID))}}}).Response, &about))
	if got := about.Results[0].Result.CredentialTag; got != "cloudcred-rack_"+statetest.Admin+"_dev" {
		t.Errorf("the model's credential is %s", got)
	}

	for _, force := range []bool{false, true} {
		err := admin.RevokeCredential(ctx, "rack", "dev", force)
		refused(err, entity.InUse, `cannot remove credential "dev" of cloud "rack": models use it: `+statetest.Admin+"/one")
		if hint := entity.Hint(err); hint != "To have a model use another one: juju set-credential -m MODEL rack NAME" {
			t.Errorf("its hint is %q", hint)
		}
	}
	refused(bob.SetModelCredential(ctx, m.UUID, "rack", "ops"), entity.Unauthorized, "")
	refused(admin.SetModelCredential(ctx, w.backend.ControllerModel.UUID(), "rack", "dev"), entity.NotSupported, "the controller's own model uses the first")
	w.ok(admin.SetModelCredential(ctx, m.UUID, "rack", "new"))
	w.ok(admin.RevokeCredential(ctx, "rack", "dev", false))
	if names, err := admin.CredentialNames(ctx, "rack"); err != nil || !slices.Equal(names, []string{"ops", "new"}) {
		t.Errorf("left are %v, %v", names, err)
	}
}
