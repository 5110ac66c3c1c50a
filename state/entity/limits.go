package entity

import (
	"strings"
	"unicode/utf8"
)

// A Limit bounds one value that agents, users or clouds send to the controller. The API server
// checks it when a request arrives; later layers don't check again.
type Limit struct {
	Of   string // what is bounded, as errors name it
	Max  int
	Unit string // of Max
}

// The limits. Each allows what real charms do, and prevents one agent from filling a document of
// the store (16 MiB) or a model's status.
var (
	// LimitName is for names, ids, URLs and all other text without a limit of its own.
	LimitName = Limit{"text", 4 << 10, "bytes"}
	// LimitFile is for what users read from a file: a charm's settings, one or all.
	LimitFile = Limit{"file", 5 << 20, "bytes"}
	// LimitList is for lists and maps without a limit of their own.
	LimitList = Limit{"list", 100_000, "entries"}
	// LimitDepth is for nested values, where a request may contain any value.
	LimitDepth = Limit{"nesting", 16, "levels"}

	LimitStatusWord    = Limit{"status", 64, "bytes"}
	LimitStatusMessage = Limit{"status message", 16 << 10, "bytes"}
	LimitStatusData    = Limit{"status data", 64 << 10, "bytes"}
	LimitStatusDepth   = Limit{"status data", 8, "levels"}

	LimitSettingsKey      = Limit{"name of a setting", 1 << 10, "bytes"}
	LimitRelationSettings = Limit{"settings of a unit in a relation", 2 << 20, "bytes"}
	// LimitCharmState is Juju's default of max-charm-state-size.
	LimitCharmState = Limit{"charm state of a unit", 2 << 20, "bytes"}
	// LimitServiceSettings counts 16 bytes for each setting besides its name and text.
	LimitServiceSettings = Limit{"settings of a service", 8 << 20, "bytes"}

	LimitUnitPorts    = Limit{"open port ranges of a unit", 1000, "ranges"}
	LimitMachinePorts = Limit{"open port ranges of a machine's units", 10_000, "ranges"}

	LimitUnitStorage = Limit{"storage instances of a unit", 100, "instances"}

	LimitPending = Limit{"pending resources of a model", 200, "uploads"}

	LimitAddress    = Limit{"address", 255, "bytes"}
	LimitAddresses  = Limit{"addresses of a machine", 256, "addresses"}
	LimitInstanceID = Limit{"instance id", 255, "bytes"}
	LimitNonce      = Limit{"nonce", 255, "bytes"}
	LimitBoot       = Limit{"name of a boot", 255, "bytes"}

	LimitConstraints = Limit{"constraints", 4 << 10, "bytes"}
	LimitAnnotations = Limit{"annotations of an entity", 64 << 10, "bytes"}

	LimitTaskParams   = Limit{"parameters of a task", 100 << 10, "bytes"}
	LimitTaskResults  = Limit{"results of a task", 4 << 20, "bytes"}
	LimitTaskMessage  = Limit{"message of a task", 2 << 10, "bytes"}
	LimitTaskMessages = Limit{"messages of a task", 1000, "messages"}
)

// Limits are all limits.
var Limits = []Limit{
	LimitName, LimitFile, LimitList, LimitDepth, LimitStatusWord, LimitStatusMessage, LimitStatusData, LimitStatusDepth,
	LimitSettingsKey, LimitRelationSettings, LimitCharmState, LimitServiceSettings, LimitUnitPorts,
	LimitMachinePorts, LimitUnitStorage, LimitPending,
	LimitAddress, LimitAddresses, LimitInstanceID, LimitNonce, LimitBoot, LimitConstraints, LimitAnnotations,
	LimitTaskParams, LimitTaskResults, LimitTaskMessage, LimitTaskMessages,
}

// Check returns an Invalid error that names the limit if n exceeds it.
func (l Limit) Check(n int) error {
	if n <= l.Max {
		return nil
	}
	return Errorf(Invalid, "%s: %d %s, the limit is %d", l.Of, n, l.Unit, l.Max)
}

// CheckText returns an Invalid error for text that exceeds the limit, is not UTF-8, or contains a
// NUL, which neither the store's keys nor a hook's arguments can contain.
func (l Limit) CheckText(s string) error {
	if err := l.Check(len(s)); err != nil {
		return err
	}
	return CheckPlain(l.Of, s)
}

// CheckPlain returns an Invalid error that names what the text is, unless it is UTF-8 without NULs.
func CheckPlain(what, s string) error {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return Errorf(Invalid, "%s: it holds a NUL character", what)
	case !utf8.ValidString(s):
		return Errorf(Invalid, "%s: it is not UTF-8 text", what)
	}
	return nil
}

// Cut returns s in a form that CheckText accepts. It is for text from sources that a refusal
// wouldn't reach: an error of a cloud, an old database.
func (l Limit) Cut(s string) string {
	if l.CheckText(s) == nil {
		return s
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if len(s) <= l.Max {
		return s
	}
	const mark = len(" [9223372036854775807 bytes cut]")
	return Cut(s, max(0, l.Max-mark))
}
