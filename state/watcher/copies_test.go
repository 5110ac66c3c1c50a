package watcher_test

import (
	"bytes"
	"fmt"
	"testing"

	"juju/state/watcher"
)

// followed returns the copies of a hub that has a subscription and publishes changes.
func followed(t *testing.T) (*watcher.Hub, *watcher.Copies) {
	t.Helper()
	hub := watcher.NewHub(nil)
	t.Cleanup(hub.Subscribe(watcher.Collection("c")).Close)
	hub.Reset()
	return hub, hub.Copies()
}

// keepDoc keeps a copy of a document as if it was just read.
func keepDoc(c *watcher.Copies, id string, data []byte) {
	_, _, r := c.FindDoc("c", id)
	c.Keep(r, [][]byte{data})
}

func hasDoc(c *watcher.Copies, id string) bool {
	_, found, _ := c.FindDoc("c", id)
	return found
}

func TestAChangeDropsCopies(t *testing.T) {
	hub, c := followed(t)
	query := []byte("all")
	keepQuery := func() {
		_, _, r := c.FindQuery("c", query)
		c.Keep(r, nil)
	}
	hasQuery := func() bool { _, found, _ := c.FindQuery("c", query); return found }
	keepDoc(c, "a", []byte("1"))
	keepDoc(c, "b", []byte("2"))
	keepQuery()
	if docs, found, _ := c.FindDoc("c", "a"); !found || len(docs) != 1 || string(docs[0]) != "1" {
		t.Errorf("the copy of a is %q, %v", docs, found)
	}
	hub.Publish(watcher.Change{Collection: "d", ID: "a"})
	if !hasDoc(c, "a") || !hasDoc(c, "b") || !hasQuery() {
		t.Error("a change of another collection dropped a copy")
	}
	hub.Publish(watcher.Change{Collection: "c", ID: "a"})
	if hasDoc(c, "a") || !hasDoc(c, "b") || hasQuery() {
		t.Errorf("after a change of a there are copies: of a %v, of b %v, of a query %v", hasDoc(c, "a"), hasDoc(c, "b"), hasQuery())
	}
}

func TestWhatChangedWhileItWasReadIsNotKept(t *testing.T) {
	hub, c := followed(t)
	for what, meanwhile := range map[string]func(){
		"a change": func() { hub.Publish(watcher.Change{Collection: "c", ID: "a"}) },
		"a reset":  hub.Reset,
		"a loss":   func() { hub.Lost(); hub.Reset() },
		"Forget":   c.Forget,
	} {
		_, _, r := c.FindDoc("c", "a")
		meanwhile()
		if c.Keep(r, nil); hasDoc(c, "a") {
			t.Errorf("what was being read at %s was kept", what)
		}
	}
}

func TestNothingIsKeptWhileNoChangesAreHeardOf(t *testing.T) {
	hub := watcher.NewHub(nil)
	c := hub.Copies()
	check := func(when string, want bool) {
		t.Helper()
		if keepDoc(c, "a", nil); hasDoc(c, "a") != want {
			t.Errorf("%s: a copy is kept: %v", when, !want)
		}
	}
	check("without a watch", false)
	sub := hub.Subscribe(watcher.Collection("c"))
	check("before the changes are followed", false)
	hub.Reset()
	check("while they are", true)
	hub.Lost()
	check("after that was lost", false)
	hub.Reset()
	check("while they are again", true)
	sub.Close()
	check("after the last watch", false)
	hub.Reset() // of a tail that has yet to notice
	check("without a watch again", false)
}

func TestCopiesAreBounded(t *testing.T) {
	_, c := followed(t)
	if keepDoc(c, "large", bytes.Repeat([]byte("x"), 1<<20)); hasDoc(c, "large") {
		t.Error("a document of a megabyte was kept")
	}
	const n, size = 1000, 32 << 10
	kept := 0
	for i := range n {
		keepDoc(c, fmt.Sprint(i), bytes.Repeat([]byte("x"), size))
	}
	for i := range n {
		if hasDoc(c, fmt.Sprint(i)) {
			kept++
		}
	}
	if kept == 0 || kept*size > 8<<20 {
		t.Errorf("%d documents of %d bytes are kept", kept, size)
	}
}
