package mongotest

import (
	"time"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// LoseMajority makes writes that wait for the majority do so until their wtimeout ends, or forever. The primary executes
// them, and stays primary.
func (s *Set) LoseMajority() { s.block(&s.minority) }

// RegainMajority ends LoseMajority.
func (s *Set) RegainMajority() { s.unblock(&s.minority) }

// Freeze makes all members stop responding, like kill -STOP: connections stay open, and new ones are accepted.
func (s *Set) Freeze() { s.block(&s.frozen) }

// Thaw ends Freeze.
func (s *Set) Thaw() { s.unblock(&s.frozen) }

func (s *Set) block(until *chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *until == nil {
		*until = make(chan struct{})
	}
}

func (s *Set) unblock(until *chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *until != nil {
		close(*until)
		*until = nil
	}
}

// thawed waits while the set is frozen.
func (s *Set) thawed() {
	s.mu.Lock()
	frozen := s.frozen
	s.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// replicated waits until the majority has a write, and adds an error to the reply if that takes longer than its wtimeout.
func (s *Set) replicated(body, answer bsoncore.Document) bsoncore.Document {
	s.mu.Lock()
	minority := s.minority
	s.mu.Unlock()
	if _, waits := raw.Get(body, "writeConcern"); minority == nil || !waits {
		return answer
	}
	select {
	case <-minority:
		return answer
	case <-time.After(wtimeout(body)):
	}
	return timedOut(answer)
}

// wtimeout returns how long a write waits for the majority: for ever, in effect, if it does not say.
func wtimeout(body bsoncore.Document) time.Duration {
	concern, _ := raw.Get(body, "writeConcern")
	if doc, ok := concern.DocumentOK(); ok {
		if v, ok := raw.Get(doc, "wtimeout"); ok {
			ms, _ := raw.Int(v)
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 24 * time.Hour
}

// timedOut adds to the reply to a write that it has not reached the majority in time.
func timedOut(answer bsoncore.Document) bsoncore.Document {
	return with(answer, func(dst []byte) []byte {
		return bsoncore.AppendDocumentElement(dst, "writeConcernError", bsoncore.NewDocumentBuilder().
			AppendInt32("code", 64).AppendString("errmsg", "waiting for replication timed out").Build())
	})
}
