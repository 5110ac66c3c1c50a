package controllers

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
)

func DumpDBCommand(s *cli.Session) *cobra.Command {
	d := &dumpDB{Session: s}
	cmd := &cobra.Command{
		Use:     "dump-db",
		Aliases: []string{"dump-model"},
		Short:   "Show the database of a model",
		Long: `Show all documents of a model in the controller's database, by collection, without
passwords and transaction metadata. Use it for debugging, or attach it to a bug report.`,
		Example: `  juju dump-db
  juju dump-db -m controller --format json -o dump.json`,
		Annotations: cli.SeeAlso("check", "status"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	d.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type dumpDB struct {
	*cli.Session
	output cli.Output
}

func (d *dumpDB) run(ctx context.Context) error {
	if err := cli.CheckFormat(d.output.Format); err != nil {
		return err
	}
	dump, err := d.dump(ctx)
	if err != nil {
		return err
	}
	text, err := cli.Encode(d.output.Format, dump)
	if err != nil {
		return err
	}
	return d.Write(d.output, text)
}

// dump gets the documents of the target model.
func (d *dumpDB) dump(ctx context.Context) (map[string][]any, error) {
	model, err := connect.Model(ctx, d.Session)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	conn, err := dialController(ctx, d.Session)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return plainDump(conn.DumpModel(ctx, model.Model()))
}

// plainDump decodes the documents, so that they can be written in any format.
func plainDump(dump map[string][]json.RawMessage, err error) (map[string][]any, error) {
	if err != nil {
		return nil, err
	}
	plain := map[string][]any{}
	for collection, docs := range dump {
		for _, doc := range docs {
			var v any
			if err := json.Unmarshal(doc, &v); err != nil {
				return nil, err
			}
			plain[collection] = append(plain[collection], v)
		}
	}
	return plain, nil
}

// dialController connects to the controller of the target model.
func dialController(ctx context.Context, s *cli.Session) (*client.Conn, error) {
	st, t, err := s.ReadModelTarget()
	if err != nil {
		return nil, err
	}
	return connect.Dial(ctx, s, st, t, "")
}
