package clouds_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"time"

	"juju/agent/controller/clouds"
	"juju/apiserver"
	"juju/provider"
	"juju/provider/lxd"
	"juju/state/entity"
)

// The controller asks what a cloud's machines are, not what the cloud's name is.
func TestCloudsAreNamedInOnePlace(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`"local"|"lxd"|\bCloud (==|!=) "[a-z]|\.LXD\b`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := name.FindString(string(text)); found != "" {
			t.Errorf("%s has %s", file, found)
		}
	}
}

func TestWhatMachinesAre(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]provider.Machines{"local": {ShareHost: true}, "lxd": {OwnHost: true}, "ec2": {}} {
		if got := clouds.Of(name).Machines(); got != want {
			t.Errorf("the machines of %s are %+v, want %+v", name, got, want)
		}
		// A machine that shares the host has a directory there, in which a restore ends what is left.
		if got := clouds.Of(name).MachineDir("/clouds/c", "m", "i-0"); (got != "") != want.ShareHost {
			t.Errorf("a machine of %s is in %q", name, got)
		}
	}
}

func TestAControllerThatCannotRunHere(t *testing.T) {
	t.Parallel()
	access := clouds.Access{LXD: &lxd.Config{Endpoint: "/lxd.socket"}}
	good := clouds.Params{Access: access, Controller: "c", Hosts: []string{"10.0.0.2"}}
	if err := clouds.Of("lxd").Check(good); err != nil {
		t.Error(err)
	}
	for why, spoil := range map[string]func(*clouds.Params){
		"no access":     func(p *clouds.Params) { p.Access = clouds.Access{} },
		"no controller": func(p *clouds.Params) { p.Controller = "" },
		"no address":    func(p *clouds.Params) { p.Hosts = nil },
	} {
		bad := good
		spoil(&bad)
		if err := clouds.Of("lxd").Check(bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("%s: error %v", why, err)
		}
	}
	unknown := clouds.Of("ec2")
	_, opened := unknown.Open(t.Context(), clouds.Controller{})
	for _, err := range []error{unknown.Check(good), opened} {
		if !errors.Is(err, entity.NotSupported) || err.Error() != `cloud "ec2" is not known` {
			t.Errorf("an unknown cloud: %v", err)
		}
	}
}

// LXD is opened with the credential that the controller has now. Without its configuration, it is not.
func TestLXDIsOpenedWithAccess(t *testing.T) {
	t.Parallel()
	access := clouds.Access{}
	c := clouds.Controller{UUID: "c", Access: func(context.Context, string) (clouds.Access, error) { return access, nil }}
	if _, err := clouds.Of("lxd").Open(t.Context(), c); !errors.Is(err, entity.Invalid) {
		t.Errorf("without LXD's configuration: %v", err)
	}
	access.LXD = &lxd.Config{Endpoint: "/no/lxd.socket"}
	cloud, err := clouds.Of("lxd").Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if cloud.Follow == nil || cloud.Worker != nil {
		t.Errorf("LXD has the workers %+v", cloud)
	}
	if room := cloud.Room(t.Context()); len(room) > 0 {
		t.Errorf("an LXD that is not there has room: %v", room)
	}
}

func TestCredentialsThatACloudTakes(t *testing.T) {
	t.Parallel()
	ca, err := apiserver.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate := func(keys ...string) entity.CloudCredential {
		one := entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{}}
		for _, key := range keys {
			one.Attributes[key] = ca.Cert
		}
		if one.Attributes[lxd.ClientKey] != "" {
			one.Attributes[lxd.ClientKey] = ca.Key
		}
		return one
	}
	empty := entity.CloudCredential{AuthType: entity.AuthEmpty}
	remote := clouds.Access{LXD: &lxd.Config{Endpoint: "https://10.0.0.1:8443", ClientCert: ca.Cert, ClientKey: ca.Key, ServerCert: ca.Cert}}
	socket := clouds.Access{LXD: &lxd.Config{Endpoint: "/lxd.socket", HostSocket: "/host.socket"}}
	for what, c := range map[string]struct {
		cloud  string
		access clouds.Access
		one    entity.CloudCredential
		want   string // of the error
	}{
		"the local cloud":       {"local", clouds.Access{}, empty, ""},
		"a socket":              {"lxd", socket, empty, ""},
		"a remote LXD":          {"lxd", remote, certificate(lxd.ClientCert, lxd.ClientKey, lxd.ServerCert), ""},
		"none for a remote LXD": {"lxd", remote, empty, `the cloud takes no credential of auth-type "empty"`},
		"one for a socket":      {"lxd", socket, certificate(lxd.ClientCert), `the cloud takes no credential of auth-type "certificate"`},
		"one for no cloud":      {"local", clouds.Access{}, certificate(), `the cloud takes no credential of auth-type "certificate"`},
		"an unknown key":        {"lxd", remote, certificate("colour"), `unknown key "colour" in a credential of auth-type "certificate"`},
		"a key of nothing": {"local", clouds.Access{}, entity.CloudCredential{AuthType: entity.AuthEmpty,
			Attributes: map[string]string{"a": "b"}}, `unknown key "a" in a credential of auth-type "empty"`},
	} {
		err := clouds.Of(c.cloud).CheckCredential(t.Context(), c.access, "c", c.one, false)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, entity.Invalid) || err.Error() != c.want) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
	}
	kind := clouds.Of("lxd")
	other := kind.WithCredential(remote, certificate(lxd.ServerCert))
	if got := kind.Credential(other).AuthType; got != entity.AuthEmpty || remote.LXD.ClientKey != ca.Key || other.LXD.ServerCert != ca.Cert {
		t.Errorf("with another credential: %+v, and before %+v", other.LXD, remote.LXD)
	}
	for want, access := range map[string]clouds.Access{"https://10.0.0.1:8443": remote, "/host.socket": socket, "": {}} {
		if got := kind.Endpoint(access); got != want {
			t.Errorf("the endpoint is %q, want %q", got, want)
		}
	}
}
