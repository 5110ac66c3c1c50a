package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"time"

	"juju/agent"
	"juju/agent/host/process"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// The other controllers that a backup knows are not restored. One of them that is still there has the store that was
// lost, or what is left of it: agents and clients would get old data from it.

const (
	// answerTimeout is how long another controller may take to answer before it counts as lost.
	answerTimeout = 3 * time.Second
	// fenceGrace is how long what is left of another one may take to end.
	fenceGrace = 10 * time.Second
	// fenced is why it has ended.
	fenced = "the controller was restored from a backup, alone"
)

// separate makes the restored controller the only one: the machines of the others no longer run one, and those that are
// on this host are ended. It fails if another one answers.
func (s *restorer) separate(ctx context.Context, ctrl *controller.Controller, own *state.State) error {
	nodes, err := ctrl.Nodes(ctx)
	if err != nil {
		return err
	}
	home, err := own.Machine(ctx, s.conf.machine())
	if err != nil {
		return err
	}
	bootstrapped := home.InstanceID() == entity.BootstrapInstance // else the cloud has an instance with what was backed up
	nodes = slices.DeleteFunc(nodes, func(n controller.Node) bool { return n.ID == home.ID() && bootstrapped })
	for _, n := range nodes {
		for _, address := range n.Addresses {
			if answers(ctx, s.conf.CA.Cert, address) {
				return entity.WithHint(entity.Errorf(entity.InUse, "another controller of it still answers, at %s", address),
					"If its store works, replace the lost controller: juju enable-ha. If the store is lost, end this controller first.")
			}
		}
	}
	machines, err := own.Machines(ctx)
	if err != nil {
		return err
	}
	var others []string
	for _, m := range machines {
		if m.ID() != home.ID() {
			others = append(others, m.ID())
		}
		dir := s.conf.kind().MachineDir(s.dir, s.conf.Model, m.InstanceID())
		if dir != "" && m.IsManager() && m.InstanceID() != "" {
			if err := process.End(ctx, agent.Dir(dir, entity.MachineTag(m.ID())), fenced, fenceGrace); err != nil {
				return err
			}
		}
	}
	if _, err := own.EnableHA(ctx, state.EnableHAParams{Controllers: 1, Lost: others}); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := ctrl.RemoveNode(ctx, n.ID); err != nil {
			return err
		}
	}
	s.conf.Nonce = ""
	return home.RunRestored(ctx)
}

// answers reports whether a server with a certificate of this CA listens at an address.
func answers(ctx context.Context, ca, address string) bool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}).
		DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
