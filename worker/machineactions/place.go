package machineactions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"juju/hooks"
)

// A place is where one command at a time runs: it has the files of its output, and of its record.
type place struct {
	runner *hooks.Runner
	record recordFile
}

// places are all places of a machine's commands. The first has its files in RunDir, the others in directories there that
// are called 1, 2 and so on. A place stays open, because it logs what commands have left running.
type places struct {
	params hooks.RunnerParams
	all    []*place
	free   []*place // where no command runs; the last is taken first
}

// recordName is the file in the directory of a place that records the running command.
const recordName = "command.json"

// openPlaces opens the first place, and those that an earlier agent has left.
func openPlaces(params hooks.RunnerParams) (*places, error) {
	p := &places{params: params}
	for {
		dir := p.dir(len(p.all))
		if _, err := os.Stat(dir); len(p.all) > 0 && errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
		opened, err := p.open()
		if err != nil {
			p.close()
			return nil, err
		}
		p.free = append([]*place{opened}, p.free...)
	}
}

// dir returns the directory of a place.
func (p *places) dir(n int) string {
	if n == 0 {
		return p.params.RunDir
	}
	return filepath.Join(p.params.RunDir, strconv.Itoa(n))
}

// open opens one more place.
func (p *places) open() (*place, error) {
	params := p.params
	params.RunDir = p.dir(len(p.all))
	runner, err := hooks.NewRunner(params)
	if err != nil {
		return nil, err
	}
	opened := &place{runner: runner, record: recordFile(filepath.Join(params.RunDir, recordName))}
	p.all = append(p.all, opened)
	return opened, nil
}

// take returns a free place, which it opens if there is none.
func (p *places) take() (*place, error) {
	last := len(p.free) - 1
	if last < 0 {
		opened, err := p.open()
		if err != nil {
			return nil, fmt.Errorf("no room for another command at once: %w", err)
		}
		return opened, nil
	}
	taken := p.free[last]
	p.free = p.free[:last]
	return taken, nil
}

// close closes all places. No command may be running.
func (p *places) close() {
	for _, one := range p.all {
		if err := one.runner.Close(); err != nil {
			logger.Warningf("%v", err)
		}
	}
}
