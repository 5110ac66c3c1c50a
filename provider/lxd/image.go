package lxd

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/state/entity"
)

// A release maps a series to the distribution and version that image servers use.
type release struct{ series, distribution, version string }

// releases are the known releases in order of preference.
var releases = []release{
	{"noble", "ubuntu", "24.04"}, {"jammy", "ubuntu", "22.04"}, {"focal", "ubuntu", "20.04"},
	{"trixie", "debian", "13"}, {"bookworm", "debian", "12"}, {"bullseye", "debian", "11"},
}

// known returns the release of a series; its version is "" if it is unknown.
func known(series string) release {
	for _, r := range releases {
		if r.series == series {
			return r
		}
	}
	return release{series: series}
}

// localAliases returns the aliases that LXD's image of a series may have, in order of preference.
func localAliases(series string) []string {
	names := []string{"juju/" + series, series}
	if r := known(series); r.version != "" {
		names = append(names, r.distribution+"/"+r.series, r.distribution+"/"+r.version)
	}
	return names
}

// serverAliases returns the aliases that a server's image of a series with cloud-init may have, in
// order of preference.
func serverAliases(series string) []string {
	names := []string{series}
	if r := known(series); r.version != "" {
		base := r.distribution + "/"
		names = append(names, base+r.version+"/cloud", base+r.series+"/cloud", r.version)
	}
	return names
}

// seriesOf returns the series of an image alias, or "".
func seriesOf(alias string) string {
	if series, ok := strings.CutPrefix(alias, "juju/"); ok {
		return series
	}
	for _, r := range releases {
		if slices.Contains(localAliases(r.series), alias) {
			return r.series
		}
	}
	return ""
}

// aliases returns the aliases of images for containers.
func (c *Cloud) aliases(ctx context.Context) (names []string, err error) {
	if _, err := c.server(ctx); err != nil {
		return nil, err
	}
	var all []api.ImageAliasesEntry
	if err := c.client.get(ctx, "/1.0/images/aliases", recursion(1), &all); err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Type == "" || a.Type == string(api.InstanceTypeContainer) {
			names = append(names, a.Name)
		}
	}
	return names, nil
}

// series returns the series of the images that LXD has or can copy: first those with a juju/ alias,
// then the others in order of preference.
func (c *Cloud) series(ctx context.Context) (all []string, err error) {
	names, err := c.aliases(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if series, ok := strings.CutPrefix(name, "juju/"); ok && series != "" {
			all = append(all, series)
		}
	}
	for _, r := range releases {
		if c.config.ImageServer != "" || slices.ContainsFunc(names, func(n string) bool { return seriesOf(n) == r.series }) {
			all = append(all, r.series)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s string) bool { again := seen[s]; seen[s] = true; return again }), nil
}

// noImage returns the error for a series without an image.
func (c *Cloud) noImage(series string) error {
	err := entity.Errorf(entity.Invalid, "LXD has no image of series %q", series)
	if series == "" {
		series, err = "SERIES", entity.Errorf(entity.Invalid, "LXD has no image of any series")
	}
	return entity.WithHint(err,
		"Give an image with cloud-init the alias juju/%s: lxc image alias create juju/%s FINGERPRINT",
		series, series)
}

// image returns the alias of an image of a series ("" for the preferred one). If LXD has none, it
// copies one from the configured server. The error is Invalid if that has none either.
func (c *Cloud) image(ctx context.Context, series string) (alias string, err error) {
	if series == "" {
		all, err := c.series(ctx)
		if err != nil {
			return "", err
		}
		if len(all) == 0 {
			return "", c.noImage("")
		}
		series = all[0]
	}
	// Prevent concurrent copies of the same image.
	unlock, err := c.busy.Lock(ctx, "image/"+series)
	if err != nil {
		return "", err
	}
	defer unlock()
	have, err := c.aliases(ctx)
	if err != nil {
		return "", err
	}
	for _, alias := range localAliases(series) {
		if slices.Contains(have, alias) {
			return alias, nil
		}
	}
	if c.config.ImageServer == "" {
		return "", c.noImage(series)
	}
	return c.copyImage(ctx, series)
}

// copyImage has LXD copy the image of a series, and adds a juju/ alias.
func (c *Cloud) copyImage(ctx context.Context, series string) (string, error) {
	c.say("Downloading an image of %s from %s", series, c.config.ImageServer)
	for _, name := range serverAliases(series) {
		op, err := c.client.do(ctx, http.MethodPost, "/1.0/images", nil, api.ImagesPost{
			ImagePut: api.ImagePut{AutoUpdate: true},
			Source: &api.ImagesPostSource{Type: "image", Mode: "pull", ImageSource: api.ImageSource{
				Alias: name, Protocol: "simplestreams", Server: c.config.ImageServer,
				ImageType: string(api.InstanceTypeContainer),
			}},
		})
		var r *apiError
		if errors.As(err, &r) && strings.Contains(r.text, "image couldn't be found") {
			continue
		} else if err != nil {
			return "", err
		}
		fingerprint, _ := op.Metadata["fingerprint"].(string)
		alias := "juju/" + series
		_, err = c.client.do(ctx, http.MethodPost, "/1.0/images/aliases", nil,
			api.ImageAliasesPost{ImageAliasesEntry: api.ImageAliasesEntry{
				Name: alias, ImageAliasesEntryPut: api.ImageAliasesEntryPut{Target: fingerprint}}})
		if errors.As(err, &r) && r.status == http.StatusConflict {
			err = nil // another controller has also copied it
		}
		return alias, err
	}
	return "", entity.WithHint(entity.Errorf(entity.Invalid, "neither LXD nor %s has an image of series %q",
		c.config.ImageServer, series), "Give an image with cloud-init the alias juju/%s in LXD.", series)
}

// architecture returns the architecture of the image with an alias.
func (c *Cloud) architecture(ctx context.Context, alias string) (string, error) {
	var entry api.ImageAliasesEntry
	if err := c.client.get(ctx, "/1.0/images/aliases/"+url.PathEscape(alias), nil, &entry); err != nil {
		return "", err
	}
	var image api.Image
	err := c.client.get(ctx, "/1.0/images/"+entry.Target, nil, &image)
	return arch(image.Architecture), err
}
