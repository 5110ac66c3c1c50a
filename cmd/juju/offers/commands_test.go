package offers_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/offers"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			offers.OfferCommand(s), offers.OffersCommand(s), offers.ShowOfferCommand(s),
			offers.FindOffersCommand(s), offers.RemoveOfferCommand(s), offers.ConsumeCommand(s),
			offers.RemoveSaasCommand(s), offers.SuspendRelationCommand(s), offers.ResumeRelationCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "offer default.web:db,www site", Asked: []string{"AddOffer default-uuid site web [db www]"},
			Stderr: "Application \"web\" endpoints [db, www] available at \"admin/default.site\"\n"},
		{Line: "remove-offer web --if-unchanged beef", Asked: []string{"RemoveOffers [admin/default.web]"}},
		{Line: "consume shop.mysql db", Asked: []string{"Consume admin/shop.mysql db"}, Stderr: "Added admin/shop.mysql as db\n"},
		{Line: "remove-saas db cache --force", Asked: []string{"RemoveRemotes with force after 1m0s [db cache]"}},
		{Line: "suspend-relation 4 5 --message noon", Asked: []string{"SuspendRelations true [4 5]"}},
		{Line: "resume-relation 4", Asked: []string{"SuspendRelations false [4]"}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"suspend-relation web": `relation ID "web" not valid`,
		"resume-relation":      `no relation ids specified`,
		"consume mysql":        `offer URL "mysql" is not valid`,
		"remove-saas":          `no service specified`,
	})
}
