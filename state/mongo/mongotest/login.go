package mongotest

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A login is the server's side of MongoDB's SCRAM-SHA-1 (RFC 5802), on one connection. Like a current MongoDB it
// rejects unknown fields.
type login struct {
	done        bool
	first, sent string // the client's first message without its header, and the server's
	salted      []byte
}

const (
	iterations   = 10_000
	conversation = 1
)

var salt = []byte("sixteen bytes, I")

// step executes one command of a login.
func (l *login) step(users map[string]string, name string, body bsoncore.Document) bsoncore.Document {
	if name == "logout" {
		*l = login{}
		return bsoncore.NewDocumentBuilder().AppendDouble("ok", 1).Build()
	}
	allowed := map[string]string{"saslStart": " saslStart mechanism autoAuthorize options payload ", "saslContinue": " saslContinue conversationId payload "}[name]
	it := raw.Elements(body)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if !strings.HasPrefix(string(e.Key), "$") && !strings.Contains(allowed, " "+string(e.Key)+" ") {
			return refusal(40415, fmt.Sprintf("BSON field '%s.%s' is an unknown field.", name, e.Key))
		}
	}
	payload := text(body, "payload")
	switch {
	case name == "saslStart" && text(body, "mechanism") == "SCRAM-SHA-1":
		return l.begin(users, payload)
	case name == "saslContinue" && l.sent != "":
		return l.prove(payload)
	case name == "saslContinue" && l.done:
		return answered(true, "")
	}
	return refusal(18, "Authentication failed.")
}

// begin handles "n,,n=user,r=nonce".
func (l *login) begin(users map[string]string, payload string) bsoncore.Document {
	*l = login{first: strings.TrimPrefix(payload, "n,,")}
	user, nonce, ok := strings.Cut(strings.TrimPrefix(l.first, "n="), ",r=")
	password, known := users[user]
	if !ok || !known {
		*l = login{}
		return refusal(18, "Authentication failed.")
	}
	digest := fmt.Sprintf("%x", md5.Sum([]byte(user+":mongo:"+password)))
	l.salted, _ = pbkdf2.Key(sha1.New, digest, salt, iterations, sha1.Size)
	l.sent = fmt.Sprintf("r=%sserver,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString(salt), iterations)
	return answered(false, l.sent)
}

// prove handles "c=biws,r=nonce,p=proof".
func (l *login) prove(payload string) bsoncore.Document {
	final, proof, _ := strings.Cut(payload, ",p=")
	message := l.first + "," + l.sent + "," + final
	client := mac(l.salted, "Client Key")
	stored := sha1.Sum(client)
	signature := mac(stored[:], message)
	want := make([]byte, len(client))
	subtle.XORBytes(want, client, signature)
	server := mac(mac(l.salted, "Server Key"), message)
	*l = login{done: proof == base64.StdEncoding.EncodeToString(want)}
	if !l.done {
		return refusal(18, "Authentication failed.")
	}
	return answered(false, "v="+base64.StdEncoding.EncodeToString(server))
}

func mac(key []byte, message string) []byte {
	m := hmac.New(sha1.New, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}

func answered(done bool, payload string) bsoncore.Document {
	return bsoncore.NewDocumentBuilder().
		AppendInt32("conversationId", conversation).
		AppendBoolean("done", done).
		AppendBinary("payload", 0, []byte(payload)).
		AppendDouble("ok", 1).Build()
}
