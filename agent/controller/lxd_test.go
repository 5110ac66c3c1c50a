package controller

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"testing"

	"juju/agent/controller/clouds"
	"juju/provider/local"
	"juju/provider/lxd"
	"juju/state/entity"
)

// A controller on LXD listens on all addresses of its container, its certificate is valid for them,
// and agents and clients are told them.
func TestControllerOnLXD(t *testing.T) {
	dir := t.TempDir()
	p := BootstrapParams{Name: "c", Cloud: "lxd", Series: "bookworm", User: "admin", Password: "secret",
		Controller: "deadbeef-0000-4000-8000-000000000009", Hosts: []string{"10.1.2.3", "fd42::7"},
		Access: clouds.Access{LXD: &lxd.Config{Endpoint: "/var/lib/juju/lxd.socket", Project: "p"}}}
	for name, spoil := range map[string]func(*BootstrapParams){
		"no LXD":        func(p *BootstrapParams) { p.LXD = nil },
		"no address":    func(p *BootstrapParams) { p.Hosts = nil },
		"no controller": func(p *BootstrapParams) { p.Controller = "" },
		"no such cloud": func(p *BootstrapParams) { p.Cloud = "ec2" },
	} {
		bad := p
		spoil(&bad)
		if _, err := Bootstrap(t.Context(), dir, bad, Options{}); !errors.Is(err, entity.Invalid) &&
			!errors.Is(err, entity.NotSupported) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	// The parameters travel as JSON.
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var sent BootstrapParams
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	made, err := Bootstrap(t.Context(), dir, sent, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"10.1.2.3:17070", "[fd42::7]:17070"}
	if !slices.Equal(made.Addresses, want) || made.Controller != p.Controller {
		t.Errorf("made is %+v", made)
	}
	conf, err := readConfig(local.ControllerDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if conf.Address != ":17070" || !slices.Equal(conf.addresses(), want) || conf.LXD == nil || conf.LXD.Project != "p" {
		t.Errorf("the configuration has %q, %q, %+v", conf.Address, conf.Addresses, conf.LXD)
	}
	block, _ := pem.Decode([]byte(conf.Server.Cert))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range append(p.Hosts, "localhost") {
		if err := cert.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	c := &running{conf: conf}
	if got, err := c.addresses(); err != nil || !slices.Equal(got, p.Hosts) {
		t.Errorf("the addresses of the controller's machine are %q (%v)", got, err)
	}
	if c.hostLock() != "" {
		t.Error("machines share a lock, although each has an operating system of its own")
	}
}
