package controllers

import (
	"context"
	"fmt"
	"html"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"juju/agent/host/atomicfile"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type dashboardAPI interface {
	CreateLogin(ctx context.Context) (text string, expires time.Time, err error)
}

// dashboardFile is the page, in the user's directory, that sends a browser to the dashboard: other users of the host can read
// the arguments of a browser, but not the page.
const dashboardFile = "dashboard.html"

// DashboardCommand is `juju dashboard`.
func DashboardCommand(s *cli.Session) *cobra.Command {
	var browser bool
	cmd := &cobra.Command{
		Use:     "dashboard",
		Aliases: []string{"gui"},
		Short:   "Print the address of the dashboard, with a login",
		Long: `Print the address of the controller's dashboard, with a login for you that works once,
within ten minutes. The session ends after twelve hours, when you log out, or when your
password changes.

The controller's certificate is signed by its own CA, so browsers warn about it unless
they trust the CA certificate, which juju show-controller prints.`,
		Example: `  juju dashboard
  juju dashboard -c prod --browser`,
		Annotations: cli.SeeAlso("status", "create-token", "show-controller"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var url string
			err := cli.WithController(ctx, s, func(t cli.Target, api dashboardAPI) error {
				text, expires, err := api.CreateLogin(ctx)
				if err != nil {
					return err
				}
				if len(t.Controller.Addresses) == 0 {
					return fmt.Errorf("no address of controller %q is known", t.Name)
				}
				url = fmt.Sprintf("https://%s/dashboard/login#%s", t.Controller.Addresses[0], text)
				if !browser {
					s.Note("The dashboard of controller %q. This address logs you in once, until %s:", t.Name, expires.Local().Format(time.TimeOnly))
					_, err = fmt.Fprintln(s.Stdout, url)
				}
				return err
			})
			if err != nil || !browser {
				return err
			}
			return openBrowser(s, url)
		},
	}
	s.ControllerFlag(cmd)
	cmd.Flags().BoolVar(&browser, "browser", false, "open the address in a browser with xdg-open instead of printing it")
	return cmd
}

// openBrowser opens an address that is secret in the user's browser.
func openBrowser(s *cli.Session, url string) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	page := filepath.Join(st.Dir(), dashboardFile)
	text := `<!doctype html><meta http-equiv="refresh" content="0; url=` + html.EscapeString(url) + `">` + "\n"
	if err := atomicfile.WriteFile(page, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot open the browser: %w", err)
	}
	if err := s.Exec(cli.Replacement{Argv: []string{"xdg-open", page}}); err != nil {
		return entity.WithHint(fmt.Errorf("cannot open the browser: %w", err),
			"juju dashboard prints the address, to be opened in any browser")
	}
	return nil
}
