package storage

import "testing"

// A follower that begins to send is told that it has lost what it has read, not what it is about to read: Read says that.
func TestFollowersLoseWhatTheyHaveRead(t *testing.T) {
	var s Store
	s.feed.most = 2 * maxHistory
	changes := func(n int) {
		for range n {
			s.feed.add(func() []*Event { return []*Event{{New: make([]byte, maxHistory)}} })
		}
	}
	fo := s.Follow()
	lost := false
	if !fo.Send(func() { lost = true }) {
		t.Fatal("nothing is lost yet")
	}
	changes(3)
	if lost {
		t.Error("it has read nothing")
	}
	if _, _, ok := fo.Read(); ok {
		t.Error("the first event is kept")
	}

	fo = s.Follow()
	changes(1)
	fo.Send(func() { lost = true })
	if _, _, ok := fo.Read(); !ok {
		t.Fatal("the event is not kept")
	}
	changes(3)
	if !lost {
		t.Error("it is not told")
	}
}
