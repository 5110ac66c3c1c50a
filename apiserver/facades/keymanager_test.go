package facades_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state/entity"
)

const (
	aliceKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o alice@laptop"
	alicePrint = "35:06:f6:62:96:9a:59:7b:0d:00:dc:46:76:51:11:ac"
	bobKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi bob"
)

func TestSSHKeysOverTheWire(t *testing.T) {
	w := newWorld(t)
	conn := w.admin().client()
	ctx := t.Context()
	errs, err := conn.AddSSHKeys(ctx, []string{aliceKey, bobKey, aliceKey, "x"})
	w.ok(err)
	said := make([]string, len(errs))
	for i, err := range errs {
		if err != nil {
			said[i] = err.Error()
		}
	}
	if !slices.Equal(said[:2], []string{"", ""}) || !strings.HasPrefix(said[2], "duplicate ssh key: SHA256:") ||
		said[3] != "invalid ssh key: x" {
		t.Errorf("added: %q", said)
	}
	list := func(whole bool, want ...string) {
		t.Helper()
		got, err := conn.SSHKeys(ctx, whole)
		w.ok(err)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	list(true, aliceKey, bobKey)
	errs, err = conn.RemoveSSHKeys(ctx, []string{"bob", "bob"})
	w.ok(err)
	if errs[0] != nil || entity.KindOf(errs[1]) != entity.NotFound || errs[1].Error() != "key not found: bob" {
		t.Errorf("removed: %v", errs)
	}
	list(false, alicePrint+" (alice@laptop)")
	errs, err = conn.RemoveSSHKeys(ctx, []string{alicePrint})
	w.ok(err)
	w.ok(errs[0])
	list(false)
}

// A machine's agent reports the keys of its SSH server, and users ask for them.
func TestHostKeysOverTheWire(t *testing.T) {
	w := newWorld(t).populate()
	conn, m0 := w.admin().client(), entity.MachineTag("0")
	ctx := t.Context()
	if _, err := conn.HostKeys(ctx, m0); entity.KindOf(err) != entity.NotFound || entity.Hint(err) == "" {
		t.Errorf("before the report: %v", err)
	}
	agent := client.MachinerFacade{Caller: w.agent(m0).client()}
	for _, bad := range [][]string{{"x"}, slices.Repeat([]string{aliceKey}, 17)} {
		if err := agent.SetHostKeys(ctx, m0, bad); entity.KindOf(err) != entity.Invalid {
			t.Errorf("%d keys: %v", len(bad), err)
		}
	}
	many := slices.Repeat([]string{aliceKey}, 17)
	if err := agent.SetHostKeys(ctx, m0, many); !errors.Is(err, entity.Invalid) ||
		err.Error() != "cannot set 17 keys of an SSH server: the limit is 16" {
		t.Errorf("17 keys: %v", err)
	}
	w.ok(agent.SetHostKeys(ctx, m0, many[1:]))
	w.ok(agent.SetHostKeys(ctx, m0, []string{aliceKey}))
	for _, tag := range []entity.Tag{m0, entity.UnitTag("mysql/0")} {
		if keys, err := conn.HostKeys(ctx, tag); err != nil || !slices.Equal(keys, []string{aliceKey}) {
			t.Errorf("%s: %q, %v", tag, keys, err)
		}
	}
	if _, err := conn.HostKeys(ctx, entity.ServiceTag("mysql")); entity.KindOf(err) != entity.Invalid {
		t.Errorf("of a service: %v", err)
	}
}
