package offers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestOffersAreShown(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.CheckShown("offers.txt")
	want := []string{"FindOffers [admin default]", "FindOffers [admin default store]", "FindOffers [admin default]",
		"FindOffers [admin default]", "FindOffers [admin default]", "FindOffers [admin default unused]", "FindOffers [admin default unused]", "FindOffers [admin default none]",
		"FindOffers [admin default web kv bob eve]", "Offer admin/default.store", "Offer admin/default.store", "Offer bob/shop.mysql",
		"FindOffers []", "FindOffers [bob shop mysql kv]", "FindOffers [bob shop]", "FindOffers [bob shop]", "FindOffers [db-offer db]",
		"FindOffers [none]", "RemoveOffers [admin/default.store admin/shop.mysql]", "RemoveOffers with force after 1m0s [admin/default.store]"}
	if got := u.Controller.Calls; !slices.Equal(got, want) {
		t.Errorf("the controller is asked\n%q\nwant\n%q", got, want)
	}
	for line, flag := range map[string]string{"offers": "-m", "show-offer store": "-m", "find-offers": "-c"} {
		u.Types(append(strings.Fields(line), flag, "nowhere:x")...)
		if u.Code != 1 || !strings.Contains(u.Err.String(), "nowhere") {
			t.Errorf("%s %s: exit code %d, %s", line, flag, u.Code, u.Err.String())
		}
	}
	u.Types("offers", "none", "-m", "missing")
	u.Sees(1, "", "ERROR model \"prod:missing\" not found\nAvailable models: default, eve/shared\n")
}

// In a bulk call some can fail.
func TestBulk(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Err = errors.New("no")
	for line, want := range map[string]string{
		"suspend-relation": "ERROR no\n", "resume-relation": "ERROR no\n",
	} {
		u.Types(line, "4")
		u.Sees(1, "", want)
	}
}
