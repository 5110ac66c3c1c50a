package bundles_test

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

const declaredOffers = `applications:
  web: {charm: ./web, num_units: 0, offers: {site: {endpoints: [site], acl: {bob: consume, eve: read, admin: admin}}}}
saas: {kv: {url: other.kv}}
relations: [[web, kv]]
`

// sharing returns a user of an empty model, with another model that has an offer, and a file with a declaredOffers.
func sharing(t *testing.T) (u *realtest.User, other *state.State, file string) {
	t.Helper()
	u, file = realtest.NewUser(t, newUser(t)), clitest.Shop(t)
	u.Freeze()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bob", "eve"} {
		_, err := u.Real.AddUser(ctx, controller.AddUserParams{Name: name, Creator: statetest.Admin, Password: "a long password"})
		ok(err)
	}
	other, err := u.Real.AddModel(ctx, controller.AddModelParams{Name: "other", Owner: statetest.Admin, Series: "jammy"})
	ok(err)
	_, err = other.AddService(ctx, state.AddServiceParams{Name: "far",
		CharmURL: statetest.Charm(t, other, "{name: far, summary: s, description: d, provides: {db: kv, more: http}}")})
	ok(err)
	ok(other.CrossModel().AddOffer(ctx, entity.NewOffer{Name: "kv", Service: "far", Endpoints: []string{"db"}}))
	clitest.Write(t, file, declaredOffers)
	return u, other, file
}

// A declared model has offers, who may use them, and offers of other models that it uses: they are compared, applied and
// exported. Others change them, and they are changed back; what is not declared is removed only if asked to.
func TestOffersOfADeclaredModel(t *testing.T) {
	u, _, file := sharing(t)
	u.Types("diff", file)
	u.Sees(1, `ACTION  KIND      NAME             DETAIL
add     service   web              charm ./web, 0 units
add     saas      kv               offer admin/other.kv
add     offer     site             application web, endpoints site
add     relation  web:store kv:db
`, "")
	u.Types("apply", file)
	u.Sees(0, `Executing changes:
- upload charm ./web
- deploy application web using ./web
- consume offer kv at admin/other.kv
- create offer site using web:site
- grant user bob consume access to offer site
- grant user eve read access to offer site
- add relation web:store - kv:db
`, "Uploading charm \"./web\"\nApply completed.\n")
	u.Types("apply", file, "--prune")
	u.Sees(0, "", "No changes to apply.\n")
	exported := filepath.Join(filepath.Dir(file), "exported.yaml")
	u.Runs("export-bundle", "--filename", exported)
	for _, f := range []string{file, exported} {
		u.Types("diff", f)
		u.Sees(0, "", "No differences.\n")
		u.Types("deploy", f)
		u.Sees(0, "", "No changes to apply.\n")
	}

	api, err := u.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	access := func(action, user, level string) {
		t.Helper()
		if errs, err := api.ModifyOfferAccess(t.Context(), action, user, level, "admin/default.site"); err != nil || errs[0] != nil {
			t.Fatal(errs, err)
		}
	}
	access("revoke", "bob", "consume")
	access("grant", "eve", "admin")
	for _, line := range []string{"destroy-relation web kv", "consume other.kv more", "add-relation web more"} {
		u.Runs(strings.Fields(line)...)
	}
	if err := u.State.CrossModel().AddOffer(t.Context(), entity.NewOffer{Name: "extra", Service: "web", Endpoints: []string{"site"}}); err != nil {
		t.Fatal(err)
	}
	u.Types("deploy", file) // removes nothing
	u.Sees(0, "Executing changes:\n- grant user bob consume access to offer site\n- add relation web:store - kv:db\n", "Deploy of bundle completed.\n")
	access("revoke", "bob", "read")
	u.Runs("destroy-relation", "web", "kv")
	clitest.Write(t, file, strings.Replace(declaredOffers, "bob", "BOB", 1))
	u.Types("diff", file)
	u.Sees(1, `ACTION  KIND      NAME               DETAIL
remove  saas      more               offer admin/other.kv
remove  offer     extra              application web, endpoints site
change  offer     site               access of bob: none -> consume
change  offer     site               access of eve: admin -> read
add     relation  web:store kv:db
remove  relation  web:store more:db
`, "")
	u.Types("apply", file)
	u.Sees(0, `Executing changes:
- grant user BOB consume access to offer site
- lower access of user eve to offer site from admin to read
- add relation web:store - kv:db
`, "Apply completed.\nLeft, as --prune is not given: offer extra\nLeft, as --prune is not given: SAAS more\n")
	clitest.Write(t, file, strings.Replace(declaredOffers, "eve: read, ", "", 1))
	u.Types("apply", file, "--prune")
	u.Sees(0, "Executing changes:\n- remove offer extra\n- remove read access of user eve to offer site\n- remove SAAS more\n", "Apply completed.\n")
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 0}}\n")
	u.Types("apply", file, "--prune")
	u.Sees(0, "Executing changes:\n- remove offer site\n- remove SAAS kv\n", "Apply completed.\n")
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
}

// What can't be offered or consumed is refused by name before anything changes, and so is the removal of an offer that is used.
func TestOffersThatADeclaredModelCannotHave(t *testing.T) {
	u, other, file := sharing(t)
	u.Runs("apply", file, "-q")
	ctx := t.Context()
	offers, err := u.State.CrossModel().Offers(ctx)
	if err == nil {
		err = u.State.CrossModel().Connect(ctx, other.UUID(), entity.Connection{Offer: offers[0].UUID, User: "bob", Far: "site",
			Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "up", Role: "requirer", Interface: "http"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	before := modelOf(u)
	for _, test := range []struct{ about, from, to, want string }{
		{"an offer that is not there", "other.kv", "other.nosuch", `SAAS "kv": offer "admin/other.nosuch" not found`},
		{"an offer of another controller", "other.kv", "away:bob/other.kv", `SAAS "kv": offers of another controller, "away", can't be used`},
		{"no URL of an offer", "other.kv", "other", `SAAS "kv": offer URL "other" is not valid`},
		{"an offer of this model", "other.kv", "default.site", `SAAS "kv": cannot consume admin/default.site: it is an offer of this model`},
		{"a user that is not there", "eve", "ann", `offer "site": user "ann" not found`},
		{"a level that is none", "eve: read", "eve: write", `offer "site": "write" access of user "eve" is not valid: the levels are admin, consume, read`},
		{"the name of a service", "kv: {url", "web: {url", `application "web" already exists with SAAS "web" name`},
		{"an endpoint of another interface", "[web, kv]", `["web:site", "kv:db"]`, `relation "web:site" to "kv:db" relates provider to provider`},
		{"other endpoints", "[site]", "[site, store]", `offer "site" has endpoints site, which cannot be changed to site, store: first, juju remove-offer site`},
		{"an offer that is used", ", offers: {site: {endpoints: [site], acl: {bob: consume, eve: read, admin: admin}}}", "",
			`cannot remove offer "site": services of other models use it`},
	} {
		text := strings.Replace(declaredOffers, test.from, test.to, 1)
		if text == declaredOffers {
			t.Fatal(test.about)
		}
		clitest.Write(t, file, text)
		u.Types("apply", file, "--prune")
		if u.Code != 1 || !strings.Contains(u.Err.String(), test.want) || !strings.Contains(u.Err.String(), "Nothing was changed.") {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", test.about, u.Code, u.Out.String(), u.Err.String(), test.want)
		}
		if modelOf(u) != before {
			t.Fatalf("%s: the model has changed", test.about)
		}
	}
	// Who only writes to the model may not offer.
	if err := u.Real.GrantModel(ctx, u.State.UUID(), "bob", "write", statetest.Admin); err != nil {
		t.Fatal(err)
	}
	u.Info.Tag, u.Info.Password = entity.UserTag("bob"), "a long password"
	clitest.Write(t, file, strings.Replace(declaredOffers, "saas: {kv: {url: other.kv}}\nrelations: [[web, kv]]\n", "", 1))
	u.Types("apply", file)
	if want := "ERROR cannot offer services of the model: permission denied\n"; u.Code != 1 || !strings.HasPrefix(u.Err.String(), want) {
		t.Errorf("exit code %d, %s, want %s", u.Code, u.Err.String(), want)
	}
}
