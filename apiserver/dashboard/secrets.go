package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
)

// secretsShown is how many secrets a page shows.
const secretsShown = 500

// Secrets is the page of a model's secrets. It has no content of any.
type Secrets struct {
	Rows []SecretRow
	More int // that are not shown
}

// A SecretRow is a secret in the list of them, those of users first.
type SecretRow struct {
	ID, Name, Owner, Description, Rotation string
	Revision                               int
	Updated, Expires                       time.Time
	Readers                                string
}

func secretsPage(ctx context.Context, v Visit) (any, error) {
	page := &Secrets{}
	return page, v.call(ctx, func(api *client.Conn) error {
		all, err := api.Secrets(ctx, client.SecretsFilter{}, false)
		if err != nil {
			return err
		}
		for _, s := range all {
			row := SecretRow{ID: s.ID, Name: s.Label, Description: s.Description, Rotation: cmp.Or(string(s.Rotate), string(entity.RotateNever)),
				Revision: s.Latest, Updated: s.Updated, Expires: s.Expire,
				Readers: strings.Join(s.Readers(), ", ")}
			if s.Owner.Kind != entity.KindModel {
				row.Owner = s.Owner.ID
			}
			page.Rows = append(page.Rows, row)
		}
		slices.SortFunc(page.Rows, func(a, b SecretRow) int {
			return cmp.Or(entity.CompareNatural(a.Owner, b.Owner), entity.CompareNatural(a.Name, b.Name),
				strings.Compare(a.ID, b.ID))
		})
		page.More = max(0, len(page.Rows)-secretsShown)
		page.Rows = page.Rows[:len(page.Rows)-page.More]
		return nil
	})
}
