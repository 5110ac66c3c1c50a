package facades_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A client that deploys a bundle itself gets the steps, each with what must be done before it.
func TestStepsOfBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin()
	steps := func(bundle string) (r params.BundleChangesMapArgsResults) {
		bundle = strings.NewReplacer("MYSQL", w.charms["mysql"], "WORDPRESS", w.charms["wordpress"]).Replace(bundle)
		w.ok(c.do("Bundle", 6, "GetChangesMapArgs", params.BundleChanges{YAML: bundle, URL: "./shop"}, &r))
		return r
	}
	got := steps(`
default-base: ubuntu@22.04
applications:
  db:
    charm: MYSQL
    num_units: 2
    options: {size: 7}
    storage: {data: "2G"}
    exposed-endpoints: {server: {expose-to-cidrs: [10.0.0.0/8]}}
    annotations: {gui-x: "1"}
    to: ["0", "lxd:blog/1"]
  blog:
    charm: WORDPRESS
    num_units: 3
    constraints: mem=2G
    expose: true
    trust: true
    to: ["db/0", "new"]
machines:
  "0": {constraints: cores=2}
relations:
- ["db:server", "blog:db"]
`)
	lines := got.Errors
	for _, s := range got.Changes {
		for _, r := range s.Requires {
			if !slices.ContainsFunc(got.Changes[:slices.IndexFunc(got.Changes, func(o params.BundleChange) bool { return o.ID == s.ID })],
				func(o params.BundleChange) bool { return o.ID == r }) {
				t.Errorf("%s comes before %s, which it requires", s.ID, r)
			}
		}
		args, err := json.Marshal(s.Args)
		w.ok(err)
		lines = append(lines, fmt.Sprintf("%s %s %v", s.ID, args, s.Requires))
	}
	want := `addCharm-0 {"base":"ubuntu@22.04/stable","charm":"WORDPRESS","series":"jammy"} []
deploy-1 {"application":"blog","base":"ubuntu@22.04/stable","charm":"$addCharm-0","constraints":"mem=2G","options":{"trust":true},"series":"jammy"} [addCharm-0]
expose-2 {"application":"$deploy-1"} [deploy-1]
addCharm-3 {"base":"ubuntu@22.04/stable","charm":"MYSQL","series":"jammy"} []
deploy-4 {"application":"db","base":"ubuntu@22.04/stable","charm":"$addCharm-3","options":{"size":7},"series":"jammy","storage":{"data":"2G"}} [addCharm-3]
expose-5 {"application":"$deploy-4","exposed-endpoints":{"server":{"expose-to-cidrs":["10.0.0.0/8"]}}} [deploy-4]
setAnnotations-6 {"annotations":{"gui-x":"1"},"entity-type":"application","id":"$deploy-4"} [deploy-4]
addMachines-7 {"base":"ubuntu@22.04/stable","constraints":"cores=2","series":"jammy"} []
addUnit-8 {"application":"$deploy-4","to":"$addMachines-7"} [deploy-4 addMachines-7]
addUnit-9 {"application":"$deploy-1","to":"$addMachines-7"} [deploy-1 addMachines-7]
addUnit-10 {"application":"$deploy-1"} [deploy-1]
addUnit-11 {"application":"$deploy-1"} [deploy-1]
addMachines-12 {"container-type":"lxd","parent-id":"$addUnit-10"} [addUnit-10]
addUnit-13 {"application":"$deploy-4","to":"$addMachines-12"} [deploy-4 addMachines-12]
addRelation-14 {"endpoint1":"$deploy-4:server","endpoint2":"$deploy-1:db"} [deploy-4 deploy-1]`
	for name, url := range w.charms {
		want = strings.ReplaceAll(want, strings.ToUpper(name), url)
	}
	if text := strings.Join(lines, "\n"); text != want {
		t.Errorf("the steps are\n%s\nwant\n%s", text, want)
	}

	for bundle, want := range map[string]string{
		"applications: {}": "at least one application must be specified",
		"applications: {db: {charm: ./mysql}}": `invalid charm path in application "db": the controller has no access to the client's ` +
			`file "mysql"`,
		"applications: {db: {charm: mysql}}":                                    `application "db" refers to non-existent charm "mysql"`,
		"applications: {db: {charm: MYSQL, options: {none: 1}}}":                `configuration option "none" not found`,
		"applications: {db: {charm: MYSQL, options: {size: include-file://x}}}": `the controller has no access to the client's file "x"`,
		"applications: [": "./shop:1: did not find expected node content",
	} {
		if got := steps(bundle); len(got.Changes) > 0 || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], want) {
			t.Errorf("%s: %+v, want the error %q", bundle, got, want)
		}
	}
	for bundle, want := range map[string]string{
		"applications: {db: {charm: MYSQL, devices: {gpu: \"1\"}}}":                           `"devices" of application "db"`,
		"applications: {a: {charm: MYSQL, num_units: 9999}, b: {charm: MYSQL, num_units: 2}}": "more than 10000 units",
	} {
		bundle = strings.ReplaceAll(bundle, "MYSQL", w.charms["mysql"])
		err := c.do("Bundle", 8, "GetChangesMapArgs", params.BundleChanges{YAML: bundle}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bundle, err, want)
		}
	}
}

// A model is exported as a bundle from which the same steps can be planned.
func TestExportBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	mysql, err := w.st.Service(ctx, "mysql")
	w.ok(err)
	w.ok(mysql.Expose(ctx, nil))
	w.ok(w.st.Annotations().Set(ctx, entity.ServiceTag("mysql"), map[string]string{"gui-x": "1"}))
	w.ok(w.st.Annotations().Set(ctx, entity.MachineTag("1"), map[string]string{"rack": "7"}))
	c := w.admin()
	w.ok(c.do("Application", 19, "SetConfigs", params.ConfigSetArgs{Args: []params.ConfigSet{
		{ApplicationName: "mysql", Config: map[string]string{"size": "9"}}}}, nil))
	var got params.ExportBundleResult
	w.ok(c.do("Bundle", 8, "ExportBundle", params.ExportBundleParams{}, &got))
	want := `series: jammy
applications:
  mysql:
    charm: local:jammy/mysql-0
    num_units: 2
    to:
      - "0"
      - "1"
    expose: true
    options:
      size: 9
    annotations:
      gui-x: "1"
  wordpress:
    charm: local:jammy/wordpress-0
    num_units: 2
    to:
      - "2"
      - "3"
machines:
  "0": {}
  "1":
    annotations:
      rack: "7"
  "2": {}
  "3": {}
relations:
  - - wordpress:db
    - mysql:server
`
	if got.Result != want || len(got.Warnings) > 0 {
		t.Errorf("the bundle is\n%swant\n%swith %q", got.Result, want, got.Warnings)
	}
	var steps params.BundleChangesMapArgsResults
	w.ok(c.do("Bundle", 6, "GetChangesMapArgs", params.BundleChanges{YAML: got.Result}, &steps))
	if len(steps.Errors) > 0 || len(steps.Changes) == 0 {
		t.Errorf("of it: %+v", steps)
	}
	note := map[string]string{"note": "include-file:///key"} // a text, not a file of whoever deploys it
	w.ok(w.st.Annotations().Set(ctx, entity.ServiceTag("mysql"), note))
	w.ok(c.do("Bundle", 8, "ExportBundle", params.ExportBundleParams{}, &got))
	w.ok(c.do("Bundle", 6, "GetChangesMapArgs", params.BundleChanges{YAML: got.Result}, &steps))
	if !slices.ContainsFunc(steps.Changes, func(s params.BundleChange) bool {
		set, _ := s.Args["annotations"].(map[string]any)
		return set["note"] == note["note"]
	}) {
		t.Errorf("with the text of an include: %+v, of\n%s", steps, got.Result)
	}
	w.ok(mysql.SetConfig(ctx, map[string]any{"size": nil}))
	w.ok(c.do("Bundle", 8, "ExportBundle", params.ExportBundleParams{IncludeCharmDefaults: true}, &got))
	if !strings.Contains(got.Result, "options:\n      size: 5\n") {
		t.Errorf("with the charms' defaults:\n%s", got.Result)
	}
	secret := entity.NewSecretID()
	w.ok(w.st.Secrets().Add(ctx, secret, "login", entity.SecretSettings{Content: entity.SecretContent{"password": "aHVzaA=="}}))
	w.ok(w.st.Secrets().Grant(ctx, secret, "mysql"))
	w.ok(mysql.Destroy(ctx, entity.Destruction{}))
	w.ok(c.do("Bundle", 8, "ExportBundle", params.ExportBundleParams{}, &got))
	left := fmt.Sprintf(`secret "login", secret:%s, is omitted; application "mysql" may read it`, secret)
	if !slices.Contains(got.Warnings, left) || strings.Contains(got.Result+fmt.Sprint(got.Warnings), "aHVzaA") {
		t.Errorf("the warnings are %q, want among them %q", got.Warnings, left)
	}
	if want := `application "mysql" is being destroyed, and is omitted`; len(got.Warnings) == 0 || got.Warnings[0] != want {
		t.Errorf("the warnings are %q, want first %q", got.Warnings, want)
	}
}

// The steps of a bundle consume and make offers, if the caller may; a model with them is exported as such a bundle.
func TestBundleOfOffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	mine := w.guests()
	blog := statetest.Charm(t, mine, "{name: blog, summary: s, description: d, requires: {db: {interface: mysql}}, provides: {site: {interface: http}}}")
	w.ok(w.st.CrossModel().AddOffer(ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := w.st.CrossModel().Offers(ctx)
	w.ok(err)
	text := `
saas: {db: {url: admin/default.hosted}}
applications:
  blog: {charm: BLOG, offers: {front: {endpoints: [site], acl: {bob: admin, eve: consume}}}}
relations: [[blog, db]]
`
	bob := w.user("bob", mine.UUID())
	steps := func(text string) string {
		t.Helper()
		var r params.BundleChangesMapArgsResults
		w.ok(bob.do("Bundle", 6, "GetChangesMapArgs", params.BundleChanges{YAML: strings.ReplaceAll(text, "BLOG", blog)}, &r))
		lines := r.Errors
		for _, s := range r.Changes {
			args, err := json.Marshal(s.Args)
			w.ok(err)
			lines = append(lines, fmt.Sprintf("%s %s %v", s.ID, args, s.Requires))
		}
		return strings.Join(lines, "\n")
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != strings.ReplaceAll(want, "BLOG", blog) {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
	}
	expect("without access", steps(text), `SAAS "db": offer "admin/default.hosted" not found`)
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offers[0].UUID, "bob", controller.AccessRead, statetest.Admin))
	expect("with read access", steps(text), `SAAS "db": permission denied`)
	w.ok(w.controller.GrantOffer(ctx, w.st.UUID(), offers[0].UUID, "bob", controller.AccessConsume, statetest.Admin))
	expect("a user that is not there", steps(strings.ReplaceAll(text, "eve", "ann")), `offer "front": user "ann" not found`)
	expect("another controller's offer", steps(strings.ReplaceAll(text, "admin/", "prod:admin/")),
		`SAAS "db": offers of another controller, "prod", can't be used`)
	expect("an endpoint that is not there", steps(strings.ReplaceAll(text, "site]", "none]")),
		`application "blog": cannot offer endpoint "none": charm "BLOG" does not have it`)
	expect("the steps", steps(text), `addCharm-0 {"base":"ubuntu@22.04/stable","charm":"BLOG","series":"jammy"} []
deploy-1 {"application":"blog","base":"ubuntu@22.04/stable","charm":"$addCharm-0","series":"jammy"} [addCharm-0]
consumeOffer-2 {"application-name":"db","url":"admin/default.hosted"} []
createOffer-3 {"application":"blog","endpoints":["site"],"offer-name":"front"} [deploy-1]
grantOfferAccess-4 {"access":"admin","offer":"front","user":"bob"} [createOffer-3]
grantOfferAccess-5 {"access":"consume","offer":"front","user":"eve"} [createOffer-3]
addRelation-6 {"endpoint1":"$deploy-1:db","endpoint2":"$consumeOffer-2:server"} [deploy-1 consumeOffer-2]`)

	_, err = mine.AddService(ctx, state.AddServiceParams{Name: "blog", CharmURL: blog})
	w.ok(err)
	conn := w.user("bob", mine.UUID()).client()
	w.ok(conn.Consume(ctx, "admin/default.hosted", "db"))
	_, err = conn.AddRelation(ctx, "blog", "db")
	w.ok(err)
	w.ok(conn.AddOffer(ctx, mine.UUID(), entity.NewOffer{Name: "front", Service: "blog", Endpoints: []string{"site"}}))
	errs, err := conn.ModifyOfferAccess(ctx, client.Grant, "eve", "consume", "bob/mine.front")
	w.ok(errors.Join(append(errs, err)...))
	var got params.ExportBundleResult
	w.ok(bob.do("Bundle", 8, "ExportBundle", params.ExportBundleParams{}, &got))
	expect("the exported bundle", got.Result+strings.Join(got.Warnings, "\n"), `series: jammy
saas:
  db:
    url: admin/default.hosted
applications:
  blog:
    charm: BLOG
relations:
  - - blog:db
    - db:server
--- # overlay.yaml
applications:
  blog:
    offers:
      front:
        endpoints:
          - site
        acl:
          eve: consume
`)
	if own := steps(got.Result + "\nsaas: {db: , me: {url: mine.front}}\n"); !strings.Contains(own, "it is an offer of this model") {
		t.Errorf("an offer of the model itself: %s", own)
	}
	// Who has only read access to the model does not learn who may use its offers.
	w.ok(w.controller.GrantModel(ctx, mine.UUID(), "eve", controller.AccessRead, "bob"))
	w.ok(w.user("eve", mine.UUID()).do("Bundle", 8, "ExportBundle", params.ExportBundleParams{}, &got))
	if strings.Contains(got.Result, "acl") || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "only administrators of the model know") {
		t.Errorf("eve exports\n%swith %q", got.Result, got.Warnings)
	}
}
