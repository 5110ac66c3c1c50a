package hooktools

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var secretGrantInfo = commandInfo{
	args:    "<URI>",
	purpose: "Let the service at the other end of a relation read a secret.",
	details: `All its units may read the secret, or with --unit only that one, while the relation lasts.
Units of the service that owns a secret need no grant. They may read it when the hook
has succeeded.
`,
	examples: []string{"secret-grant secret:9m4e2mr0ui3e8a215n4g -r db:10", "secret-grant secret:9m4e2mr0ui3e8a215n4g -r db:0 --unit mysql/9"},
	make:     func() command { return &secretGrant{} },
}

type secretGrant struct {
	uri      entity.SecretURI
	relation relationFlag
	unit     string
}

func (t *secretGrant) flags(flags *pflag.FlagSet) {
	t.relation.add(flags)
	flags.StringVar(&t.unit, "unit", "", "the only `unit` that may read it")
}

func (t *secretGrant) init(hook Context, args []string) (err error) {
	if t.uri, args, err = secretArg(args); err != nil {
		return err
	}
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	if t.unit != "" {
		if err := checkSecretUnit(t.unit); err != nil {
			return err
		}
		if service := hook.RelationService(t.relation.id); entity.UnitService(t.unit) != service {
			return fmt.Errorf("cannot specify unit %q in relation to application %q", t.unit, service)
		}
	}
	return checkEmpty(args)
}

func checkSecretUnit(unit string) error {
	if !entity.IsValidUnit(unit) {
		return fmt.Errorf("unit %q not valid", unit)
	}
	return nil
}

func (t *secretGrant) run(ctx context.Context, run *toolRun) error {
	return run.hook.GrantSecret(ctx, t.uri, t.relation.id, t.unit)
}

var secretRevokeInfo = commandInfo{
	args:    "<URI>",
	purpose: "End a grant of a secret.",
	details: `The grant is that of the service at the other end of the relation, or of --app or --unit.
In a relation hook, the default is that of the hook's relation. It ends when the hook
has succeeded.
`,
	examples: []string{"secret-revoke secret:9m4e2mr0ui3e8a215n4g", "secret-revoke secret:9m4e2mr0ui3e8a215n4g --relation 0",
		"secret-revoke secret:9m4e2mr0ui3e8a215n4g --app mysql", "secret-revoke secret:9m4e2mr0ui3e8a215n4g --unit mysql/9"},
	make: func() command { return &secretRevoke{} },
}

type secretRevoke struct {
	uri      entity.SecretURI
	relation relationFlag
	app      string
	unit     string
}

func (t *secretRevoke) flags(flags *pflag.FlagSet) {
	flags.StringVar(&t.app, "app", "", "the `service` whose grant ends")
	flags.StringVar(&t.app, "application", "", "the same as --app")
	t.relation.add(flags)
	flags.StringVar(&t.unit, "unit", "", "the `unit` whose grant ends")
}

func (t *secretRevoke) init(hook Context, args []string) (err error) {
	if t.uri, args, err = secretArg(args); err != nil {
		return err
	}
	if t.app != "" && !entity.IsValidService(t.app) {
		return fmt.Errorf("application %q not valid", t.app)
	}
	if t.unit != "" {
		if err := checkSecretUnit(t.unit); err != nil {
			return err
		}
	}
	_, inRelation := hook.HookRelation()
	switch {
	case t.app != "" && t.unit != "":
		return errors.New("specify only one of application or unit")
	case t.relation.value != "" && t.app != "":
		return errors.New("do not specify both relation and app")
	case t.relation.value == "" && (t.app != "" || t.unit != ""):
		return checkEmpty(args)
	case t.relation.value == "" && !inRelation:
		return errors.New("missing relation or application or unit")
	}
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	t.app = hook.RelationService(t.relation.id)
	return checkEmpty(args)
}

func (t *secretRevoke) run(ctx context.Context, run *toolRun) error {
	return run.hook.RevokeSecret(ctx, t.uri, cmp.Or(t.unit, t.app))
}
