package users

import (
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A registration is what a new user needs to connect to a controller for the first time, encoded as one word. Anyone who
// has it can become the user, once.
type registration struct {
	User       string
	Addresses  []string
	Key        []byte
	Controller string // its name on the client that ran add-user
	CA         []byte // the certificate, as DER
}

// token encodes the registration of a user.
func token(t cli.Target, user string, key []byte) (string, error) {
	block, _ := pem.Decode([]byte(t.Controller.CACert))
	if block == nil {
		return "", fmt.Errorf("cannot create a registration string for controller %q: its CA certificate is not PEM", t.Name)
	}
	text, err := asn1.Marshal(registration{user, t.Controller.Addresses, key, t.Name, block.Bytes})
	if err != nil {
		return "", fmt.Errorf("cannot create a registration string: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// readToken decodes what token encoded.
func readToken(token string) (r registration, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		_, err = asn1.Unmarshal(text, &r)
	}
	if err == nil && (!entity.IsValidUser(r.User) || len(r.Addresses) == 0 || len(r.Key) == 0 || len(r.CA) == 0) {
		err = errors.New("something is missing")
	}
	if err != nil {
		// Details of the failure would not help.
		return r, cli.Usage(entity.WithHint(errors.New("cannot read the registration string: it is incomplete or invalid"),
			"Copy the whole output of add-user. To get a new string, a superuser runs: juju change-user-password USER --reset"))

	}
	return r, nil
}

// caCert returns the CA certificate as PEM.
func (r registration) caCert() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.CA}))
}
