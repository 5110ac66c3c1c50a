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
	want := []string{"FindOffers admin default ", "FindOffers admin default ", "FindOffers admin default ", "FindOffers admin default ",
		"Offer admin/default.store", "Offer admin/default.store", "Offer bob/shop.mysql",
		"FindOffers", "FindOffers bob shop kv", "FindOffers bob shop", "FindOffers bob shop",
		"RemoveOffers [admin/default.store admin/shop.mysql]"}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if got := u.Controller.Calls; !slices.Equal(got, want) {
		t.Errorf("the controller is asked\n%q\nwant\n%q", got, want)
	}
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
