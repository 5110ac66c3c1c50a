package charmhub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"juju/charm"
	"juju/state/entity"
)

// charmFields are what a refresh asks for of each charm.
var charmFields = []string{"bases", "config-yaml", "download", "id", "license", "metadata-yaml", "name", "publisher", "resources", "revision",
	"summary", "type", "version", "actions-yaml"}

// A Choice says which revision of a charm a user wants.
type Choice struct {
	Name    string
	Channel Channel
	// Revision is the one wanted, wherever it is released; -1 for the newest in the channel.
	Revision int
	// Base is what it must run on; without a name, any system that the charm runs on, of the architecture.
	Base Base
	// Resources are revisions of resources that are not those of the release.
	Resources map[string]int
}

// Choose asks a store for a charm that a user chooses. If the store says that the charm is there for other bases only, and the user
// named none, it is that for the first of those with the architecture. Its errors are Juju's: NotFound if there is no such charm or
// release.
func (c *Client) Choose(ctx context.Context, action string, want Choice) (*Answer, error) {
	if !charm.IsValidName(want.Name) {
		return nil, entity.Errorf(entity.Invalid, "%q is not a charm's name", want.Name)
	}
	answer, err := c.one(ctx, want.action(action))
	if err != nil || answer.Error == nil {
		return answer, err
	}
	code := answer.Error.Code
	if !want.Base.IsAny() || code != CodeInvalidBase && code != CodeInvalidPlatform {
		return nil, want.refused(answer.Error)
	}
	bases := answer.Error.Extra.DefaultBases
	i := slices.IndexFunc(bases, func(b Base) bool { return b.Architecture == want.Base.Architecture && !b.IsAny() })
	if i < 0 {
		return nil, want.noBase(bases)
	}
	want.Base = bases[i]
	if answer, err = c.one(ctx, want.action(action)); err == nil && answer.Error != nil {
		return nil, want.refused(answer.Error)
	}
	return answer, err
}

// action returns what asks for the choice: by revision without a channel and a base.
func (want Choice) action(what string) Action {
	a := Action{Action: what, InstanceKey: uuid.NewString(), Name: want.Name}
	for name, revision := range want.Resources {
		a.Resources = append(a.Resources, ResourceRevision{name, revision})
	}
	if want.Revision >= 0 {
		a.Revision = &want.Revision
		return a
	}
	a.Channel = want.Channel.String()
	if a.Base = &want.Base; want.Base.IsAny() {
		a.Base = AnyBase(want.Base.Architecture)
	}
	return a
}

func (want Choice) noBase(bases []Base) error {
	if len(bases) == 0 {
		return entity.Errorf(entity.NotFound, "no releases found for channel %q", want.Channel)
	}
	return entity.Errorf(entity.NotFound, "bases matching architecture %q not found", want.Base.Architecture)
}

// refused returns the error for an answer that has one.
func (want Choice) refused(e *Error) error {
	switch e.Code {
	case CodeInvalidBase, CodeInvalidPlatform:
		return want.noBase(e.Extra.DefaultBases)
	case CodeRevisionNotFound:
		what := fmt.Sprintf("for channel %q", want.Channel)
		if want.Revision >= 0 {
			what = fmt.Sprintf("for revision %d", want.Revision)
		} else if !want.Base.IsAny() {
			what += fmt.Sprintf(", base %q", want.Base)
		}
		return entity.Errorf(entity.NotFound, "selecting releases: charm or bundle not found %s%s", what, available(e.Extra.Releases))
	case CodeNameNotFound, CodeIDNotFound:
		return entity.WithHint(entity.Errorf(entity.NotFound, "resolving error: %s", plain(e.Message)), "To look for charms: juju find TEXT")
	}
	return fmt.Errorf("resolving error: %s", plain(e.Message))
}

// maxListed is how many releases an error names.
const maxListed = 20

// available lists releases below an error.
func available(releases []Offered) string {
	if len(releases) == 0 {
		return "\nno releases available"
	}
	bases := map[string][]string{}
	var channels []string
	for _, r := range releases {
		if bases[r.Channel] == nil {
			channels = append(channels, r.Channel)
		}
		if base := r.Base.String(); !slices.Contains(bases[r.Channel], base) {
			bases[r.Channel] = append(bases[r.Channel], base)
		}
	}
	text := "\navailable releases are:"
	for i, channel := range channels {
		if i == maxListed {
			text += fmt.Sprintf("\n  and %d more channels", len(channels)-i)
			break
		}
		text += fmt.Sprintf("\n  channel %q: available bases are: %s", plain(channel), plain(strings.Join(bases[channel], ", ")))
	}
	return text
}

// one asks for one charm.
func (c *Client) one(ctx context.Context, a Action) (*Answer, error) {
	answers, err := c.Refresh(ctx, RefreshRequest{Actions: []Action{a}})
	if err != nil {
		return nil, err
	}
	return &answers[0], nil
}

// Refresh asks for charms, and returns the answers in the order of the actions. An answer has a charm that has been checked, or an
// error.
func (c *Client) Refresh(ctx context.Context, q RefreshRequest) ([]Answer, error) {
	q.Fields = charmFields
	if q.Context == nil {
		q.Context = []Context{}
	}
	var reply RefreshReply
	if err := c.ask(ctx, http.MethodPost, RefreshPath, nil, q, &reply); err != nil {
		return nil, err
	}
	if len(reply.Errors) > 0 {
		return nil, reply.Errors[0].asError()
	}
	by := make(map[string]Answer, len(reply.Results))
	for _, one := range reply.Results {
		by[one.InstanceKey] = one
	}
	answers := make([]Answer, len(q.Actions))
	for i, a := range q.Actions {
		one, ok := by[a.InstanceKey]
		if !ok {
			return nil, errors.New("install action key not valid")
		}
		if err := one.check(); err != nil {
			return nil, fmt.Errorf("cannot use the answer of %s: %w", c.base.Redacted(), err)
		}
		answers[i] = one
	}
	return answers, nil
}

// check refuses an answer that has neither a charm nor an error, or a charm with a name that isn't one.
func (a *Answer) check() error {
	switch ch := a.Entity; {
	case a.Error != nil:
		return nil
	case a.Result == "error" || ch == nil:
		return errors.New("it has no charm, and no error")
	case !charm.IsValidName(ch.Name) || a.Name != "" && a.Name != ch.Name:
		return fmt.Errorf("it names the charm %q", plain(ch.Name))
	case ch.Revision < 0 || ch.Revision > maxRevision:
		return fmt.Errorf("it has the revision %d", ch.Revision)
	}
	return nil
}

// maxRevision is the greatest that a charm's URL can have.
const maxRevision = 999_999_999
