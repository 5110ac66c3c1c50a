package cgroup

import (
	"testing"
	"testing/fstest"
)

func system(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// The least limit of the group and those above it counts, in both versions, and in a container that sees
// only its own group.
func TestMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		want    int64
		limited bool
		kills   int64
	}{
		"version 2": {map[string]string{
			"proc/self/cgroup":                                       "0::/system.slice/jujud.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                  "1610612736\n",
			"sys/fs/cgroup/system.slice/jujud.service/memory.max":    "max\n",
			"sys/fs/cgroup/system.slice/jujud.service/memory.events": "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n",
		}, 1610612736, true, 3},
		"version 1 beside 2": {map[string]string{
			"proc/self/cgroup":                               "4:memory:/a/b\n1:cpu:/\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "3000\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "2000\n",
			"sys/fs/cgroup/memory/a/b/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
		}, 2000, true, 7},
		"a container": {map[string]string{
			"proc/self/cgroup":            "0::/../../lxc.payload/x\n",
			"sys/fs/cgroup/memory.max":    "4000\n",
			"sys/fs/cgroup/memory.events": "oom_kill 1\n",
		}, 4000, true, 1},
		"no limit": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"proc/vmstat":                                "nr_free_pages 5\noom_kill 4\n",
		}, 0, false, 4},
		"no groups": {map[string]string{}, 0, false, 0},
	} {
		root := system(c.files)
		if got, limited := Memory(root); limited != c.limited || limited && got != c.want {
			t.Errorf("%s: %d bytes, %v; want %d, %v", name, got, limited, c.want, c.limited)
		}
		if got := Kills(root); got != c.kills {
			t.Errorf("%s: %d kills, want %d", name, got, c.kills)
		}
	}
}
