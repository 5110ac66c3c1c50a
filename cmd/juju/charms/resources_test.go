package charms_test

import (
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

func TestResources(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("resources", "web")
	u.Asked("Resources web")
	u.Sees(0, "", "No resources to display.\n")
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	old, now := entity.ResourceFile{User: "bob", Uploaded: at}, entity.ResourceFile{User: "eve", Uploaded: at.Add(time.Hour)}
	u.Model.Returns.Resources = entity.ResourcesOf{Resources: []entity.Resource{{Name: "logo"}, {Name: "site", File: &now}},
		Units: map[string]map[string]entity.ResourceFile{"web/2": {"site": old}, "web/10": {}}}
	for line, want := range map[string]string{
		"resources web":             "Resource  Supplied by  Revision\nlogo      -            -\nsite      eve          2026-11-22T16:04\n",
		"resources web/2":           "Resource  Revision\nlogo      -\nsite      2026-11-22T15:04\n",
		"resources web/2 --details": "Resource  Revision          Expected\nlogo      -                 -\nsite      2026-11-22T15:04  2026-11-22T16:04\n",
		"resources web --details": "Unit    Resource  Revision          Expected\nweb/2   logo      -                 -\n" +
			"web/2   site      2026-11-22T15:04  2026-11-22T16:04\nweb/10  logo      -                 -\n" +
			"web/10  site      -                 2026-11-22T16:04\n",
	} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, want, "")
	}
	u.Types("resources", "web/7")
	u.Sees(1, "", "ERROR unit \"web/7\" not found\nTo see what is in the model: juju status\n")
}

// What failed deployments have left is listed, by service, and removed: one's own, or everyone's.
func TestPendingResources(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("pending-resources")
	u.Asked("PendingResources")
	u.Sees(0, "", "No pending resources to display.\n")
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	u.Model.Returns.Pending = []entity.PendingResource{{Service: "shop", Resource: "logo", User: "bob", Began: at},
		{Service: "web", Resource: "site", User: "eve", Began: at, Size: 12, Stored: true}}
	u.Types("pending-resources")
	u.Sees(0, "Service  Resource  User  Began                 Bytes\nshop     logo      bob   2026-11-22T15:04:05Z  -\n"+
		"web      site      eve   2026-11-22T15:04:05Z  12\n", "")
	u.Types("pending-resources", "web")
	u.Sees(0, "Service  Resource  User  Began                 Bytes\nweb      site      eve   2026-11-22T15:04:05Z  12\n", "")
	u.Types("pending-resources", "other")
	u.Sees(0, "", "No pending resources to display.\n")
	u.Types("pending-resources", "--clear")
	u.Asked("ClearPendingResources [] false")
	u.Sees(0, "", "Removed 2 pending resources.\n")
	u.Types("pending-resources", "--clear", "--all-users", "web")
	u.Asked("ClearPendingResources [web] true")
	u.Types("pending-resources", "--all-users")
	u.Asked()
	u.Sees(2, "", "ERROR --all-users is for --clear; without it, the uploads of all users are listed\nFor usage: juju help pending-resources\n")
}
