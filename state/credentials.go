package state

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
)

// agentPasswordLength is how many random bytes an agent's password is made of.
// It can't be guessed, so a fast hash serves, and thousands can log in at once.
const agentPasswordLength = 24

// NewAgentPassword returns a fresh random password.
func NewAgentPassword() string {
	b := make([]byte, agentPasswordLength)
	if _, err := rand.Read(b); err != nil {
		panic(err) // never, says crypto/rand
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashAgentPassword(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// A credentialDoc comes and goes with its machine or unit. It has no hash until
// the agent is given its first password, and then nothing matches it.
type credentialDoc struct {
	ID   string `bson:"_id"` // a tag
	Hash string `bson:"hash"`
}

// CheckAgent returns nil if the agent of a machine or unit knows its password
// and, a machine that has been provisioned, its nonce.
func (st *State) CheckAgent(ctx context.Context, tag entity.Tag, password, nonce string) error {
	var doc credentialDoc
	if err := st.db.Get(credentialsC, tag.String(), &doc, tag.String()); isNotFound(err) {
		return wrongPassword()
	} else if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(doc.Hash), []byte(hashAgentPassword(password))) != 1 {
		return wrongPassword()
	}
	if tag.Kind != entity.KindMachine {
		return nil
	}
	m, err := st.Machine(ctx, tag.ID)
	if err != nil {
		return wrongPassword()
	}
	if m.doc.InstanceID == "" || m.doc.Nonce != nonce {
		// An agent that started before its instance was recorded tries again; one
		// of an instance that was given up never gets in.
		return entity.Errorf(entity.NotProvisioned, "machine %s not provisioned", tag.ID)
	}
	return nil
}

// SetAgentPassword makes password the only one of a machine's or unit's agent.
func (st *State) SetAgentPassword(ctx context.Context, tag entity.Tag, password string) error {
	if len(password) < agentPasswordLength {
		return entity.Errorf(entity.Invalid, "password is only %d bytes long, and is not a valid Agent password", len(password))
	}
	return st.run(ctx, func(int) ([]txn.Op, error) {
		if n, err := st.db.Count(credentialsC, bson.D{{"_id", tag.String()}}); err != nil {
			return nil, err
		} else if n == 0 {
			return nil, entity.Errorf(entity.NotFound, "%s %q not found", tag.Kind, tag.ID)
		}
		o := newOps()
		o.update(credentialsC, tag.String(), exists, bson.D{{"$set", bson.D{{"hash", hashAgentPassword(password)}}}})
		return o.build()
	})
}
